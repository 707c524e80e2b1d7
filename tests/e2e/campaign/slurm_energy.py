"""The energy that Slurm reports for a run, with stand-ins for scontrol and sacct in PATH: slurm_energy.py WATTLAW"""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

wattlaw = os.path.abspath(sys.argv[1])

# The site's configuration, and the accounting records of job 12: a stand-in for srun adds a step to them as slurmdbd would, with an
# end a second later.
CONFIG = """Configuration data as of 2024-01-01T00:00:00
AccountingStorageType   = accounting_storage/slurmdbd
AcctGatherEnergyType    = %s
AcctGatherNodeFreq      = 30 sec
JobAcctGatherFrequency  = %s
"""
SCONTROL = """#!/bin/sh
[ "$1 $2" = "show config" ] || exit 9
[ -e "$SLURM_FAKE/hangs" ] && exec sleep 600
[ -e "$SLURM_FAKE/down" ] && { echo "slurm_load_ctl_conf error: Unable to contact slurm controller" >&2; exit 1; }
cat "$SLURM_FAKE/config"
"""
SACCT = """#!/bin/sh
[ "$SLURM_TIME_FORMAT" = %s ] && [ "$*" = "-n -P -j 12 --format=JobIDRaw,Start,End,ConsumedEnergyRaw" ] || exit 9
[ -e "$SLURM_FAKE/stuck" ] && exec sleep 600
[ -e "$SLURM_FAKE/refusal" ] && { cat "$SLURM_FAKE/refusal" >&2; exit 1; }
[ -e "$SLURM_FAKE/late" ] && { rm "$SLURM_FAKE/late"; sed 's/|[0-9]*|[^|]*$/|Unknown|/' "$SLURM_FAKE/accounts"; exit; }
cat "$SLURM_FAKE/accounts"
"""
SRUN = """#!/bin/sh
begin=$(date +%s); joules=$1; shift; "$@"; status=$?
echo "12.$(grep -c '^12[.][0-9]' "$SLURM_FAKE/accounts")|$begin|$(($(date +%s) + 1))|$joules" >>"$SLURM_FAKE/accounts"
exit $status
"""


def expect(condition, what, run=None):
    if not condition:
        sys.exit(what if run is None else f"{what}\nexit {run.returncode}\n{run.stdout}\n{run.stderr}")


class Site:
    def __init__(self, plugin="acct_gather_energy/ipmi", frequency="task=30,energy=10", without=None, **env):
        self.folder = tempfile.TemporaryDirectory(prefix="wattlaw-slurm-energy-")
        self.path = self.folder.name
        for name, text in (("scontrol", SCONTROL), ("sacct", SACCT), ("srun", SRUN)):
            self.write(name, text)
            os.chmod(os.path.join(self.path, name), 0o755)
        self.write("config", CONFIG % (plugin, frequency))
        self.write("accounts", "12|1000|Unknown|\n12.batch|1000|Unknown|\n12.extern|1000|Unknown|\n12.0|1000|1003|777\n")
        own = {k: v for k, v in os.environ.items() if not k.startswith("SLURM_")}
        self.env = {**own, "PATH": f"{self.path}:{own['PATH']}", "SLURM_FAKE": self.path, "SLURM_JOB_ID": "12", **env}
        self.env.pop(without, None)
        if without == "scontrol":
            os.unlink(os.path.join(self.path, "scontrol"))
            self.env["PATH"] = f"{self.path}:{self.only('sh', 'date', 'grep', 'env')}"

    def only(self, *programs):
        """A folder with these programs of the system: Slurm may be installed in the same folder as they are."""
        folder = os.path.join(self.path, "only")
        os.mkdir(folder)
        for p in programs:
            os.symlink(shutil.which(p), os.path.join(folder, p))
        return folder

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="ascii") as f:
            f.write(text)

    def run(self, *command):
        return subprocess.run(command, cwd=self.path, env=self.env, text=True, capture_output=True, check=False)

    def measure(self, *job):
        r = self.run(wattlaw, "measure", "--sensors", "null", "--store", "s.db", "--json-file", "s.json", "--", *job)
        with open(os.path.join(self.path, "s.json"), encoding="utf-8") as f:
            return r, json.load(f).get("slurm")

    def stored(self, store="s.db"):
        with sqlite3.connect(os.path.join(self.path, store)) as db:
            return db.execute("SELECT slurm_plugin, slurm_steps, slurm_j, slurm_period_s, slurm_why FROM run ORDER BY id").fetchall()


PLUGIN = "acct_gather_energy/ipmi"

# The command's steps without earlier ones; the site's interval; the sum of two steps.
with Site() as s:
    r, slurm = s.measure("sh", "-c", "srun 4200 sleep 0.1; srun 800 true")
    expect(r.returncode == 0 and s.stored() == [(PLUGIN, "12.1 12.2", 5000, 10, None)], f"stored: {s.stored()}", r)
    expect(slurm == {"plugin": PLUGIN, "scope": "node", "steps": "12.1 12.2", "energy_j": 5000, "period_s": 10, "why": None}, f"{slurm}")
    expect("slurm        5.00 kJ of whole nodes in steps 12.1 12.2 (acct_gather_energy/ipmi, every 10" in r.stderr, "printed", r)
    r = s.run(wattlaw, "show", "s.db", "--run", "1")
    expect("slurm     5.00 kJ of whole nodes" in r.stdout, "shown", r)
    r = s.run(wattlaw, "show", "s.db", "--run", "1", "--json")
    expect(json.loads(r.stdout)["slurm"] == slurm and json.loads(r.stdout)["energy_j"] is None, "next to our joules, not added to them", r)

