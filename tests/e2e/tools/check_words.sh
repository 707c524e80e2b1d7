#!/usr/bin/env bash
# tools/check-words passes on this tree, and finds a planted word but not one that words.txt allows. It reads what git tracks.
set -eu
root=$1
git -C "$root" rev-parse --is-inside-work-tree >/dev/null 2>&1 || { echo "SKIP: $root is not a git checkout"; exit 77; }
"$root/tools/check-words"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/tools"
cp "$root"/tools/{check-words,words.txt} "$tmp/tools/"
git -C "$tmp" init -q
line=$(printf 'It st%ss be%s the door.' and hind)
echo "$line" > "$tmp/text.md"
mkdir -p "$tmp/src/store"
echo "-- $line" > "$tmp/src/store/schema.sql"
echo 'A stand-in for NVML runs behind a reverse proxy; there is no longer one.' > "$tmp/right.md"
git -C "$tmp" add .
if out=$("$tmp/tools/check-words"); then echo "not refused: $line"; exit 1; fi
grep -q '^text.md:1: .st[a]nds' <<< "$out" && grep -q '^text.md:1: .be[h]ind' <<< "$out" || { echo "got: $out"; exit 1; }
grep -q '^src/store/schema.sql:1: ' <<< "$out" || { echo "src/store/*.sql not checked: $out"; exit 1; }
if grep -q right.md <<< "$out"; then echo "refused what is allowed: $out"; exit 1; fi
