#!/usr/bin/env bash
# tools/check-output passes on this tree and finds each kind of breach in a planted one.
set -eu
root=$1
tools=$root/tools
"$tools/check-output" "$root"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp"/src/{base,cmd,exchange/export}
echo 'static void f(void) { fputs("ours", stdout); }' > "$tmp/src/base/out.c"
echo 'static void f(FILE *to) { fprintf(to, "1,2\n"); }' > "$tmp/src/exchange/export/obs_write.c"

# expect TEXT CONTENT: the content in a file of src/cmd is refused with the text
expect() {
    printf '%s\n' "$2" > "$tmp/src/cmd/a.c"
    if out=$("$tools/check-output" "$tmp"); then echo "not refused: $2"; exit 1; fi
    grep -qF "$1" <<< "$out" || { echo "wanted: $1"; echo "got: $out"; exit 1; }
    rm "$tmp/src/cmd/a.c"
}

# accept CONTENT
accept() {
    printf '%s\n' "$1" > "$tmp/src/cmd/a.c"
    "$tools/check-output" "$tmp" || { echo "refused: $1"; exit 1; }
    rm "$tmp/src/cmd/a.c"
}

expect "cmd/a.c:1: stderr: print through base/print.h" 'fprintf(stderr, "%s", name);'
expect "stdout: print through base/print.h" 'FILE *f = stdout;'
expect "STDOUT_FILENO: print through base/print.h" 'write(STDOUT_FILENO, s, n);'
expect "printf: print through base/print.h" 'printf("%s\n", name);'
expect "vprintf: print through base/print.h" 'vprintf(fmt, ap);'
expect "puts: print through base/print.h" 'puts(name);'
expect "putchar: print through base/print.h" 'if (x) putchar(c);'
expect "perror: print through base/print.h" 'perror(path);'
expect "cmd/a.c:2: write(2,: print through base/print.h" '
    write(2, s, n);'
expect "#include <err.h>: print through base/print.h" '#include <err.h>'
expect "fputs: print through base/print.h" 'fputs(name, to);'
expect "wl_print_text lets line ends through" 'wl_print_text(WL_STDOUT, s);'
expect "the format of wl_print is not a literal: name" 'wl_print(name);'
expect "the format of wl_fprint is not a literal: fmt" 'wl_fprint(to, fmt, 1);'
expect "a line end in an argument of wl_eprint" 'wl_eprint("%s%s", i ? "\n" : "", f(1, "x"));'
expect "wl_human of J: print a wl_amount" 'wl_print("%s", wl_human(a, energy_j, "J"));'
accept 'snprintf(s, n, "%s", name); /* no printf("x") here */ // puts("x")'
accept 'const char *help = "printf(stdout) of yours";'
accept 'wl_print(i ? "\n%s\n" : "%s\n", name); wl_fprint(WL_STDERR, "%" PRId64 "\n", n);'
accept 'wl_eprint("a (%s),\n"
    "b\n", f(a, "("));'
"$tools/check-output" "$tmp"