# The database knows the step's end a moment later.
with Site() as s:
    s.write("late", "")
    r, slurm = s.measure("srun", "4200", "true")
    expect(slurm["energy_j"] == 4200 and not os.path.exists(os.path.join(s.path, "late")), f"second attempt: {slurm}", r)

# Values that are not an energy are missing, with the reason: never 0, never a sentinel.
for joules in ("0", "", "18446744073709551614", "18446744073709551615", "4294967294", "N/A"):
    with Site(frequency="30") as s:
        r, slurm = s.measure("sh", "-c", f"srun 4200 true; srun '{joules}' true")
        expect(slurm["energy_j"] is None and slurm["why"] == "Slurm reports no energy for step 12.2", f"'{joules}': {slurm}", r)
        expect(s.stored() == [(PLUGIN, "12.1 12.2", None, 30, slurm["why"])] and "missing: Slurm reports no" in r.stderr, "stored", r)

# Jobs whose steps do not cover the run.
with Site() as s:
    r, slurm = s.measure("true")
    expect(slurm["energy_j"] is None and slurm["why"] == "no step of job 12 began within the run", f"no step: {slurm}", r)
with Site(SLURM_STEP_ID="3") as s:
    r, slurm = s.measure("true")
    expect("is part of step 12.3, whose energy" in slurm["why"], f"inside: {slurm}", r)
with Site(SLURM_STEP_ID=str(0xfffffffa)) as s:
    r, slurm = s.measure("srun", "300", "true")
    expect(slurm["energy_j"] == 300, f"the shell of salloc is not a step: {slurm}", r)
with Site() as s:
    s.write("refusal", "Slurm accounting storage is disabled\n")
    r, slurm = s.measure("srun", "300", "true")
    expect(r.returncode == 0 and slurm["why"] == "sacct: exit status 1: Slurm accounting storage is disabled", f"{slurm}", r)
with Site() as s:
    r, slurm = s.measure("sh", "-c", "srun 300 true; sed -i '$s/[|][0-9]*[|]300/|'$(($(date +%s) + 90))'|300/' accounts")
    expect(slurm["energy_j"] is None and slurm["why"] == "step 12.1 ended after the run", f"{slurm}", r)

def in_the_same_second(s, *job):
    """Measures until the job has written `second` in the second in which its run began; returns that run."""
    until_s = time.monotonic() + 60
    while time.monotonic() < until_s:
        s.write("accounts", "")
        r, slurm = s.measure(*job)
        with open(os.path.join(s.path, "second"), encoding="ascii") as f, sqlite3.connect(os.path.join(s.path, "s.db")) as db:
            if db.execute("SELECT max(id), start_wall_ns / 1000000000 FROM run").fetchone()[1] == int(f.read()):
                return r, slurm
    sys.exit("no run began in the second of its job within 60 s")


# A step that began and ended in the second in which the run begins may be from before it: it does not count.
with Site() as s:
    r, slurm = in_the_same_second(
        s, "sh", "-c", "begin=$(date +%s); echo $begin >second; echo \"12.9|$begin|$begin|99\" >>accounts; srun 300 true")
    expect(slurm["energy_j"] == 300, f"a step that may be older: {slurm}", r)
    r, slurm = in_the_same_second(
        s, "sh", "-c", "begin=$(date +%s); echo $begin >second; echo \"12.1|$begin|$begin|99\" >>accounts")
    expect(slurm["why"].startswith("step 12.1 began and ended in the second in which the run began"), f"{slurm}", r)

# Commands that hang or fail delay the run by seconds at most, and are named.
with Site() as s:
    s.write("stuck", "")
    r, slurm = s.measure("srun", "300", "true")
    expect(r.returncode == 0 and slurm["why"].startswith("sacct: no answer (env: took longer than 5 s"), f"{slurm}", r)
for name, why in (("hangs", "scontrol: no answer (scontrol: took longer than 5 s"), ("down", "scontrol: exit status 1: slurm_load_ctl_conf error")):
    with Site() as s:
        s.write(name, "")
        r, slurm = s.measure("srun", "300", "true")
        expect(r.returncode == 0 and slurm["plugin"] is None and slurm["why"].startswith(why), f"{slurm}", r)
        expect(s.stored()[0][0] is None and s.stored()[0][4] == slurm["why"] and f"slurm        missing: {why}" in r.stderr, "printed", r)

# No job, no plugin, no Slurm: nothing is asked or printed.
for site in (Site(plugin="acct_gather_energy/none"), Site(plugin="(null)"), Site(SLURM_JOB_ID=""), Site(without="SLURM_JOB_ID"),
             Site(without="scontrol")):
    with site as s:
        r, slurm = s.measure("srun", "300", "true")
        expect(r.returncode == 0 and slurm is None and s.stored() == [(None,) * 5] and "slurm" not in r.stderr, "nothing", r)

# A campaign in an allocation: each run has its own step.
with Site() as s:
    s.write("c.ini", """[campaign]
name = c
repeats = 2
order = sequential
[measure]
sensors = null
[sweep]
joules = 500
[launch]
command = srun {joules} sleep 1.1
""")
    r = s.run(wattlaw, "sweep", "c.ini")
    expect(r.returncode == 0 and [v[1:3] for v in s.stored("c/wattlaw.db")] == [("12.1", 500), ("12.2", 500)], f"{s.stored('c/wattlaw.db')}", r)
