#!/usr/bin/env bash
# tools/check-symbols passes on this build and finds a symbol and a tag that are defined twice.
set -eu
root=$1 build=$2
"$root/tools/check-symbols" "$build"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp"/{tools,include} "$tmp"/src/{a,b} "$tmp"/build/src/{a,b}
cp "$root/tools/check-symbols" "$tmp/tools/"

# expect TEXT: the planted tree is refused with the text
expect() {
    if out=$("$tmp/tools/check-symbols" "$tmp/build"); then echo "not refused: $1"; exit 1; fi
    grep -qF "$1" <<< "$out" || { echo "wanted: $1"; echo "got: $out"; exit 1; }
}
compile() { printf '%s\n' "$2" | cc -x c -c -o "$tmp/build/src/$1.o" -; }

compile a/one 'int wl_gather(void) { return 1; }'
compile b/two 'static int wl_gather(void) { return 2; } int wl_other(void) { return wl_gather(); }'
echo 'struct wl_axes { int n; };' > "$tmp/src/a/a.h"
echo 'struct wl_axes;' > "$tmp/src/b/b.h"
"$tmp/tools/check-symbols" "$tmp/build"

echo 'struct wl_axes { double x; };' > "$tmp/src/b/b.h"
expect 'tag wl_axes: defined in src/a/a.h, src/b/b.h'
rm "$tmp/src/b/b.h"
compile b/two 'int wl_gather(void) { return 2; }'
expect 'wl_gather: defined in src/a/one.o, src/b/two.o'
