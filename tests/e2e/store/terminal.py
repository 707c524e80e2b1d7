#!/usr/bin/env python3
"""What a store, a mark stream, a command line or a name of a file holds reaches no terminal as a control character and
begins no line of its own: terminal.py WATTLAW

Every text of a store is made hostile, and every command that prints it is held against the rule, byte by byte.
"""
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURE = os.path.join(HERE, "..", "..", "fixtures", "store", "version-1.sql")

# OSC 52 sets the clipboard; CSI clears the screen; C1 does both in one character; a line that looks like one of ours;
# bidirectional controls; a separator of lines; what takes no room; a character that stays.
OSC, CSI, C1, BIDI, LINE, HIDDEN = "\x1b]52;c;cm0gLXJm\x07", "\x1b[2J", "\x9b31m", "\u202e\u2066\u200f\u061c", "\u2028", "\u200b\ufeff"
HOSTILE = "µ" + OSC + CSI + C1 + BIDI + LINE + HIDDEN + "\x7f\r\t\nerror: fake line\n"

wattlaw = os.path.abspath(sys.argv[1])
wrong = []


def is_control(c):
    n = ord(c)
    return ((n < 0x20 and c not in "\n\t") or 0x7f <= n <= 0x9f or n in (0xad, 0x61c, 0x180e, 0xfeff) or 0x200b <= n <= 0x200f
            or 0x2028 <= n <= 0x202e or 0x2060 <= n <= 0x206f or 0xfff9 <= n <= 0xfffb or 0xe0000 <= n <= 0xe007f)


def check(right, what, seen=""):
    if not right:
        wrong.append(f"{what}\n{seen!r}")


def run(folder, *args, status=None, shows="\\x1b]52", env=None, raw=()):
    """Runs wattlaw and holds what it prints against the rule. `shows`: that the hostile text was in it at all."""
    done = subprocess.run([wattlaw, *args], cwd=folder, capture_output=True, env={**os.environ, **(env or {})}, check=False)
    what = " ".join(a if isinstance(a, str) else repr(a) for a in args)
    if status is not None:
        check(done.returncode == status, f"{what}: status {done.returncode}", done.stderr)
    for name, out in ("stdout", done.stdout), ("stderr", done.stderr):
        for piece in raw:
            out = out.replace(piece, b"")
        try:
            text = out.decode()
        except UnicodeDecodeError as e:
            check(False, f"{what}: {name} is not UTF-8: {e}", out)
            continue
        found = sorted({c for c in text if is_control(c)})
        check(not found, f"{what}: {name} has {found}", text[:3000])
        check("\nerror: fake" not in text and not text.startswith("error: fake"), f"{what}: a line of its own", text[:3000])
    both = (done.stdout + done.stderr).decode(errors="replace")
    check(not shows or shows in both, f"{what}: the hostile text is not shown", both[:3000])
    return done.stdout.decode(errors="replace"), both


def make_store(path):
    """The fixture with more worker counts, and every text of people in it hostile."""
    with open(FIXTURE, encoding="utf-8") as f, contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(f.read())
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f'DROP TRIGGER "{name}"')
        add_runs(db)
        make_texts_hostile(db)
        db.commit()


def copy_row(db, table, where, **changed):
    db.row_factory = sqlite3.Row
    rows = [dict(r) for r in db.execute(f"SELECT * FROM {table} WHERE {where}").fetchall()]
    db.row_factory = None
    for row in rows:
        row.update(changed)
        if "id" in row and "id" not in changed:
            row["id"] = None
        db.execute(f"INSERT INTO {table}({','.join(row)}) VALUES ({','.join('?' * len(row))})", tuple(row.values()))


def add_runs(db):
    for i, workers in enumerate((4, 8, 16)):
        trial, run_id = 10 + i, 10 + i
        copy_row(db, "trial", "id = 2", id=trial, key=f"copy workers={workers}", workers=workers)
        copy_row(db, "run", "id = 2", id=run_id, trial=trial)
        for table in "actual", "epoch", "energy", "metric":
            copy_row(db, table, "run = 2", run=run_id)
        db.execute("UPDATE epoch SET time_s = ? WHERE run = ?", (1.1 / workers ** 0.9, run_id))


