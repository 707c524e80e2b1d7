#!/usr/bin/env bash
# tools/check-includes passes on this tree and finds each kind of breach in a planted one.
set -eu
root=$1
tools=$root/tools
"$tools/check-includes" "$root"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp"/src/{base,store,power,report,run,nn/plan,nn/cpu,nn/program}
echo > "$tmp/src/base/base.h"
echo > "$tmp/src/base/own.h"
echo > "$tmp/src/store/store.h"
echo > "$tmp/src/store/read.h"
echo > "$tmp/src/store/rows.h"
echo > "$tmp/src/nn/cpu/cpu.h"
echo > "$tmp/src/nn/program/program.h"

# expect TEXT FILE CONTENT: the content in the file is refused with the text
expect() {
    printf '%b' "$3" > "$tmp/src/$2"
    if out=$("$tools/check-includes" "$tmp"); then echo "not refused: $1"; exit 1; fi
    grep -qF "$1" <<< "$out" || { echo "wanted: $1"; echo "got: $out"; exit 1; }
    rm "$tmp/src/$2"
}
expect "power/ may not include store/" power/a.c '#include "store/store.h"\n'
expect 'only "store/store.h" is public' run/a.c '#include "store/rows.h"\n'
expect "report/ may not include store/ (allowed: base, settings, store/read.h" report/a.c '#include "store/store.h"\n'
expect "<sqlite3.h> has its home in store" power/a.c '#include <sqlite3.h>\n'
expect "<dnnl.h> has its home in nn/cpu" store/a.c '#include <dnnl.h>\n'
expect 'the first include must be its own header "base/own.h"' base/own.c '#include <stdio.h>\n#include "base/own.h"\n'
expect "nn/plan/ may not include nn/cpu/" nn/plan/a.c '#include "nn/cpu/cpu.h"\n'
expect "store/ may not include nn/" store/a.c '#include "nn/cpu/cpu.h"\n'
expect "is not a header of src/" power/a.c '#include "stdio.h"\n'
echo '#include "nn/program/program.h"' > "$tmp/src/nn/plan/a.c"
echo '#include "store/read.h"' > "$tmp/src/report/a.c"
"$tools/check-includes" "$tmp"
