"""What a site has besides: an energy plugin, qualities of service, features of nodes: site.py WATTLAW TOY FAKE_NVML_LIBRARY [long|TEST...]

The plugin is Slurm's own for Cray (acct_gather_energy/pm_counters): it reads files of the kernel, in whose place each node has some that
grow by 250 W. From there on all is real: slurmd, slurmstepd, slurmdbd, sacct. Debian has no other plugin that runs without its hardware.
Skipped where slurmdbd is not installed."""
import os
import sys
import threading
import time

import harness
import slurm_accounting
import slurm_rig
from harness import Campaign, check, contains, toy

POWER_W = 250
FAST = ("n2", "n4")

CONF = """AcctGatherEnergyType=acct_gather_energy/pm_counters
AcctGatherNodeFreq=1
JobAcctGatherFrequency=energy=1,task=1
"""


class Rig(slurm_accounting.Rig):
    """Of its nodes FAST have the feature `fast`; the account may use the QOS `urgent`."""

    def __init__(self, nodes):
        super().__init__(nodes, more=CONF)
        with open(self.path("slurm.conf"), encoding="ascii") as f:
            text = f.read().replace("AccountingStorageEnforce=associations,limits", "AccountingStorageEnforce=associations,limits,qos")
        for node in FAST:
            text = text.replace(f"NodeName={node} ", f"NodeName={node} Feature=fast ")
        self.write("slurm.conf", text.encode())
        os.makedirs(self.path("counters"))
        self.ended, self.begin = threading.Event(), time.time()
        self.count()
        threading.Thread(target=self.keep_counting, daemon=True).start()

    def count(self):
        now = time.time()
        for name, text in (("power", f"{POWER_W} W"), ("energy", f"{1000 + POWER_W * (now - self.begin):.0f} J")):
            self.write(f"counters/{name}.new", f"{text} {now * 1e6:.0f} us\n".encode())
            os.replace(self.path("counters", name + ".new"), self.path("counters", name))

    def keep_counting(self):
        while not self.ended.wait(.1):
            self.count()

    def mounts(self, node):
        """/sys is the kernel's, in which no folder can be made: it is one of ours with the same folders and one more."""
        real = self.path(f"{node}.sys")
        os.makedirs(real, exist_ok=True)
        return (f"mount --rbind /sys {real} && mount -t tmpfs tmpfs /sys && for f in {real}/*; do mkdir /sys/${{f##*/}} && "
                f"mount --rbind $f /sys/${{f##*/}}; done && mkdir -p /sys/cray/pm_counters && "
                f"mount --bind {self.path('counters')} /sys/cray/pm_counters && ")

    def associate(self):
        super().associate()
        self.ask("sacctmgr", "-i", "add", "qos", "urgent")
        self.ask("sacctmgr", "-i", "modify", "user", "root", "set", "qos+=urgent")

    def stop(self):
        self.ended.set()
        super().stop()


def started(nodes):
    return slurm_rig.started_of(lambda: Rig(nodes))


def energy_of_the_plugin(rig):
    """The joules that sacct has of the run's step are stored beside the run's own."""
    c = Campaign(rig, "energy", f"srun --overlap {toy} epochs=1 ms=5000")
    contains(c.sweep(), "1 of 1 runs")
    (job, stored, steps, plugin), = c.rows("SELECT s.job, r.slurm_j, r.slurm_steps, r.slurm_plugin FROM run r JOIN submission s ON s.run = r.id")
    said = dict(line.split("|") for line in rig.ask("sacct", "-n", "-P", "-j", job, "-o", "jobid,consumedenergyraw").splitlines())
    check(steps == f"{job}.0" and plugin == "acct_gather_energy/pm_counters", steps, plugin)
    check(stored == float(said[f"{job}.0"]), stored, said)
    check(.5 * 5 * POWER_W < stored < 1.5 * 7 * POWER_W, "about 5 s:", stored)


def jobs_land_where_they_were_sent(rig):
    """A partition, a feature of nodes and a quality of service: as Slurm's own accounting has them."""
    cases = (("partition = spare", set(rig.nodes[-2:]), "partition", "spare"), ("constraint = fast", set(FAST), "constraints", "fast"),
             ("qos = urgent", set(rig.nodes[:-2]), "qos", "urgent"))
    for launch, nodes, field, value in cases:
        c = Campaign(rig, f"sent-{field}", f"{toy} epochs=1 ms=20", repeats=4, launch=launch)
        contains(c.sweep(), "4 of 4 runs")
        jobs = [row[0] for row in c.rows("SELECT job FROM submission")]
        said = rig.ask("sacct", "-X", "-n", "-P", "-j", ",".join(jobs), "-o", f"{field},nodelist").splitlines()
        check(len(said) == 4 and {line.split("|")[0] for line in said} == {value}, launch, said)
        check({line.split("|")[1] for line in said} <= nodes and {row[0] for row in c.rows("SELECT host FROM run")} <= nodes, launch, said)
    c = Campaign(rig, "sent-nowhere", "true", launch="constraint = faster")
    contains(c.sweep(status=1), "was refused", "constraint")
    c = Campaign(rig, "sent-unknown", "true", launch="qos = nobodys")
    contains(c.sweep(status=1), "was refused", "qos = nobodys")


if __name__ == "__main__":
    sys.exit(harness.run(lambda: started(6), [], [energy_of_the_plugin, jobs_land_where_they_were_sent], why=slurm_accounting.why_not()))
