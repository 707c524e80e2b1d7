"""wattlaw measure: the command behaves as it would without wattlaw, and its run is measured and stored."""

import contextlib
import pty
import random
import select
import sqlite3

from harness import *


def summary(bench, *args, status=0, **how):
    bench.run("measure", "--json-file", "summary.json", *args, status=status, **how)
    return json.loads(bench.read("summary.json"))


def exit_status_is_that_of_the_command(bench):
    for status in 0, 1, 2, 77, 255:
        bench.run("measure", "--quiet", "--", "sh", "-c", f"exit {status}", status=status)
    bench.run("measure", "--quiet", "--", "toy", "signal=15", status=128 + 15)
    check(bench.rows("wattlaw.db", "SELECT status, exit_status, signal FROM run ORDER BY id") == [
        ("done", 0, None), ("failed", 1, None), ("failed", 2, None), ("failed", 77, None), ("failed", 255, None),
        ("failed", None, 15)])


def a_missing_command_is_127(bench):
    r = bench.run("measure", "--", "no-such-command-here", status=127)
    check(r.stderr == "error: no-such-command-here: command not found\n", r.stderr)
    bench.write("text", "not a program")
    r = bench.run("measure", "--", "./text", status=126)
    contains(r.stderr, "./text")


def input_and_output_pass_unchanged(bench):
    data = bytes(range(256)) * 5000
    for extra in [], ["--epoch-regex", "never"]:
        with bench.start("measure", "--quiet", *extra, "--", "cat", stdin=subprocess.PIPE, text=False) as p:
            out, err = p.communicate(data, timeout=PATIENCE_S)
        check(p.returncode == 0 and out == data and err == b"", p.returncode, len(out), err)
    r = bench.run("measure", "--quiet", "--", "sh", "-c", "echo out; echo err >&2")
    check((r.stdout, r.stderr) == ("out\n", "err\n"), r)


def signals_reach_the_command(bench):
    for sig in signal.SIGTERM, signal.SIGINT, signal.SIGUSR1:
        p = bench.start("measure", "--quiet", "--", "toy", "trap=40", "epochs=2", "ms=10", "say=epoch", "wait=never")
        p.stdout.readline()
        p.send_signal(sig)
        p.communicate(timeout=PATIENCE_S)
        check(p.returncode == 41, sig, p.returncode)
    states = [row[0] for row in bench.rows("wattlaw.db", "SELECT status FROM run ORDER BY id")]
    check(states == ["interrupted", "interrupted", "failed"], states)


def nohup_reaches_the_command(bench):
    p = bench.start("measure", "--quiet", "--", "sh", "-c", "kill -HUP $$; echo alive",
                    preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    out, _ = p.communicate(timeout=PATIENCE_S)
    check(out == "alive\n" and p.returncode == 0, out, p.returncode)


def an_ignored_sigchld_does_not_hide_the_exit_status(bench):
    """Some daemons start their children that way."""
    with bench.start("measure", "--quiet", "--", "sh", "-c", "exit 3",
                     preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)) as p:
        p.communicate(timeout=PATIENCE_S)
    check(p.returncode == 3, p.returncode)


def a_terminals_ctrl_c_reaches_the_command_once(bench):
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(bench.folder)
        os.execve(bench.wattlaw, ["wattlaw", "measure", "--", "sh", "-c",
                                  "read line; echo got $line; toy trap=40 epochs=2 ms=10 say=epoch wait=never"], bench.env)
    seen = ""

    def read_until(text):
        nonlocal seen
        end = time.monotonic() + PATIENCE_S
        while text not in seen:
            check(time.monotonic() < end, f"'{text}' did not come: {seen}")
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    seen += os.read(terminal, 4096).decode()
                except OSError:  # the terminal's other side is closed
                    break

    os.write(terminal, b"hello\n")
    read_until("got hello")
    read_until("epoch 1")
    os.write(terminal, b"\x03")
    read_until("stored")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    check(os.waitstatus_to_exitcode(status) in (41, 130), status, seen)


