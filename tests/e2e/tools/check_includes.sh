#!/usr/bin/env bash
# tools/check-includes passes on this tree and finds each kind of breach in a planted one.
set -eu
root=$1
tools=$root/tools
"$tools/check-includes" "$root"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp"/src/{base,store,power/{nvml,rapl,calibration},report/{figure,sections},run,nn/{plan,cpu,program,checkpoint},cmd/{wattlaw,train},cuda}
echo > "$tmp/src/base/base.h"
echo > "$tmp/src/base/own.h"
echo > "$tmp/src/store/store.h"
echo > "$tmp/src/store/read.h"
echo > "$tmp/src/store/rows.h"
for header in nn/cpu/cpu nn/program/program nn/plan/internal power/nvml/sensor power/sensor cmd/cmd cmd/wattlaw/store report/sections/sections \
    cuda/cuda; do
    echo > "$tmp/src/$header.h"
done

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
expect "power/rapl/ may not include power/nvml/" power/rapl/a.c '#include "power/nvml/sensor.h"\n'
expect "cmd/train/ may not include cmd/wattlaw/" cmd/train/a.c '#include "cmd/wattlaw/store.h"\n'
expect "report/figure/ may not include report/sections/" report/figure/a.c '#include "report/sections/sections.h"\n'
expect '"nn/plan/internal.h" serves nn/plan/ alone' nn/checkpoint/a.c '#include "nn/plan/internal.h"\n'
expect 'name the header from src/ on, as "nn/cpu/cpu.h"' nn/plan/a.c '#include "nn/plan/../cpu/cpu.h"\n'
mkdir "$tmp/src/power/other"
expect "power/other/ has no row in ALLOWED" power/other/a.c '#include "base/base.h"\n'

# Cycles: of a sub-folder with another, of one with a header of its parent (the umbrella may see it), and of two whole folders.
echo '#include "power/calibration/fit.h"' > "$tmp/src/power/nvml/a.c"
expect "cycle between folders: power/calibration -> power/nvml -> power/calibration" power/calibration/fit.h '#include "power/nvml/sensor.h"\n'
rm "$tmp/src/power/nvml/a.c"
echo '#include "power/sensor.h"' > "$tmp/src/power/nvml/a.c"
expect "cycle between folders: power/nvml -> power/sensor.h -> power/nvml" power/sensor.h '#include "power/nvml/sensor.h"\n'
echo > "$tmp/src/power/sensor.h"
for all in power.h sensors.c; do echo '#include "power/nvml/sensor.h"' > "$tmp/src/power/$all"; done
echo '#include "cuda/cuda.h"' > "$tmp/src/power/calibration/b.c"
expect "cycle between folders: cuda -> power -> cuda" cuda/a.c '#include "power/power.h"\n'

echo '#include "nn/program/program.h"' > "$tmp/src/nn/plan/a.c"
echo '#include "store/read.h"' > "$tmp/src/report/a.c"
"$tools/check-includes" "$tmp"
