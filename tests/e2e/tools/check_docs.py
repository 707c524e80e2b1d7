"""tools/check-docs passes on this tree (the test `docs`) and finds each planted claim: check_docs.py SOURCE"""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile

TOOL = os.path.join(os.path.abspath(sys.argv[1]), "tools/check-docs")
HEAD = "# Glossary\n\n| term | meaning | unit | in the code | formerly |\n|---|---|---|---|---|\n"
SOURCE = {
    "src/cap/guard.c": 'static int wl_cap_guard(int fd)\n{\n    return wl_job_guard(fd);\n}\nenum { WL_ONE, WL_TWO };\n',
    "src/cap/guard.h": "struct wl_guard {\n    int fd;\n};\nstruct wl_job;\n",
    "src/job/job.c": 'int wl_job_guard(int fd)\n{\n    wl_print("%s: host that does not "\n             "expose the %d counters, %.1f %% of a core", "");\n}\n',
}
WATTLAW = "#!/bin/sh\necho 'resnet50'\necho '  rate   0.31 kWh per worker-hour, 0.2 to 0.4, coefficient 20 %'\n"


def load():
    loader = importlib.machinery.SourceFileLoader("check_docs_tool", TOOL)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_docs_tool", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def write(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def found(check, *args):
    """What a check of a fresh copy of the tool finds wrong."""
    tool = load()
    getattr(tool, check)(*args)
    assert tool.checked, check
    return tool.wrong


def glossary(*rows):
    write("docs/glossary.md", HEAD + "".join(f"| {term} | what | - | {code} |  |\n" for term, code in rows))
    return found("check_glossary")


def expect(wrong, *texts):
    assert len(wrong) == len(texts) and all(t in w for t, w in zip(texts, wrong)), f"wanted {texts}, got {wrong}"


def check_glossary():
    expect(glossary(("guard (of caps)", "`struct wl_guard`, `wl_cap_guard` (cap/guard.c)"), ("one", "`WL_ONE`, `WL_TWO` (cap/guard.c)"),
                    ("guard (of a job)", "`wl_job_guard` (job/job.c); `wl_guard.fd` (cap/guard.h)"), ("folder", "`wl_job_guard` (job/)")))
    # a call, a forward declaration and an enumerator of another file are not definitions
    expect(glossary(("guard", "`wl_job_guard` (cap/guard.c)")), "wl_job_guard is not defined in cap/guard.c")
    expect(glossary(("job", "`struct wl_job` (cap/guard.h)")), "struct wl_job is not defined in cap/guard.h")
    expect(glossary(("one", "`WL_ONE` (job/job.c)")), "WL_ONE is not defined in job/job.c")
    expect(glossary(("guard", "`wl_cap_guard`"), ("guard", "`wl_job_guard`")), "'guard' is in line 5, too")


def check_questions():
    def asked(term):
        write("CONTRIBUTING.md", f"| question | glossary | file |\n| Where is the guard? | {term}; src/cap/ | src/cap/guard.c |\n")
        return found("check_questions")
    glossary(("guard (of caps)", "`wl_cap_guard`"), ("guard (of a job)", "job/job.c"))
    expect(asked("guard (of caps)"))
    expect(asked("guard (of a job)"), "no row 'guard (of a job)' of the glossary leads to cap/guard.c")
    expect(asked("sentinel"), "no row 'sentinel'")


def check_quotes(wattlaw):
    def quoted(line):
        write("docs/guide.md", f"Text:\n\n    resnet50\n      {line}\n\nMore.\n")
        return found("check_quotes", wattlaw, [("docs/guide.md", "resnet50", ["energy"])])
    expect(quoted("rate  0.99 kWh per worker-hour, 1 to 2, coefficient 3.5 %"))
    expect(quoted("rate       0.31 kWh per worker-hour, 0.2 ..."))
    expect(quoted("rate       0.31 kWh a worker-hour, 0.2 ..."), "does not print: rate")
    expect(quoted("rate       0.31 kWh per worker-hour"), "does not print: rate")


def check_printed():
    def quoted(line):
        write("docs/guide.md", f"    wattlaw measure\n      measuring    5 ms (0.4 % of a core)\n\nNext:\n\n    Sensors\n      rapl  no   {line}\n")
        write("docs/reference/sensors.md", "    Sensors\n      rapl  no   host that does not expose the 5 counters\n")
        return found("check_printed")
    expect(quoted("host that does not expose the 12 counters"))
    expect(quoted("host that does not pass the 12 counters"), "nothing in src/ prints: host that does not pass the")


done = subprocess.run([TOOL], capture_output=True, text=True, check=False)
assert done.returncode == 1 and done.stderr.startswith("usage: check-docs") and "Traceback" not in done.stderr, done
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for name, content in SOURCE.items():
        write(name, content)
    write("wattlaw", WATTLAW)
    os.chmod("wattlaw", 0o755)
    check_glossary()
    check_questions()
    check_quotes(os.path.join(folder, "wattlaw"))
    check_printed()
    os.chdir("/")