def epochs_come_from_marks(bench):
    s = summary(bench, "--", "toy", "epochs=3", "ms=100")
    check([e["epoch"] for e in s["epochs"]] == [1, 2, 3], s)
    check(all(e["time_s"] >= 0.1 and e["samples"] == 100 for e in s["epochs"]), s)
    check(s["status"] == "done" and s["time_s"] >= sum(e["time_s"] for e in s["epochs"]), s)
    check(bench.rows("wattlaw.db", "SELECT workload, epoch, samples, updates, metric, metric_value FROM observations") ==
          [("toy", epoch, 100, 10, "val_top1", 0.5) for epoch in (1, 2, 3)])
    check(bench.rows("wattlaw.db", "SELECT epoch, value FROM metric WHERE name = 'input_s'") ==
          [(epoch, 0.025) for epoch in (1, 2, 3)])
    shown = bench.run("show", "--run", "1").stdout.splitlines()
    at, = [i for i, line in enumerate(shown) if line.startswith("epoch ") and "input %" in line]
    for row, e in zip(shown[at + 1:at + 4], s["epochs"]):  # 25 ms of each epoch's time, printed with four digits
        check(any(abs(float(cell) / (2.5 / e["time_s"]) - 1) < 1e-3 for cell in row.split()[1:] if cell not in ("-", "estimated")), row, e)


def a_run_takes_its_name_from_option_mark_or_command(bench):
    names = "SELECT workload FROM setting ORDER BY run"
    mark = "import os; open(os.environ['WATTLAW_MARKS'], 'a').write('5 0 start workload=resnet50\\n')"
    bench.run("measure", "--quiet", "--", "python3", "-c", mark)
    bench.run("measure", "--quiet", "--name", "mine", "--", "python3", "-c", mark)
    bench.run("measure", "--quiet", "--", "true")
    check(bench.rows("wattlaw.db", names) == [("resnet50",), ("mine",), ("true",)], bench.rows("wattlaw.db", names))
    p = bench.start("measure", "--quiet", "--", "toy", "epochs=2", "ms=10", "say=epoch", "wait=never")
    p.stdout.readline()
    bench.wait_until("a running run has a name", lambda: bench.rows("wattlaw.db", names)[3:] == [("toy",)])
    p.terminate()
    p.communicate()


def a_workload_cannot_claim_a_cap(bench):
    caps = ("power_cap_w", "module_cap_w", "clock_mhz", "mem_clock_mhz")
    fields = " ".join(f"{cap}=300" for cap in caps)
    mark = f"import os; open(os.environ['WATTLAW_MARKS'], 'a').write('5 0 start workload=liar precision=bf16 {fields}\\n')"
    bench.run("measure", "--quiet", "--", "python3", "-c", mark)
    shown = json.loads(bench.run("show", "--run", "1", "--json").stdout)
    exported, = [json.loads(line) for line in bench.run("export", "observations", "wattlaw.db", "--format", "jsonl").stdout.splitlines()]
    check(exported["workload"] == "liar" and exported["precision"] == "bf16", exported)
    for cap in caps:
        check(exported.get(cap) is None and f'"{cap}": 300' not in json.dumps(shown), cap, shown, exported)


def marks_of_a_removed_store_do_not_count_again(bench):
    check(len(summary(bench, "--", "toy", "epochs=3", "ms=20")["epochs"]) == 3)
    os.unlink(bench.path("wattlaw.db"))
    check(summary(bench, "--", "true")["epochs"] == [])


def epochs_come_from_regular_expressions_over_output(bench):
    r = bench.run("measure", "--json-file", "summary.json", "--epoch-regex", "^Epoch ([0-9]+)", "--", "toy", "epochs=3",
                  "ms=100", "say=Epoch", env={**bench.env, "WATTLAW_MARKS": "/dev/null"})
    check(r.stdout == "Epoch 1\nEpoch 2\nEpoch 3\n", r.stdout)
    check(len(json.loads(bench.read("summary.json"))["epochs"]) == 3, bench.read("summary.json"))


