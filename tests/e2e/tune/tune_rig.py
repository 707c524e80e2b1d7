"""A simulated node with two GPUs whose caps and clocks act on the load program, for the tests of `wattlaw tune`."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cap"))
from rig import Rig, expect, wait_until  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import

FOUND_W = 300  # the V100's limit


def check_choice(choice, windows, limit, result):
    """The choice is above all that was measured beyond the limit, and not above the best that was measured within it. It may be in
    between: a value that was not measured."""
    reference = next(w["time_s"] for w in windows if w["value"] == FOUND_W)
    beyond = [w["value"] for w in windows if w["time_s"] > limit * reference]
    best = min((w for w in windows if w["time_s"] <= limit * reference), key=lambda w: w["energy_j"])["value"]
    expect(max(beyond, default=0) < choice <= best, f"{choice} W was chosen; {beyond} W are beyond the limit, {best} W is the best within it: {result}")


class TuneRig(Rig):
    def __init__(self, wattlaw, fake, load, script=""):
        super().__init__(wattlaw, fake, found_w=(FOUND_W, FOUND_W))
        self.load = load
        world = os.path.join(self.path, "world")
        self.env["WATTLAW_FAKE_NVML"] = f"gpus=2; profile=V100; state={self.limits}; world={world}; {script}"
        self.store = os.path.join(self.path, "store.db")

    def command(self, *options, job=None):
        """Windows of .4 s: 27 steps of 15 ms at full clock."""
        quick = ("--window", "0.4s", "--window-steps", "10", "--warm-up-steps", "3", "--settle", "0.1s")
        return [self.wattlaw, "tune", "--nvml-library", self.fake, "--sensors", "nvml", "--store", self.store, *quick, *options, "--",
                *(job or self.job())]

    def job(self, **how):
        """A training job that marks its steps; the speed of a step is that of the clocks when it begins."""
        keys = {"workers": 2, "steps": 1, "step_ms": 20, "overhead_ms": 5, "updates": 600, "epochs": 1, "load": 0.95, **how}
        return [self.load, *(f"{k}={v}" for k, v in keys.items())]

    def tune(self, *options, job=None, env=None):
        return self.run(*self.command(*options, job=job), env=env)

    def tuned(self, *options, job=None):
        """The result of a search that must succeed."""
        r = self.tune("--json", *options, job=job)
        expect(r.returncode == 0, f"tune {options} fails", r)
        return json.loads(r.stdout)

    def start_command(self, command):
        """With the default SIGHUP, as on a terminal."""
        return subprocess.Popen(["env", "--default-signal=HUP", *command], env=self.env, text=True, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, start_new_session=True)

    def is_clean(self):
        return self.watts() == [FOUND_W] * 2 and all(r[1] == 0 for r in self.get()) and not self.journals()
