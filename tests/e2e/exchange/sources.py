"""Imported runs: once each, by content; all or nothing; marked, and never mixed with measured ones: sources.py WATTLAW"""
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

from harness import Workspace, expect

HEAD = "index, timestamp, power.draw [W]\n"


def log(power, minute=0, seconds=61):
    return HEAD + "".join(f"0, 2026/11/20 10:{minute + s // 60:02d}:{s % 60:02d}.000, {power} W\n" for s in range(seconds))


def once(p):
    p.imported(p.write("a.csv", log(100)), "--name", "train")
    shutil.copy(p.at("a.csv"), p.at("b.csv"))
    p.refused("a.csv", why="already imported, as run 1")
    p.refused("b.csv", why="already imported, as run 1")  # by content
    answer, r = p.imported("b.csv", "--from", "2026-11-20T10:00:10Z", "--to", "2026-11-20T10:00:20Z")
    expect(answer["run"] == 2 and answer["time_s"] == 10 and abs(answer["energy_j"] - 1000) < 1, f"a part is another run: {answer}", r)
    answer, r = p.imported("a.csv", p.write("c.csv", log(200, 2)), "--name", "train")
    expect(answer["run"] == 3 and "a.csv: already imported, as run 1" in r.stderr, f"what is new is taken: {answer}", r)
    expect(p.rows("SELECT format, part, version <> '', run FROM source ORDER BY id") == [("nvidia-smi", "", 1, 1), ("nvidia-smi", "", 1, 2), ("nvidia-smi", "", 1, 3)],
           "sources")
    r = p.run("import", p.write("d.csv", log(300)), "d.csv", "--dry-run")
    expect("d.csv: the same file twice" in r.stderr and " 61 readings" in r.stdout, "twice in one call", r)


def folders(p):
    for i in range(3):
        p.write(f"results/n{i}/smi.csv", log(100 + i))
    p.write("results/notes.txt", "hello\n")
    p.write("results/cut.csv", HEAD + "nothing\n")
    p.write("results/.hidden/smi.csv", log(400))
    os.symlink(p.at("results/n0"), p.at("results/link"))
    answer, r = p.imported("results", "--each", "--store", "f.db")
    expect([run["label"] for run in answer["runs"]] == ["smi.csv"] * 3 and "results/notes.txt: left out: not of a known format" in r.stderr
           and "results/cut.csv: left out: nothing could be read as nvidia-smi" in r.stderr, f"{answer}", r)
    answer, r = p.imported("--as", "nvidia-smi", "results", "--store", "g.db", "--host", "n1")
    expect(len(answer["runs"]) == 1 and answer["devices"][0]["host"] == "n1", f"one run of all: {answer}", r)
    p.refused("--as", "jpwr", "results", "--store", "j.db", why="results: no file can be imported")


