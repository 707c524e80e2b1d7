"""Caps as a user meets them: caps.py WATTLAW FAKE_NVML_LIBRARY"""
import json
import os
import signal
import sqlite3
import subprocess
import sys

from rig import GPU, RECORD, Rig, crash, expect, guard_of, kill, wait_until

wattlaw, fake = map(os.path.abspath, sys.argv[1:3])


def rig(**options):
    return Rig(wattlaw, fake, **options)


def rows(path, sql):
    with sqlite3.connect(path) as db:
        return db.execute(sql).fetchall()


# Set while the job runs, restored after it, stored with the run.
with rig(found_w=(350, 360)) as m:
    seen = os.path.join(m.path, "seen")
    r = m.measure("--power-cap-w", "250", "--clock-mhz", "900", "--mem-clock-mhz", "810", "--json-file",
                  os.path.join(m.path, "s.json"), job=("cp", m.limits, seen))
    expect(r.returncode == 0, "a capped run", r)
    with open(seen, "rb") as f:
        expect(f.read() == b"".join(v.to_bytes(4, "little") for v in (250000, 900, 810, 0)) * 2, "set while the job ran")
    expect(m.get() == [(350000, 0, 0, 0), (360000, 0, 0, 0)] and not m.journals(), "restored")
    with open(os.path.join(m.path, "s.json"), encoding="utf-8") as f:
        caps = [c for c in json.load(f)["caps"] if c["kind"] == "power_cap_w"]
    expect([(c["requested"], c["found"], c["enforced"], c["at_end"]) for c in caps] ==
           [(250, 350, 250, 250), (250, 360, 250, 250)] and all(c["simulated"] for c in caps), f"shown: {caps}")
    store = os.path.join(m.path, "store.db")
    expect(rows(store, "SELECT power_cap_w, clock_mhz, mem_clock_mhz FROM trial") == [(250, 900, 810)], "the trial has its caps")
    expect(len(rows(store, "SELECT * FROM cap WHERE run = 1")) == 6, "and a row for each of its devices")

# Rejected caps leave nothing behind.
for script, options, text in (
        ("", ("--power-cap-w", "50"), "100 to 400 W"),
        ("", ("--clock-mhz", "5000"), "1410 MHz"),
        ("", ("--mem-clock-mhz", "1000"), "it takes 1215, 810, 405 MHz"),
        ("fail=*:SetPowerManagementLimit:4", ("--power-cap-w", "250"), "no permission"),
        ("fail=1:SetPowerManagementLimit:4", ("--power-cap-w", "250"), "no permission"),
        ("fail=1:SetGpuLockedClocks:3", ("--clock-mhz", "900"), "not supported"),
        ("fail=*:SetGpuLockedClocks:4; fail=*:ResetGpuLockedClocks:4", ("--clock-mhz", "900"), "no permission"),
        ("ignore=1", ("--power-cap-w", "250"), "reads 400 W"),
        ("out_of_band=200", ("--power-cap-w", "250"), "enforces 200"),
        ("reasons=2", ("--clock-mhz", "900"), "application clocks are set"),
        ("busy=100; reasons=0; clock=1005", ("--clock-mhz", "900"), "seems to be locked"),
        ("", ("--power-cap-w", "250", "--cap-setter", "rapl", "--sensor-root", "/proc/nowhere"), "no power limit"),
        ("", ("--power-cap-w", "250", "--cap-setter", "rapll"), "expected one of"),
        ("", ("--power-cap-w", "250", "--cap-command", "set {uid} {watts}"), "{uid}"),
        ("", ("--clock-mhz", "900", "--cap-clock-command", "true {mhz}"), "--cap-clock-restore"),
        ("", ("--power-cap-w", "250", "--cap-command", "/proc/nowhere/site-cap {watts}"), "not found"),
        ("", ("--power-cap-w", "250", "--cap-setter", "observe"), "reads 400 W")):
    with rig(script=script) as m:
        before = m.get()
        r = m.measure(*options, job=("touch", os.path.join(m.path, "ran")))
        expect(r.returncode in (1, 2) and text in r.stderr, f"{options} with '{script}' is refused: {text}", r)
        expect(m.get() == before and not m.journals(), f"{options} with '{script}' leaves nothing", r)
        expect(not os.path.exists(os.path.join(m.path, "ran")), "the job was not run")
        stored = os.path.join(m.path, "store.db")
        expect(not os.path.exists(stored) or rows(stored, "SELECT * FROM run") == [], "no run is left that never will be", r)

