# Shared by quickstart, check and other scripts. Source it from the top of the tree.
bold= plain=
if [ -t 1 ] && [ -z "${NO_COLOR-}" ] && [ "${TERM:-dumb}" != dumb ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
say() { printf '%s== %s%s\n' "$bold" "$*" "$plain"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# The packages of the named sections of tools/packages that are not installed.
missing_packages() {
    local name section lacking release
    release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2>/dev/null || true)
    while read -r name section lacking; do
        case "$name" in '' | '#'*) continue ;; esac
        case " $* " in *" $section "*) ;; *) continue ;; esac
        case " $lacking " in *" ${release:-unknown} "*) continue ;; esac
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || printf '%s\n' "$name"
    done < tools/packages
}

# Installs what is missing of the named sections with apt, as root or through sudo, and says what it does.
install_packages() {
    command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
        die "this is not Debian or Ubuntu: install the packages that tools/packages lists by hand, then run the build of README.md"
    local wanted sudo=
    wanted=$(missing_packages "$@" | tr '\n' ' ')
    [ -n "$wanted" ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || die "these packages are missing and there is no sudo; ask an administrator for: apt-get install $wanted"
        sudo=sudo
    fi
    say "installing: $wanted"
    # The lists may be absent or old; a failed update does not matter when the packages are there.
    $sudo apt-get update -qq || say "apt-get update failed; trying with the lists that are here"
    # A machine that has just started installs updates by itself: waited for, at most ten minutes.
    # shellcheck disable=SC2086
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -o DPkg::Lock::Timeout=600 -y -qq --no-install-recommends $wanted >/dev/null ||
        die "apt-get could not install: $wanted"
}

# configure FOLDER [meson options]: once; a changed option list configures again.
configure() {
    local folder=$1
    shift
    if [ -f "$folder/build.ninja" ]; then
        [ $# -eq 0 ] || meson configure "$folder" "$@" >/dev/null
    else
        meson setup "$folder" "$@" >"$folder.log" 2>&1 || { cat "$folder.log" >&2; rm -f "$folder.log"; die "meson setup $folder failed"; }
        rm -f "$folder.log"
    fi
}
