"""`wattlaw serve` over real sockets: limits, hosts, tokens, slow clients, a running measurement, its end: server.py WATTLAW MAKE_SAMPLES"""
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

wattlaw, make_samples = (os.path.abspath(path) for path in sys.argv[1:3])
TOKEN = "correct-horse-battery"
JOB = """
import os, time
marks = os.open(os.environ["WATTLAW_MARKS"], os.O_WRONLY | os.O_APPEND)
def mark(text):
    os.write(marks, f"{time.monotonic_ns()} 0 {text}\\n".encode())
mark("start workload=live workers=1")
for epoch in range(1, 4):
    mark(f"epoch-begin epoch={epoch}")
    while not os.path.exists(f"end-{epoch}"):
        time.sleep(0.02)
    mark(f"epoch-end epoch={epoch} samples=10")
"""


def expect(condition, what, seen=""):
    if not condition:
        sys.exit(f"{what}\n{seen}")


def lag(server):
    """How long a request that needs nothing takes at this moment: on a machine that others use, much."""
    begin = time.monotonic()
    server.get("/api/v1/session")
    return time.monotonic() - begin


class Server:
    """A server over stores; its port is free."""

    def __init__(self, folder, *args):
        self.process = subprocess.Popen([wattlaw, "serve", "--port", "0", *args], cwd=folder, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            sys.exit(f"no address: {self.process.communicate()}")
        self.port = int(self.url.split(":")[2].split("/")[0])

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.kill() if kind else self.end()
        self.process.stderr.close()
        self.process.stdout.close()

    def end(self, sig=signal.SIGINT):
        """Ends it as Ctrl-C does."""
        begin = time.monotonic()
        self.process.send_signal(sig)
        status = self.process.wait(timeout=30)
        self.err = self.process.stderr.read()
        expect(status == 0, f"Ctrl-C: status {status} after {time.monotonic() - begin:.1f} s", self.err)

    def get(self, path, headers=None, method="GET", body=None):
        """Status, headers and body."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        c.request(method, path, body=body, headers=headers or {})
        r = c.getresponse()
        answer = r.status, dict(r.getheaders()), r.read()
        c.close()
        return answer

    def json(self, path):
        status, _, body = self.get(path)
        expect(status == 200, f"{path}: {status}", body)
        return json.loads(body)

    def raw(self, data, timeout=30):
        """All that comes back for some bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as s:
            s.settimeout(timeout)
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # refused before all of it was sent
            answer = b""
            try:
                while part := s.recv(65536):
                    answer += part
            except OSError:
                pass
            return answer


class Events:
    """A stream of events."""

    def __init__(self, server, last=None):
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        id_line = f"Last-Event-ID: {last}\r\n" if last else ""
        self.socket.sendall(f"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n{id_line}\r\n".encode())
        self.lines = self.socket.makefile("r", encoding="utf-8", newline="\n")
        self.id = None

    def next(self, wanted, **members):
        """The next event of that name with those members, and when it came."""
        event = {}
        for line in self.lines:
            line = line.strip()
            if line == "" and event.get("event"):
                self.id = event.get("id", self.id)
                data = json.loads(event["data"])
                if event["event"] == wanted and all(data.get(k) == v for k, v in members.items()):
                    return data, time.monotonic()
                event = {}
            elif ": " in line:
                key, value = line.split(": ", 1)
                event[key] = value
        sys.exit(f"the stream ended without {wanted} {members}")

    def close(self):
        self.lines.close()
        self.socket.close()


def files_of(folder):
    return {name: open(os.path.join(folder, name), "rb").read() for name in os.listdir(folder)}


def page_and_headers(folder):
    before = files_of(os.path.join(folder, "small"))
    with Server(folder, "small", "capped", "--base-path", "/w/", "--host", "proxy.example") as s:
        expect(s.url.endswith(f":{s.port}/w/"), "the address has the base path", s.url)
        status, headers, body = s.get("/w/")
        expect(status == 200 and b"<title>" in body, "the page", body[:200])
        for name, part in (("Content-Security-Policy", "default-src 'none'"), ("Content-Security-Policy", "frame-ancestors 'none'"),
                           ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"), ("X-Frame-Options", "DENY")):
            expect(part in headers.get(name, ""), f"{name} lacks {part}", headers)
        expect("unsafe" not in headers["Content-Security-Policy"], "code in the page could run", headers)
        for path in ("/w/assets/serve.js", "/w/assets/chart.js", "/w/api/v1/runs/1-1", "/w/report/2", "/w/download/1/epochs.csv"):
            status, headers, body = s.get(path, {"Host": "proxy.example"})
            expect(status == 200 and body, f"{path}: {status}", body[:200])
            expect("nosniff" in headers["X-Content-Type-Options"], f"{path}: headers", headers)
        status, headers, _ = s.get("/w/api/v1/overview")
        again, _, body = s.get("/w/api/v1/overview", {"If-None-Match": headers["ETag"]})
        expect(again == 304 and body == b"", f"unchanged: {again}", body)
        stores = s.json("/w/api/v1/overview")["stores"]
        expect([v["name"] for v in stores] == ["small", "capped"] and stores[0]["campaigns"][0]["runs"]["failed"] == 1, "overview", stores)
        runs = s.get("/w/download/1/runs.csv")[2].decode().splitlines()
        expect(len(runs) == 1 + stores[0]["runs"] and runs[0].startswith("run,state,"), "runs.csv", runs[:2])
        samples = s.get("/w/download/1/samples.csv?run=1")[2].decode().splitlines()
        expect(len(samples) > 100, "samples.csv", samples[:2])
    expect(files_of(os.path.join(folder, "small")) == before, "a reader has changed the store")


def hostile_requests(folder):
    with Server(folder, "small") as s:
        head = b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        for target in (b"/../../etc/passwd", b"/assets/../../../etc/passwd", b"/assets/%2e%2e%2f%2e%2e%2fetc/passwd", b"//etc/passwd",
                       b"/assets/..\\..\\etc\\passwd", b"/download/1/../../etc/passwd"):
            answer = s.raw(head % target)
            expect(b" 404 " in answer[:20] and b"root:" not in answer, f"{target}", answer)
        for target in (b"/%00", b"/a%0d%0aSet-Cookie:%20x=1", b"/?q=%zz"):
            answer = s.raw(head % target)
            expect(b" 400 " in answer[:20] and b"x=1" not in answer.split(b"\r\n\r\n")[0], f"{target}", answer)
        for host in (b"evil.example", b"localhost.evil.example:80", b"127.0.0.1@evil.example"):
            expect(b" 421 " in s.raw(b"GET / HTTP/1.1\r\nConnection: close\r\nHost: " + host + b"\r\n\r\n")[:20], f"host {host}")
        expect(b" 421 " in s.raw(b"GET / HTTP/1.1\r\nConnection: close\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")[:20], "two hosts")
        expect(b" 421 " in s.raw(b"GET / HTTP/1.0\r\n\r\n")[:20], "no host")
        big = s.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200000 + b"\r\n\r\n")
        expect(big == b"" or b" 431 " in big[:20] or b" 413 " in big[:20], "a large header", big[:100])
        long = s.raw(b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        expect(long == b"" or b" 414 " in long[:20] or b" 400 " in long[:20], "a long path", long[:100])
        for length in (b"5000", b"99999999999999999999"):
            body = s.raw(b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + length + b"\r\n\r\n" + b"x" * 5000)
            expect(b" 413 " in body[:20] or b" 400 " in body[:20], f"a body of {length}", body[:100])
        chunked = s.raw(b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1000\r\n" +
                        b"x" * 4096 + b"\r\n" + b"1000\r\n" + b"x" * 4096 + b"\r\n0\r\n\r\n")
        expect(b" 413 " in chunked[:20], "a chunked body", chunked[:100])
        for method in (b"PUT", b"DELETE", b"OPTIONS", b"TRACE", b"CONNECT"):
            answer = s.raw(method + b" /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            expect(b" 405 " in answer[:20] or b" 400 " in answer[:20], f"{method}", answer[:100])
        for framing in (b"Content-Length: 4\r\nTransfer-Encoding: chunked", b"Content-Length: 0\r\nContent-Length: 40", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
                        b"Transfer-Encoding: xchunked", b"Content-Length: 40\r\nTransfer-Encoding : chunked"):
            answer = s.raw(b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\n" + framing + b"\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n")
            expect(answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1 ") == 1 and b"onnection: close" in answer, f"{framing}", answer)
        for target, status in ((b"http://localhost/api/v1/runs?limit=1", b"200"), (b"HTTP://127.0.0.1:1234", b"200"), (b"http://evil.example/api/v1/runs", b"421"),
                               (b"http://localhost@evil.example/", b"421"), (b"http:///", b"421"), (b"ftp://localhost/", b"400")):
            for host in (b"localhost", b"evil.example"):  # of which the target's takes the place
                answer = s.raw(b"GET " + target + b" HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n")
                expected = b"421" if status == b"400" and host == b"evil.example" else status
                expect(answer[9:12] == expected, f"{target} with Host: {host}", answer)
        for target, methods in ((b"/", (b"TRACE", b"OPTIONS", b"FOO")), (b"*", (b"OPTIONS",))):
            for method in methods:
                answer = s.raw(method + b" " + target + b" HTTP/1.1\r\nHost: localhost\r\nX-Secret: echo-me\r\nConnection: close\r\n\r\n")
                expect(answer[9:12] in (b"400", b"405") and b"echo-me" not in answer and b"evil" not in answer, f"{method} {target}", answer)
        for target, cache in ((b"/api/v1/session", b"no-store"), (b"/api/v1/runs", b"no-cache"), (b"/metrics", b"no-store"), (b"/none", b"no-store")):
            headers = s.raw(head % target).split(b"\r\n\r\n")[0] + b"\r\n"
            for line in (b"Cache-Control: " + cache, b"X-Content-Type-Options: nosniff", b"Cross-Origin-Resource-Policy: same-origin",
                         b"Cross-Origin-Opener-Policy: same-origin", b"Referrer-Policy: no-referrer"):
                expect(line + b"\r\n" in headers, f"{target} lacks {line}", headers)
            for line in (b"\r\nServer:", b"\r\nX-Powered-By:", b"\r\nAccess-Control-"):
                expect(line not in headers, f"{target} has {line}", headers)
        for junk in (b"\x16\x03\x01\x02\x00", b"\r\n\r\n", b"GET\r\n\r\n", b"\x00" * 1000, b"GET / HTTP/9.9\r\n\r\n", os.urandom(3000)):
            s.raw(junk, timeout=1)  # what is never whole is waited for longer
        status, _, body = s.get("/api/v1/login", {"Origin": "https://evil.example"}, "POST", "token=x")
        expect(status == 403, f"a foreign page: {status}", body)
        expect(s.json("/api/v1/session")["version"], "it still answers")


def tokens(folder):
    path = os.path.join(folder, "token")
    with open(path, "w", encoding="utf-8") as f:
        f.write(TOKEN + "\n")
    os.chmod(path, 0o644)
    for args, says in ((["--token-file", path], "chmod 600"), (["--address", "0.0.0.0"], "--token-file"), (["--address", "here"], "expected an IPv4"),
                       (["--base-path", "/a b"], "--base-path"), (["--port", "70000"], "--port")):
        r = subprocess.run([wattlaw, "serve", "small", *args], cwd=folder, text=True, capture_output=True, timeout=30)
        expect(r.returncode in (1, 2) and says in r.stderr, f"{args}: {r.returncode}", r.stderr)
    os.chmod(path, 0o600)
    with Server(folder, "small", "--token-file", path, "--address", "0.0.0.0") as s:
        expect(s.get("/")[0] == 200 and s.json("/api/v1/session")["login"] is True, "the page asks for the token")
        for target in ("/api/v1/runs", "/report/1", "/download/1/runs.csv", "/api/v1/events"):
            expect(s.get(target)[0] == 401, f"{target} without the token")
        status, headers, body = s.get("/api/v1/login", {"Content-Type": "application/x-www-form-urlencoded"}, "POST", "token=" + TOKEN[:-1])
        expect(status == 401 and "Set-Cookie" not in headers, "a wrong token", body)
        status, headers, body = s.get("/api/v1/login", {}, "POST", "token=" + TOKEN)
        cookie = headers["Set-Cookie"]
        expect(status == 204 and "HttpOnly" in cookie and "SameSite=Strict" in cookie and TOKEN not in cookie, "the cookie", cookie)
        expect(s.get("/api/v1/runs", {"Cookie": cookie.split(";")[0]})[0] == 200, "the cookie opens")
        expect(s.get("/api/v1/runs", {"Authorization": "Bearer " + TOKEN})[0] == 200, "the token opens")
        expect(s.get("/api/v1/runs", {"Cookie": cookie.split(";")[0], "Host": "evil.example"})[0] == 421, "not under another name")
        s.end()
        expect("not encrypted" in s.err and TOKEN not in s.err, "the warning", s.err)


def slow_clients(folder):
    """Two hundred that send a byte now and then, and fifty that read nothing."""
    with Server(folder, "small", "--connections", "600") as s:
        slow = [socket.create_connection(("127.0.0.1", s.port), timeout=30) for _ in range(200)]
        deaf = [socket.create_connection(("127.0.0.1", s.port), timeout=30) for _ in range(50)]
        for c in deaf:
            c.sendall(b"GET /assets/chart.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
        before, begin = lag(s), time.monotonic()
        for i in range(20):
            for c in slow[i::20]:
                try:
                    c.sendall(b"GET /api/v1/runs HTTP/1.1\r\n"[i:i + 1])
                except OSError:
                    pass
            expect(s.get("/api/v1/runs")[0] == 200, "slow clients stop others")
        took = time.monotonic() - begin
        expect(took < 5 + 100 * max(before, lag(s)), f"20 requests beside slow clients took {took:.1f} s")
        while time.monotonic() - begin < 60:  # a request has 10 s to arrive
            for c in slow[:]:
                try:
                    c.sendall(b"x")
                    c.settimeout(0.001)
                    if c.recv(100) == b"":
                        raise ConnectionError
                except TimeoutError:
                    pass
                except OSError:
                    slow.remove(c)
                    c.close()
            if not slow:
                break
            time.sleep(0.5)
        expect(not slow, f"{len(slow)} slow clients are still connected")
        expect(time.monotonic() - begin > 8, "they had no time")
        for c in deaf:
            c.close()


def too_many(folder):
    with Server(folder, "small", "--connections", "32") as s:
        held = [socket.create_connection(("127.0.0.1", s.port), timeout=30) for _ in range(40)]
        time.sleep(0.3)
        for c in held:
            c.close()
        for _ in range(50):  # what was used is free again
            try:
                if s.get("/api/v1/session")[0] == 200:
                    return
            except OSError:
                time.sleep(0.1)
        sys.exit("no connection is free after others have ended")


def begun(server):
    """A new stream of events: its status, and its socket."""
    c = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    c.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return int(c.recv(4096)[9:12]), c


def streams_of_clients_that_left(folder):
    """A page that is opened 200 times uses one stream at a time; 128 that stay are the most."""
    with Server(folder, "small") as s:
        kept, refused = [], 0
        for i in range(200):
            status, c = begun(s)
            expect(status == 200, f"reload {i}: {status}")
            c.close()
        while not refused and len(kept) < 200:
            status, c = begun(s)
            refused = status == 503
            kept.append(c)
        expect(len(kept) == 129 and refused, f"{len(kept)} streams are open")
        kept.pop(50).close()
        status, c = begun(s)
        expect(status == 200, f"after one has left: {status}")
        fds = f"/proc/{s.process.pid}/fd"
        many = len(os.listdir(fds))
        for one in [*kept, c]:
            one.close()
        deadline = time.monotonic() + 60  # a tick of one second; nothing new comes
        while len(os.listdir(fds)) > many - 128 and time.monotonic() < deadline:
            time.sleep(0.05)
        expect(len(os.listdir(fds)) <= many - 128, f"{many} descriptors, then {len(os.listdir(fds))}")
        expect(time.monotonic() < deadline - 50, "they were kept for longer than a tick")


def touch(folder, name):
    open(os.path.join(folder, name), "w", encoding="utf-8").close()


def live(folder):
    """A running measurement: its epochs are there within 2 s, its readings before they are stored, and what a killed server missed."""
    lab = os.path.join(folder, "live")
    os.mkdir(lab)
    job = subprocess.Popen([wattlaw, "measure", "--store", "wattlaw.db", "--", sys.executable, "-c", JOB], cwd=lab, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    while not os.path.exists(os.path.join(lab, "wattlaw.db-spool-1")):
        expect(job.poll() is None, "the measurement ended")
        time.sleep(0.05)
    with Server(lab) as s:
        events = Events(s)
        events.next("reset")  # from here on every change is an event
        before = lag(s)
        touch(lab, "end-1")
        begin = time.monotonic()
        data, came = events.next("epoch", id="1-1", epoch=1)
        expect(came - begin < 2 + 30 * max(before, lag(s)) and data["time_s"] > 0, f"the epoch came after {came - begin:.1f} s", data)
        run = s.json("/api/v1/runs/1-1")
        expect(run["so_far"] and run["alive"] and [v["epoch"] for v in run["epochs"]] == [1], "the run so far", run)
        expect(abs(run["epochs"][0]["end_s"] - data["end_s"]) < 1e-6, "its epoch", run["epochs"])
        channel = next(v["channel"] for v in run["series"] if v["quantity"] == "cpu_util_pct")
        seen = 0
        for _ in range(40):
            series = s.json(f"/api/v1/runs/1-1/series?channel={channel}")["series"][0]
            expect(series["readings"] >= seen, "readings were lost", series)
            seen = series["readings"]
            if seen >= 4:
                break
            time.sleep(0.25)
        expect(seen >= 4, "readings of the spool are not there", series)
        overview = s.json("/api/v1/overview")["stores"][0]["campaigns"][0]
        expect(overview["runs"]["running"] == 1 and overview["running"] == ["1-1"], "overview", overview)
        missed = Events(s)
        missed.next("hello")
        touch(lab, "end-2")
        events.next("epoch", id="1-1", epoch=2)
        again = Events(s, events.id)
        s.process.kill()  # at any moment
        s.process.wait()
        for stream in (events, missed, again):
            stream.close()
    with Server(lab) as s:
        events = Events(s, "1234-5")
        events.next("reset")
        events.next("reset")
        touch(lab, "end-3")
        events.next("run", id="1-1", state="done")
        events.next("progress", done=1, running=0)
        held = Events(s)
        s.end()  # with streams open
        events.close()
        held.close()
    out, _ = job.communicate(timeout=60)
    expect(job.returncode == 0, "the measurement", out)
    r = subprocess.run([wattlaw, "show", "--run", "1", "--json"], cwd=lab, text=True, capture_output=True, timeout=60)
    shown = json.loads(r.stdout)
    expect([v["epoch"] for v in shown["epochs"]] == [1, 2, 3] and shown["status"] == "done", "the stored run", r.stdout)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([make_samples, folder], check=True, timeout=120)
        for test in (page_and_headers, hostile_requests, tokens, too_many, streams_of_clients_that_left, live, slow_clients):
            test(folder)
            print(test.__name__, flush=True)
