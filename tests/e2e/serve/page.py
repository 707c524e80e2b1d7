"""The page of wattlaw serve in headless Chromium: page.py WATTLAW TOY [TEST...]"""

import contextlib
import html
import itertools
import math
import os
import re
import sqlite3
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "campaign"))
from harness import *  # noqa: E402,F403

from chromium import Browser, Missing  # noqa: E402

# A name that would run code in a page which took it for HTML, and turn the text after it around in one which lets it.
HOSTILE = "<img src=x onerror=\"window.ran=1\"></script><script>window.ran=1</script>\u202e&amp;"
TOKEN = "a-token-of-32-characters-or-more"
VIEWS = ("#/", "#/runs", "#/run/1-1", "#/compare/1-1/1-2", "#/laws", "#/files")


def experiment(bench):
    """Three done runs of workers 1 and 2, and a failed one, whose log ends with what a page must not run."""
    bench.write("tail.txt", HOSTILE + "\n")
    return bench.write("lab.ini", "[campaign]\nname = lab\nrepeats = 2\nseed = 1\n[sweep]\nworkload = toy\nworkers = 1,2\n[measure]\nsensors = proc,cpu_model\n"
                       "[launch]\nlauncher = local\noversubscribe = yes\ngrace = 200ms\n"
                       f"command = sh -c 'toy epochs=2 ms=60 fail_if={{workers}}{{repeat}}:22; s=$?; [ $s = 0 ] || cat {bench.path('tail.txt')}; exit $s'\n")


class Server:
    def __init__(self, bench, *args):
        self.process = bench.start("serve", *args)
        line = self.process.stdout.readline()
        found = re.search(r"http://\S+", line)
        if not found:
            raise AssertionError(f"no address in the first line: {line!r} {self.process.stderr.read()}")
        self.url = found.group(0)
        self.port = int(re.search(r":(\d+)", self.url.removeprefix("http:")).group(1))

    def stop(self):
        self.process.terminate()
        out, err = self.process.communicate(timeout=PATIENCE_S)
        check(self.process.returncode in (0, 130, 143, -15), "serve ended with", self.process.returncode, out, err)


browsers = []  # one for all tests: it takes longer to start than all else


def the_browser():
    if not browsers:
        try:
            browsers.append(Browser(tempfile.mkdtemp(prefix="wattlaw-e2e-")))
        except Missing as why:
            raise Skip(str(why)) from None
    return browsers[0]


@contextlib.contextmanager
def page(bench, *args):
    """(browser, server), with the page open."""
    browser, server = the_browser(), Server(bench, *args)
    try:
        browser.errors.clear()
        browser.resize(1440, 900)
        browser.open(server.url)
        browser.wait("document.getElementById('content') !== null")
        yield browser, server
        was_stopped = server.process.poll() is not None  # by the test: it leaves requests without an answer
        errors = [error for error in browser.errors if not (was_stopped and "net::ERR_" in error)]
        check(not errors, "errors of the page:", *errors)
        check(browser.eval("window.ran === undefined"), "a name ran as code")
    finally:
        browser.open("about:blank")
        if server.process.poll() is None:
            server.stop()


def text_of(browser, selector):
    return browser.eval(f"document.querySelector({json.dumps(selector)})?.textContent ?? null")


def go(browser, fragment, selector):
    """To a view, until an element that it reads from the server is there."""
    browser.eval(f"location.hash = {json.dumps(fragment)}")
    browser.wait(f"document.querySelector({json.dumps(selector)}) !== null")


def type_into(browser, selector, text):
    browser.eval(f"{{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(text)}; "
                 "e.dispatchEvent(new Event(e.localName === 'select' ? 'change' : 'input')); }")


ROWS = "[...document.querySelectorAll('#runs tbody tr')]"


def column(browser, name):
    return browser.eval(f"{ROWS}.map((row) => row.querySelector('.of-{name}').textContent)")


# ---- tests ----