# Dry run.
with rig() as m:
    r = m.measure("--power-cap-w", "250", "--cap-dry-run")
    expect(r.returncode == 0 and r.stdout.count("250 W asked, 400 W found") == 2, "a dry run reports", r)
    expect(not m.journals() and m.watts() == [400, 400], "and does nothing")

# The site's command; a wrapper that fails for the second GPU leaves nothing.
with rig() as m:
    log, tool = os.path.join(m.path, "log"), os.path.join(m.path, "site-cap")
    with open(tool, "w", encoding="ascii") as f:
        f.write(f"""#!/usr/bin/env python3
import struct, sys
gpu, watts = int(sys.argv[1][11]), float(sys.argv[2])
if len(sys.argv) > 3 and gpu == 1 and watts == 250: sys.exit("site-cap: not today")
with open({m.limits!r}, "r+b") as f:
    f.seek(16 * gpu)
    f.write(struct.pack("<I", int(watts * 1000)))
open({log!r}, "a").write(f"{{gpu}} {{watts:g}}\\n")
""")
    os.chmod(tool, 0o755)
    r = m.measure("--power-cap-w", "250", "--cap-command", f"{tool} {{uuid}} {{watts}}")
    expect(r.returncode == 0 and m.watts() == [400, 400], "by the site's command", r)
    with open(log, encoding="ascii") as f:
        expect(f.read().split("\n")[:4] == ["0 250", "1 250", "0 400", "1 400"], "set and undone by it")
    r = m.measure("--power-cap-w", "250", "--cap-command", f"{tool} {{uuid}} {{watts}} fail")
    expect(r.returncode == 1 and "not today" in r.stderr and m.watts() == [400, 400], "a failure is undone", r)
    p = m.start("--power-cap-w", "250", "--cap-command", f"{tool} {{uuid}} {{watts}}")
    expect(wait_until(lambda: m.watts() == [250, 250]), "set")
    crash(p)
    r = m.restore("--json")
    expect(r.returncode == 0 and m.watts() == [400, 400], "restore runs the site's command", r)
    expect([c["state"] for c in json.loads(r.stdout)["caps"]] == ["restored"] * 2, "and says so", r)