def python_prints_at_once_where_its_lines_are_read(bench):
    """Into a pipe it would print all of its epochs at its end."""
    program = "import time\nfor i in range(3):\n    time.sleep(.15)\n    print('epoch', i)"
    bench.env.pop("PYTHONUNBUFFERED", None)
    epochs = summary(bench, "--epoch-regex", "^epoch ([0-9]+)", "--", "python3", "-c", program)["epochs"]
    check(len(epochs) == 3 and all(e["time_s"] >= 0.14 for e in epochs[1:]), epochs)
    ask = ["--", "sh", "-c", 'echo "${PYTHONUNBUFFERED-unset}"']
    own = {**bench.env, "PYTHONUNBUFFERED": ""}
    check(bench.run("measure", "--quiet", "--epoch-regex", "x", *ask, env=own).stdout == "\n")
    check(bench.run("measure", "--quiet", *ask).stdout == "unset\n")


def invalid_marks_are_reported_and_ignored(bench):
    r = bench.run("measure", "--", "toy", "epochs=2", "ms=20", "broken=1")
    contains(r.stderr, "marks:1", "no-such-word", "8 invalid lines ignored")
    check(bench.rows("wattlaw.db", "SELECT count(*) FROM epoch") == [(2,)])
    check(bench.rows("wattlaw.db", "SELECT count(*) FROM log WHERE area = 'mark'") == [(5,)])