def a_finished_campaign(bench):
    """Progress, table, filter, comparison, failed run; phone and dark; a name that is code stays text."""
    bench.run("sweep", experiment(bench), "--quiet", status=None)
    bench.run("measure", "--store", "lab/wattlaw.db", "--name", HOSTILE, "--sensors", "proc", "--", "toy", "epochs=1", "ms=20")
    (failed,), = bench.rows("lab/wattlaw.db", "SELECT id FROM run WHERE status = 'failed'")
    with page(bench, "lab", "--port", "0") as (browser, server):
        browser.wait("document.querySelectorAll('.campaign').length === 2")
        check("3 done" in text_of(browser, ".campaign .legend"), text_of(browser, ".campaign"))
        browser.wait("document.getElementById('live').dataset.state === 'ended'")
        check("estimated" in text_of(browser, ".campaign .badge"), "energies of cpu_model are estimated")

        browser.eval("document.querySelector('details.failed summary').click()")
        browser.wait("document.querySelector('details.failed pre') !== null")
        check("<script>window.ran=1</script>" in text_of(browser, "details.failed pre"), "the log's tail", text_of(browser, "details.failed"))

        the_answer(browser)
        the_table(bench, browser, failed)
        the_comparison(bench, browser)
        the_laws(browser)
        the_look(browser)


def the_answer(browser):
    """The card of the report, word by word."""
    browser.wait("document.querySelector('.answer dd') !== null")
    shown = browser.eval("[...document.querySelectorAll('.answer')].map((card) => [...card.querySelectorAll('p, dt, dd')].map((one) => one.textContent))")
    written = browser.eval("fetch('report/1').then((answer) => answer.text())")
    cards = [card.split("</dl>")[0] for card in written.split('<div class="answer')[1:]]
    report = [[html.unescape(re.sub("<.*?>", "", text)) for _, text in re.findall(r"<(p|dt|dd)\b[^>]*>(.*?)</\1>", card, re.S)] for card in cards]
    shown, report = ([[re.sub(r"[\s\u202e\ufffd]", "", text) for text in card] for card in both] for both in (shown, report))
    check(shown and shown == report, "the card of the page and that of the report:", shown, report)


def the_table(bench, browser, failed):
    go(browser, "#/runs", "#runs tbody tr")
    check(len(column(browser, "id")) == 5, "rows", column(browser, "id"))
    check(any("<img src=x" in text for text in column(browser, "workload")), "the name is text", column(browser, "workload"))
    type_into(browser, "#filter-state", "failed")
    browser.wait(f"{ROWS}.length === 1")
    check(column(browser, "id") == [f"1-{failed}"], "the failed run", column(browser, "id"))
    check("state=failed" in browser.eval("location.hash"), "the address follows the filter")
    type_into(browser, "#filter-state", "")
    type_into(browser, "#filter-q", "window.ran")
    browser.wait(f"{ROWS}.length === 1")
    type_into(browser, "#filter-q", "no run has this")
    browser.wait("document.getElementById('count').textContent.startsWith('None of 5')")
    type_into(browser, "#filter-q", "")
    browser.wait(f"{ROWS}.length === 5")
    browser.eval("document.querySelector('#runs th.of-time_s button').click()")
    browser.wait("document.querySelector('#runs th.of-time_s').getAttribute('aria-sort') === 'ascending'")
    times = [t for t, in bench.rows("lab/wattlaw.db", "SELECT id FROM run ORDER BY stop_mono_ns - start_mono_ns")]
    check(column(browser, "id") == [f"1-{n}" for n in times], "sorted by time", column(browser, "id"), times)


