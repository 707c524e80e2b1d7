# Fresh systems in folders (debootstrap, chroot), for tools/fresh-check and packaging/. Source it after tools/lib.sh; needs root.

# The releases that are known, with where they come from: name, mirror, components, keyring.
# The mirror of Debian is this machine's own, if it has one.
chroot_releases() {
    local debian
    debian=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
        sed -n 's/^URIs: *//p; s/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\) bookworm main.*/\2/p' | head -1 || true)
    cat <<END
bookworm ${debian:-http://deb.debian.org/debian} main /usr/share/keyrings/debian-archive-keyring.gpg
trixie ${debian:-http://deb.debian.org/debian} main /usr/share/keyrings/debian-archive-keyring.gpg
noble http://archive.ubuntu.com/ubuntu main,universe /usr/share/keyrings/ubuntu-archive-keyring.gpg
END
}

# The name for people of a release.
chroot_title() {
    case $1 in bookworm) echo "Debian 12" ;; trixie) echo "Debian 13" ;; noble) echo "Ubuntu 24.04" ;; esac
}

# Ubuntu's keys are in Debian 13 and not in Debian 12: taken from there, signed by Debian's.
chroot_keyring() {
    local keyring=$1 beside=$2/keyring
    if [ -f "$keyring" ]; then
        echo "$keyring"
    elif [ -f "$beside/$keyring" ]; then
        echo "$beside/$keyring"
    else
        chroot_new "$beside/trixie" trixie >&2
        chroot "$beside/trixie" sh -c 'cd /tmp && apt-get update -qq && apt-get download -qq ubuntu-archive-keyring ubuntu-keyring' >&2
        for deb in "$beside"/trixie/tmp/*keyring*.deb; do dpkg-deb -x "$deb" "$beside"; done
        echo "$beside/$keyring"
    fi
}

# chroot_own FOLDER: makes a folder that only root, or who called sudo, can replace. Anybody may have put something of its name into
# /var/tmp, whose programs root would run.
chroot_own() {
    local part foreign
    mkdir -p "$1"
    for part in "$(realpath -s "$1")" "$(realpath "$1")"; do
        while [ "$part" != / ]; do
            foreign=$(find "$part" -maxdepth 0 \( ! -uid 0 ! -uid "${SUDO_UID:-0}" \) -o -perm -o=w ! -perm -1000 ! -type l \
                -o -perm -g=w ! -gid 0 ! -perm -1000 ! -type l)
            [ -z "$foreign" ] || die "$foreign belongs to another user, or others can write to it: name another FOLDER"
            part=$(dirname "$part")
        done
    done
}

# chroot_new FOLDER RELEASE: a fresh system, unless it is there already. What debootstrap printed: FOLDER.log
chroot_new() {
    local folder=$1 release=$2 name mirror components keyring script=
    [ "$(id -u)" -eq 0 ] || die "needs root (debootstrap, chroot)"
    command -v debootstrap >/dev/null || die "needs debootstrap: apt-get install debootstrap"
    chroot_own "$(dirname "$folder")"
    if [ ! -f "$folder/.complete" ]; then
        read -r name mirror components keyring < <(chroot_releases | grep "^$release ") || die "unknown release $release"
        say "debootstrap $name into $folder"
        [ ! -e "$folder" ] || rm -rf --one-file-system "$folder"
        keyring=$(chroot_keyring "$keyring" "$(dirname "$folder")")
        # a release younger than debootstrap has the script of its family
        case $name in noble) script=/usr/share/debootstrap/scripts/gutsy ;; esac
        # shellcheck disable=SC2086
        debootstrap --variant=minbase --components="$components" --keyring="$keyring" "$name" "$folder" "$mirror" $script \
            >"$folder.log" 2>&1 || { tail -5 "$folder.log" >&2; die "debootstrap $name failed: $folder.log"; }
        touch "$folder/.complete"
    fi
    # This machine's way to its package mirror.
    cp /etc/resolv.conf "$folder/etc/" 2>/dev/null || true
    cp -r /etc/apt/apt.conf.d/. "$folder/etc/apt/apt.conf.d/"
}

# chroot_copy BASE FOLDER: a copy of a fresh system, made anew.
chroot_copy() {
    chroot_leave "$2"
    [ ! -e "$2" ] || rm -rf --one-file-system "$2"
    cp -a --reflink=auto "$1" "$2"
}

chroot_mounted=()
chroot_enter() {
    local folder=$1
    chroot_mounted+=("$folder")
    mount -t proc proc "$folder/proc"
    mount -t sysfs sys "$folder/sys"
    mount --bind /dev "$folder/dev"
    mount --bind /dev/pts "$folder/dev/pts"
    mount -t tmpfs shm "$folder/dev/shm"
}

chroot_leave() {
    local m
    for m in dev/shm dev/pts dev sys proc; do
        ! mountpoint -q "$1/$m" || umount -l "$1/$m"
    done
}

# For a trap on EXIT.
chroot_leave_all() {
    local folder
    for folder in "${chroot_mounted[@]}"; do chroot_leave "$folder"; done
}

# chroot_run FOLDER COMMANDS: as root in it, with nothing of this machine's environment.
chroot_run() {
    local folder=$1
    shift
    # shellcheck disable=SC2046
    chroot "$folder" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        $(env | grep -iE '^(https?|no)_proxy=' || true) bash -euo pipefail -c "$*"
}