# The module of a GH200 has a limit of its own: it is set, read, journalled and restored separately, and the GPU's stays.
MODULE = "profile=GH200; load=constant:1; spread=0"
with rig(found_w=(900, 850), script=MODULE) as m:
    m.put([(900000, 0, 0, 1000000), (850000, 0, 0, 950000)])
    before, seen = m.get(), os.path.join(m.path, "seen")
    r = m.measure("--module-cap-w", "600", "--sensors", "nvml", "--json-file", os.path.join(m.path, "s.json"),
                  job=("sh", "-c", f"cp {m.limits} {seen}; sleep 1.2"))
    expect(r.returncode == 0 and m.get() == before and not m.journals(), "a capped module", r)
    with open(seen, "rb") as f:
        expect([RECORD.unpack(f.read(RECORD.size)) for _ in "12"] == [(900000, 0, 0, 600000), (850000, 0, 0, 600000)],
               "the module's limit is set, the GPU's is not touched")
    with open(os.path.join(m.path, "s.json"), encoding="utf-8") as f:
        caps = json.load(f)["caps"]
    expect([(c["kind"], c["requested"], c["found"], c["enforced"]) for c in caps] ==
           [("module_cap_w", 600, 1000, 600), ("module_cap_w", 600, 950, 600)], f"shown: {caps}")
    store = os.path.join(m.path, "store.db")
    expect(rows(store, "SELECT power_cap_w, module_cap_w FROM trial") == [(None, 600)], "the trial has it")
    achieved = rows(store, "SELECT kind, round(achieved / 10), acted FROM capped")
    expect(achieved == [("module_cap_w", 60, 1)] * 2, f"the module drew what it may, its GPU less: {achieved}")
    expect(rows(store, "SELECT module_cap_acted_pct, power_cap_acted_pct FROM total WHERE epoch = 0") == [(100, None)], "it acted")
    # Both limits at once are two caps of one device; each is held against its own power.
    r = m.measure("--module-cap-w", "900", "--power-cap-w", "400", "--sensors", "nvml", job=("sleep", "1.2"))
    expect(r.returncode == 0 and m.get() == before, "a cap of the GPU and one of its module", r)
    achieved = rows(store, "SELECT kind, round(achieved / 10), acted FROM capped WHERE run = 2 ORDER BY kind, device")
    expect(achieved == [("module_cap_w", 53, 0)] * 2 + [("power_cap_w", 40, 1)] * 2, f"each in its own watts: {achieved}")
    # Killed with its guard: the journal names the scope, and restore puts the module's watts into the module's limit.
    p = m.start("--module-cap-w", "600")
    expect(wait_until(lambda: [r[3] for r in m.get()] == [600000, 600000]), "set")
    with open(m.journals()[0], encoding="utf-8") as f:
        expect([(c["kind"], c["found"]) for c in json.load(f)["caps"]] == [("module_cap_w", 1000), ("module_cap_w", 950)], "journalled")
    crash(p)
    r = m.restore()
    expect(r.returncode == 0 and [(w, v) for w, *_, v in m.get()] == [(900000, 1000000), (850000, 950000)], "restored", r)
    # {scope} says which limit the site's command sets; a command without it is not used.
    tool = os.path.join(m.path, "site-cap")
    with open(tool, "w", encoding="ascii") as f:
        f.write(f"""#!/usr/bin/env python3
import struct, sys
gpu, watts, scope = int(sys.argv[1][11]), float(sys.argv[2]), sys.argv[3]
with open({m.limits!r}, "r+b") as f:
    f.seek(16 * gpu + {{"gpu": 0, "module": 12}}[scope])
    f.write(struct.pack("<I", int(watts * 1000)))
""")
    os.chmod(tool, 0o755)
    r = m.measure("--module-cap-w", "700", "--cap-command", f"{tool} {{uuid}} {{watts}} {{scope}}",
                  job=("sh", "-c", f"cp {m.limits} {seen}"))
    with open(seen, "rb") as f:
        expect(r.returncode == 0 and RECORD.unpack(f.read(RECORD.size)) == (900000, 0, 0, 700000), "by the site's command", r)
    expect([(w, v) for w, *_, v in m.get()] == [(900000, 1000000), (850000, 950000)], "and undone by it")
    r = m.measure("--module-cap-w", "700", "--cap-setter", "command", "--cap-command", f"{tool} {{uuid}} {{watts}}")
    expect(r.returncode == 1 and "{scope} is missing" in r.stderr, "a command for GPUs only", r)
    r = m.measure("--module-cap-w", "700", "--cap-command", f"{tool} {{uuid}} {{watts}} {{scope}}", "--cap-restore",
                  f"{tool} {{uuid}} {{watts}}")
    expect(r.returncode == 1 and "{scope} is missing" in r.stderr, "nor a restore command", r)

