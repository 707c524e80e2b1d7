"""An exporter over a scripted libnvidia-ml, for the tests of this folder."""
import contextlib
import os
import re
import signal
import subprocess
import urllib.error
import urllib.request

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
SAMPLE = re.compile(r'(\w+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


def environment(fake, folder, script):
    env = {k: v for k, v in os.environ.items() if k not in ("CUDA_VISIBLE_DEVICES", "NVML_LIBRARY")}
    return {**env, "NVML_LIBRARY": os.path.abspath(fake), "WATTLAW_FAKE_NVML": script, "WATTLAW_STATE_DIR": os.path.join(folder, "state")}


@contextlib.contextmanager
def exporter(wattlaw, env, *arguments):
    """The address of its metrics; it ends with status 0."""
    with subprocess.Popen([wattlaw, "exporter", "--port", "0", *arguments], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as p:
        try:
            url = p.stdout.readline().strip()
            check(url.endswith("metrics"), "not an address:", url, p.poll() is not None and p.stderr.read())
            yield url
        except BaseException:
            p.kill()
            raise
        p.send_signal(signal.SIGTERM)
        _, err = p.communicate(timeout=60)
        check(p.returncode == 0, "status", p.returncode, err)


def get(url, **headers):
    """(status, Content-Type, text)"""
    request = urllib.request.Request(url, headers={k.replace("_", "-"): v for k, v in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.headers["Content-Type"], e.read().decode()


def samples(text):
    """{(name, labels): value}; every line is one or a comment, and each series is there once."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        m = SAMPLE.match(line)
        check(m, "not a sample:", line)
        key = m[1], tuple(LABEL.findall(m[2] or ""))
        check(key not in found, "twice:", key)
        found[key] = float(m[3])
    return found


def values(text, name, **labels):
    """{device: value}"""
    return {dict(pairs).get("device"): v for (n, pairs), v in samples(text).items()
            if n == "wattlaw_" + name and labels.items() <= dict(pairs).items()}
