#!/usr/bin/env bash
# packages.sh SOURCE KIND   packaging/build-KIND from the source tree: deb (in fresh systems) or wheel.
set -euo pipefail
skip() { echo "SKIP: $*"; exit 77; }
cd "$1"
git rev-parse HEAD >/dev/null 2>&1 || skip "not a git repository, of which packages are made"
# Fresh systems take 3 GB, which memory (TMPDIR of a test) may not have.
folder=$(mktemp -d /var/tmp/wattlaw-packages-XXXXXX)
trap 'rm -rf --one-file-system "$folder"' EXIT
case $2 in
deb)
    [ "$(id -u)" -eq 0 ] || skip "debootstrap and chroot need root"
    command -v debootstrap >/dev/null || skip "no debootstrap"
    packaging/build-deb "$folder"
    ;;
wheel) packaging/build-wheel "$folder" ;;
esac
