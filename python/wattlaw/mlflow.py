"""Runs of a store as runs of an MLflow server, over its REST API (mlflow.org/docs/latest/rest-api.html).  Apache-2.0.

    python3 -m wattlaw.mlflow lab1 --to http://localhost:5000
    wattlaw.mlflow.export(wattlaw.open("lab1"), to="http://localhost:5000")

Standard library only; MLflow itself is needed on the server alone. A run that is on the server is not sent again. Settings
are parameters, times and energies metrics, those of epochs with the epoch as step. A metric that wattlaw did not measure says so
in its name: energy_j.estimated, energy_j.simulated, energy_j.imported. As MLflow's own client, it takes MLFLOW_TRACKING_USERNAME with
MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, from the environment.
"""

import argparse
import base64
import datetime
import hashlib
import http.client
import json
import math
import os
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

API = "/api/2.0/mlflow/"
LONGEST_ANSWER = 64 << 20  # bytes
BATCH_METRICS, BATCH_PARAMS, PARAM_LENGTH = 1000, 100, 500  # of one call; what every version takes
STATUS = {"done": "FINISHED", "failed": "FAILED", "interrupted": "KILLED"}
METRICS = ("time_s", "epoch_time_s", "energy_j", "energy_lo_j", "energy_hi_j", "idle_j", "mean_power_w", "util_pct")
ENERGIES = ("energy_j", "energy_lo_j", "energy_hi_j", "idle_j", "mean_power_w")


class MLflowError(RuntimeError):
    """The server cannot be reached, or refused a call: its text, and its error code (None: it gave none)."""

    def __init__(self, text, code=None):
        super().__init__(text)
        self.code = code