def make_texts_hostile(db):
    db.execute("UPDATE campaign SET name = name || ?", (HOSTILE,))
    db.execute("UPDATE experiment SET version = version || ?", (HOSTILE,))
    db.execute("UPDATE trial SET workload = workload || ?, extra = ?, skipped = skipped || ?",
               (HOSTILE, json.dumps({"size" + HOSTILE: "tiny" + HOSTILE}), HOSTILE))
    for column in "host", "folder", "command", "version", "error", "log_tail", "flag":
        db.execute(f"UPDATE run SET {column} = {column} || ? WHERE {column} IS NOT NULL", (HOSTILE,))
    db.execute("UPDATE run SET error = ? WHERE status = 'failed'", (HOSTILE,))
    db.execute("UPDATE device SET host = host || ?, uuid = uuid || ?, sensor = sensor || ?, name = name || ?", (HOSTILE,) * 4)
    db.execute("UPDATE mark SET word = word || ?, fields = fields || ? WHERE id = 2", (HOSTILE,) * 2)
    db.execute("UPDATE log SET area = area || ?, message = message || ?", (HOSTILE,) * 2)
    db.execute("UPDATE actual SET hardware = hardware || ?", (HOSTILE,))
    db.execute("UPDATE metric SET name = name || ?", (HOSTILE,))


def texts_of_a_store_are_escaped(folder):
    make_store(os.path.join(folder, "h.db"))
    run(folder, "status", "h.db", status=0)
    run(folder, "show", "h.db", status=0)
    run(folder, "show", "h.db", "--run", "1", status=0)
    run(folder, "show", "h.db", "--run", "3", status=0)  # failed: its log
    run(folder, "show", "h.db", "--epochs", status=0)
    run(folder, "show", "h.db", "--run", "1", "--rules", "mlperf", shows=None)
    run(folder, "fit", "h.db", status=0)
    run(folder, "fit", "h.db", "--by", "size" + HOSTILE)
    run(folder, "fit", "h.db", "--by", "siz" + HOSTILE)  # did you mean
    run(folder, "energy", "h.db", status=0)
    run(folder, "energy", "h.db", "--all", "--target", "train_loss" + HOSTILE + "=1.6", status=0)
    run(folder, "compare", "h.db", "--factor", "size" + HOSTILE)
    run(folder, "predict", "h.db", "--at", "workers=32", status=0)
    run(folder, "report", "h.db", "--out", "r", "--formats", "csv", shows=None)
    run(folder, "report", "h.db", "--out", "r" + HOSTILE, "--formats", "csv")
    run(folder, "status", "h.db", "--campaign", "lab1" + HOSTILE + "x", status=1)
    run(folder, "rebuild", "h.db", shows=None)


def json_is_lossless(folder):
    out, _ = run(folder, "status", "h.db", "--json", status=0, shows="\\u001B]52")
    check(json.loads(out)["campaigns"][0]["campaign"] == "lab1" + HOSTILE, "status --json", out)
    for args in (("show", "h.db"), ("show", "h.db", "--run", "3"), ("show", "h.db", "--epochs"), ("fit", "h.db"), ("energy", "h.db"),
                 ("report", "h.db", "--out", "r2", "--formats", "csv")):
        out, _ = run(folder, *args, "--json", shows=None)
        check(HOSTILE in json.dumps(json.loads(out), ensure_ascii=False).replace("\\u001b", "\x1b") or "\\u202e" in out.lower(),
              f"{args} --json", out[:2000])
    out, _ = run(folder, "export", "observations", "h.db", "--format", "jsonl", shows=None)
    check(json.loads(out.split("\n")[0])["workload"] == "resnet50" + HOSTILE, "export --format jsonl", out[:500])


