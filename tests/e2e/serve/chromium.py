"""Headless Chromium for tests of pages that a server serves, through its DevTools protocol: JSON messages that end with NUL on
two pipes (--remote-debugging-pipe), without a port and without a library.
https://chromedevtools.github.io/devtools-protocol/"""
import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_S = 60  # for what takes a tenth of a second on an idle machine


class Missing(Exception):
    """There is no browser that works here; the text says why."""


def high(fd):
    """The same open file at 10 or more, out of the way of 3 and 4, where the browser looks for its pipes."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(fd)
    return moved


class Browser:
    """One browser with one page, in a folder of its own that it removes. Errors of the page (exceptions, refusals of its policy, messages of level error) are in .errors"""

    def __init__(self, folder):
        self.folder = folder
        program = next(filter(shutil.which, NAMES), None)
        if not program:
            raise Missing(f"no {', '.join(NAMES)} in PATH")
        from_us, self.to, self.back, to_us = [high(fd) for fd in (*os.pipe(), *os.pipe())]
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{from_us} 4>&{to_us}', "bash",
             program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
             f"--user-data-dir={os.path.join(folder, 'profile')}", "about:blank"],
            pass_fds=(from_us, to_us), start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(from_us)
        os.close(to_us)
        self.number, self.session, self.rest, self.errors = 0, None, b"", []
        try:
            target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        except (OSError, EOFError) as why:
            self.close()
            raise Missing(f"{program} does not start here: {why}") from None
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        for fd in (self.to, self.back):
            os.close(fd)
        os.killpg(self.process.pid, signal.SIGKILL)  # with the processes of its own that a browser has
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- the protocol ----

    def message(self, deadline):
        while b"\0" not in self.rest:
            if not select.select([self.back], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"the browser is silent; page errors: {self.errors}")
            piece = os.read(self.back, 1 << 20)
            if not piece:
                raise EOFError("it has ended")
            self.rest += piece
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def note(self, event):
        method, p = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = p["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Page.javascriptDialogOpening":
            self.errors.append(f"dialog: {p['message']}")
        elif method == "Log.entryAdded" and p["entry"]["level"] == "error":
            self.errors.append(f"{p['entry']['text']} {p['entry'].get('url', '')}")
        elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in p["args"]))

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        deadline = time.monotonic() + PATIENCE_S
        while (answer := self.message(deadline)).get("id") != self.number:
            self.note(answer)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    # ---- the page ----

    def open(self, url):
        self.call("Page.navigate", url=url)

    def eval(self, expression):
        """The value of a JavaScript expression, which may be a promise."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails'].get('exception', {}).get('description')}")
        return result["result"].get("value")

    def wait(self, expression, seconds=PATIENCE_S):
        """Until the expression is true; returns how long that took, in seconds."""
        begin = time.monotonic()
        while not self.eval(expression):
            if time.monotonic() - begin > seconds:
                raise AssertionError(f"not within {seconds} s: {expression}\npage errors: {self.errors}\n"
                                     f"page: {self.eval('document.body && document.body.innerText')}")
            time.sleep(0.02)
        return time.monotonic() - begin

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def prefer(self, **features):
        """prefer(color_scheme="dark", reduced_motion="reduce")"""
        self.call("Emulation.setEmulatedMedia", features=[{"name": f"prefers-{name.replace('_', '-')}", "value": value}
                                                          for name, value in features.items()])

    def press(self, key):
        code = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}.get(key, 0)
        text = {"Enter": "\r", " ": " "}.get(key)
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                      **({"text": text} if text and kind == "keyDown" else {}))

    def screenshot(self, path, whole=False):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as f:
            f.write(base64.b64decode(shot["data"]))