# No module limit: if there is none, if the driver returns the GPU's, or if the set value cannot be read.
for script, value, text in (
        ("", "300", "returns the limits of the GPU"),
        (MODULE, "1200", "it takes 200 to 1000 W"),
        (f"{MODULE}; fail=*:192:3", "600", "not supported"),
        (f"{MODULE}; fail=*:SetPowerManagementLimit_v2:4", "600", "no permission"),
        (f"{MODULE}; ignore=1", "600", "reads 1000 W")):
    with rig(found_w=(500, 500), script=script) as m:
        m.put([(0, 0, 0, 0)] * 2)
        r = m.measure("--module-cap-w", value, job=("touch", os.path.join(m.path, "ran")))
        expect(r.returncode == 1 and text in r.stderr and not m.journals(), f"{value} W with '{script}': {text}", r)
        expect(m.get() == [(0, 0, 0, 0)] * 2 and not os.path.exists(os.path.join(m.path, "ran")), "nothing was set or run")

# Observe: a value that the site has set is verified and stays.
with rig(found_w=(250, 250)) as m:
    r = m.measure("--power-cap-w", "250", "--cap-setter", "observe")
    expect(r.returncode == 0 and m.watts() == [250, 250] and "by observe" in r.stderr, "observed", r)

# Somebody else changes a cap during the run: the run is flagged, the value stays.
with rig() as m:
    p = m.start("--power-cap-w", "250", job=("sh", "-c", f"touch {m.path}/started; exec \"$@\"", "sh", *m.until_released()))
    expect(wait_until(lambda: os.path.exists(os.path.join(m.path, "started"))), "set, read back, and the job runs")
    m.put([(300000, 0, 0, 0), (250000, 0, 0, 0)])
    m.release()
    err = p.communicate()[1]
    expect(m.watts() == [300, 400] and "flagged" in err, f"the other value stays, ours is restored: {m.watts()} {err}")
    flag = rows(os.path.join(m.path, "store.db"), "SELECT flag FROM run")[0][0]
    expect(flag and "reads 300 W" in flag, f"the run is flagged: {flag}")

# A guard that is killed is replaced.
with rig() as m:
    p = m.start("--power-cap-w", "250")
    expect(wait_until(lambda: m.watts() == [250, 250] and guard_of(p.pid)), "set")
    first = guard_of(p.pid)
    kill(first, signal.SIGKILL)
    expect(wait_until(lambda: guard_of(p.pid) not in (0, first)), "another guard")
    kill(p.pid, signal.SIGKILL)
    p.communicate()
    expect(wait_until(lambda: m.watts() == [400, 400] and not m.journals()), "which does its work")

# A guard whose parent dies while it starts: nobody reads that it is ready.
with rig() as m:
    p = m.start("--power-cap-w", "250")
    expect(wait_until(lambda: m.watts() == [250, 250]), "set")
    crash(p)
    reader, writer = os.pipe()
    os.close(reader)
    guard = subprocess.run([wattlaw, "restore", "--guard", m.journals()[0]], env=m.env, stdin=subprocess.DEVNULL, stdout=writer, check=False)
    os.close(writer)
    expect(guard.returncode == 0 and m.watts() == [400, 400] and not m.journals(), f"it restores: {guard} {m.watts()}")

