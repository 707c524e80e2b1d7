"""wattlaw status --follow: lines, objects and bars of campaigns that run meanwhile."""

import contextlib
import fcntl
import glob
import hashlib
import pty
import re
import sqlite3
import struct
import termios

from harness import *

SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site.py")
SGR = re.compile(r"\x1b\[[0-9;]*m")


def experiment(bench, name, command, sweep="workers = 1,2", repeats=2, launch="", launcher="local"):
    return bench.write(f"{name}.ini", f"[campaign]\nname = {name}\nrepeats = {repeats}\n[sweep]\nworkload = toy\n{sweep}\n"
                       f"[measure]\nsensors = proc,cpu_model\n[launch]\nlauncher = {launcher}\ncommand = {command}\ngrace = 200ms\n"
                       f"oversubscribe = yes\n{launch}\n")


def through_a_site(bench):
    bench.env["TMPDIR"] = bench.world
    os.makedirs(bench.path("site"), exist_ok=True)
    site = f"{sys.executable} {SITE} {bench.path('site')}"
    return (f"poll = 100ms\nmax_in_queue = 3\nsubmit_command = {site} submit {{script}} {{output}} {{name}}\n"
            f"states_command = {site} states {{jobs}}\ncancel_command = {site} cancel {{jobs}}\njob_variable = SITE_JOB\n")


def until_planned(bench, name, sweep):
    def has_runs():
        check(sweep.poll() is None, "the sweep has ended:", sweep.poll() is not None and sweep.communicate())
        with contextlib.suppress(sqlite3.OperationalError):
            return os.path.exists(bench.path(name, "wattlaw.db")) and bench.rows(f"{name}/wattlaw.db", "SELECT count(*) FROM run")[0][0] > 0
        return False
    bench.wait_until("its runs are planned", has_runs)


def objects(text):
    return [json.loads(line)["campaigns"][0] for line in text.splitlines()]


def a_local_campaign(bench):
    ini = experiment(bench, "lab", f"sh -c 'toy epochs=1 ms=150 workers={{workers}} fail_if={{workers}}:2; s=$?; "
                                   f"until [ -e {bench.path('go')} ]; do sleep 0.02; done; exit $s'")
    sweep = bench.start("sweep", ini, "--quiet")
    until_planned(bench, "lab", sweep)
    as_json, as_lines = bench.start("status", "lab", "--follow", "--json"), bench.start("status", "lab", "-f")
    first = as_lines.stdout.readline()
    check(re.match(r"\d{4}-\d\d-\d\dT\S+Z lab: 0 of 4 runs done, 0 failed, . running, . waiting; 0 core-hours.* so far; time left unknown", first), first)
    bench.write("go", "")
    sweep.communicate(timeout=PATIENCE_S)
    out, err = as_json.communicate(timeout=PATIENCE_S)
    check(as_json.returncode == 0 and not err, out, err)
    seen = objects(out)
    check(len(seen) >= 2 and len({json.dumps(o) for o in seen}) == len(seen), "an object for a change, and for nothing else:", out)
    check([o["runs"]["done"] for o in seen] == sorted(o["runs"]["done"] for o in seen), out)
    last = seen[-1]
    check(last["runs"]["done"] == 2 and last["runs"]["failed"] == 2 and last["runs"]["left"] == 0 and last["left_s"] == 0, last)
    seconds = bench.rows("lab/wattlaw.db", "SELECT sum((stop_mono_ns - start_mono_ns) / 1e9 * t.workers) FROM run r JOIN trial t ON t.id = r.trial")
    check(abs(last["used"]["core_hours"] * 3600 - seconds[0][0]) < 1e-6, "failed runs have used cores too:", last["used"], seconds)
    check(last["used"]["energy_j"] > last["energy_j"] > 0 and last["used"]["estimated"], last)
    out, err = as_lines.communicate(timeout=PATIENCE_S)
    check(as_lines.returncode == 0 and not err and out.endswith("nothing is left\n"), out, err)
    contains(out.splitlines()[-1], "2 of 4 runs done, 2 failed, 0 running, 0 waiting", "estimated), ", "core-hours so far")


def a_queue(bench):
    """The time left is unknown at first, and then that of the queue."""
    ini = experiment(bench, "queue", f"sh -c 'until [ -e {bench.path('go')} ]; do sleep 0.02; done; toy epochs=1 ms=20 workers={{workers}}'", repeats=4,
                     launch=through_a_site(bench), launcher="command")
    sweep = bench.start("sweep", ini, "--quiet")
    until_planned(bench, "queue", sweep)
    bench.wait_until("they run", lambda: len(glob.glob(bench.path("queue", "runs", "*", "marks"))) == 3)
    bench.wait_until("the sweep has seen it", lambda: bench.rows("queue/wattlaw.db", "SELECT count(*) FROM submission WHERE state = 'running'") == [(3,)])
    p = bench.start("status", "queue", "--follow", "--json")
    first = objects(p.stdout.readline())[0]
    check(first["left_s"] is None and first["queue_rate"]["runs_ended"] == 0 and first["runs"]["running_in_jobs"] == 3, first)
    contains(bench.run("status", "queue").stdout, "3 running in jobs", "5 not submitted", "left     8 runs\n")
    bench.write("go", "")
    sweep.communicate(timeout=PATIENCE_S)
    out, err = p.communicate(timeout=PATIENCE_S)
    check(p.returncode == 0 and not err, out, err)
    for o in objects(out)[:-1]:
        known = o["queue_rate"]["runs_ended"] >= 5
        check((o["left_s"] is not None) == known, o)
        check(not known or o["queue_rate"]["left_lo_s"] < o["left_s"] < o["queue_rate"]["left_hi_s"], o)
    check(objects(out)[-1]["runs"]["done"] == 8, out)


