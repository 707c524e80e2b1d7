#!/usr/bin/env python3
"""What wattlaw exports, read by the programs that it is for: others.py SOURCE WATTLAW

promtool from Debian's package prometheus (unpacked, not installed), the parsers of prometheus_client, the server of MLflow,
pyarrow, ro-crate-py and pandas from PyPI. Exit status 0: passed, 1: failed, 77: they could not be installed.
WATTLAW_BOAMPS_SCHEMAS names a folder with the five files of github.com/Boavizta/BoAmps, model/: reports are then validated by them, too.
"""
import glob
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

from stores import Program, check, make_nasty, make_store

SOURCE, WATTLAW = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
sys.path.insert(0, os.path.join(SOURCE, "tests", "e2e", "frameworks"))
from environment import environment  # noqa: E402

PACKAGES = ["prometheus_client==0.21.1", "pyarrow", "mlflow", "rocrate", "pandas", "jsonschema<4.18"]


def python(env, code, *arguments):
    env = dict(env, PYTHONPATH=os.path.join(SOURCE, "python"), WATTLAW_PROGRAM=WATTLAW)
    done = subprocess.run(["python3", "-c", code, *arguments], env=env, capture_output=True, text=True, check=False)
    check(done.returncode == 0, code, done.stdout[-2000:], done.stderr[-3000:])
    return done.stdout


def promtool(program, folder):
    got = subprocess.run(["apt-get", "download", "-q", "prometheus"], cwd=folder, capture_output=True, text=True, check=False)
    package = glob.glob(os.path.join(folder, "prometheus_*.deb"))
    if got.returncode or not package:
        print("SKIP: Debian's package prometheus cannot be downloaded:", got.stderr.strip().splitlines()[-1:])
        return False
    subprocess.run(["dpkg", "-x", package[0], os.path.join(folder, "prometheus")], check=True)
    for store in ("lab.db", "nasty.db"):
        text = program.run("export", "--format=openmetrics", store)
        done = subprocess.run([os.path.join(folder, "prometheus/usr/bin/promtool"), "check", "metrics"], input=text, capture_output=True, text=True,
                              check=False)
        check(done.returncode == 0 and not done.stderr, store, done.stdout, done.stderr)
    broken = subprocess.run([os.path.join(folder, "prometheus/usr/bin/promtool"), "check", "metrics"], input=text.replace('"}', "}", 1),
                            capture_output=True, text=True, check=False)
    check(broken.returncode != 0, "promtool refuses nothing")
    print("promtool:", os.path.basename(package[0]))
    return True


def prometheus_client(program, env):
    for store in ("lab.db", "nasty.db"):
        path = os.path.join(program.folder, "metrics.txt")
        program.run("export", "--format=openmetrics", store, "-o", path)
        print("samples by the OpenMetrics parser, and by that of Prometheus' text:", python(env, """
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as strict
from prometheus_client.parser import text_string_to_metric_families as plain
text = open(sys.argv[1], encoding="utf-8").read()
found = [(s.name, s.labels, s.value) for f in strict(text) for s in f.samples]
assert found == [(s.name, s.labels, s.value) for f in plain(text) for s in f.samples]
assert {"wattlaw_run_energy_joules"} <= {name for name, _, _ in found}
print(len(found))
""", path).strip())


def parquet(program, env):
    print(python(env, """
import os, sys, pandas, wattlaw
lab = wattlaw.open(sys.argv[1])
paths = lab.to_parquet(sys.argv[2])
assert [os.path.basename(p) for p in paths] == ["runs.parquet", "epochs.parquet", "samples.parquet"], paths
for path, table in zip(paths[:2], (lab.runs(), lab.epochs())):
    frame = pandas.read_parquet(path)
    assert list(frame.columns) == table.columns and len(frame) == len(table) > 0
    for key in table.columns:
        for read, row in zip(frame[key], table):
            assert (pandas.isna(read) and row[key] is None) or read == row[key], (path, key, read, row[key])
samples = pandas.read_parquet(paths[2])
assert len(samples) == 6 and samples["value"].isna().sum() == 2 and samples["value"].sum() == 501, samples
assert sorted(os.listdir(sys.argv[2])) == ["epochs.parquet", "runs.parquet", "samples.parquet"]
print("parquet:", len(samples), "samples")
""", os.path.join(program.folder, "lab.db"), os.path.join(program.folder, "parquet")).strip())


def crate(program, env):
    program.run("export", "--format=bundle", "lab.db", "-o", "lab.zip", "--field", "author=Ada")
    print(python(env, """
import sys
from rocrate.rocrate import ROCrate
crate = ROCrate(sys.argv[1])
assert crate.name == "Time and energy of training: lab1" and crate.root_dataset["author"][0]["name"] == "Ada", crate.name
files = {e.id for e in crate.data_entities}
assert {"wattlaw.db", "observations.csv", "manifest-sha256.txt"} <= files
print("crate:", len(files), "files")
""", os.path.join(program.folder, "lab.zip")).strip())