def the_comparison(bench, browser):
    """Of one run with 1 worker and one with 2; the ratio is that of the store."""
    (a, s_a), (b, s_b) = bench.rows("lab/wattlaw.db", "SELECT run.id, (stop_mono_ns - start_mono_ns) / 1e9 FROM run JOIN trial ON trial = trial.id "
                                    "WHERE status = 'done' AND workers > 0 GROUP BY workers ORDER BY workers")
    for run in a, b:
        browser.eval(f"document.querySelector('input[value=\"1-{run}\"]').click()")
    browser.eval("document.querySelector('.compare a').click()")
    browser.wait("document.querySelector('table.compared tbody') !== null")
    rows = browser.eval("[...document.querySelectorAll('table.compared tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")
    ratio = next(float(row[3]) for row in rows if row[0] == "time of the run")
    check(abs(ratio / (s_b / s_a) - 1) < 0.02, "ratio of times", ratio, s_b / s_a)
    check(any(row[0] == "workers" and row[1:3] == ["1", "2"] for row in rows), "what differs", rows)
    lo, hi = interval_of_energies(bench, a, b)
    row = next(row for row in rows if row[0] == "energy")
    shown = [float(part) for part in row[4].split(" to ")]
    check(all(abs(x / y - 1) < 0.01 for x, y in zip(shown, (lo, hi))), "interval of the ratio of energies", row, lo, hi)
    time = next(row for row in rows if row[0] == "time of the run")
    check(time[4] == "–missing: the store has intervals of energies and powers only", "no interval of times", time)
    repeats = browser.eval("[...document.querySelectorAll('#content figure.table tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")
    check(all(row[1:3] == ["2", "1"] and f"with the settings of run 1-{b} there is one" in row[5] for row in repeats) and repeats, "one run with 2 workers is done", repeats)
    browser.wait("document.querySelectorAll('#content .traces figure').length > 1")
    traces = browser.eval("[...document.querySelectorAll('#content .traces figure')].map((one) => [one.querySelector('.unit').textContent, one.querySelector('.canvas').hidden, one.querySelector('p')?.textContent ?? ''])")
    check(all(unit not in ("B", "B/s") for unit, *_ in traces), "bytes are shown as gigabytes", traces)
    check(all(hidden == (text == "No reading in either run.") for _, hidden, text in traces), "an empty chart says why", traces)
    check(browser.eval("location.hash") == f"#/compare/1-{a}/1-{b}", browser.eval("location.hash"))


def the_laws(browser):
    """The width of the band, as the server has it; its curve where there are two widths."""
    go(browser, "#/laws", "#content .notes li")
    laws = browser.eval("fetch('api/v1/laws').then((answer) => answer.json())")["laws"]
    law = next(law for law in laws if law["band"])  # the page has what is a law first
    width = float(re.search(r"Band at 2 workers: .*?±([\d.]+) %\)? with 3 runs", text_of(browser, "#content figure.chart .notes")).group(1))
    check(abs(width / law["band"]["width_pct"] - 1) < 0.06, "width of the band", width, law["band"])
    check(law["band"]["history_cut"] is False and "takes too long" not in text_of(browser, "#content figure.chart .notes"), law["band"])
    check(law["name"] == "toy" and "epoch of toy" in text_of(browser, "#content figure.chart h3"), law["name"], text_of(browser, "#content figure.chart h3"))
    hidden = browser.eval("document.querySelector('#content figure.chart .canvas.small').hidden")
    check(hidden == (len(law["band"]["history"]) < 2), "curve of widths", hidden, law["band"])
    browser.resize(400, 800)
    browser.eval("document.querySelectorAll('#content figure.chart h4').forEach((one) => { one.hidden = false; })")
    fits(browser, 400, "the title of the widths")


def fits(browser, width, what):
    """Nothing on the page is wider than the window. Figures are drawn, and drawn anew, only after the window has its size."""
    browser.eval("new Promise((done) => setTimeout(done, 60))")
    try:
        browser.wait(f"document.documentElement.scrollWidth <= {width}", 5)
    except AssertionError as error:
        wide = browser.eval("document.documentElement.scrollWidth")
        raise AssertionError(f"{what} is {wide} pixels wide in a window of {width}") from error


def interval_of_energies(bench, a, b):
    """95 % interval of the ratio of the energies of two runs, from the store: logarithms' distances to the ends add as squares."""
    (a_j, a_lo, a_hi), (b_j, b_lo, b_hi) = (bench.rows("lab/wattlaw.db", f"SELECT energy_j, energy_lo_j, energy_hi_j FROM total WHERE run = {run} AND epoch = 0")[0] for run in (a, b))
    ratio = b_j / a_j
    return ratio / math.exp(math.hypot(math.log(b_j / b_lo), math.log(a_hi / a_j))), ratio * math.exp(math.hypot(math.log(b_hi / b_j), math.log(a_j / a_lo)))


