"""wattlaw exporter: both formats, many scrapers, a driver that hangs, who may ask: exporter.py WATTLAW FAKE_NVML"""
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import time

from exporter_rig import OPENMETRICS, check, environment, exporter, get, samples, values

wattlaw, fake = map(os.path.abspath, sys.argv[1:3])
GPUS = ["GPU-a0000000-0000-4000-8000-fa4e00000000", "GPU-a0000001-0000-4000-8000-fa4e00000000"]


def wait_until(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, what, "not within", seconds, "s")
        time.sleep(0.05)


def formats(folder):
    env = environment(fake, folder, "gpus=2; power=250,300; busy=90; limits=100:400:350")
    with exporter(wattlaw, env, "--sensors", "nvml,proc") as url:
        status, kind, text = get(url)
        check(status == 200 and kind.startswith("text/plain; version=0.0.4") and "# EOF" not in text and "# UNIT" not in text, kind)
        check("# TYPE wattlaw_energy_joules_total counter\n" in text)
        wait_until("limits", lambda: values(get(url)[2], "power_cap_watts"))
        status, kind, text = get(url, Accept=OPENMETRICS)
        check(status == 200 and kind.startswith("application/openmetrics-text; version=1.0.0") and text.endswith("\n# EOF\n"), kind)
        check("# TYPE wattlaw_energy_joules counter\n# UNIT wattlaw_energy_joules joules\n" in text)
        check(values(text, "power_watts", provenance="simulated") == {GPUS[0]: 250, GPUS[1]: 301}, values(text, "power_watts"))
        check(values(text, "power_cap_watts") == dict.fromkeys(GPUS, 350) and values(text, "utilization_ratio") == dict.fromkeys(GPUS, 0.9), text)
        check(values(text, "temperature_celsius") == dict.fromkeys(GPUS, 51) and values(text, "sm_clock_hertz")[GPUS[0]] == 1.41e9, text)
        before, t0 = values(text, "energy_joules_total", counted="true"), time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(20) as pool:  # nothing is dropped while twenty look
            answers = [f.result() for f in [pool.submit(get, url, Accept=OPENMETRICS) for _ in range(200)]]
        check(all(a[0] == 200 and a[2].endswith("# EOF\n") for a in answers), {a[0] for a in answers})
        wait_until("a second", lambda: time.monotonic() - t0 > 1)
        text, t1 = get(url)[2], time.monotonic()
        after = values(text, "energy_joules_total", counted="true")
        power = sum(after[g] - before[g] for g in GPUS) / (t1 - t0)
        check(abs(power / 551 - 1) < 0.3, "the counters grow by", power, "W")
        lost = [v for (name, _), v in samples(text).items() if name == "wattlaw_sampler_lost_samples_total"]
        check(lost == [0], "lost samples:", lost)
        check(get(url.removesuffix("metrics"))[0] == 404 and get(url.replace("metrics", "api/v1/runs"))[0] == 404, "there are metrics alone")
        check(get(url, Host="evil.example")[0] == 421, "a foreign name of the host")


def a_driver_that_hangs(folder):
    env = environment(fake, folder, "gpus=1; power=100; hang=0:*:0.3")
    with exporter(wattlaw, env, "--sensors", "nvml,proc") as url:
        wait_until("the reading is absent", lambda: not values(get(url)[2], "power_watts"))
        begin = time.monotonic()
        text = get(url)[2]
        check(time.monotonic() - begin < 5, "a scrape took", time.monotonic() - begin)
        check(values(text, "memory_used_bytes") and not values(text, "energy_joules_total"), "what the driver does not answer is absent:", text)


def access(folder):
    env = environment(fake, folder, "power=100")
    refused = subprocess.run([wattlaw, "exporter", "--address", "0.0.0.0"], env=env, capture_output=True, text=True, check=False, timeout=60)
    check(refused.returncode == 2 and "--token-file" in refused.stderr, refused)
    path = os.path.join(folder, "token")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
        f.write("0123456789abcdef\n")
    with exporter(wattlaw, env, "--sensors", "nvml", "--token-file", path) as url:
        check(get(url)[0] == 401 and get(url, Authorization="Bearer 0123456789abcdee")[0] == 401, "without the token")
        check(get(url, Authorization="Bearer 0123456789abcdef")[0] == 200, "with the token")


def main():
    built = subprocess.run([wattlaw, "exporter", "--port", "0", "--address", "::1", "--sensors", "nonsense"], capture_output=True, text=True, check=False)
    check(built.returncode == 1 and "nonsense" in built.stderr, built)
    with tempfile.TemporaryDirectory(prefix="wattlaw-e2e-") as folder:
        for test in (formats, a_driver_that_hangs, access):
            test(folder)
    print("exporter: passed")


main()
