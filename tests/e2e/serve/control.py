"""Pause, resume, cancel and retry of a running sweep, from the page and the terminal; who may not; kill -9 in between:
control.py WATTLAW TOY [TEST...]"""

import http.client
import os
import signal
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "campaign"))
from harness import *  # noqa: E402,F403

from page import Server, TOKEN, browsers, go, page, text_of, type_into  # noqa: E402

BY = "SELECT action, run, acted_wall_ns IS NOT NULL, outcome FROM control ORDER BY id"
RUNS = "SELECT r.id, t.workers, r.attempt, r.status FROM run r JOIN trial t ON t.id = r.trial ORDER BY r.id"


def lab(bench, workers="1,2,3"):
    """Runs that go on until go-WORKERS is there."""
    return bench.write("lab.ini", f"[campaign]\nname = lab\nrepeats = 1\norder = sequential\n[sweep]\nworkers = {workers}\n[measure]\nsensors = proc\n"
                       "[launch]\nlauncher = local\noversubscribe = yes\ngrace = 200ms\n"
                       f"command = sh -c 'until [ -e {bench.path('go-')}{{workers}} ]; do sleep .02; done'\n")


def sweep(bench):
    return bench.start("sweep", "lab.ini", "--quiet")


def allow(bench, workers):
    bench.write(f"go-{workers}", "")


def status_is(bench, run, status):
    def now():
        try:
            return os.path.exists(bench.path("lab/wattlaw.db")) and bench.rows("lab/wattlaw.db", f"SELECT status FROM run WHERE id = {run}")
        except sqlite3.OperationalError:
            return []  # it is being made
    bench.wait_until(f"run {run} is {status}", lambda: now() == [(status,)])


def ends(process, status):
    out, err = process.communicate(timeout=PATIENCE_S)
    check(process.returncode == status, "the sweep ended with", process.returncode, out, err)
    return out + err


