"""Is in place of examples/pytorch_ddp.py where there is no PyTorch: its ranks find each other by what torch.distributed reads from the
environment, and all of them meet. Writes a line about the meeting to $RANKS_MET: job, port, host of the first rank, number of ranks."""
import os
import socket
import sys
import time

import wattlaw

PATIENCE_S = 60
rank, size, local = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
host = socket.gethostname()


def meet_first():
    """Rank 0 hears who each of the others is, and answers when all are there."""
    if host != address:
        sys.exit(f"rank 0 is on {host}, not on {address}")
    with socket.create_server((address, port)) as server:
        server.settimeout(PATIENCE_S)
        others = [server.accept()[0] for _ in range(size - 1)]
        met = sorted([(0, host, local)] + [(int(r), h, int(k)) for r, h, k in (s.recv(1000).decode().split() for s in others)])
        if [r for r, _, _ in met] != list(range(size)):
            sys.exit(f"ranks {met}, not 0 to {size - 1}")
        for h in {h for _, h, _ in met}:
            locals_there = sorted(k for _, x, k in met if x == h)
            if locals_there != list(range(len(locals_there))):
                sys.exit(f"local ranks {locals_there} on {h}")
        with open(os.environ["RANKS_MET"], "a", encoding="ascii") as f:
            f.write(f"{os.environ['SLURM_JOB_ID']} {port} {host} {size} {len({h for _, h, _ in met})}\n")
        for s in others:
            s.sendall(b"all")
            s.close()


def meet_others():
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            with socket.create_connection((address, port), timeout=PATIENCE_S) as s:
                s.sendall(f"{rank} {host} {local}".encode())
                if s.recv(100) != b"all":
                    sys.exit(f"rank {rank}: rank 0 has gone")
                return
        except ConnectionRefusedError:
            if time.monotonic() > end:
                sys.exit(f"rank {rank}: nobody at {address}:{port}")
            time.sleep(0.05)


wattlaw.start(workload="pytorch_ddp", workers=size)
with wattlaw.epoch(1):
    if rank == 0:
        meet_first()
    else:
        meet_others()
    time.sleep(0.3)
wattlaw.stop()
