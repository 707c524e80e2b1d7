"""Processes that SIGKILL does not end, like those that are stuck in the kernel: they are reported and not waited for."""

import contextlib

from harness import *

NO_KILL = os.path.abspath(sys.argv.pop(3))


def stuck(bench):
    """The environment in which wattlaw cannot kill; sanitizers must accept that another library is loaded first."""
    return {**bench.env, "LD_PRELOAD": NO_KILL, "WATTLAW_CGROUP": "no",  # a cgroup is killed by the kernel itself
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}


def a_stuck_job_does_not_hold_up_the_campaign(bench):
    bench.write("a.ini", "[campaign]\nname = a\nrepeats = 1\n[launch]\ncommand = toy deaf=1 epochs=1 ms=600000\n"
                         "timeout = 1s\ngrace = 100ms\n")
    r = bench.run("sweep", "a.ini", env=stuck(bench), status=1)
    contains(r.stderr, "1 process of the job did not end after SIGKILL: ", "(toy) has not ended (state ")
    check(bench.rows("a/wattlaw.db", "SELECT status, error FROM run") ==
          [("failed", "took longer than 1 s and was stopped")])
    check(len([c for _, c in bench.processes() if c.startswith("toy")]) == 1, bench.processes())


def a_stuck_leftover_does_not_hold_up_the_next_call(bench):
    bench.write("b.ini", "[campaign]\nname = b\nrepeats = 1\n[launch]\ncommand = sh -c 'trap : TERM; test -e go && exit; "
                         "touch looping; while true; do sleep 0.1; done'\ngrace = 100ms\n")
    p = bench.start("sweep", "b.ini", "--quiet", env=stuck(bench))
    bench.wait_until("the job runs", lambda: os.path.exists(bench.path("looping")) and
                     bench.rows("b/wattlaw.db", "SELECT status FROM run") == [("running",)])
    guards = [pid for pid, c in bench.processes() if "sweep" in c and pid != p.pid]
    for pid in [*guards, p.pid]:
        os.kill(pid, signal.SIGKILL)
    p.communicate()
    bench.write("go", "")
    r = bench.run("sweep", "b.ini", env=stuck(bench))
    contains(r.stderr, "of a dead run did not end after SIGKILL")
    check(bench.rows("b/wattlaw.db", "SELECT status FROM run ORDER BY id") == [("interrupted",), ("done",)])


def ending_leftovers(test):
    """The test ends the processes that wattlaw had to leave."""
    def with_end(bench):
        try:
            test(bench)
        finally:
            for pid, _ in bench.processes():
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    os.kill(pid, signal.SIGKILL)
    with_end.__name__ = test.__name__
    return with_end


main([ending_leftovers(a_stuck_job_does_not_hold_up_the_campaign), ending_leftovers(a_stuck_leftover_does_not_hold_up_the_next_call)])