def token_file(bench):
    with open(os.open(bench.path("token"), os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
        f.write(TOKEN + "\n")
    return bench.path("token")


# ---- the page ----

def press(browser, key):
    """The button with that data-key, once it is there."""
    one = f"[...document.querySelectorAll('[data-key]')].find((b) => b.dataset.key === {json.dumps(key)})"
    browser.wait(f"{one} !== undefined")
    browser.eval(f"{{ const b = {one}; b.focus(); b.click(); }}")
    browser.wait("document.getElementById('ask').open")
    check(browser.eval("document.activeElement.id") == "ask-no", "the button that changes nothing has the focus")


def confirm(browser, says):
    """By keyboard; the answer is in a live region."""
    browser.press("Tab")
    check(browser.eval("document.activeElement.id") == "ask-yes", "Tab leads to the other button")
    browser.press("Enter")
    browser.wait(f"document.getElementById('said-text').textContent.includes({json.dumps(says)})")


def from_the_page(bench):
    """Pause, resume, cancel, retry, each asked for once more and seen on the page; Escape changes nothing."""
    lab(bench)
    running = sweep(bench)
    status_is(bench, 1, "running")
    with page(bench, "lab", "--port", "0", "--token-file", token_file(bench), "--allow-control") as (browser, _):
        browser.wait("document.getElementById('login').hidden === false")
        type_into(browser, "#token", TOKEN)
        browser.eval("document.getElementById('login').requestSubmit()")
        press(browser, "pause 1 lab")
        browser.press("Escape")
        browser.wait("!document.getElementById('ask').open")
        check(bench.rows("lab/wattlaw.db", BY) == [], "Escape asked for something")
        check(browser.eval("document.activeElement.dataset.key") == "pause 1 lab", "the focus has not come back")
        press(browser, "pause 1 lab")
        confirm(browser, "Campaign lab is paused")
        browser.wait("document.querySelector('.paused')?.textContent.includes('127.0.0.1 through wattlaw serve of') ?? false")
        allow(bench, 1)
        status_is(bench, 1, "done")
        bench.wait_until("the sweep knows", lambda: bench.rows("lab/wattlaw.db", BY) == [("pause", None, 1, None)])
        time.sleep(0.7)  # more than one look of the sweep
        check(bench.rows("lab/wattlaw.db", RUNS)[1:] == [(2, 2, 1, "planned"), (3, 3, 1, "planned")], "a run began while paused")
        press(browser, "pause 1 lab")
        confirm(browser, "is resumed")
        status_is(bench, 2, "running")
        go(browser, "#/run/1-2", "article[data-run]")
        press(browser, "cancel 1-2")
        confirm(browser, "Run 2 is being stopped")
        status_is(bench, 2, "failed")
        status_is(bench, 3, "running")
        press(browser, "retry 1-2")
        confirm(browser, "Run 2 gets another attempt, run 4, which the running sweep begins")
        for workers in (2, 3):
            allow(bench, workers)
        status_is(bench, 4, "done")
        go(browser, "#/", ".campaign")
        browser.wait("document.querySelector('.requests summary')?.textContent === 'Requests (4)'")
    contains(ends(running, 0), "3 of 3 runs of campaign lab are done", "paused by 127.0.0.1", "resumed", "cancelled by 127.0.0.1")
    check(bench.rows("lab/wattlaw.db", RUNS) == [(1, 1, 1, "done"), (2, 2, 1, "failed"), (3, 3, 1, "done"), (4, 2, 2, "done")], "runs")
    check(bench.rows("lab/wattlaw.db", BY) == [("pause", None, 1, None), ("resume", None, 1, None), ("cancel", 2, 1, "failed"), ("retry", 2, 1, "run 4")], "requests")
    check(os.path.exists(bench.path("lab/runs/2/log")), "the failed run's log is gone")


# ---- who may not ----

JSON = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}


def request(server, body, headers=None, method="POST", path="/api/v1/control"):
    c = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    c.request(method, path, body if isinstance(body, (bytes, str)) or body is None else json.dumps(body), JSON if headers is None else headers)
    r = c.getresponse()
    text = r.read().decode()
    return r.status, text, r.getheader("Set-Cookie")


def refused(server, status, says, body, headers=None, **how):
    got, text, _ = request(server, body, headers, **how)
    check(got == status and says in text, f"{body} {headers} {how}: {got}, not {status}: {text}")


def attacks(bench):
    """Whoever lacks token, CSRF token or origin changes nothing; nor does a request that is not one."""
    lab(bench, "1")
    bench.write("other.ini", bench.read("lab.ini").replace("name = lab", "name = other\nstore = lab").replace("workers = 1\n", "workers = 7\n"))
    for n in (1, 7):
        allow(bench, n)
    bench.run("sweep", "lab.ini", "--quiet")
    bench.run("sweep", "other.ini", "--quiet")
    contains(bench.run("serve", "lab", "--allow-control", status=2).stderr, "--token-file")
    pause = {"action": "pause", "campaign": "lab"}
    shows = Server(bench, "lab", "--port", "0", "--token-file", token_file(bench))
    refused(shows, 403, "--allow-control", pause)
    check(json.loads(request(shows, None, method="GET", path="/api/v1/session")[1])["control"] is False, "the page shows buttons")
    shows.stop()
    server = Server(bench, "lab", "--port", "0", "--token-file", token_file(bench), "--allow-control")
    _, _, cookie = request(server, f"token={TOKEN}", {"Content-Type": "application/x-www-form-urlencoded"}, path="/api/v1/login")
    cookie = cookie.split(";")[0]
    session = json.loads(request(server, None, {"Cookie": cookie}, method="GET", path="/api/v1/session")[1])
    check("csrf" not in request(server, None, {}, method="GET", path="/api/v1/session")[1], "anybody gets the CSRF token")
    ours = f"http://127.0.0.1:{server.port}"
    with_cookie = {"Content-Type": "application/json", "Cookie": cookie, "Origin": ours, "X-Wattlaw-CSRF": session["csrf"], "Sec-Fetch-Site": "same-origin"}
    less = lambda *names, **other: {**{k: v for k, v in with_cookie.items() if k not in names}, **other}  # noqa: E731
    refused(server, 401, "token", pause, {"Content-Type": "application/json"})
    refused(server, 401, "token", pause, {**JSON, "Authorization": f"Bearer {TOKEN[:-1]}x"})
    refused(server, 401, "token", pause, {**JSON, "Authorization": TOKEN})
    refused(server, 403, "another site", pause, {**JSON, "Origin": "https://evil.example"})
    refused(server, 403, "another site", pause, less(Origin="null"))
    refused(server, 403, "another site", pause, less(Origin=f"http://127.0.0.1.evil.example:{server.port}"))
    refused(server, 403, "another site", pause, less(**{"Sec-Fetch-Site": "cross-site"}))
    refused(server, 403, "another site", pause, less(**{"Sec-Fetch-Site": "same-site"}))
    refused(server, 403, "CSRF", pause, less("X-Wattlaw-CSRF"))
    refused(server, 403, "CSRF", pause, less(**{"X-Wattlaw-CSRF": session["csrf"][:-1]}))
    refused(server, 403, "CSRF", pause, less(**{"X-Wattlaw-CSRF": ""}))
    refused(server, 403, "Origin", pause, less("Origin", "Sec-Fetch-Site"))
    refused(server, 421, "host", pause, {**JSON, "Host": "evil.example"})
    for method in ("GET", "PUT", "DELETE"):
        refused(server, 405, "method", pause, method=method)
    refused(server, 405, "method", None, method="GET", path="/api/v1/control?action=pause")
    for form in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp"):
        refused(server, 400, "application/json", json.dumps(pause), {**JSON, "Content-Type": form})
    for body, says in (("", "the body"), ("[]", "JSON object"), ("[" * 4000, "the body"), ("{\"action\": \"pause\"} {}", "the body"), (b"{\"action\": \"pause\"}\0{", "NUL"),
                       ({"action": "stop"}, "pause, resume, cancel, retry"), ({"action": 1}, "pause, resume, cancel, retry"), ({**pause, "x": 1}, "no members but"),
                       ({"action": "pause", "campaign": 3}, "campaign"), ({"action": "cancel"}, "number of a run")):
        refused(server, 400, says, body)
        time.sleep(0.1)  # not too often
    refused(server, 413, "4096", " " * 5000)
    for body, status, says in (({"action": "cancel", "run": "1-99"}, 404, "no such run"), ({"action": "cancel", "run": "2-1"}, 404, "no such store"),
                               ({"action": "cancel", "run": 1}, 400, "run: expected a text"), ({"action": "cancel", "run": "1-2", "campaign": "lab"}, 400, "is of campaign other"),
                               ({"action": "retry", "run": "1-1"}, 409, "has not failed"), ({"action": "cancel", "run": "1-1"}, 409, "ended already"),
                               ({"action": "pause", "campaign": "'; DROP TABLE run; --"}, 404, "no campaign"), ({"action": "pause"}, 400, "2 campaigns"),
                               ({"action": "pause", "store": 2, "campaign": "lab"}, 404, "no such store"), ({"action": "pause", "run": "1-1"}, 400, "expected no run")):
        refused(server, status, says, body)
        time.sleep(0.25)
    check(bench.rows("lab/wattlaw.db", BY) == [], "somebody changed something")
    check(request(server, pause, with_cookie)[0] == 200 and bench.rows("lab/wattlaw.db", BY) == [("pause", None, 0, None)], "the page itself may")
    codes = [request(server, pause)[0] for _ in range(40)]
    check(codes.count(429) >= 10 and set(codes) <= {200, 429}, "as often as somebody likes", codes)
    check(len(bench.rows("lab/wattlaw.db", BY)) == 1, "the same request twice changed something")
    server.process.terminate()
    err = server.process.communicate(timeout=PATIENCE_S)[1]
    contains(err, "control: 127.0.0.1 through wattlaw serve of", "asks for pause")
    check(TOKEN not in err and session["csrf"] not in err, "a secret is in the log")


# ---- kill -9 ----

def killed_in_between(bench):
    """What was asked for is kept when both processes die, and done once by the next sweep."""
    lab(bench)
    server = None
    first = sweep(bench)
    status_is(bench, 1, "running")
    server = Server(bench, "lab", "--port", "0", "--token-file", token_file(bench), "--allow-control")
    first.send_signal(signal.SIGSTOP)  # it does not hear of what follows
    for body in ({"action": "cancel", "run": "1-1"}, {"action": "pause"}, {"action": "cancel", "run": "1-3"}):
        check(request(server, body)[0] == 200, body)
    server.process.kill()
    server.process.communicate()
    check([row[2] for row in bench.rows("lab/wattlaw.db", BY)] == [0, 0, 1], "a planned run is closed at once, the others wait", bench.rows("lab/wattlaw.db", BY))
    first.kill()
    first.communicate()
    second = sweep(bench)
    bench.wait_until("all is known", lambda: all(row[2] for row in bench.rows("lab/wattlaw.db", BY)))
    time.sleep(0.7)  # more than one look of the sweep
    runs = bench.rows("lab/wattlaw.db", RUNS)
    check([(r[1], r[2], r[3]) for r in runs] == [(1, 1, "failed"), (3, 1, "failed"), (2, 1, "planned")] or
          [(r[1], r[2], r[3]) for r in runs] == [(1, 1, "failed"), (2, 1, "planned"), (3, 1, "failed")], "a cancelled run is repeated, or one began", runs)
    contains(bench.run("status", "lab").stdout, "paused   by 127.0.0.1", "cancelled by")
    contains(bench.run("cancel", "lab", "1", status=1).stderr, "ended already")
    contains(bench.run("resume", "lab").stdout, "goes on within seconds")
    contains(bench.run("resume", "lab").stdout, "is not paused")
    for workers in (1, 2, 3):
        allow(bench, workers)
    contains(ends(second, 1), "1 of 3 runs")
    contains(bench.run("retry", "lab").stdout, "2 failed runs", "no sweep runs it now")
    contains(bench.run("retry", "lab").stdout, "no failed run")
    third = sweep(bench)
    contains(ends(third, 0), "3 of 3 runs")
    runs = bench.rows("lab/wattlaw.db", "SELECT t.workers, r.attempt, r.status FROM run r JOIN trial t ON t.id = r.trial ORDER BY 1, 2")
    check(runs == [(1, 1, "failed"), (1, 2, "done"), (2, 1, "done"), (3, 1, "failed"), (3, 2, "done")], "each was acted upon once", runs)
    check(bench.rows("lab/wattlaw.db", "SELECT count(*), count(acted_wall_ns) FROM control WHERE action <> 'resume'") == [(5, 5)], "requests")


if __name__ == "__main__":
    try:
        main([from_the_page, attacks, killed_in_between])
    finally:
        for one in browsers:
            one.close()
