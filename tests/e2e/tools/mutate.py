#!/usr/bin/env python3
"""tools/mutate in a tree of its own: what it calls caught, missed and an error, and tables that do not fit. mutate.py SOURCE"""
import os
import re
import shutil
import subprocess
import sys

FILES = {
    "meson.build": """project('toy', 'c')
lib = static_library('lib', 'src/a/a.c')
test('sum', executable('sum', 'sum.c', link_with: lib))
test('broken', executable('broken', 'broken.c', link_with: lib))
test('skipped', executable('skipped', 'skipped.c', link_with: lib))
""",
    "meson_options.txt": "option('tests', type: 'feature', value: 'auto')\n",
    "src/a/a.c": "int sum(int x, int y);\nint sum(int x, int y)\n{\n    int unused = 0;\n    return x + y;\n}\n",
    "sum.c": "int sum(int x, int y);\nint main(void) { return sum(2, 3) != 5; }\n",
    "broken.c": "int main(void) { return 1; }\n",
    "skipped.c": "int main(void) { return 77; }\n",
    "tools/mutations/a.txt": """# a comment
== a difference
src/a/a.c
? sum
-     return x + y;
+     return x - y;

== nothing of note
src/a/a.c
? sum
- int unused = 0;
+ int unused = 1;

== no C
src/a/a.c
? sum
- return x + y;
+ return x + ;

== a test that fails anyway comes first
src/a/a.c
? broken, sum
- return x + y;
+ return x;

== a test that always fails
src/a/a.c
? broken
- return x + y;
+ return y;

== a test that is skipped
src/a/a.c
? skipped
- return x + y;
+ return 2 * y;
""",
}


def expect(condition, *what):
    if not condition:
        sys.exit("\n".join(map(str, what)))


def make(folder, source):
    for name, text in FILES.items():
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        put(os.path.join(folder, name), text)
    shutil.copy(os.path.join(source, "tools", "mutate"), os.path.join(folder, "tools", "mutate"))
    subprocess.run(["git", "init", "-q", folder], check=True)


def put(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def mutate(folder, *options):
    r = subprocess.run([os.path.join(folder, "tools", "mutate"), *options], capture_output=True, text=True)
    return r.returncode, r.stdout, r.stderr


def planted(folder):
    status, said, errors = mutate(folder)
    expect(status == 1, "errors, and less than 90 %", status, said, errors)
    outcomes = dict(re.findall(r"^ *[\d.]+ s  a: (.+?): ((?:caught|missed|error).*)$", said, re.M))
    expect(outcomes == {"a difference": "caught by sum", "nothing of note": "missed",
                        "no C": "error: does not compile",
                        "a test that fails anyway comes first": "caught by sum",
                        "a test that always fails": "error: no verdict from broken",
                        "a test that is skipped": "error: no verdict from skipped"}, said)
    expect("mutate: 2 of 6 caught, 33.3 %, 3 errors" in said and "note: broken fails without a bug" in said, said)
    with open(os.path.join(folder, "src", "a", "a.c"), encoding="utf-8") as f:
        expect(f.read() == FILES["src/a/a.c"], "the tree itself is left alone")

    status, said, _ = mutate(folder, "--only", "^a difference")
    expect(status == 0 and "mutate: 1 of 1 caught, 100.0 %, 0 errors" in said, said)


def refused(folder):
    """A table that does not fit is reported, with its line, before anything is planted."""
    table, good = os.path.join(folder, "tools", "mutations", "a.txt"), FILES["tools/mutations/a.txt"]
    for bad, why in ((good.replace("int unused = 0;", "int unused = 7;"), "a.txt:8: src/a/a.c has this text 0 times"),
                     (good.replace("- int unused = 0;", "- int"), "a.txt:8: src/a/a.c has this text 7 times"),
                     (good.replace("src/a/a.c", "src/b/a.c", 1), "a.txt:2: src/b/a.c is not in src/a/"),
                     (good.replace("= 1;", "= 0;"), "a.txt:8: 'nothing of note' needs a file, tests, and an old text that differs"),
                     (good.replace("== no C", "== a difference"), "there are two mutations 'a difference'")):
        put(table, bad)
        status, said, errors = mutate(folder)
        expect(status == 2 and why in errors and not said, why, said, errors)
    put(table, good)
    status, said, _ = mutate(folder, "--list", "--folder", "a")
    expect(status == 0 and len(said.splitlines()) == 12 and "    src/a/a.c: broken, sum\n" in said, said)
    status, _, errors = mutate(folder, "--only", "nobody")
    expect(status == 2 and "no mutation is chosen" in errors, errors)
    build = os.path.join(folder, "build")
    subprocess.run(["meson", "setup", build, folder], check=True, stdout=subprocess.DEVNULL)
    status, _, errors = mutate(folder, "--check", build)
    expect(status == 2 and "6 mutations, expected 60 at least" in errors, errors)
    os.makedirs(os.path.join(folder, "src", "b"))
    expect("no mutation of src/b" not in mutate(folder, "--check", build)[2], "a folder without code")
    put(os.path.join(folder, "src", "b", "b.c"), "")
    expect("no mutation of src/b" in mutate(folder, "--check", build)[2], "a folder without")
    put(table, good.replace("? sum", "? sun", 1))
    expect("a.txt:2: meson knows no test 'sun'" in mutate(folder, "--check", build)[2], "a test that is not there")


folder = os.path.join(os.environ["TMPDIR"], "toy")
make(folder, sys.argv[1])
planted(folder)
refused(folder)