def boamps(program, env):
    folder = os.environ.get("WATTLAW_BOAMPS_SCHEMAS")
    if not folder:
        print("SKIP: WATTLAW_BOAMPS_SCHEMAS is not set: reports of BoAmps are not validated by its own schemas")
        return False
    given = ["--field=task.taskFamily=a", "--field=task.dataset.dataType=image", "--field=infrastructure.infraType=onPremise",
             "--field=environment.country=Germany", "--field=header.publisher.name=Lab", "--field=software.language=c"]
    program.run("export", "--format=boamps", "--run=1", *given, "lab.db", "-o", "report.json")
    print(python(env, """
import glob, json, os, sys
import jsonschema
schemas = {}
for path in glob.glob(os.path.join(sys.argv[1], "*_schema.json")):
    schema = json.load(open(path, encoding="utf-8"))
    schemas[schema["id"]] = schema
root = next(s for name, s in schemas.items() if name.endswith("report_schema.json"))
def reject(url):
    raise AssertionError("no schema " + url)
resolver = jsonschema.RefResolver(root["id"], root, store=schemas, handlers={"https": reject})
validator = jsonschema.Draft4Validator(root, resolver=resolver)
report = json.load(open(sys.argv[2], encoding="utf-8"))
validator.validate(report)
del report["task"]["taskFamily"]
assert list(validator.iter_errors(report)), "the schema refuses nothing"
print("boamps: valid by", len(schemas), "schemas")
""", folder, os.path.join(program.folder, "report.json")).strip())
    return True


# ---- MLflow ----

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A real `mlflow server` on a database of its own."""

    def __init__(self, folder, env):
        self.url, self.log = "http://127.0.0.1:%d" % free_port(), os.path.join(folder, "mlflow.log")
        command = ["mlflow", "server", "--host=127.0.0.1", "--port=" + self.url.rsplit(":", 1)[1], "--backend-store-uri=sqlite:///" + folder + "/ml.db",
                   "--default-artifact-root=" + folder + "/artifacts", "--workers=1"]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, env=env, cwd=folder, stdout=log, stderr=log, start_new_session=True)

    def wait(self, env):
        end = time.time() + 180
        while time.time() < end and self.process.poll() is None:
            done = subprocess.run(["python3", "-c", "import sys, urllib.request; urllib.request.urlopen(sys.argv[1] + '/health', timeout=5)", self.url],
                                  env=env, capture_output=True, check=False)
            if done.returncode == 0:
                return
            time.sleep(1)
        with open(self.log, encoding="utf-8", errors="replace") as log:
            check(False, "the server does not answer:", log.read()[-3000:])

    def stop(self):
        os.killpg(self.process.pid, 15)
        self.process.wait(60)


def mlflow(program, env, folder):
    tool = dict(env, PYTHONPATH=os.path.join(SOURCE, "python"), WATTLAW_PROGRAM=WATTLAW)

    def send(*arguments, status=0):
        done = subprocess.run(["python3", "-m", "wattlaw.mlflow", *arguments], env=tool, cwd=folder, capture_output=True, text=True, check=False)
        check(done.returncode == status, arguments, done.stdout, done.stderr)
        return done.stderr if status else done.stdout

    server = Server(folder, env)
    try:
        server.wait(env)
        check(send("lab.db", "--to", server.url).startswith("3 runs sent"), "the first time")
        check("0 runs sent" in send("lab.db", "--to", server.url + "/") and "3 there before" in send("lab.db", "--to", server.url), "twice is once")
        check(send("nasty.db", "--to", server.url, "--experiment", "odd").startswith("4 runs sent"), "hostile names")
        check(send("simulated.db", "--to", server.url, "--experiment", "sim"), "simulated")
        print(python(dict(env, MLFLOW_TRACKING_URI=server.url), """
import mlflow
client = mlflow.MlflowClient()
def runs(name):
    found = client.search_runs([client.get_experiment_by_name(name).experiment_id])
    return {r.info.run_name: r for r in found}
lab = runs("lab.db")
assert {name: r.info.status for name, r in lab.items()} == {"run 1": "FINISHED", "run 2": "FINISHED", "run 3": "FAILED"}, lab
one = lab["run 1"]
assert one.info.start_time == 1700000000000 and one.info.end_time == 1700000003000, one.info
assert one.data.params["workload"] == "resnet50" and one.data.params["workers"] == "1" and one.data.params["size"] == "tiny", one.data.params
assert one.data.metrics["energy_j"] == 250 and one.data.metrics["time_s"] == 3 and "idle_j" not in one.data.metrics, one.data.metrics
steps = [(m.step, m.value) for m in client.get_metric_history(one.info.run_id, "epoch/energy_j")]
assert steps == [(1, 120), (2, 130)], steps
assert [(m.step, m.value) for m in client.get_metric_history(one.info.run_id, "train_loss")] == [(1, 2), (2, 1.5)]
assert one.data.tags["wattlaw.energy"] == "measured"
sim = runs("sim")["run 1"].data.metrics
assert sim["energy_j.simulated"] == 250 and "energy_j" not in sim and sim["epoch/energy_j.simulated"] == 130, sim
assert len(runs("odd")) == 4
print("mlflow", mlflow.__version__ + ":", len(lab), "runs")
""").strip())
    finally:
        server.stop()
    check("refused" in send("lab.db", "--to", server.url, status=1), "no server")
    check("expected the address" in send("lab.db", "--to", "mlruns", status=1), "no address")
    check("nowhere" in send("nowhere", "--to", server.url, status=1), "no store")


def main():
    with tempfile.TemporaryDirectory(prefix="wattlaw-e2e-") as folder:
        env = environment(folder, PACKAGES)
        program = Program(WATTLAW, folder)
        make_store(os.path.join(folder, "lab.db"))
        make_nasty(os.path.join(folder, "nasty.db"))
        make_store(os.path.join(folder, "simulated.db"), "UPDATE energy SET simulated = 1")
        promtool(program, folder)
        prometheus_client(program, env)
        parquet(program, env)
        crate(program, env)
        boamps(program, env)
        mlflow(program, env, folder)
    print("others: passed")


main()
