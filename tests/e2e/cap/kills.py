"""How a wattlaw that has set caps can end, for the kill tests."""
import contextlib
import os
import random
import signal
import time

from rig import children, guard_of, kill, name_of, wait_until


def job_of(pid):
    """The command below the job's guard. A guard of caps has a child too, LeakSanitizer's, which must not be killed."""
    return next((q for p in children(pid) if name_of(p) != "wattlaw-caps" for q in children(p)), 0)


def kill_wattlaw(rig, p):
    kill(p.pid, signal.SIGKILL)


def kill_guard(rig, p):
    kill(guard_of(p.pid), signal.SIGKILL)
    time.sleep(random.uniform(0, 0.02))
    kill(p.pid, signal.SIGTERM)


def kill_guard_then_wattlaw(rig, p):
    kill(guard_of(p.pid), signal.SIGKILL)
    kill(p.pid, signal.SIGKILL)


def kill_wattlaw_then_guard(rig, p):
    guard = guard_of(p.pid)
    kill(p.pid, signal.SIGKILL)
    kill(guard, signal.SIGKILL)


def kill_job(rig, p):
    if wait_until(lambda: job_of(p.pid) or p.poll() is not None, 2):
        kill(job_of(p.pid), signal.SIGKILL)


def ctrl_c(rig, p):
    with contextlib.suppress(ProcessLookupError):  # the job may be over
        os.killpg(p.pid, signal.SIGINT)


def terminate(rig, p):
    kill(p.pid, signal.SIGTERM)


def hang_up(rig, p):
    kill(p.pid, signal.SIGHUP)
