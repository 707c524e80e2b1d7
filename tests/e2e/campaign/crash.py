"""SIGKILL of `wattlaw sweep` at 20 random instants: the store is intact each time, a finished run is never repeated, no run
is missing at the end, and no process is left."""

import random

from harness import *

KILLS = 20
SEED = int(os.environ.get("WATTLAW_CRASH_SEED", random.randrange(10**6)))

EXPERIMENT = """
[campaign]
name = crash
repeats = 8
[sweep]
workers = 1,2
local_batch = 8,16
[launch]
command = toy epochs=2 ms=20 stray=1 workers={workers} local_batch={local_batch}
oversubscribe = yes
grace = 50ms
"""
RUNS = 8 * 4
ONE_RUN = [word for key in ("campaign.name=one", "campaign.store=one", "campaign.repeats=1", "sweep.workers=1",
                            "sweep.local_batch=8") for word in ("--set", key)]


def finished(bench):
    """(trial, repeat) -> the facts of its finished run in the store, with the numbers of samples and derived rows."""
    rows = bench.rows("crash/wattlaw.db", """
        SELECT r.trial, r.repeat, r.id, r.start_mono_ns, r.stop_mono_ns,
               (SELECT count(*) FROM sample JOIN channel ON channel.id = sample.channel WHERE channel.run = r.id),
               (SELECT count(*) FROM mark WHERE run = r.id), (SELECT count(*) FROM epoch WHERE run = r.id)
        FROM run r WHERE status = 'done'""")
    runs = {row[:2]: row[2:] for row in rows}
    check(len(runs) == len(rows), "a repeat is done twice:", rows)
    return runs


def sweep_survives_sigkill_at_any_instant(bench):
    print(f"        WATTLAW_CRASH_SEED={SEED} repeats this")
    chance = random.Random(SEED)
    bench.write("crash.ini", EXPERIMENT)
    start = time.monotonic()
    bench.run("sweep", "crash.ini", *ONE_RUN)
    one_s = time.monotonic() - start  # start, one run and end, at the speed of this machine and build
    known, killed, longest_s = {}, 0, 2.5 * one_s
    while killed < KILLS or not known:
        if killed >= KILLS // 2 and not known:
            longest_s *= 1.5  # the machine has become slower
        p = bench.start("sweep", "crash.ini", "--quiet")
        try:
            p.wait(chance.uniform(0, longest_s))
        except subprocess.TimeoutExpired:
            killed += 1
        p.kill()
        p.communicate()
        check(p.returncode in (0, -signal.SIGKILL), p.returncode)
        if not os.path.exists(bench.path("crash", "wattlaw.db")):
            continue
        check(bench.rows("crash/wattlaw.db", "PRAGMA integrity_check") == [("ok",)])
        if not bench.rows("crash/wattlaw.db", "SELECT 1 FROM sqlite_schema WHERE name = 'run'"):
            continue
        now = finished(bench)
        check(all(now.get(run) == facts for run, facts in known.items()), "a finished run has changed")
        known = now
    bench.all_gone()
    print(f"        {killed} times killed, {len(known)} of {RUNS} runs done before the last call")
    bench.run("sweep", "crash.ini")
    now = finished(bench)
    check(all(now.get(run) == facts for run, facts in known.items()), "a finished run has changed")
    check(len(now) == RUNS, len(now), "runs are done")
    check(all(facts[-1] == 2 for facts in now.values()), "every run has both epochs")
    more = bench.rows("crash/wattlaw.db", """
        SELECT count(*) FROM run late JOIN run done USING (trial, repeat)
        WHERE done.status = 'done' AND late.id <> done.id AND late.start_mono_ns > done.stop_mono_ns""")
    check(more == [(0,)], "runs that were repeated after a finished one:", more)
    check(not bench.rows("crash/wattlaw.db", "SELECT id FROM run WHERE status IN ('planned', 'running')"))


main([sweep_survives_sigkill_at_any_instant])