def all_or_nothing(p):
    """One file of two is of no use; the store is as it was. So it is after SIGKILL in the middle."""
    p.refused(p.write("good.csv", log(100)), p.write("bad.csv", "hello\n"), "--store", "h.db", why="bad.csv: not of a known format")
    expect(not os.path.exists(p.at("h.db")), "nothing of the good one, and no store")
    p.imported("good.csv", "--store", "h.db")
    p.refused(p.write("long.csv", log(100, seconds=3000)), "bad.csv", "--store", "h.db", why="bad.csv: not of a known format")
    expect(p.rows("SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM sample)", "h.db") == [(1, 61)], "nothing of a long one, of which readings were stored")
    os.mkfifo(p.at("pipe"))
    with subprocess.Popen([p.wattlaw, "import", "pipe", "--store", "h.db"], cwd=p.path, stderr=subprocess.DEVNULL) as job:
        with open(p.at("pipe"), "w", encoding="utf-8") as pipe:
            pipe.write(log(100, seconds=3000))  # more than is held back
            pipe.flush()
            time.sleep(.2)
            job.send_signal(signal.SIGKILL)
    expect(p.rows("SELECT count(*), (SELECT count(*) FROM sample) FROM run", "h.db") == [(1, 61)], "killed: nothing of it")
    with subprocess.Popen([p.wattlaw, "import", "pipe", "--store", "h.db"], cwd=p.path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as job:
        with open(p.at("pipe"), "w", encoding="utf-8") as pipe:
            pipe.write(log(250))
        expect(job.wait() == 0, f"a pipe: {job.stderr.read()}")
    expect(p.rows("SELECT count(*) FROM run", "h.db") == [(2,)], "and then it is a run")


def derived(p, store):
    """Without the ids of rows."""
    return [[row[1:] for row in p.rows(f"SELECT * FROM {table}", store)] for table in ("energy", "stat", "variation")]


def held(p):
    """Readings by the thousand, which are in a file until they are stored: what is derived from them is what the store gives; of files
    that overlap the first one counts; without room for that file there is one message and no store."""
    names = "".join(f"{gpu}, 2026/11/20 1{s // 3600}:{s // 60 % 60:02d}:{s % 60:02d}.000, {100 + s * 7 % 50} W, {s * 3 % 100} %, {1000 + s % 9} MHz\n"
                    for s in range(2000) for gpu in range(2))
    p.imported(p.write("two.csv", "index, timestamp, power.draw [W], utilization.gpu [%], clocks.current.sm [MHz]\n" + names), "--store", "k.db")
    expect(p.rows("SELECT count(*), count(DISTINCT t_ns), sum(value) FROM sample JOIN channel ON channel = channel.id WHERE quantity = 'power_w'", "k.db")
           == [(4000, 2000, 2 * sum(100 + s * 7 % 50 for s in range(2000)))], "each reading once")
    answer, r = p.imported(p.write("one.csv", log(100, seconds=900)), p.write("later.csv", log(200, 10, 900)), "--store", "k.db")
    expect(p.rows("SELECT count(*), sum(value) FROM sample JOIN channel ON channel = channel.id WHERE run = 2", "k.db") == [(1500, 900 * 100 + 600 * 200)], "overlap")
    expect(abs(answer["energy_j"] - (899 * 100 + 150 + 599 * 200)) < 1e-6, f"the first reading of an instant counts: {answer['energy_j']} J", r)
    before = derived(p, "k.db")
    r = p.run("rebuild", "k.db")
    expect(r.returncode == 0 and derived(p, "k.db") == before and before[2], "derived anew, from the store", r)
    p.refused("two.csv", "--store", "full.db", why="full.db: there is no room beside it for the readings until they are stored",
              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000)))
    expect(not [name for name in os.listdir(p.path) if name.startswith((".", "full.db"))], "no store, and no file beside it")
    p.refused("two.csv", "--store", "new/full.db", why="new/full.db: writing failed (a quota or a limit on file sizes, if not the disk)",
              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (350000, 350000)))
    expect(not os.path.exists(os.path.join(p.path, "new")), "neither a store nor its folder")


def marked(p):
    """Beside runs that wattlaw measured, of the same settings."""
    for workers in (1, 2, 4):
        p.imported(p.write(f"w{workers}.csv", log(100 * workers, seconds=240 // workers + 1)), "--name", "train", "--workers", workers, "--store", "m.db")
    r = p.run("recommend", "m.db", "--minimize", "time")
    expect(r.returncode == 0 and "4 workers" in r.stdout and "wattlaw import" not in r.stdout, "an import is not the command of a job", r)
    script = "echo wattlaw-mark start workload=train workers=%d; for e in 1 2 3; do echo wattlaw-mark epoch-begin epoch=$e; echo wattlaw-mark epoch-end epoch=$e; done"
    for workers in (1, 2, 4):
        r = p.run("measure", "--store", "m.db", "--", "sh", "-c", script % workers)
        expect(r.returncode == 0, "measured", r)
    r = p.run("show", "m.db")
    expect(len(re.findall(r"^ *\d+ .*\bimported\b", r.stdout, re.M)) == 3, "show marks three of six", r)
    r = p.run("show", "m.db", "--run", "1")
    expect(re.search(r"energy .*imported\)", r.stdout) and "from a file of the format nvidia-smi" in r.stdout and "measured by nvidia-smi" in r.stdout, "show --run", r)
    r = p.run("show", "m.db", "--run", "4")
    expect("imported" not in r.stdout, "what was measured is not marked", r)
    r = p.run("export", "observations", "m.db")
    head, *rows = r.stdout.splitlines()
    at = head.split(",").index("source")
    expect([row.split(",")[at] for row in rows if row.split(",")[0] == "train"][:3] == ["nvidia-smi"] * 3, "export", r)
    r = p.run("fit", "m.db")
    expect("source nvidia-smi" in r.stdout + r.stderr and "source wattlaw" in r.stdout + r.stderr, "fit keeps them apart and says whose they are", r)
    r = p.run("report", "m.db", "--out", "r")
    text = "".join(open(os.path.join(d, f), encoding="utf-8", errors="replace").read() for d, _, fs in os.walk(p.at("r")) for f in fs if f.endswith((".html", ".txt", ".md")))
    expect(r.returncode == 0 and "3 of 6 runs were measured by other tools (nvidia-smi)" in text + r.stdout, "report", r)
    r = p.run("rebuild", "m.db")
    expect(r.returncode == 0 and p.rows("SELECT count(*) FROM source", "m.db") == [(3,)], "rebuilt", r)


with Workspace(sys.argv[1]) as workspace:
    once(workspace)
    folders(workspace)
    all_or_nothing(workspace)
    held(workspace)
    marked(workspace)