class Terminal:
    """A program on a terminal, as its user sees it: lines that are drawn over are gone."""

    def __init__(self, bench, width, *args):
        self.controller, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        env = {k: v for k, v in bench.env.items() if k not in ("NO_COLOR", "COLUMNS")}
        self.p = bench.start(*args, stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal, env={**env, "TERM": "xterm"})
        os.close(terminal)
        self.raw = ""

    def read(self):
        """False: the program has ended."""
        with contextlib.suppress(OSError):
            piece = os.read(self.controller, 65536)
            self.raw += piece.decode()
            return bool(piece)
        return False

    def screen(self):
        text = ""
        for part in re.split(r"(\r\x1b\[\d+A\x1b\[J)", self.raw.replace("\r\n", "\n")):
            up = re.fullmatch(r"\r\x1b\[(\d+)A\x1b\[J", part)
            if up:
                lines = text.split("\n")
                check(lines[-1] == "" and len(lines) > int(up[1]), "it goes up within what it drew:", repr(text), part)
                text = "".join(line + "\n" for line in lines[:-1 - int(up[1])])
            else:
                text += part
        return SGR.sub("", text)

    def until(self, *patterns):
        end = time.monotonic() + PATIENCE_S
        while not all(re.search(p, self.screen()) for p in patterns):
            check(self.read() and time.monotonic() < end, patterns, "are not on the screen:\n", self.screen())

    def end(self):
        while self.read():
            pass
        os.close(self.controller)
        return self.p.wait(PATIENCE_S)


def bars_on_a_terminal(bench):
    ini = experiment(bench, "bars", f"toy epochs=2 ms=20 workers={{workers}} wait={bench.path('go')} fail_if={{workers}}:2", "workers = 2,1", 1,
                     "timeout = 100s")
    bench.write("bars.ini", bench.read("bars.ini").replace("[sweep]", "order = sequential\n[sweep]"))
    sweep = bench.start("sweep", ini, "--quiet")
    until_planned(bench, "bars", sweep)
    screens = [Terminal(bench, width, "status", "bars", "--follow") for width in (60, 80, 120)]
    for t in screens:
        t.until(r"running  #+\.+ +1\n", r"waiting  #+\.+ +1\n", "left     2 runs, time left unknown")
    screens[1].p.send_signal(signal.SIGINT)
    check(screens[1].end() == 130, "Ctrl-C:", screens[1].screen())
    check("error" not in screens[1].screen() and screens[1].screen().count("running") == 1, screens[1].screen())
    bench.write("go", "")
    sweep.communicate(timeout=PATIENCE_S)
    for t, width in ((screens[0], 60), (screens[2], 120)):
        check(t.end() == 0, t.screen())
        lines = t.screen().splitlines()
        check(max(map(len, lines)) <= width and t.raw.count("\x1b[J") >= 1, lines)
        check(sum(line.startswith("bars, 2 runs, started ") for line in lines) == 1 and lines[-1] == "  left     nothing", "one drawing is left:", lines)
        check(re.match(r"  done     #+\.+ +1$", lines[1]) and re.match(r"  failed   #+\.+ +1$", lines[2]), lines)
        check(re.match(r"  running  \.+ +0$", lines[3]) and re.match(r"  waiting  \.+ +0$", lines[4]), lines)


def it_changes_nothing(bench):
    """Of a campaign that has ended it prints the end; the store stays as it is, without files beside it."""
    ini = experiment(bench, "over", "toy epochs=1 ms=10", "workers = 1", 1)
    bench.run("sweep", ini, "--quiet")
    state = lambda: (sorted(os.listdir(bench.path("over"))), hashlib.sha256(open(bench.path("over/wattlaw.db"), "rb").read()).hexdigest())
    before = state()
    contains(bench.run("status", "over", "--follow").stdout, "1 of 1 runs done", "nothing is left")
    check(state() == before, state(), before)
    contains(bench.run("status", "nowhere", "--follow", status=1).stderr, "nowhere: no store here")
    r = subprocess.run(f"{bench.wattlaw} status over --follow --json | true", shell=True, cwd=bench.folder, env=bench.env, check=False)
    check(r.returncode == 0, r)


main([a_local_campaign, a_queue, bars_on_a_terminal, it_changes_nothing])
