#!/usr/bin/env bash
# check_status.sh SOURCE   The exit status of ./check, with meson and ninja replaced: 0 where all tests passed, 1 where one
# failed, a build failed or a word is unknown. A test that waits for processes and fails is run again, and named where it passes then.
set -uo pipefail
source=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/tools" "$scratch/bin"
cp "$source/check" "$scratch/"
cp "$source/tools/count-tests" "$scratch/tools/"
{ cat "$source/tools/lib.sh"; echo 'install_packages() { :; }'; } >"$scratch/tools/lib.sh"
printf '#!/bin/sh\n' >"$scratch/tools/check-help"
cat >"$scratch/bin/meson" <<'TXT'
#!/bin/bash
case $1 in
setup) mkdir -p "$2" && touch "$2/build.ninja" ;;
introspect) echo '{"tests": [], "targets": []}' ;;
test)
    build=$3 result=OK log=testlog
    case " $* " in *" --logbase testlog-again "*) log=testlog-again ;; esac
    [ "$build" != "build-check/${FAILING_TESTS-}" ] || result=FAIL
    [ "$build $log" != "build-check/${UNSTEADY_TESTS-} testlog" ] || result=FAIL
    mkdir -p "$build/meson-logs"
    for n in $(seq "${COUNT-1}"); do
        echo "{\"name\": \"wattlaw:${SUITE-law} / test $n\", \"result\": \"$result\", \"duration\": 1}"
    done >"$build/meson-logs/$log.json"
    [ $log = testlog ] || case " $* " in *" --num-processes 1 "*" test 1 "*) ;; *) exit 1 ;; esac
    [ $result = OK ]
    ;;
esac
TXT
cat >"$scratch/bin/ninja" <<'TXT'
#!/bin/bash
[ "$2" != "build-check/${FAILING_BUILD-}" ]
TXT
chmod +x "$scratch"/bin/* "$scratch"/tools/*

failures=0
# expect STATUS WHAT [VARIABLE=VALUE...] -- [arguments of check]
expect() {
    local wanted=$1 what=$2 status=0 settings=()
    shift 2
    while [ "$1" != -- ]; do settings+=("$1"); shift; done
    shift
    env "${settings[@]}" PATH="$scratch/bin:$PATH" "$scratch/check" "$@" >"$scratch/output" 2>&1 || status=$?
    rm -rf "$scratch/build-check"
    [ $status -eq "$wanted" ] && return
    failures=$((failures + 1))
    echo "$what: exit status $status, expected $wanted"
    sed 's/^/    /' "$scratch/output"
}
expect 0 "all passed" --
expect 0 "one build" -- gcc
for kind in gcc clang asan tsan; do
    expect 1 "a test of $kind failed" FAILING_TESTS=$kind --
    expect 1 "$kind was not built" FAILING_BUILD=$kind --
done
expect 0 "an unsteady test" UNSTEADY_TESTS=asan SUITE=law+e2e --
grep -q '^unsteady wattlaw:law+e2e / test 1 (asan): FAIL beside other tests, OK alone$' "$scratch/output" &&
    grep -q '^4 passed, 0 failed, 0 skipped$' "$scratch/output" || { failures=$((failures + 1)); echo "an unsteady test is not named:"; cat "$scratch/output"; }
expect 1 "a test that fails alone too" FAILING_TESTS=asan SUITE=law+e2e --
grep -q '^3 passed, 1 failed, 0 skipped$' "$scratch/output" || { failures=$((failures + 1)); echo "a failure is not counted once:"; cat "$scratch/output"; }
expect 1 "a test of pure functions is not run again" UNSTEADY_TESTS=clang --
expect 1 "many tests are not run again" UNSTEADY_TESTS=gcc SUITE=e2e COUNT=4 --
expect 1 "a build that does not exist" -- icc
expect 1 "an option that does not exist" -- --fast
[ $failures -eq 0 ]
