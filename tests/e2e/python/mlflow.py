#!/usr/bin/env python3
"""wattlaw.mlflow against a server that keeps what it gets and can fail: mlflow.py SOURCE WATTLAW

The real server is that of tests/e2e/export/others.py; here are failures and limits, which that one does not show on request."""
import http.server
import json
import os
import sys
import tempfile
import threading
import urllib.parse

SOURCE, WATTLAW = sys.argv[1], os.path.abspath(sys.argv[2])
sys.path[:0] = [os.path.join(SOURCE, "python"), os.path.join(SOURCE, "tests", "e2e", "export")]
import wattlaw  # noqa: E402
from wattlaw import mlflow  # noqa: E402
from stores import check, make_store  # noqa: E402


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__(status)
        self.status, self.body = status, body


class Kept:
    """What a server of MLflow would have."""

    def __init__(self):
        self.experiments, self.runs, self.calls, self.headers, self.fail_at = {}, {}, [], [], None

    def answer(self, name, body, query):
        self.calls.append(name)
        if self.fail_at == name:
            raise Refused(500, b"<html>out of order</html>")
        if name == "experiments/get-by-name":
            if query["experiment_name"] not in self.experiments:
                raise Refused(404, json.dumps({"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "no such experiment"}).encode())
            return {"experiment": {"experiment_id": self.experiments[query["experiment_name"]]}}
        if name == "experiments/create":
            self.experiments[body["name"]] = str(len(self.experiments))
            return {"experiment_id": self.experiments[body["name"]]}
        if name == "runs/search":
            key = body["filter"].split("'")[1]
            return {"runs": [{"info": run["info"]} for run in self.runs.values() if run["tags"]["wattlaw.key"] == key]}
        if name == "runs/create":
            number = "r%d" % len(self.calls)
            self.runs[number] = {"info": {"run_id": number, "status": "RUNNING"}, "tags": {t["key"]: t["value"] for t in body["tags"]},
                                 "params": [], "metrics": []}
            return {"run": {"info": self.runs[number]["info"]}}
        if name == "runs/log-batch":
            params, metrics = body.get("params", []), body.get("metrics", [])
            if len(params) > 100 or len(metrics) > 1000 or any(len(p["value"]) > 500 for p in params):
                raise Refused(400, json.dumps({"error_code": "INVALID_PARAMETER_VALUE", "message": "too many"}).encode())
            self.runs[body["run_id"]]["params"] += params
            self.runs[body["run_id"]]["metrics"] += metrics
            return {}
        if name == "runs/delete":
            del self.runs[body["run_id"]]
            return {}
        check(name == "runs/update", name)
        self.runs[body["run_id"]]["info"]["status"] = body["status"]
        return {}


def serve(kept):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do(self):
            parts = urllib.parse.urlsplit(self.path)
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            kept.headers.append(self.headers.get("Authorization"))
            try:
                status, said = 200, json.dumps(kept.answer(parts.path.split("/mlflow/")[1], json.loads(text or "{}"), dict(urllib.parse.parse_qsl(parts.query))))
                said = said.encode()
            except Refused as e:
                status, said = e.status, e.body
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "http://localhost:1/elsewhere")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_POST = do

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, "http://127.0.0.1:%d" % server.server_address[1]


def raised(call, *words):
    try:
        call()
    except mlflow.MLflowError as e:
        check(all(word in str(e) for word in words), repr(e), "lacks one of", words)
        return
    raise AssertionError("no MLflowError")


def lies(lab, kept, url):
    """Answers of something else than MLflow, and a server that wants the password to go elsewhere."""
    truth, seen = kept.answer, len(kept.headers)
    for said in ([], {}, {"experiment": 3}, {"experiment": {"id": 1}}, "x", None):
        kept.answer = lambda *_, said=said: said
        raised(lambda: mlflow.export(lab, to=url), "no server of MLflow")
    for said in ({"runs": [3]}, {"runs": {"a": 1}}, {"runs": [{"info": {"run_id": 1}}]}):
        kept.answer = lambda name, body, query, said=said: said if name == "runs/search" else truth(name, body, query)
        raised(lambda: mlflow.export(lab, to=url), "no server of MLflow")
    for status, body in ((500, b"[" * 100000), (404, b"{}"), (302, b"")):
        def refuse(*_, status=status, body=body):
            raise Refused(status, body)
        kept.answer = refuse
        raised(lambda: mlflow.export(lab, to=url), "redirects to" if status == 302 else "")
    kept.answer = truth
    check(len(kept.headers) < seen + 60, "no endless calls")


def main():
    os.environ["WATTLAW_PROGRAM"] = WATTLAW
    kept = Kept()
    server, url = serve(kept)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lab.db")
        make_store(path, ("UPDATE epoch SET samples = NULL WHERE run = 2",),
                   *[("INSERT INTO metric(run, epoch, name, value) VALUES (1, 1, ?, ?)", ("m%d" % i, i)) for i in range(1500)])
        lab = wattlaw.open(path)
        for name in ("runs/log-batch", "runs/update"):  # cut off in the middle; the next call does that run again
            kept.fail_at = name
            raised(lambda: mlflow.export(lab, to=url), name, "HTTP status 500")
            check([run["info"]["status"] for run in kept.runs.values()] == ["RUNNING"], kept.runs)
        kept.fail_at = None
        check(mlflow.export(lab, to=url) == (3, 0) and mlflow.export(lab, to=url + "/") == (0, 3))
        check(sorted(run["info"]["status"] for run in kept.runs.values()) == ["FAILED", "FINISHED", "FINISHED"], "states")
        by_run = {run["tags"]["wattlaw.run"]: run for run in kept.runs.values()}
        names = [m["key"] for m in by_run["1"]["metrics"]]
        check(len(names) > 1500 and "epoch/samples" in names and "epoch/samples" not in [m["key"] for m in by_run["2"]["metrics"]], "batches")
        check(all(m["value"] == m["value"] for run in kept.runs.values() for m in run["metrics"]), "a value that is missing was sent")
        os.environ["MLFLOW_TRACKING_USERNAME"], os.environ["MLFLOW_TRACKING_PASSWORD"] = "u", "p"
        mlflow.export(lab, to=url)
        check(kept.headers[-1] == "Basic dTpw" and kept.headers[0] is None, kept.headers[-1])
        lies(lab, kept, url)
        server.shutdown()
        server.server_close()
        raised(lambda: mlflow.export(lab, to=url), "refused")
        for wrong in ("mlruns", "file:///tmp/mlruns", "localhost:5000"):
            raised(lambda wrong=wrong: mlflow.export(lab, to=wrong), "expected the address")
    print("mlflow: passed")


main()