def exported_data_is_escaped_on_a_terminal(folder):
    """Data go to files and programs as they are; somebody who forgets the file looks at them."""
    ours, its = os.openpty()
    with subprocess.Popen([wattlaw, "export", "observations", "h.db"], cwd=folder, stdout=its, stderr=its):
        os.close(its)
        seen = b""
        with contextlib.suppress(OSError):  # EIO: the other end is closed
            while piece := os.read(ours, 65536):
                seen += piece
    os.close(ours)
    text = seen.replace(b"\r\n", b"\n").decode()
    found = sorted({c for c in text if is_control(c)})
    check(not found and "\\x1b]52" in text and "µ" in text, f"export on a terminal has {found}", text[:3000])


def names_in_errors_are_escaped(folder):
    name = "x" + HOSTILE.replace("/", "_")
    for args in (("fit", name), ("show", name), ("status", name), ("export", "observations", name), ("sweep", name), ("audit", name),
                 ("restore", "--" + name), (name,), ("help", name), ("measure", "--rate-hz", name, "--", "true"),
                 ("measure", "--" + name + "=1", "--", "true"), ("predict", "h.db", "--at", name), ("import", "dcgm", name)):
        run(folder, *args)
    raw = b"y\xff\x9b\x1b]52;c;\x07\xe2\x80\xae"  # not UTF-8
    run(folder, "fit", raw, shows="\\xff\\x9b\\x1b]52;c;\\x07\\u{202e}")
    path = os.path.join(folder, "t" + HOSTILE)
    with open(path, "w", encoding="utf-8") as f:
        f.write("time_s,workers\n1,zwei" + OSC + BIDI + "\n")
    run(folder, "fit", path, status=1)
    with open(os.path.join(folder, "e.ini"), "w", encoding="utf-8") as f:
        f.write("[campaign]\nname = n" + OSC + C1 + BIDI + "\nrepeats = zwei" + OSC + C1 + BIDI + "\n")
    run(folder, "sweep", "e.ini", status=1)


def marks_in_the_summary_are_escaped(folder):
    """A program under measurement prints what it likes; what wattlaw says of it is filtered."""
    job = os.path.join(folder, "job" + HOSTILE.replace("/", "_"))
    mark = "0 0 %s\n"
    fields = f"epoch=1 {OSC}{C1}{BIDI}=1 train_loss=0.5"
    lines = [mark % f"start workload=w{OSC}{C1}{BIDI} workers=1", mark % "epoch-begin epoch=1",
             mark % f"metric epoch=1 l{OSC}{C1}{BIDI}=0.5", mark % f"epoch-end {fields}", mark % f"{OSC}{C1}{BIDI} x=1",
             "\x1b]0;not a mark\x07\n", mark % f"metric-def name=m unit={OSC}{BIDI}"]
    with open(job, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\nprintf 'raw \\033[0m' >&2\ncat >>\"$WATTLAW_MARKS\" <<'X'\n" + "".join(lines) + "X\n")
    os.chmod(job, 0o755)
    run(folder, "measure", "--store", "m.db", "--sensors", "null", "--", job, status=0, shows=None, raw=(b"raw \x1b[0m",))
    run(folder, "measure", "--store", "m.db", "--sensors", "null", "--name", "n" + HOSTILE, "--", job, shows=None, raw=(b"raw \x1b[0m",))
    run(folder, "measure", "--store", "m.db", "--sensors", "null", "--", job + "gone", status=127)
    run(folder, "show", "m.db", shows="\\u{9b}")
    run(folder, "show", "m.db", "--run", "1", shows=None)
    run(folder, "measure", "--store", "s" + HOSTILE.replace("/", "_") + "/x.db", "--sensors", "null", "--", "true")


def main():
    with tempfile.TemporaryDirectory(prefix="wattlaw-e2e-") as folder:
        for test in (texts_of_a_store_are_escaped, json_is_lossless, exported_data_is_escaped_on_a_terminal,
                     names_in_errors_are_escaped, marks_in_the_summary_are_escaped):
            test(folder)


try:
    main()
finally:
    for text in wrong:
        print(text)
sys.exit(1 if wrong else 0)
