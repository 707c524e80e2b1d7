"""wattlaw tune end to end on a simulated node: tune.py WATTLAW FAKE_NVML_LIBRARY FAKE_LOAD"""
import concurrent.futures
import json
import os
import subprocess
import sys
import time

from tune_rig import FOUND_W, TuneRig, check_choice, expect, wait_until

wattlaw, fake, load = map(os.path.abspath, sys.argv[1:4])


def rig(script=""):
    return TuneRig(wattlaw, fake, load, script)


def values(result):
    return [w["value"] for w in result["windows"]]


def runs(r, store):
    out = r.run(wattlaw, "export", "observations", "--format", "jsonl", store)
    expect(out.returncode == 0, "the store cannot be exported", out)
    return [json.loads(line) for line in out.stdout.splitlines()]


def holds(result):
    """Consecutive windows of one value."""
    out = []
    for v in values(result):
        if out and out[-1][0] == v:
            out[-1][1] += 1
        else:
            out.append([v, 1])
    return out


def search_in_a_job():
    """The search within a running job: least energy with at most 10 % slowdown. Without noise the answer is known:
    the least energy of the values whose steps, which follow the clock exactly, are at most 10 % longer."""
    with rig() as m:
        x = m.tuned("--max-slowdown", "10%", "--values", "150,180,210,240,270")
        time = {w["value"]: w["time_s"] for w in x["windows"]}
        expect(x["finished"] and x["jobs"] == 1 and not x["applied"], f"not one finished search in one job: {x}")
        expect(2 <= len(set(values(x))) <= 4, f"not two to four values were measured: {values(x)}")
        check_choice(x["choice"], x["windows"], 1.1, x)
        expect(all(w["simulated"] for w in x["windows"]), f"a simulated power is not marked: {x}")
        # A B B A: the reference on both sides of each value, one window of a value that is too slow, two of another one
        order = holds(x)
        expect(all(v == FOUND_W for v, _ in order[::2]) and order[-1][0] == FOUND_W, f"the order is not A B B A C C A: {order}")
        for value, n in order[1::2]:
            expect(n == (1 if time[value] > 1.1 * time[FOUND_W] else 2), f"{value} W was held for {n} windows: {order} {time}")
        expect(m.is_clean(), f"something is left capped: {m.get()} {m.journals()}")
        # every window is an ordinary run; the job, whose caps changed, is flagged
        table = runs(m, m.store)
        expect({round(r["power_cap_w"]) for r in table} == set(values(x)), f"the runs do not have the values: {table}")
        expect(len(table) == len(x["windows"]), f"{len(table)} runs, {len(x['windows'])} windows")
        for command in (("compare", m.store, "--factor", "power_cap_w"), ("show", m.store), ("report", m.store, "--out", m.path + "/report")):
            r = m.run(wattlaw, *command)
            expect(r.returncode == 0, f"{command[0]} fails on the store", r)
        r = m.run(wattlaw, "show", m.store, "--run", "1")
        expect("its windows are runs of their own" in r.stdout, "the job is not flagged", r)
        # the same call again has nothing to do; with --apply it runs the job with the choice
        again = m.tuned("--max-slowdown", "10%", "--values", "150,180,210,240,270")
        expect(again["jobs"] == 0 and again["choice"] == x["choice"] and again["windows_before"] == len(x["windows"]),
               f"a finished search is not resumed: {again}")
        applied = m.tuned("--max-slowdown", "10%", "--values", "150,180,210,240,270", "--apply", job=None)
        expect(applied["jobs"] == 1 and applied["applied"], f"--apply does not run the job: {applied}")
        # another command under the same name
        r = m.tune(job=m.job(updates=10))
        expect(r.returncode == 1 and "is of another command" in r.stderr, "another command continues the search", r)


