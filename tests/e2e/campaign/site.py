"""A batch system of a site, as small as one can be: site.py FOLDER submit SCRIPT OUTPUT NAME | states ID... | cancel ID...

Each job is a process of its own; FOLDER/ID has its state, FOLDER/ID.name its name. FOLDER/down: it does not answer; FOLDER/slow: no job begins."""
import os
import signal
import subprocess
import sys
import time


def put(path, text):
    with open(path + ".new", "w", encoding="ascii") as f:
        f.write(text)
    os.rename(path + ".new", path)


def get(path):
    try:
        with open(path, encoding="ascii") as f:
            return f.read()
    except OSError:
        return None


def submit(script, output, name):
    number = 1 + sum(n.endswith(".name") for n in os.listdir(folder))
    job = f"{number}.site"
    put(f"{folder}/{job}.name", name)
    put(f"{folder}/{job}", "waiting")
    if os.fork():
        print(f"Your job is {job}")
        return
    os.setsid()
    sys.stdout.flush()
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    os.dup2(1, 2)
    while os.path.exists(f"{folder}/slow"):
        time.sleep(.02)
    with open(output.replace("%j", job.replace(".", "_")), "ab") as log:
        child = subprocess.Popen(["bash", script], env={**os.environ, "SITE_JOB": job}, stdout=log, stderr=log, start_new_session=True)
    put(f"{folder}/{job}.pid", str(child.pid))
    put(f"{folder}/{job}", "running")
    status = child.wait()
    said = get(f"{folder}/{job}.outcome")  # what a test wants it to have been
    put(f"{folder}/{job}", said or ("done" if status == 0 else "failed"))


def end(job, outcome):
    put(f"{folder}/{job}.outcome", outcome)
    os.killpg(int(get(f"{folder}/{job}.pid")), signal.SIGTERM)


folder, what, *words = sys.argv[1:]
if os.path.exists(f"{folder}/down"):
    sys.exit("cannot connect to server")
if what == "submit":
    submit(*words)
elif what == "states":
    for number in [n[:-5] for n in os.listdir(folder) if n.endswith(".name")]:
        print(number, get(f"{folder}/{number}"), get(f"{folder}/{number}.name"))
elif what == "end":
    end(*words)
else:
    for number in words:
        end(number, "cancelled")
