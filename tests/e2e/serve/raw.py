"""Mutated requests over raw sockets against a server, of an ASan build where one is meant: raw.py WATTLAW MAKE_SAMPLES [SECONDS [SEED]]
It must answer each connection with HTTP or end it, go on answering a whole request, and end without a finding of a sanitizer."""
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time

from server import TOKEN, Server, expect, make_samples

SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 60
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else 1
CLIENTS = 16
TARGETS = (b"/", b"/w/", b"/w/assets/serve.js", b"/w/api/v1/session", b"/w/api/v1/overview", b"/w/api/v1/runs?sort=energy&dir=desc&page=2&q=toy&state=done",
           b"/w/api/v1/runs/1-1", b"/w/api/v1/runs/1-1/series?channel=1&from=0&to=1e9&points=300", b"/w/api/v1/compare?a=1-1&b=1-2", b"/w/api/v1/laws",
           b"/w/api/v1/recommendation?store=1",
           b"/w/api/v1/card?store=1", b"/w/api/v1/control", b"/w/api/v1/events", b"/w/report/1", b"/w/download/1/runs.csv", b"/w/download/1/samples.csv?run=1",
           b"/w/metrics", b"http://localhost/w/api/v1/runs", b"*", b"//", b"/w/%2e%2e/%00")
HEADERS = (b"Host: localhost", b"Host: [::1]:80", b"Host: evil.example", b"Authorization: Bearer " + TOKEN.encode(), b"Cookie: wattlaw-80=00", b"If-None-Match: \"x\", *",
           b"Last-Event-ID: 18446744073709551615-9", b"Origin: null", b"Accept: application/openmetrics-text;q=0.5,*/*;q=1e9", b"Content-Length: 22",
           b"Content-Length: -1", b"Content-Length: 99999999999999999999", b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity, chunked",
           b"Connection: keep-alive", b"Connection: close", b"Upgrade: websocket", b"Expect: 100-continue", b"Range: bytes=0-", b"X: " + b"x" * 3000, b" folded: x")
PIECES = (b"\r\n", b"\n", b"\r", b"\0", b"%00", b"%", b"\xff", b"\xc3\x28", b"..", b"/", b"?", b"&", b"=", b" ", b"\t", b"0", b"-1", b"9" * 40, b"1e999", b"nan", b":", b"x" * 5000)


def request(r):
    """One that is right but for some of its parts, mutated or not."""
    method = r.choice((b"GET", b"GET", b"GET", b"HEAD", b"POST", b"PUT", b"OPTIONS", b"TRACE", b"CONNECT", b"get"))
    headers = [b"Host: localhost"] if r.random() < .8 else []
    if r.random() < .7:
        headers.append(b"Authorization: Bearer " + TOKEN.encode())
    headers += r.sample(HEADERS, r.randrange(4))
    text = method + b" " + r.choice(TARGETS) + b" " + r.choice((b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0")) + b"\r\n" + b"\r\n".join(headers) + b"\r\n\r\n"
    if method == b"POST":
        text = text.replace(r.choice(TARGETS), b"/w/api/v1/login") + r.choice((b"token=x", b"4\r\ntoke\r\n0\r\n\r\n", b"token=" + TOKEN.encode(), b"x" * 6000))
    for _ in range(r.choice((0, 0, 1, 1, 2, 5))):
        at = r.randrange(max(1, len(text)))
        text = r.choice((text[:at] + r.choice(PIECES) + text[at:], text[:at] + text[at + r.randrange(1, 9):], text[:at] + bytes([r.randrange(256)]) + text[at + 1:],
                         text[:at], text[:at] + text[at:at + 50] * 3 + text[at:]))
    return text * r.choice((1, 1, 1, 2, 8))  # several in a connection


def talk(port, r):
    """What a connection answers first; bytes are sent in pieces, and some clients leave without reading."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as s:
        data = request(r)
        try:
            at = r.randrange(len(data) + 1) if r.random() < .3 else 0
            for piece in (data[:at], data[at:]):
                s.sendall(piece)
            if r.random() < .1:
                return b""
            s.settimeout(.2 if r.random() < .9 else 2)
            s.shutdown(socket.SHUT_WR) if r.random() < .8 else None
            answer = s.recv(65536)
            while answer and s.recv(65536):
                pass
            return answer
        except OSError:
            return b""


def client(server, seed, deadline, counts, failures):
    r = random.Random(seed)
    while time.monotonic() < deadline and not failures:
        state = r.getstate()
        try:
            answer = talk(server.port, r)
        except Exception as why:  # it does not take connections, or the test is wrong
            failures.append(f"{why} after a request of {request_at(state)!r}")
            return
        counts[seed] = counts.get(seed, 0) + 1
        if answer and not answer.startswith((b"HTTP/1.1 ", b"HTTP/1.0 ")):
            failures.append(f"not HTTP: {answer[:100]!r} for {request_at(state)!r}")


def request_at(state):
    r = random.Random()
    r.setstate(state)
    return request(r)


def main():
    os.environ.setdefault("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1")
    with tempfile.TemporaryDirectory(prefix="wattlaw-e2e-") as folder:
        subprocess.run([make_samples, folder], check=True, timeout=120)
        token = os.path.join(folder, "token")
        with open(token, "w", opener=lambda path, flags: os.open(path, flags, 0o600), encoding="utf-8") as f:
            f.write(TOKEN + "\n")
        with Server(folder, "small", "capped", "--base-path", "/w", "--token-file", token) as server:
            counts, failures, deadline = {}, [], time.monotonic() + SECONDS
            threads = [threading.Thread(target=client, args=(server, SEED * CLIENTS + k, deadline, counts, failures)) for k in range(CLIENTS)]
            for t in threads:
                t.start()
            while any(t.is_alive() for t in threads):
                expect(server.process.poll() is None, f"the server ended with {server.process.returncode}", server.process.poll() is not None and server.process.stderr.read())
                time.sleep(.5)
            expect(not failures, "\n".join(failures))
            expect(server.get("/w/api/v1/runs", {"Authorization": "Bearer " + TOKEN})[0] == 200, "a whole request is no longer answered")
            used_s = sum(int(t) for t in open(f"/proc/{server.process.pid}/stat", encoding="utf-8").read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")
            server.end()
            expect("ERROR: " not in server.err and "runtime error" not in server.err, "a finding", server.err)
    print(f"{sum(counts.values())} connections, seed {SEED}: passed; {used_s:.0f} s of processor time of the server")


main()