def the_look(browser):
    """Nothing is wider than a phone; dark and still where the reader wants it; the first key leads to the content."""
    for view, width in itertools.product(VIEWS, (400, 1440)):
        browser.resize(width, 800)
        go(browser, view, "#content h2")
        fits(browser, width, view)
    browser.prefer(color_scheme="dark")
    check(browser.eval("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)", "dark")
    moves = "getComputedStyle(document.querySelector('.dot')).animationName"
    browser.eval("document.getElementById('live').dataset.state = 'live'")
    browser.prefer(color_scheme="light", reduced_motion="no-preference")
    check(browser.eval(moves) == "pulse", "the dot is still:", browser.eval(moves))
    browser.prefer(color_scheme="light", reduced_motion="reduce")
    check(browser.eval(moves) == "none", "the dot moves")
    check(browser.eval("document.querySelector('a, button, input').id") == "skip", "the first stop of Tab")
    browser.eval("document.getElementById('skip').focus()")
    browser.press("Enter")
    check(browser.eval("document.activeElement.id") == "content", "where the first stop leads")
    check(browser.eval("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)", "light")


def epochs_late(bench, browser):
    """Of a new run, for each epoch but the first, the seconds from its end until it or a later one is on the page."""
    (run,), = bench.rows("lab/wattlaw.db", "SELECT max(id) + 1 FROM run")
    go = bench.path(f"go-{run}")
    job = bench.start("measure", "--store", "lab/wattlaw.db", "--name", "now", "--sensors", "proc,cpu_model", "--", "toy", "epochs=6", "ms=400", f"wait={go}")
    place = f"article.live[data-run=\"1-{run}\"] .now"
    browser.wait(f"document.querySelector({json.dumps(place)})?.textContent.includes('epoch 1 took')")
    open(go, "w", encoding="utf-8").close()
    seen = {}
    while job.poll() is None:
        found = re.search(r"epoch (\d+) took", text_of(browser, place) or "")
        if found:
            seen.setdefault(int(found.group(1)), time.monotonic_ns())
        time.sleep(0.02)
    browser.wait(f"document.querySelector({json.dumps(place)}) === null")
    now = time.monotonic_ns()
    check(job.returncode == 0, "measure:", job.stderr.read())
    marks = bench.rows("lab/wattlaw.db", f"SELECT fields, t_ns FROM mark WHERE run = {run} AND word = 'epoch-end'")
    ends = {int(re.search(r"epoch=(\d+)", fields).group(1)): t_ns for fields, t_ns in marks}
    late = [(min([t for k, t in seen.items() if k >= epoch], default=now) - ends[epoch]) / 1e9 for epoch in ends if epoch > 1]
    print("epochs were seen after", *(f"{s:.2f}" for s in late), "s")
    return late


def a_running_run(bench):
    """An epoch that ends is on the page within 2 s; the focus stays in a table that is read anew; a server that comes back is
    found again."""
    bench.run("measure", "--store", "lab/wattlaw.db", "--name", "before", "--sensors", "proc", "--", "toy", "epochs=1", "ms=10")
    with page(bench, "lab/wattlaw.db", "--port", "0") as (browser, server):
        browser.wait("document.getElementById('live').dataset.state === 'ended'")
        late = []
        for _ in range(3):  # a machine that is busy with something else is asked again
            late.append(statistics.median(epochs_late(bench, browser)))
            if late[-1] < 2:
                break
        check(late[-1] < 2, "epochs were seen late, s:", late)
        browser.wait("document.getElementById('live').dataset.state === 'ended'")

        go(browser, "#/runs", "#runs tbody tr")
        browser.eval("document.querySelector('[data-key=\"pick 1-1\"]').focus()")
        (before,), = bench.rows("lab/wattlaw.db", "SELECT count(*) FROM run")
        bench.run("measure", "--store", "lab/wattlaw.db", "--name", "after", "--sensors", "proc", "--", "toy", "epochs=1", "ms=10")
        browser.wait(f"{ROWS}.length === {before + 1}")
        check(browser.eval("document.activeElement.dataset.key") == "pick 1-1", "the focus has moved")

        server.stop()
        browser.wait("document.getElementById('live').dataset.state === 'reconnecting'")
        bench.run("measure", "--store", "lab/wattlaw.db", "--name", "meanwhile", "--sensors", "proc", "--", "toy", "epochs=1", "ms=10")
        again = Server(bench, "lab/wattlaw.db", "--port", str(server.port))
        try:
            browser.wait(f"{ROWS}.length === {before + 2}")
        finally:
            again.stop()
            browser.open("about:blank")


def a_token(bench):
    """It is asked for, and is kept neither in the address nor where scripts could read it."""
    bench.run("measure", "--store", "lab/wattlaw.db", "--name", "one", "--sensors", "proc", "--", "toy", "epochs=1", "ms=10")
    with open(os.open(bench.path("token"), os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
        f.write(TOKEN + "\n")
    with page(bench, "lab/wattlaw.db", "--port", "0", "--token-file", bench.path("token")) as (browser, server):
        submit = "document.getElementById('login').requestSubmit()"
        browser.wait("document.getElementById('login').hidden === false")
        check(text_of(browser, ".campaign") is None, "something is shown without the token")
        type_into(browser, "#token", "not-the-token-not-the-token")
        browser.eval(submit)
        browser.wait("document.getElementById('login-error').textContent !== ''")
        browser.errors.clear()  # Chromium logs the status 401
        type_into(browser, "#token", TOKEN)
        browser.eval(submit)
        browser.wait("document.querySelector('.campaign') !== null")
        where = browser.eval("location.href + document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.documentElement.outerHTML")
        check(TOKEN not in where, "the token is kept in the page")
        browser.open(server.url + "#/runs")
        browser.wait("document.querySelector('#runs tbody tr') !== null")
        browser.wait("document.getElementById('logout').hidden === false")


def ten_thousand_runs(bench):
    """The first view of a large store is painted within a second, and the last page of its table is read as fast."""
    bench.run("sweep", experiment(bench), "--quiet", status=None)
    many(bench.path("lab/wattlaw.db"), 10000)
    with page(bench, "lab", "--port", "0") as (browser, server):
        browser.wait("document.querySelector('.campaign') !== null")
        took = []
        for _ in range(5):
            browser.open("about:blank")
            begin = time.monotonic()
            browser.open(server.url)
            browser.wait("document.querySelector('.campaign .bar') !== null")
            took.append(time.monotonic() - begin)
        print("first view after", *(f"{s:.2f}" for s in took), "s")
        check(min(took) < 1, "first view:", took)  # the best of five: other processes slow it down
        paint = browser.eval("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        check(paint < 1000, "first paint after", paint, "ms")
        go(browser, "#/runs", "#runs tbody tr")
        check(len(column(browser, "id")) == 50 and text_of(browser, "#count") == "10,000 runs.", "a page of the table", text_of(browser, "#count"))
        begin = time.monotonic()
        browser.eval("[...document.querySelectorAll('.pager button')].find((button) => button.textContent === 'last').click()")
        browser.wait("document.querySelector('.pager span').textContent.match(/page (\\d+) of \\1$/) !== null")
        print(f"last page after {time.monotonic() - begin:.2f} s")


def many(path, n):
    """Copies of a store's done run, until there are n runs."""
    with sqlite3.connect(path) as db:
        names = {table: [row[1] for row in db.execute(f"PRAGMA table_info({table})")] for table in ("run", "total", "actual")}
        source, trial = db.execute("SELECT id, trial FROM run WHERE status = 'done' LIMIT 1").fetchone()
        top, repeat = db.execute("SELECT max(id), max(repeat) FROM run").fetchone()
        db.execute("CREATE TEMP TABLE n AS WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < ?) SELECT i FROM k", (n - top,))
        for table, columns in names.items():
            replaced = {"id": f"{top} + i", "run": f"{top} + i", "repeat": f"{repeat} + i", "folder": "NULL"} if table == "run" else {"run": f"{top} + i"}
            values = [replaced.get(c, f'"{c}"') for c in columns]
            keep = [k for k, c in enumerate(columns) if not (table != "run" and c == "id")]
            db.execute(f"INSERT INTO {table}({', '.join(columns[k] for k in keep)}) SELECT {', '.join(values[k] for k in keep)} "
                       f"FROM {table}, n WHERE {'id' if table == 'run' else 'run'} = {source}")


if __name__ == "__main__":
    short = [a_finished_campaign, a_running_run, a_token]
    try:
        main([*short, ten_thousand_runs] if ten_thousand_runs.__name__ in sys.argv else short)
    finally:
        for one in browsers:
            one.close()
