"""Prometheus scrapes an exporter and a server for long beside measurements, and both are killed on the way: rate(joules) is still the mean
power in the store within 1 %: hour.py WATTLAW FAKE_NVML SOURCE [SECONDS]"""
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time

from exporter_rig import check, environment
from prometheus import dashboard_has_data, free_port, measure, package, prometheus, wait_until

wattlaw, fake = map(os.path.abspath, sys.argv[1:3])
SECONDS = int(sys.argv[4]) if len(sys.argv) > 4 else 3600
KILLS = 4
DOWN_S = 1


class Service:
    """A command that listens on a port of its own and is killed and started again there."""

    def __init__(self, env, folder, *command):
        self.env, self.folder, self.command, self.port = env, folder, command, free_port()
        self.start()

    def start(self):
        self.process = subprocess.Popen([wattlaw, *self.command, "--port", str(self.port)], env=self.env, cwd=self.folder,
                                        stdout=subprocess.PIPE, text=True)
        check(self.process.stdout.readline().startswith("http://"), self.command, "does not listen")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def url(self):
        return f"http://127.0.0.1:{self.port}/metrics"

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def rates(query, seconds):
    """W, by job: of an exporter what counts, of a server each run's counter."""
    return {name: sum(query(f'sum(rate(wattlaw_energy_joules_total{{job="{name}"{counted}}}[{seconds}s]))').values())
            for name, counted in (("package", ',counted="true"'), ("gpus", ',counted="true"'), ("serve_package", ""), ("serve_gpus", ""))}


def main():
    with tempfile.TemporaryDirectory(prefix="wattlaw-e2e-") as folder, contextlib.ExitStack() as ending:
        env = environment(fake, folder, "gpus=2; power=sine:250:60:1; busy=90")
        sensors = {"gpus": ["--sensors", "nvml,proc"], "package": ["--sensors", "rapl", "--sensor-root", package(folder)]}
        means = {}

        def one(name):
            means[name] = measure(folder, env, name, *sensors[name])
        threads = [threading.Thread(target=one, args=(name,)) for name in sensors]
        for t in threads:
            t.start()
        begin = time.monotonic()
        wait_until("both are measured", lambda: all(os.path.exists(os.path.join(folder, name + ".db-spool-1")) for name in sensors))
        services = {"gpus": Service(env, folder, "exporter", *sensors["gpus"]), "package": Service(env, folder, "exporter", *sensors["package"]),
                    "serve_gpus": Service(env, folder, "serve", "gpus.db"), "serve_package": Service(env, folder, "serve", "package.db")}
        for service in services.values():
            ending.callback(service.kill)
        # The fake's counter, unlike that of a driver, begins anew with each process: its exporter is not killed.
        killed = [services[name] for name in ("package", "serve_gpus", "serve_package")]
        query = ending.enter_context(prometheus(folder, {name: service.url() for name, service in services.items()}, "2s"))
        for k in range(KILLS):
            end = begin + SECONDS * (k + 1) / (KILLS + 1)
            time.sleep(max(0, end - time.monotonic()))
            print(f"{time.monotonic() - begin:.0f} s:", {name: round(w, 2) for name, w in rates(query, int(time.monotonic() - begin)).items()},
                  {name: service.resident_kib() for name, service in services.items()}, "KiB", flush=True)
            for service in killed:
                service.kill()
            time.sleep(DOWN_S)
            for service in killed:
                service.start()
        time.sleep(max(0, begin + SECONDS - 8 - time.monotonic()))
        found = rates(query, int(time.monotonic() - begin - 4))
        for t in threads:
            t.join()
        for name, rate in found.items():
            stored = means[name.removeprefix("serve_")]["mean_power_w"]
            print(f"{name}: rate(joules) {rate:.2f} W, mean power in the store {stored:.2f} W", flush=True)
            check(abs(rate / stored - 1) < .01, name, "rate", rate, "W, store", stored, "W")
        dashboard_has_data(query)
    print(f"hour: passed, {SECONDS} s")


main()
