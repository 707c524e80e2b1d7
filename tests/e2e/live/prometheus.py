"""Prometheus scrapes wattlaw exporter while wattlaw measures the same devices: rate(joules) is the store's mean power within 1 %, and
promtool has no complaint: prometheus.py WATTLAW FAKE_NVML SOURCE [SECONDS]"""
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

from exporter_rig import check, environment, exporter, get

wattlaw, fake = map(os.path.abspath, sys.argv[1:3])
SECONDS = float(sys.argv[4]) if len(sys.argv) > 4 else 40


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def prometheus(folder, targets, interval="1s"):
    """A function that evaluates an expression: {labels: value}"""
    config = os.path.join(folder, "prometheus.yml")
    with open(config, "w") as f:
        json.dump({"global": {"scrape_interval": interval, "scrape_timeout": interval},
                   "scrape_configs": [{"job_name": name, "static_configs": [{"targets": [urllib.parse.urlsplit(url).netloc]}]}
                                      for name, url in targets.items()]}, f)
    address = f"127.0.0.1:{free_port()}"
    with subprocess.Popen(["prometheus", "--config.file=" + config, "--storage.tsdb.path=" + os.path.join(folder, "tsdb"),
                           "--web.listen-address=" + address], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as p:
        def query(expression):
            url = f"http://{address}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
            with urllib.request.urlopen(url, timeout=60) as answer:
                return {tuple(sorted(r["metric"].items())): float(r["value"][1]) for r in json.load(answer)["data"]["result"]}
        threading.Thread(target=p.stderr.read, daemon=True).start()
        try:
            yield query
        finally:
            p.terminate()


def wait_until(what, condition, seconds=120):
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError):
            if condition():
                return
        check(time.monotonic() < end, what, "not within", seconds, "s")
        time.sleep(0.2)


def package(folder):
    """A CPU package that draws 100 W, whose counter wraps after 6 s."""
    zone = os.path.join(folder, "root/sys/class/powercap/intel-rapl:0")
    os.makedirs(zone)
    os.makedirs(os.path.join(folder, "root/proc"))
    for name in ("stat", "meminfo", "loadavg", "cpuinfo"):
        shutil.copyfile("/proc/" + name, os.path.join(folder, "root/proc", name))
    for name, text in (("name", "package-0"), ("max_energy_range_uj", "5000000000"), ("energy_uj", "4400000000")):
        with open(os.path.join(zone, name), "w") as f:
            f.write(text + "\n")
    fd, begin = os.open(os.path.join(zone, "energy_uj"), os.O_WRONLY), time.monotonic()

    def count():
        while True:
            os.pwrite(fd, b"%-12d\n" % ((4400000000 + int((time.monotonic() - begin) * 100e6)) % 5000000000), 0)
            time.sleep(0.005)
    threading.Thread(target=count, daemon=True).start()
    return os.path.join(folder, "root")


def measure(folder, env, name, *arguments):
    store = os.path.join(folder, name + ".db")
    subprocess.run([wattlaw, "measure", "--store", store, *arguments, "--", "sleep", str(SECONDS)], env=env, cwd=folder, check=True,
                   capture_output=True, timeout=SECONDS + 120)
    return json.loads(subprocess.run([wattlaw, "show", store, "--run", "1", "--json"], env=env, check=True, capture_output=True, text=True).stdout)


def dashboard_has_data(query):
    """Each expression of the dashboard is one of Prometheus, and finds what the exporters have."""
    with open(os.path.join(sys.argv[3], "contrib", "grafana-dashboard.json")) as f:
        dashboard = json.load(f)
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$__rate_interval", "20s").replace("$__range", "20s").replace("$host", ".*")
            found = query(expression)
            check(found or "campaign" in expression, panel["title"], "has no data:", expression)


def main():
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        sys.exit("prometheus and promtool are missing: tools/packages installs them")
    with tempfile.TemporaryDirectory(prefix="wattlaw-e2e-") as folder:
        env = environment(fake, folder, "gpus=2; power=sine:250:60:1; busy=90")
        cases = {"gpus": ["--sensors", "nvml,proc"], "package": ["--sensors", "rapl", "--sensor-root", package(folder)]}
        with exporter(wattlaw, env, *cases["gpus"]) as gpus, exporter(wattlaw, env, *cases["package"]) as cpu:
            for url in (gpus, cpu):
                checked = subprocess.run(["promtool", "check", "metrics"], input=get(url)[2], capture_output=True, text=True, check=False)
                check(checked.returncode == 0 and not checked.stdout + checked.stderr, checked.stdout, checked.stderr)
            with prometheus(folder, {"gpus": gpus, "package": cpu}) as query:
                wait_until("both are scraped", lambda: sorted(query("up == 1").values()) == [1, 1])
                means = {}

                def one(name):
                    means[name] = measure(folder, env, name, *cases[name])
                threads = [threading.Thread(target=one, args=(name,)) for name in cases]
                for t in threads:
                    t.start()
                for t in threads:
                    t.join()
                for name in cases:
                    stored = means[name]["mean_power_w"]
                    rate = query(f'sum(rate(wattlaw_energy_joules_total{{counted="true",job="{name}"}}[{int(SECONDS) - 4}s]))')
                    rate = list(rate.values())
                    check(len(rate) == 1 and abs(rate[0] / stored - 1) < .01, name, "rate", rate, "W, store", stored, "W")
                    print(f"{name}: rate(joules) {rate[0]:.2f} W, mean power in the store {stored:.2f} W")
                dashboard_has_data(query)
                failed = query("sum(wattlaw_sampler_lost_samples_total)")
                check(list(failed.values()) == [0], "lost samples:", failed)
    print("prometheus: passed")


if __name__ == "__main__":
    main()
