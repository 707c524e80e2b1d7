"""/metrics of wattlaw serve and exporter, as promtool and the strict parser of OpenMetrics in prometheus_client take them, with hostile names and a
run under way, whose counters go on where the server is killed: serve_metrics.py WATTLAW FAKE_NVML"""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from exporter_rig import OPENMETRICS, check, environment, exporter, get, samples

wattlaw, fake = map(os.path.abspath, sys.argv[1:3])
HOSTILE = 'a"b\\c{d="e"} 1\n# EOF\n\u00e9\u202e,}'


def is_clean(url):
    """Both formats; returns the families of OpenMetrics by name."""
    text = get(url)[2]
    if shutil.which("promtool"):
        linted = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False, timeout=60)
        check(linted.returncode == 0 and not linted.stdout + linted.stderr, linted.stdout, linted.stderr)
    return {family.name: family for family in text_string_to_metric_families(get(url, Accept=OPENMETRICS)[2])}


@contextlib.contextmanager
def serving(env, *arguments):
    with subprocess.Popen([wattlaw, "serve", "--port", "0", *arguments], env=env, stdout=subprocess.PIPE, text=True) as p:
        url = p.stdout.readline().strip()
        check(url.startswith("http://"), "not an address:", url)
        yield url.rstrip("/") + "/metrics"
        p.kill()  # at any time


def joules(url):
    """Of the run under way, by device; empty before its first readings."""
    return {s.labels["device"]: s.value for s in is_clean(url).get("wattlaw_energy_joules", NO_FAMILY).samples}


class NO_FAMILY:
    samples = ()


def wait_until(what, condition):
    end = time.monotonic() + 60
    while not (found := condition()):
        check(time.monotonic() < end, what)
        time.sleep(.1)
    return found


def main():
    with tempfile.TemporaryDirectory(prefix="wattlaw-e2e-") as folder:
        env = environment(fake, folder, "gpus=2; power=250; busy=90")
        stores = [os.path.join(folder, HOSTILE.replace("/", "") + ".db"), os.path.join(folder, "empty.db")]
        job = subprocess.Popen([wattlaw, "measure", "--quiet", "--store", stores[0], "--name", HOSTILE, "--sensors", "nvml,proc", "--", "sh", "-c",
                                "until [ -e go ]; do sleep .05; done"], cwd=folder, env=env)
        try:
            wait_until("the measurement begins", lambda: os.path.exists(stores[0] + "-spool-1"))
            with serving(env, stores[0]) as url:
                before = wait_until("readings", lambda: joules(url))
                families = is_clean(url)
                runs = {s.labels["state"]: s.value for s in families["wattlaw_campaign_runs"].samples}
                check(runs == {"done": 0, "failed": 0, "running": 1, "waiting": 0}, runs)
                labels = families["wattlaw_campaign_runs"].samples[0].labels
                check(labels["store"] == stores[0] and families["wattlaw_energy_joules"].type == "counter", labels)
                check(len(before) == 2 and all(s.labels["run"] == "1" for s in families["wattlaw_energy_joules"].samples), before)
            with serving(env, stores[0]) as url:
                after = wait_until("later readings", lambda: (j := joules(url)) != before and j)
                check(after.keys() == before.keys() and all(after[d] > before[d] for d in before), "a counter went back:", before, after)
                with open(os.path.join(folder, "go"), "w", encoding="ascii"):
                    pass
                check(job.wait(timeout=60) == 0, "the measurement")
                wait_until("the run has ended", lambda: not joules(url))
                check([s.value for s in is_clean(url)["wattlaw_campaign_runs"].samples if s.labels["state"] == "done"] == [1], "it is done")
                os.rename(stores[0], stores[0] + "-away")
                check([s.value for s in is_clean(url)["wattlaw_store_readable"].samples] == [0], "a store that is away is readable")
        finally:
            job.kill()
            job.wait()
        with exporter(wattlaw, env, "--sensors", "nvml,proc") as url:
            check("wattlaw_power_watts" in wait_until("readings", lambda: (f := is_clean(url)) and "wattlaw_power_watts" in f and f))
            check(samples(get(url)[2]), "nothing")
    print("serve_metrics: passed")


main()