def estimated_energy_is_marked_as_estimated(bench):
    s = summary(bench, "--sensors", "cpu_model,proc", "--", "sh", "-c",
                "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
    chosen = [e for e in s["energies"] if e["chosen"]]
    check(len(chosen) == 1 and chosen[0]["estimated"] and chosen[0]["energy_j"] > 0, s)
    check(chosen == [e for e in s["energies"] if e["counted"]], s)  # the name that show --json has
    r = bench.run("measure", "--sensors", "cpu_model", "--", "sleep", "0.3")
    contains(r.stderr, "energy", "estimated", "measuring", "stored")
    check(r.stderr.count("  energy ") == 1 and "counter" not in r.stderr, r.stderr)


def only_json_goes_to_stdout(bench):
    job = ("sh", "-c", "echo out; echo err >&2; exit 3")
    r = bench.run("measure", "--json", "--sensors", "null", "--", *job, status=3)
    check(json.loads(r.stdout)["exit_status"] == 3, r.stdout)
    check("out\n" in r.stderr and "err\n" in r.stderr and "stored" not in r.stderr, r.stderr)
    r = bench.run("measure", "--json", "--json-file", "s.json", "--epoch-regex", "^Epoch ([0-9]+)", "--", "sh", "-c",
                  "echo Epoch 1; sleep .2; echo Epoch 2")
    check(json.loads(r.stdout) == json.loads(bench.read("s.json")) and len(json.loads(r.stdout)["epochs"]) == 2, r.stdout)
    check("Epoch 2\n" in r.stderr, r.stderr)
    r = bench.run("measure", "--json", "--sensors", "null", "--", "no-such-command", status=127)
    contains(r.stderr, "no-such-command")


def json_is_a_flag(bench):
    """`--json FILE`, a former syntax, runs nothing and names the option to use."""
    for args in (("--json=s.json", "--", "true"), ("--json", "s.json", "--", "true"), ("--json", "s.json", "--quiet", "--", "true")):
        r = bench.run("measure", *args, status=2)
        contains(r.stderr, "--json does not take a value", "--json-file s.json")
    r = bench.run("measure", "--json-file", "--", "true", status=2)
    contains(r.stderr, "--json-file: a value is missing before \"--\"")
    check(not os.path.exists(bench.path("--")) and not os.path.exists(bench.path("s.json")))
    check(json.loads(bench.run("measure", "--json", "--sensors", "null", "true").stdout)["exit_status"] == 0)


def memory_is_measured_of_a_command_after_idle_time(bench):
    s = summary(bench, "--sensors", "proc", "--idle", "0.3s", "--", "python3", "-c",
                "import time; x = b'x' * 64_000_000; time.sleep(0.5)")
    most = [m for m in s["means"] if m["quantity"] == "rss_bytes"]
    check(most and most[0]["max"] > 64e6, s["means"])


def a_run_is_checked_against_rules(bench):
    bench.write("power.csv", "t_s,device,quantity,value\n" + "".join(f"{t / 10},gpu0,power_w,100\n" for t in range(20)))
    r = bench.run("measure", "--sensors", "replay", "--replay-file", "power.csv", "--rules", "mlperf", "--json-file",
                  "rules.json", "--", "sleep", "0.5")
    contains(r.stderr, "MLPerf rule", "BROKEN  at least 60 s")
    rules = json.loads(bench.read("rules.json"))["rules"]
    check(not rules["kept"] and {c["state"] for c in rules["checks"]} == {"kept", "BROKEN"}, rules)
    check("rules" not in summary(bench, "--", "true"))


def cpus_of(pid):
    """The CPUs that each thread of a process may use."""
    with contextlib.suppress(FileNotFoundError):
        return {int(t): os.sched_getaffinity(int(t)) for t in os.listdir(f"/proc/{pid}/task")}
    return {}


def sampler_cpu_binds_wattlaw_and_not_the_job(bench):
    allowed = os.sched_getaffinity(0)
    cpu = max(allowed)
    see = "import os, sys; print(sorted(os.sched_getaffinity(0)), flush=True); sys.stdin.read()"
    with bench.start("measure", "--sampler-cpu", str(cpu), "--json-file", "s.json", "--", sys.executable, "-c", see,
                     stdin=subprocess.PIPE) as p:
        check(p.stdout.readline() == f"{sorted(allowed)}\n", "the job is bound")
        deadline = time.monotonic() + PATIENCE_S
        while len(seen := cpus_of(p.pid)) < 2 or any(c != {cpu} for c in seen.values()):
            check(time.monotonic() < deadline, f"threads of wattlaw may use {seen}")
            time.sleep(0.05)
        _, err = p.communicate("", timeout=PATIENCE_S)
    contains(err, f" on CPU {cpu}")
    check(json.loads(bench.read("s.json"))["sampler_cpu"] == cpu and "shared node: this job" not in err, err)
    contains(bench.run("show", "--run", "1").stdout, f", on CPU {cpu}\n")
    check(json.loads(bench.run("show", "--run", "1", "--json").stdout)["sampling"]["cpu"] == cpu)
    bench.run("measure", "--quiet", "--", "true")
    check(bench.rows("wattlaw.db", "SELECT sampler_cpu FROM run") == [(cpu,), (None,)])

    r = bench.run("measure", "--sampler-cpu", "1023", "--", "true", status=1)
    contains(r.stderr, "sampler_cpu: CPU 1023 is not available to this process; available: ")
    check(bench.rows("wattlaw.db", "SELECT count(*) FROM run") == [(2,)], "a refused run is stored")
    bench.write("a.ini", "[campaign]\nname = c\n[launch]\ncommand = sleep .1\n[measure]\nsampler_cpu = 1023\n")
    contains(bench.run("sweep", "a.ini", status=1).stderr, "CPU 1023 is not available")
    bench.write("a.ini", bench.read("a.ini").replace("1023", str(cpu)))
    bench.run("sweep", "a.ini")
    check(bench.rows("c/wattlaw.db", "SELECT DISTINCT sampler_cpu FROM run") == [(cpu,)])
    contains(bench.run("doctor", "--sampler-cpu", "1023", status=1).stderr, "CPU 1023 is not available")


def a_job_on_some_of_the_cpus_is_noted_as_sharing_the_node(bench):
    """As in the cgroup of a batch job: sensors of the node measure other jobs as well."""
    allowed = os.sched_getaffinity(0)
    note = f"shared node: this job may use 1 of the {os.sysconf('SC_NPROCESSORS_ONLN')} CPUs; energy of packages, memory and node"
    if os.sysconf("SC_NPROCESSORS_ONLN") < 2:
        raise Skip("this machine has one CPU")
    try:
        os.sched_setaffinity(0, {max(allowed)})
        notes = summary(bench, "--", "true")["notes"]
    finally:
        os.sched_setaffinity(0, allowed)
    check(any(n.startswith(note) or "another run was measured" in n for n in notes), notes)


def the_cost_of_measuring_is_reported(bench):
    """By its share of the CPUs' busy time; not for a run of less than a second."""
    s = summary(bench, "--sensors", "proc,cpu_model", "--cpu-tdp-w", "100", "--", "sh", "-c", "timeout 1.2 sh -c 'while :; do :; done'; true")
    chosen, = [e for e in s["energies"] if e["chosen"]]
    busy, = [m for m in s["means"] if m["quantity"] == "cpu_util_pct"]
    want = chosen["energy_j"] * s["own_cpu_s"] / (busy["mean"] / 100 * os.sysconf("SC_NPROCESSORS_ONLN") * s["time_s"])
    check(abs(s["own_energy_j"] / want - 1) < 1e-3 and 0 < want < chosen["energy_j"], s["own_energy_j"], want, chosen)
    contains(bench.run("measure", "--sensors", "proc,cpu_model", "--", "sleep", "1.1").stderr, "of CPU energy by its share of CPU time")
    check(summary(bench, "--", "true")["own_energy_j"] is None)


def a_run_without_readings_is_described_in_words(bench):
    bench.write("power.csv", "t_s,device,quantity,value\n" + "".join(f"{t},gpu0,power_w,100\n" for t in range(100, 200)))
    r = bench.run("measure", "--sensors", "replay", "--replay-file", "power.csv", "--", "true")
    contains(r.stderr, "energy       unknown, gpu: no reading of power in the window or near it")
    check("nan" not in r.stderr and " -" not in r.stderr and "% of a core" not in r.stderr, r.stderr)


def a_replay_is_simulated_and_exact(bench):
    """100 W for ten seconds: the energy of the run is 100 W times its time."""
    bench.write("power.csv", "t_s,device,quantity,value\n" + "".join(f"{t / 10},gpu0,power_w,100\n" for t in range(101)))
    s = summary(bench, "--sensors", "replay", "--replay-file", "power.csv", "--rate-hz", "2", "--", "toy", "epochs=2", "ms=300")
    chosen = [e for e in s["energies"] if e["chosen"]]
    check(len(chosen) == 1 and chosen[0]["simulated"], s)
    check(abs(chosen[0]["energy_j"] / (100 * s["time_s"]) - 1) < 1e-6, s)
    check(all(abs(e["energy_j"] / (100 * e["time_s"]) - 1) < 1e-6 for e in s["epochs"]), s)


def a_daemon_may_stay_but_nothing_outlives_a_killed_wattlaw(bench):
    bench.run("measure", "--quiet", "--", "toy", "stray=1")
    check(len(bench.processes()) == 1, bench.processes())
    os.kill(bench.processes()[0][0], signal.SIGKILL)
    p = bench.start("measure", "--grace", "100ms", "--", "toy", "stray=1", "deaf=1", "epochs=1", "ms=60000")
    bench.wait_until("both are running", lambda: sum(c.startswith("toy") for _, c in bench.processes()) == 2)
    p.kill()
    p.communicate()
    bench.all_gone()


LOST_S = 1.5  # at ten readings per second they are at most this old when they are written, on a busy machine too


def a_killed_wattlaw_loses_at_most_the_last_second(bench):
    """Samples go to the spool each second, and from there to the store every 30 s, or by the next command that writes. What was in
    the spool before the kill is not lost: times are compared with the last growth of the spool that was observed."""
    for round in range(3):
        db = f"killed-{round}.db"
        p = bench.start("measure", "--quiet", "--store", db, "--sensors", "cpu_model", "--", "toy", "epochs=1000", "ms=20")
        spool = lambda: any(name.startswith(f"{db}-spool-") for name in os.listdir(bench.folder))
        bench.wait_until("samples are in the spool", spool)
        size = lambda: sum(os.path.getsize(bench.path(name)) for name in os.listdir(bench.folder) if name.startswith(f"{db}-spool-"))
        for _ in range(2):
            before = size()
            bench.wait_until("more samples are in the spool", lambda: size() > before)
        grown_ns = time.monotonic_ns()
        time.sleep(random.uniform(0, 1.2))
        p.kill()
        p.communicate()
        bench.run("show", db)
        check(spool(), "show changes nothing", os.listdir(bench.folder))
        bench.run("rebuild", db)
        check(not spool(), os.listdir(bench.folder))
        n, first, last = bench.rows(db, """SELECT count(*), min(t_ns), max(t_ns) FROM sample JOIN channel ON channel.id = channel
                                           WHERE quantity = 'power_w' GROUP BY channel""")[0]
        (marked,), = bench.rows(db, "SELECT max(t_ns) FROM mark")
        check(n > 0.4 * (last - first) / 1e8, n, "readings in", (last - first) / 1e9, "s")  # at 10 Hz, without repeated values
        for what, t_ns in ("samples", last), ("marks", marked):
            check(grown_ns - t_ns < 1e9 * LOST_S, (grown_ns - t_ns) / 1e9, "s of", what, "are lost")


def a_store_that_cannot_be_written_stops_before_the_command(bench):
    os.mkdir(bench.path("ro"))
    with read_only(bench.path("ro")):
        r = bench.run("measure", "--store", "ro/x.db", "--", "toy", "touch=" + bench.path("ran"), status=1)
    contains(r.stderr, "ro/x.db", "choose another file with --store")
    check(not os.path.exists(bench.path("ran")))
    bench.write("text.db", "this is a text")
    contains(bench.run("measure", "--store", "text.db", "--", "true", status=1).stderr, "text.db", "not a wattlaw store")


def a_disk_that_fills_does_not_end_the_command(bench):
    with small_disk(bench.path("small"), 600):
        p = bench.start("measure", "--store", "small/x.db", "--", "toy", "epochs=4", "ms=400", "status=5", "say=epoch", "wait=go")
        p.stdout.readline()
        fill(bench.path("small", "fill"))
        bench.write("go", "")
        _, err = p.communicate(timeout=PATIENCE_S)
        check(p.returncode == 5, p.returncode, err)
        contains(err, "x.db", "not stored")
        os.unlink(bench.path("small", "fill"))
        check(bench.rows("small/x.db", "PRAGMA integrity_check") == [("ok",)])


def rebuild_restores_all_derived_rows(bench):
    derived = {"epoch": "run, epoch", "energy": "id", "metric": "id", "stat": "id", "total": "run, epoch",
               "variation": "run, quantity"}
    bench.run("measure", "--quiet", "--rate-hz", "20", "--", "toy", "epochs=3", "ms=700")

    def tables():
        ids = {"energy", "metric", "stat"} # renumbered
        return {name: [row[name in ids:] for row in bench.rows("wattlaw.db", f"SELECT * FROM {name} ORDER BY {key}")]
                for name, key in derived.items()}

    before = tables()
    check(len(before["epoch"]) == 3 and before["total"], before)
    busy = [row for row in before["variation"] if row[1] == "cpu_util_pct"]
    check(len(busy) == 1 and busy[0][2] == 1 and busy[0][3] > 16, before["variation"])
    mean, low, high, cv, cv_devices = (busy[0][i] for i in (4, 5, 6, 7, 10))
    check(cv >= 0 and cv_devices is None, busy)  # from four readings: two per second
    check(low is None or low <= mean <= high, busy)  # none if resampled draws miss all readings
    with contextlib.closing(sqlite3.connect(bench.path("wattlaw.db"))) as db, db:
        for name in derived:
            db.execute(f"DELETE FROM {name}")
    check(bench.run("rebuild", "wattlaw.db").stdout == "1 of 1 runs rebuilt\n")
    check(tables() == before, before, tables())
    contains(bench.run("rebuild", "wattlaw.db", "--run", "9", status=1).stderr, "no run 9")
    contains(bench.run("rebuild", status=2).stderr, "STORE")


def a_store_that_is_removed_does_not_end_the_command(bench):
    p = bench.start("measure", "--", "toy", "epochs=3", "ms=500", "status=5", "say=epoch", "wait=go")
    p.stdout.readline()
    for name in os.listdir(bench.folder):
        if name.startswith("wattlaw.db"):
            os.unlink(bench.path(name))
    bench.write("go", "")
    _, err = p.communicate(timeout=PATIENCE_S)
    check(p.returncode == 5, p.returncode, err)
    contains(err, "wattlaw.db: the store was removed or replaced while it was in use", "the run was not stored")
    check("stored       run" not in err, err)


def a_found_cap_is_not_called_a_lock(bench):
    err = bench.run("measure", "--cap-setter", "null", "--power-cap-w", "200", "--clock-mhz", "900", "--", "true").stderr
    contains(err, "power_cap_w 200 W asked, no value found", "clock_mhz 900 MHz asked, no lock found")


def an_expression_that_matches_nothing_is_named(bench):
    said = "--epoch-regex 'epoch ([0-9]+)' matches no line of the output (1 line); it would match 'Epoch 1' but for upper and lower case"
    measure = ("measure", "--sensors", "null", "--epoch-regex", "epoch ([0-9]+)", "--", "sh", "-c")
    r = bench.run(*measure, "echo Epoch 1")
    contains(r.stderr, f"  note         {said}\n")
    check(bench.rows("wattlaw.db", "SELECT message FROM log WHERE area = 'mark'") == [(said,)])
    check("matches no line" not in bench.run(*measure, "echo Epoch 1; exit 3", status=3).stderr, "a failed job")


def usage_errors_are_explained(bench):
    contains(bench.run("measure", status=2).stderr, "command is missing")
    contains(bench.run("measure", "--rate-hz", "0", "--", "true", status=2).stderr, "--rate-hz", "0.01 to 1000")
    contains(bench.run("measure", "--sensor", "null", "--", "true", status=2).stderr, "did you mean --sensors?")
    contains(bench.run("measure", "--sensors", "nul", "--", "true", status=1).stderr, "did you mean null?")
    contains(bench.run("measure", "--epoch-regex", "(", "--", "true", status=1).stderr, "epoch-regex")


main([a_run_takes_its_name_from_option_mark_or_command, a_workload_cannot_claim_a_cap, exit_status_is_that_of_the_command, a_missing_command_is_127, input_and_output_pass_unchanged, signals_reach_the_command,
      nohup_reaches_the_command, an_ignored_sigchld_does_not_hide_the_exit_status, a_terminals_ctrl_c_reaches_the_command_once,
      a_run_without_readings_is_described_in_words, memory_is_measured_of_a_command_after_idle_time, a_run_is_checked_against_rules, sampler_cpu_binds_wattlaw_and_not_the_job,
      a_job_on_some_of_the_cpus_is_noted_as_sharing_the_node, the_cost_of_measuring_is_reported, epochs_come_from_marks, marks_of_a_removed_store_do_not_count_again,
      epochs_come_from_regular_expressions_over_output, python_prints_at_once_where_its_lines_are_read, invalid_marks_are_reported_and_ignored, estimated_energy_is_marked_as_estimated, only_json_goes_to_stdout, json_is_a_flag,
      a_replay_is_simulated_and_exact, a_daemon_may_stay_but_nothing_outlives_a_killed_wattlaw,
      a_killed_wattlaw_loses_at_most_the_last_second, a_store_that_cannot_be_written_stops_before_the_command, a_disk_that_fills_does_not_end_the_command,
      a_store_that_is_removed_does_not_end_the_command,
      rebuild_restores_all_derived_rows, a_found_cap_is_not_called_a_lock, an_expression_that_matches_nothing_is_named,
      usage_errors_are_explained])