# Two runs at a time do not undo each other; the same device is rejected.
with rig() as m:
    one = m.start("--power-cap-w", "250", env={"CUDA_VISIBLE_DEVICES": "0"})
    expect(wait_until(lambda: m.watts() == [250, 400]), "the first one sets only its GPU")
    r = m.measure("--power-cap-w", "200", env={"CUDA_VISIBLE_DEVICES": "0"})
    expect(r.returncode == 1 and f"in use by process {one.pid} (measure sleep)" in r.stderr and GPU % 0 in r.stderr,
           "held", r)
    r = m.measure("--power-cap-w", "200", env={"CUDA_VISIBLE_DEVICES": "1"})
    expect(r.returncode == 0 and m.watts() == [250, 400], "the other GPU is free", r)
    r = m.restore()
    expect(r.returncode == 0 and "holds it" in r.stdout and m.watts() == [250, 400], "restore leaves the living", r)
    two = m.start("--power-cap-w", "200", env={"CUDA_VISIBLE_DEVICES": "1"})
    expect(wait_until(lambda: m.watts() == [250, 200]), "both")
    crash(one)
    r = m.restore("--dry-run")
    expect("would be restored to 400 W" in r.stdout and m.watts() == [250, 200], "a dry run", r)
    r = m.measure("--power-cap-w", "300", env={"CUDA_VISIBLE_DEVICES": "0"})
    expect(r.returncode == 0 and "was restored" in r.stderr and m.watts() == [400, 200], "the next start restores", r)
    kill(two.pid, signal.SIGINT)
    two.communicate()
    expect(m.watts() == [400, 400] and not m.journals(), "all as it was")

# Restore: a value set by somebody else since stays unless forced; a broken journal or one of another user is reported.
with rig() as m:
    p = m.start("--power-cap-w", "250")
    expect(wait_until(lambda: m.watts() == [250, 250]), "set")
    crash(p)
    m.put([(320000, 0, 0, 0), (250000, 0, 0, 0)])
    r = m.restore("--dry-run", "--force", "--json")
    expect([c["state"] for c in json.loads(r.stdout)["caps"]] == ["restored"] * 2, "what force would do", r)
    r = m.restore()
    expect("left at 320 W" in r.stdout and m.watts() == [320, 400] and not m.journals(), "theirs", r)
    with open(os.path.join(m.state, "x-1-1.caps"), "w", encoding="ascii") as f:
        f.write("{}")
    r = m.restore()
    expect(r.returncode == 1 and "x-1-1.caps" in r.stdout and "no caps are left" not in r.stdout, "a file that is not a journal", r)

# The achieved power is stored with the cap: a cap above what the job draws (300 and 301 W) never acts.
with rig() as m:
    for cap, text in ((250, "250 W on average, at most 250 (simulated)\n"), (350, "at most 300 (simulated): the cap never acted\n")):
        r = m.measure("--power-cap-w", str(cap), "--sensors", "nvml", job=("sleep", "0.3"))
        expect(r.returncode == 0 and f"{GPU % 0}: power_cap_w {cap} W: " in r.stderr and text in r.stderr, "achieved", r)
    store = os.path.join(m.path, "store.db")
    expect(rows(store, "SELECT requested, found, enforced, at_end, round(achieved_max), acted FROM capped "
                       "WHERE device LIKE '%a0000000%' ORDER BY run") == [(250, 400, 250, 250, 250, 1),
                                                                          (350, 400, 350, 350, 300, 0)], "in the store")
    expect(rows(store, "SELECT power_cap_acted_pct FROM total ORDER BY run") == [(100,), (0,)], "and of the run")
    r = m.run(wattlaw, "show", store, "--run", "2")
    expect("never acted" in r.stdout and r.stdout.count("never") == 3, "shown", r)
    caps = json.loads(m.run(wattlaw, "show", store, "--run", "1", "--json").stdout)["caps"]
    expect([(c["kind"], c["acted"]) for c in caps] == [("power_cap_w", True)] * 2, f"as JSON: {caps}")
    r = m.run(wattlaw, "export", "observations", store)
    expect("power_cap_acted_pct" in r.stdout.splitlines()[0], "exported", r)

