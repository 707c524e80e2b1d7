"""Caps on a driver that hangs: hang.py WATTLAW FAKE_NVML_LIBRARY"""
import json
import os
import signal
import sqlite3
import sys

from rig import GPU, PATIENCE_S, HangingRig, expect, kill, wait_until

wattlaw, fake = map(os.path.abspath, sys.argv[1:3])


def rows(path, sql):
    with sqlite3.connect(path) as db:
        return db.execute(sql).fetchall()


# A driver that hangs while caps are set: one message, no run; the other GPU is restored at once, this one by the guard when the
# hung call has ended with its process.
with HangingRig(wattlaw, fake, found_w=(350, 360)) as m:
    ran = os.path.join(m.path, "ran")
    r = m.measure("--power-cap-w", "250", job=("touch", ran))
    expect(r.returncode == 1 and "(--cap-wait) while power_cap_w was set to 250 W" in r.stderr and GPU % 1 in r.stderr, "reported", r)
    expect(r.stderr.count("error") == 1 and not os.path.exists(ran), "once, and nothing was run", r)
    expect(wait_until(lambda: m.watts() == [350, 360] and not m.journals()), "restored by the guard")
    p = m.start("--power-cap-w", "250", "--cap-wait", "2s", job=("touch", ran))
    expect(wait_until(lambda: m.watts()[0] == 250), "half set")
    os.killpg(p.pid, signal.SIGINT)
    p.communicate(timeout=PATIENCE_S)
    expect(not os.path.exists(ran) and wait_until(lambda: m.watts() == [350, 360] and not m.journals()), "Ctrl-C while it hangs")

# A driver that hangs when the guard restores: the other GPU is restored, the journal keeps the rest, and restore finishes later.
with HangingRig(wattlaw, fake, found_w=(350, 360)) as m:
    m.recover()
    p = m.start("--power-cap-w", "250")
    expect(wait_until(lambda: m.watts() == [250, 250]), "set")
    m.hang("0")
    kill(p.pid, signal.SIGKILL)
    p.communicate(timeout=PATIENCE_S)
    expect(m.watts() == [350, 250] and len(m.journals()) == 1, "the others are restored")
    with open(m.journals()[0], encoding="utf-8") as f:
        expect([c["device"] for c in json.load(f)["caps"]] == [GPU % 1], "what is left to do")
    r = m.restore()
    expect(r.returncode == 1 and "no answer from the driver for 0.3 s" in r.stdout + r.stderr, "restore does not wait for ever", r)
    m.recover()
    expect(m.restore().returncode == 0 and m.watts() == [350, 360] and not m.journals(), "restore finishes")

# A campaign stops at the run that hangs and repeats it when the driver answers again.
with HangingRig(wattlaw, fake, call="SetGpuLockedClocks") as m:
    ini = os.path.join(m.path, "hang.ini")
    with open(ini, "w", encoding="ascii") as f:
        f.write(f"[campaign]\nname = hang\nrepeats = 1\nstore = {m.path}/hang\n[sweep]\nclock_mhz = 900,1000\n[measure]\n"
                f"sensors = null\nnvml_library = {fake}\n[cap]\nwait = 0.3s\n[launch]\ncommand = true\n")
    r = m.run(wattlaw, "sweep", ini)
    expect(r.returncode == 1 and r.stderr.count("no answer from the driver for 0.3 s") == 1, "the sweep stops", r)
    expect(rows(os.path.join(m.path, "hang", "wattlaw.db"), "SELECT DISTINCT status FROM run") == [("planned",)], "nothing has failed")
    m.recover()
    expect(wait_until(lambda: not m.journals()) and m.get() == [(400000, 0, 0, 0)] * 2, "restored")
    r = m.run(wattlaw, "sweep", ini)
    expect(r.returncode == 0 and "2 of 2 runs" in r.stdout and not m.journals(), "and resumes", r)
