"""A launcher that starts ranks on several "nodes" of one machine as Open MPI does: launch.py NODES RANKS COMMAND...

$LAUNCH_NODES names a folder with a file N.env per node: NAME=value lines of its environment (fake GPUs, journal folder). If a rank
fails, the others are ended (SIGTERM, then SIGKILL), and its status is returned; so are all after SIGTERM to this program. @NODE@ in
the command is replaced by the node's number."""
import os
import signal
import subprocess
import sys
import time
import uuid

nodes, ranks, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
folder, job, started = os.environ["LAUNCH_NODES"], str(uuid.uuid4()), []


def end_all(*_):
    for p in started:
        if p.poll() is None:
            p.terminate()
    end = time.monotonic() + 2
    for p in started:
        try:
            p.wait(max(0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            p.kill()
    if _:
        sys.exit(143)


signal.signal(signal.SIGTERM, end_all)
for node in range(nodes):
    with open(os.path.join(folder, f"{node}.env"), encoding="utf-8") as f:
        own = dict(line.rstrip("\n").split("=", 1) for line in f)
    for local in range(ranks):
        env = {**os.environ, **own, "WATTLAW_HOST": f"n{node}", "PMIX_NAMESPACE": job, "NODE": str(node),
               "OMPI_COMM_WORLD_RANK": str(node * ranks + local), "OMPI_COMM_WORLD_SIZE": str(nodes * ranks),
               "OMPI_COMM_WORLD_LOCAL_RANK": str(local), "OMPI_COMM_WORLD_LOCAL_SIZE": str(ranks)}
        started.append(subprocess.Popen([word.replace("@NODE@", str(node)) for word in command], env=env))
while any(p.poll() is None for p in started):
    failed = [p.returncode for p in started if p.poll()]
    if failed:
        end_all()
        sys.exit(failed[0] if failed[0] > 0 else 128 - failed[0])
    time.sleep(0.01)
sys.exit(max((p.returncode for p in started), key=abs))