# Two campaigns that cap the same devices: the second one is rejected as a whole, and none of its runs counts as failed.
with rig() as m:
    def sweep(name, gpu, *more):
        ini = os.path.join(m.path, name + ".ini")
        with open(ini, "w", encoding="ascii") as f:
            f.write(f"[campaign]\nname = {name}\nrepeats = 2\nstore = {m.path}/{name}\n[sweep]\npower_cap_w = 200, 300\n"
                    f"[measure]\nsensors = null\nnvml_library = {fake}\n[launch]\ncommand = sh -c 'until [ -e {m.path}/released ]; do sleep 0.02; done'\n")
        return subprocess.Popen([wattlaw, "sweep", ini, *more], env={**m.env, "CUDA_VISIBLE_DEVICES": gpu}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    one = sweep("one", "0")
    expect(wait_until(lambda: m.watts()[0] != 400), "the first one has begun")
    two, three = sweep("two", "0,1"), sweep("three", "1")
    out, err = two.communicate()
    m.release()
    expect(two.returncode == 1 and f"in use by process {one.pid} (campaign one)" in err, f"the second is refused: {err}")
    expect(not os.path.exists(os.path.join(m.path, "two")), "before any run: no store is left")
    expect("4 of 4 runs" in three.communicate()[0] and "4 of 4 runs" in one.communicate()[0], "others go on")
    expect(m.watts() == [400, 400] and not m.journals(), "and all is restored")

# Doctor shows whether caps can be set, why not, and what dead runs left.
for script, can, reason in (("", True, None), ("fail=*:SetPowerManagementLimit:4", False, "no permission")):
    with rig(script=script) as m:
        r = m.run(wattlaw, "doctor", "--for", "0.1s", "--nvml-library", fake, "--json")
        caps = {c["kind"]: c for c in json.loads(r.stdout)["caps"]}
        power, module = caps["power_cap_w"], caps.pop("module_cap_w")
        expect(not module["can"] and "returns the limits of the GPU" in module["reason"], "no module", r)
        expect(all(c["can"] == can for c in caps.values()) and power["max"] == 400, "what can be capped", r)
        expect(can or reason in power["reason"] and "sudo" in power["fix"], "and what would help", r)
        expect(m.watts() == [400, 400], "doctor changes nothing")
with rig() as m:
    p = m.start("--power-cap-w", "250")
    expect(wait_until(lambda: m.watts() == [250, 250]), "set")
    crash(p)
    r = m.run(wattlaw, "doctor", "--for", "0.1s")
    expect("2       caps of crashed runs" in r.stdout and m.watts() == [250, 250], "doctor finds what is left", r)

# A sweep over caps: values that the devices accept are run, the rest is skipped with the reason.
with rig() as m:
    ini = os.path.join(m.path, "exp.ini")
    with open(ini, "w", encoding="ascii") as f:
        f.write(f"""[campaign]
name = caps
repeats = 1
store = {m.path}/campaign
[sweep]
power_cap_w = 50, 200, 300
clock_mhz = 900, 1200
mem_clock_mhz = 810, 1000
[measure]
sensors = nvml
nvml_library = {fake}
[launch]
command = sleep 0.4
""")
    r = m.run(wattlaw, "sweep", ini)
    expect(r.returncode == 0 and "4 trials" in r.stderr and "100 to 400 W" in r.stderr, "a sweep", r)
    expect("1000 MHz is out of range: it takes 1215, 810, 405 MHz" in r.stderr, "memory clocks are known", r)
    expect(rows(os.path.join(m.path, "campaign", "wattlaw.db"), "SELECT DISTINCT requested, round(achieved), acted FROM capped "
                "WHERE kind = 'mem_clock_mhz'") == [(810, 810, 1)], "and set")
    found = rows(os.path.join(m.path, "campaign", "wattlaw.db"), """
        SELECT power_cap_w, clock_mhz, round(achieved) FROM trial t JOIN run r ON r.trial = t.id JOIN capped p ON p.run = r.id
        WHERE kind = 'clock_mhz' AND device LIKE '%a0000000%' ORDER BY 1, 2""")
    expect(found == [(200, 900, 900), (200, 1200, 1200), (300, 900, 900), (300, 1200, 1200)], f"clocks: {found}")
    expect(m.get() == [(400000, 0, 0, 0)] * 2 and not m.journals(), "restored")
    r = m.run(wattlaw, "sweep", ini, "--set", "campaign.store=" + os.path.join(m.path, "other"),
              env={"WATTLAW_FAKE_NVML": m.env["WATTLAW_FAKE_NVML"] + "; out_of_band=250"})
    expect(r.returncode == 1 and r.stderr.count("enforces 250") == 2, "what cannot be held fails, the rest is run", r)
    expect("2 of 4 runs" in r.stdout and m.get() == [(400000, 0, 0, 0)] * 2, "and is restored", r)
    with open(ini, "a", encoding="ascii") as f:
        f.write("[cap]\nsetter = rapl\n")
    r = m.run(wattlaw, "sweep", ini, "--dry-run", "--set", f"measure.sensor_root={m.path}", "--set", f"campaign.store={m.path}/none")
    expect(r.returncode == 1 and "no power limit" in r.stdout and "none of its trials" in r.stderr, "no setter: every trial is skipped with the reason", r)

# A store that can no longer be written (its file is gone, its disk is full): caps are restored nevertheless.
with rig() as m:
    job = m.until_released()
    p = m.start("--power-cap-w", "250", job=(*job[:2], job[2] + "; sleep 1.5"))
    expect(wait_until(lambda: m.watts() == [250, 250] and os.path.exists(os.path.join(m.path, "store.db-wal"))), "set")
    for name in os.listdir(m.path):
        if name.startswith("store.db"):
            os.unlink(os.path.join(m.path, name))
    m.release()
    err = p.communicate()[1]
    expect(p.returncode == 0 and "removed or replaced" in err, f"the store is gone: {p.returncode} {err}")
    expect(m.watts() == [400, 400] and not m.journals(), "restored without a store")
with rig() as m:
    limited = f"ulimit -f 384; exec \"$@\""  # KiB that a file may have: the store grows into it
    command = m.command("--power-cap-w", "250", "--rate-hz", "1000", "--sensors", "nvml", job=("sleep", "3"))
    r = m.run("bash", "-c", "trap '' XFSZ; " + limited, "bash", *command)
    expect(r.returncode == 0 and "not stored" in r.stderr, "a disk that is full", r)
    expect(m.watts() == [400, 400] and not m.journals(), "restored on a full disk")

# Ranks on two nodes without a shared folder: each node's leader caps its own devices, with a guard and a journal of its own, and
# restores them. A timeout names the missing ranks.
with rig() as m, rig(found_w=(350, 350)) as n:
    nodes = []
    for i, node in enumerate((m, n)):
        launcher = {"WATTLAW_HOST": f"n{i}", "PMIX_NAMESPACE": m.path, "OMPI_COMM_WORLD_RANK": str(i),
                    "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}
        nodes.append(node.start("--power-cap-w", "250", "--merge-wait", "0s", "--node-wait", "0s", job=m.until_released(), env=launcher))
    expect(wait_until(lambda: m.watts() == n.watts() == [250, 250]), "both nodes are capped")
    expect(len(m.journals()) == len(n.journals()) == 1, "one journal each")
    kill(nodes[1].pid, signal.SIGKILL)
    expect(wait_until(lambda: n.watts() == [350, 350] and not n.journals()), "the guard of a node that died")
    nodes[1].communicate()
    expect(m.watts() == [250, 250] and nodes[0].poll() is None, "the other node continues")
    m.release()
    nodes[0].communicate()
    expect(m.watts() == [400, 400] and not m.journals(), "and restores its own")
    r = m.measure("--power-cap-w", "250", "--node-wait", "0.2s", env={**launcher, "PMIX_NAMESPACE": "another"})
    expect(r.returncode == 1 and "1 of 2 ranks have not joined within 0.2 s" in r.stderr, "a node that is not seen", r)
    expect(m.watts() == [400, 400] and not m.journals(), "nothing stays")