def clock_that_is_applied():
    """--apply: the choice is set for the rest of the job, and no longer. A clock, energy x time, with the first
    search as history."""
    with rig() as m:
        p = subprocess.Popen(m.command("--setting", "clock_mhz", "--objective", "edp", "--apply", "--max-values", "3", job=m.job(updates=700)),
                             env=m.env, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        line = ""
        for line in p.stderr:
            if "is set for the rest" in line:
                break
        chosen = float(line.split()[1]) if "is set" in line else 0
        locked = wait_until(lambda: all(r[1] == chosen for r in m.get()), 5)
        r = m.tune("--name", "other")
        expect(r.returncode == 1 and "is in use by" in r.stderr, "the value of another search is taken for the present limit", r)
        rest = p.stderr.read()
        expect(p.wait() == 0, f"tune fails: {line}{rest}")
        expect(chosen and locked, f"the choice is not set for the rest of the job: {line} {m.get()} {rest}")
        expect(m.is_clean(), f"the clock stays locked: {m.get()}")


def program_without_marks():
    """A program without marks is run once per value, and the runs resume too."""
    with rig() as m:
        job = m.job(steps=0, updates=50, epochs=2)
        x = m.tuned("--max-slowdown", "10%", job=job)
        expect(all(w["whole_run"] for w in x["windows"]) and x["jobs"] == len(x["windows"]) <= 4, f"not one run per value: {x}")
        expect(m.is_clean() and x["finished"], f"not finished, or something is left: {x} {m.get()}")
        first = x["windows"][0]
        expect(first["value"] == FOUND_W and abs(first["time_s"] - 0.75) < 1e-6, f"the first epoch was not excluded: {first}")
        history = m.store
        with rig() as n:
            y = n.tuned("--no-relaunch", job=job)
            expect(y["jobs"] == 1 and not y["finished"] and y["choice"] is not None, f"--no-relaunch runs more than once: {y}")
            y = n.tuned("--history", history, job=job)
            expect(y["windows_before"] == 1 and y["finished"], f"whole runs are not resumed: {y}")


def no_permission():
    """What cannot be set."""
    with rig("fail=*:SetPowerManagementLimit:4") as m:
        r = m.tune()
        expect(r.returncode == 1 and "no permission" in r.stderr and "to fix it" in r.stderr, "caps without permission", r)
        expect(not os.path.exists(m.store), "a store is made where nothing can be measured")


def foreign_clock_lock():
    with rig() as m:
        m.env["WATTLAW_FAKE_NVML"] = f"gpus=2; state={m.limits}; busy=100; reasons=0; clock=1005"
        r = m.tune("--setting", "clock_mhz")
        expect(r.returncode == 1 and "seems to be locked" in r.stderr, "a foreign clock lock is not refused", r)


def limit_that_was_set_elsewhere():
    with rig("out_of_band=250") as m:  # a limit that was set elsewhere: nothing above it is tried
        x = m.tuned("--max-values", "2")
        expect(x["reference"] == 250 and max(values(x)) == 250, f"values above the limit in effect are tried: {x}")


def driver_that_does_not_follow():
    with rig("ignore=1") as m:  # a driver that follows nothing: all is given up, the limit that was found stays
        x = m.tuned("--values", "200,250")
        expect(x["choice"] == FOUND_W and [bool(c["refused"]) for c in x["candidates"]] == [True, True, False], f"a driver that does not follow: {x}")


def jobs_that_end_within_a_window():
    """A window that is not stored yet when its job ends is stored after it, and the search goes on in the next job."""
    with rig() as m:
        x = m.tuned("--max-slowdown", "10%", "--values", "150,200,250", job=m.job(updates=150))
        expect(x["finished"] and x["jobs"] > 1, f"short jobs do not finish a search: {x}")
        check_choice(x["choice"], x["windows"], 1.1, x)
        expect(len(runs(m, m.store)) == len(x["windows"]) and m.is_clean(), f"windows are lost, or something is left: {m.get()}")


def jobs_that_say_nothing_new():
    """The command is not run for ever: jobs that end after the window of the reference; jobs whose windows cannot be used."""
    with rig() as m:
        r = m.tune("--values", "200", job=m.job(updates=50))
        expect(r.returncode == 1 and "jobs in a row ended before" in r.stderr and r.stderr.count("starts at") == 3, "short jobs have no end", r)
        future = [sys.executable, "-c", MARKS, "60", "1", "3600"]
        r = m.tune("--name", "future", "--values", "200", job=future)
        expect(r.returncode == 1 and r.stderr.count("starts at") == 2 and "no reading" in r.stderr, "unusable windows have no end", r)
        r = m.tune("--name", "once", "--values", "200", "--no-relaunch", job=future)
        expect(r.returncode == 1 and "no window can be used" in r.stderr, "nothing was measured, and nothing said", r)
        r = m.tune("--name", "burst", "--values", "200", job=[sys.executable, "-c", MARKS, "200", "50", "0"])
        expect("all at once" in r.stderr and "a window at 200 W:" not in r.stderr, "steps that a buffer reports at once are measured", r)
        expect(m.is_clean(), f"something is left: {m.get()}")


MARKS = """
import os, sys, time
steps, burst, ahead_s = map(int, sys.argv[1:])
marks = os.open(os.environ["WATTLAW_MARKS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for i in range(steps):
    time.sleep(.01)
    for k in range(burst if i % burst == burst - 1 else 0):
        os.write(marks, f"{time.monotonic_ns() + ahead_s * 10**9} 0 step step={i - burst + 1 + k}\\n".encode())
"""


def pauses_between_epochs():
    """Validation of 3 s after epochs of 1.2 s, in which a probed value begins: it is set for no longer than a window at the allowed
    slowdown, .44 s, into the pause, and its windows begin anew after it."""
    with rig() as m:
        command = m.command("--max-slowdown", "10%", "--values", "240,270", "--max-values", "2", "--json",
                            job=m.job(updates=80, epochs=4, pause_ms=3000))
        p = subprocess.Popen(command, env=m.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        longest, since = 0, None
        while p.poll() is None:
            held = any(r[0] and r[0] / 1000 != FOUND_W for r in m.get())
            now = time.monotonic()
            since = since or now if held else None
            longest = max(longest, now - since if held else 0)
            time.sleep(0.02)
        x = json.loads(p.stdout.read())
        expect(p.returncode == 0 and x["finished"], f"pauses between epochs end the search: {x} {p.stderr.read()}")
        expect(0.4 < longest < 2.9, f"a value was held for {longest:.2f} s in a row: {x}")
        expect(not any(c["refused"] for c in x["candidates"]), f"a pause makes a value be given up: {x}")


def value_that_somebody_resets():
    """A value whose windows are always unusable is given up after two, and the search continues with the others."""
    with rig() as m:
        p = subprocess.Popen(m.command("--values", "200,250", "--json", job=m.job(updates=900)), env=m.env, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        while p.poll() is None:
            if m.watts() == [200, 200]:
                time.sleep(0.15)  # it has been read back; its window comes
                m.change(190)
                wait_until(lambda: p.poll() is not None or m.watts() != [190, 190])
            time.sleep(0.005)
        x = json.loads(p.stdout.read())
        refused = {c["value"]: c["refused"] for c in x["candidates"]}
        expect(x["finished"] and "two windows of it" in (refused[200] or ""), f"a value that is reset again and again is tried on: {x} {p.stderr.read()}")
        expect(250 in values(x) and not refused[250] and 200 not in values(x), f"the other values are not measured: {x}")


def failures_of_the_command():
    """The command's failures are the exit status; it is not run again."""
    with rig() as m:
        r = m.tune(job=["sh", "-c", "exit 7"])
        expect(r.returncode == 7 and "exit status 7" in r.stderr, "the command's status is lost", r)
        r = m.tune("--name", "other", job=["/proc/nowhere"])
        expect(r.returncode == 127, "a command that does not exist", r)
        r = m.tune("--name", "run", "--values", "200", job=["sleep", ".2"])
        expect(r.returncode == 0 and "ms per run" in r.stderr, "a run without epochs is called an epoch", r)
        for wrong, text in (((), "expected one experiment file, or -- and a command"), (("--max-slowdown", "10", "--", "true"), "such as 10%"),
                            (("--values", "90,200", "--", "true"), "out of range"), (("--objectiv", "edp", "--", "true"), "did you mean"),
                            (("--eta", ".3", "--", "true"), "--eta requires --objective zeus"), (("--map", "a=b", "--", "true"), "--map requires --history"),
                            (("--probability", ".9", "--", "true"), "--probability requires --max-slowdown"), (("--name=", "--", "true"), "expected a name"),
                            (("--batch-step", "2", "--", "true"), "--batch-step is for an experiment file")):
            r = m.run(wattlaw, "tune", "--nvml-library", fake, "--store", m.store, *wrong)
            expect(r.returncode in (1, 2) and text in r.stderr, f"tune {wrong} does not say '{text}'", r)
        expect(m.is_clean(), f"something is left: {m.get()}")


def limits_below_the_values():
    """A lower limit than the values: only what is below it is tried."""
    with rig() as m:
        m.put([(200000, 0, 0, 0), (260000, 0, 0, 0)])
        r = m.tune("--max-values", "2", "--json")
        expect(r.returncode == 0 and json.loads(r.stdout)["reference"] == 200 and "the lowest limit in effect" in r.stderr,
               "a limit is raised", r)
        expect(m.watts() == [200, 260], f"the limits that were found are not restored: {m.get()}")
        r = m.tune("--name", "other", "--values", "250")
        expect(r.returncode == 1 and "never raises" in r.stderr, "a value above the present limit is accepted", r)


SCENARIOS = (search_in_a_job, clock_that_is_applied, program_without_marks, no_permission, foreign_clock_lock, limit_that_was_set_elsewhere,
             driver_that_does_not_follow, pauses_between_epochs, jobs_that_say_nothing_new,
             value_that_somebody_resets, jobs_that_end_within_a_window, failures_of_the_command, limits_below_the_values)
with concurrent.futures.ThreadPoolExecutor(4) as pool:  # they sleep most of the time
    for done in [pool.submit(scenario) for scenario in SCENARIOS]:
        done.result()
print("ok")
