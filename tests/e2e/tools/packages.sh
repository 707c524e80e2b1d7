#!/usr/bin/env bash
# packages.sh SOURCE KIND   packaging/build-KIND from the source tree: deb (in fresh systems) or wheel.
set -euo pipefail
skip() { echo "SKIP: $*"; exit 77; }
cd "$1"
git rev-parse HEAD >/dev/null 2>&1 || skip "not a git repository, of which packages are made"
case $2 in
deb)
    [ "$(id -u)" -eq 0 ] || skip "debootstrap and chroot need root"
    command -v debootstrap >/dev/null || skip "no debootstrap"
    exec packaging/build-deb
    ;;
wheel)
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    packaging/build-wheel "$folder"
    ;;
esac