def _headers():
    token, user = os.environ.get("MLFLOW_TRACKING_TOKEN"), os.environ.get("MLFLOW_TRACKING_USERNAME")
    headers = {"Content-Type": "application/json"}
    if user:
        pair = "%s:%s" % (user, os.environ.get("MLFLOW_TRACKING_PASSWORD", ""))
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    elif token:
        headers["Authorization"] = "Bearer " + token
    return headers


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """urllib would send the password or token along to whatever address a server names."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        return None  # the status is an error then


def _read(answer):
    text = answer.read(LONGEST_ANSWER + 1)
    if len(text) > LONGEST_ANSWER:
        raise ValueError("an answer of more than %d bytes" % LONGEST_ANSWER)
    return text.decode("utf-8", "replace")


def _member(answer, *keys):
    """answer[key][key]... of what a server says, which may be anything."""
    for key in keys:
        if not isinstance(answer, dict) or key not in answer:
            raise MLflowError("no server of MLflow: its answer has no %s" % ".".join(keys))
        answer = answer[key]
    return answer


class Server:
    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise MLflowError("%s: expected the address of a server, such as http://localhost:5000" % url)
        self.url = url.rstrip("/")
        self.open = urllib.request.build_opener(_NoRedirects).open

    def call(self, name, body=None, **query):
        """POST with a body, GET without one."""
        address = self.url + API + name + ("?" + urllib.parse.urlencode(query) if query else "")
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        try:
            with self.open(urllib.request.Request(address, data, _headers()), timeout=60) as answer:
                return json.loads(_read(answer) or "{}")
        except urllib.error.HTTPError as e:
            if 300 <= e.code < 400:
                raise MLflowError("%s: redirects to %s: give that address" % (self.url, e.headers.get("Location"))) from e
            try:
                text = _read(e)
                said = json.loads(text)
                raise MLflowError("%s: %s" % (name, said.get("message", text)), said.get("error_code")) from e
            except (ValueError, AttributeError, RecursionError):
                raise MLflowError("%s: %s: HTTP status %d" % (self.url, name, e.code)) from e
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError, RecursionError) as e:
            raise MLflowError("%s: %s" % (self.url, getattr(e, "reason", e))) from e

    def experiment(self, name):
        """The id of the experiment of that name, made where it is missing."""
        try:
            return _member(self.call("experiments/get-by-name", experiment_name=name), "experiment", "experiment_id")
        except MLflowError as e:
            if e.code != "RESOURCE_DOES_NOT_EXIST":
                raise
        return _member(self.call("experiments/create", {"name": name}), "experiment_id")

    def find(self, experiment, key):
        """The run that was sent with this key, or None."""
        found = self.call("runs/search", {"experiment_ids": [experiment], "filter": "tags.\"wattlaw.key\" = '%s'" % key, "max_results": 1})
        runs = found.get("runs") if isinstance(found, dict) else None
        if not runs:
            return None
        info = _member(runs[0] if isinstance(runs, list) else None, "info")
        return {key: _member(info, key) for key in ("run_id", "status")}


def _ms(iso):
    return None if iso is None else int(datetime.datetime.fromisoformat(iso.replace("Z", "+00:00")).timestamp() * 1000)


def _name(text):
    """A name that MLflow takes: letters, digits, "_", "-", ".", " ", "/"."""
    return re.sub(r"[^\w\-. /]", "_", text)[:250]


def _provenance(run):
    return "simulated" if run.get("simulated") else "estimated" if run.get("estimated") else "imported" if run.get("source") else "measured"


def _metric(key, value, when, step, provenance):
    if key in ENERGIES and provenance != "measured":
        key = "%s.%s" % (key, provenance)
    return {"key": _name(key), "value": value, "timestamp": when, "step": step}


def _metrics(run):
    when, provenance = _ms(run["stopped"]) or _ms(run["started"]) or 0, _provenance(run)
    values = [(key, run.get(key), 0) for key in METRICS]
    for epoch in run.get("epochs", []):
        values += [("epoch/" + key, epoch.get(key), epoch["epoch"]) for key in ("time_s", "samples")]
        values.append(("epoch/energy_j" + ("" if provenance == "measured" else "." + provenance), epoch.get("energy_j"), epoch["epoch"]))
        values += [(key, value, epoch["epoch"]) for key, value in epoch.get("metrics", {}).items()]
    return [_metric(key, float(value), when, step, provenance) for key, value, step in values
            if value is not None and math.isfinite(float(value))]


def _key(run):
    """The same for a run wherever its store is copied to."""
    parts = [run.get("host"), run.get("started"), run["run"], run.get("command"), run.get("repeat"), run.get("attempt")]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _send(server, experiment, run):
    tags = {"mlflow.source.name": run.get("command"), "wattlaw.key": _key(run), "wattlaw.run": str(run["run"]),
            "wattlaw.status": run["status"], "wattlaw.energy": _provenance(run), "wattlaw.host": run.get("host"), "wattlaw.source": run.get("source"),
            "wattlaw.version": run.get("version"), "wattlaw.flag": run.get("flag"), "wattlaw.error": run.get("error")}
    made = server.call("runs/create", {
        "experiment_id": experiment, "run_name": "run %d" % run["run"], "start_time": _ms(run["started"]),
        "tags": [{"key": key, "value": str(value)[:5000]} for key, value in tags.items() if value is not None]})
    number = _member(made, "run", "info", "run_id")
    params = [{"key": _name(key), "value": str(value)[:PARAM_LENGTH]} for key, value in run.get("settings", {}).items()]
    metrics = _metrics(run)
    for i in range(0, len(params), BATCH_PARAMS):
        server.call("runs/log-batch", {"run_id": number, "params": params[i:i + BATCH_PARAMS]})
    for i in range(0, len(metrics), BATCH_METRICS):
        server.call("runs/log-batch", {"run_id": number, "metrics": metrics[i:i + BATCH_METRICS]})
    server.call("runs/update", {"run_id": number, "status": STATUS[run["status"]], "end_time": _ms(run["stopped"])})


def export(results, to, experiment=None):
    """Sends the runs that have ended. `results` is what wattlaw.open returns. Returns how many were sent and how many were
    there before. The experiment is named after the file where no name is given."""
    server = Server(to)
    name = experiment or os.path.basename(os.path.abspath(results.path))
    number = server.experiment(name)
    sent = known = 0
    for row in results.runs():
        if row["status"] not in STATUS:
            continue
        run = results.run(row["run"])
        there = server.find(number, _key(run))
        if there and there["status"] != "RUNNING":
            known += 1
            continue
        if there:  # a call before this one was cut off
            server.call("runs/delete", {"run_id": there["run_id"]})
        _send(server, number, run)
        sent += 1
    return sent, known


def main(arguments=None):
    from wattlaw import program, results
    parser = argparse.ArgumentParser(prog="python3 -m wattlaw.mlflow", description="Send the runs of a store to an MLflow server.")
    parser.add_argument("store", help="a .db file or the folder of a campaign")
    parser.add_argument("--to", required=True, metavar="URL", help="address of the server, http://HOST:PORT")
    parser.add_argument("--experiment", metavar="NAME", help="experiment of MLflow (default: the name of the store)")
    parser.add_argument("--campaign", metavar="NAME", help="campaign of the store (default: all campaigns)")
    given = parser.parse_args(arguments)
    try:
        sent, known = export(results.open(given.store, campaign=given.campaign), given.to, given.experiment)
    except (MLflowError, program.ProgramError, OSError) as e:
        sys.exit("error: %s" % e)
    print("%d run%s sent to %s, %d there before" % (sent, "" if sent == 1 else "s", given.to, known))


if __name__ == "__main__":
    main()
