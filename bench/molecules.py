#!/usr/bin/env python3
"""Training steps of SchNet and DimeNet in turns with PyTorch Geometric's, on the same molecules; their ratio.

    wattlaw-train data qm9 --synthetic DIR --molecules 128
    VENV/bin/python bench/molecules.py build/bench/bench_molecules DIR [--model schnet] [--threads 1] [--rounds 5]

Both sides train with all molecules of DIR at once: forward, backward, Adam. Neighbours and triplets of the peer are found
before, so its steps do not look for them; it runs tuned (huge pages, freed memory kept, Adam in one pass). Medians of
the rounds but the first, and the median of their ratios.
"""
import argparse
import glob
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time

import train_alternate

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
ELEMENTS = {"H": 1, "C": 6, "N": 7, "O": 8, "F": 9}


def molecules(folder):
    """Atomic numbers, positions and molecule of each atom."""
    numbers, positions, owner = [], [], []
    for m, path in enumerate(sorted(glob.glob(os.path.join(folder, "*.xyz")))):
        with open(path) as f:
            lines = f.read().splitlines()
        for line in lines[2:2 + int(lines[0])]:
            symbol, *place = line.split()[:4]
            numbers.append(ELEMENTS[symbol])
            positions.append([float(x) for x in place])
            owner.append(m)
    return numbers, positions, owner


def load_oracle():
    """tools/oracle/molecules.py, under another name than this module's."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "oracle")
    sys.path.insert(0, folder)  # of its own imports
    spec = importlib.util.spec_from_file_location("oracle_molecules", os.path.join(folder, "molecules.py"))
    oracle = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(oracle)
    return oracle


class Peer:
    def __init__(self, model, folder, threads, device="cpu"):
        import torch
        oracle = load_oracle()
        from torch_geometric.nn import DimeNet, SchNet
        torch.set_num_threads(threads)
        torch.manual_seed(1)
        numbers, positions, owner = molecules(folder)
        self.z, self.pos, self.owner = (torch.tensor(x, device=device) for x in (numbers, positions, owner))
        self.target = torch.randn(int(self.owner[-1]) + 1).to(device)
        cutoff = 10.0 if model == "schnet" else 5.0
        edges, lengths = (x.to(device) for x in oracle.neighbours(self.pos.cpu(), self.owner.cpu(), cutoff))
        if model == "schnet":
            self.net = SchNet(interaction_graph=lambda pos, batch: (edges, lengths))
        else:
            joined = tuple(x.to(device) for x in oracle.triplets(edges.cpu(), len(numbers)))
            oracle.pyg.radius_graph = lambda pos, r, batch, max_num_neighbors: edges
            oracle.pyg.triplets = lambda edge_index, num_nodes: joined
            self.net = DimeNet(128, 1, 6, 8, 7, 6)
        self.net.to(device)
        self.size = f"{len(numbers)} atoms, {edges.shape[1]} edges"
        self.adam = torch.optim.Adam(self.net.parameters(), lr=1e-3, fused=True)

    def step(self):
        start = time.perf_counter()
        self.adam.zero_grad(set_to_none=True)
        loss = ((self.net(self.z, self.pos, self.owner).view(-1) - self.target) ** 2).mean()
        loss.backward()
        self.adam.step()
        return time.perf_counter() - start


class Own:
    def __init__(self, binary, model, folder, threads):
        self.process = subprocess.Popen([*train_alternate.DIE_WITH_PARENT, binary, model, folder, str(threads)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        json.loads(self.process.stdout.readline())

    def step(self):
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("folder")
    parser.add_argument("--model", default="schnet", choices=("schnet", "dimenet"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    if "GLIBC_TUNABLES" not in os.environ:  # again, tuned
        os.execvpe(sys.executable, [sys.executable, *sys.argv], {**os.environ, **train_alternate.TUNED})
    own, peer = Own(args.binary, args.model, args.folder, args.threads), Peer(args.model, args.folder, args.threads)
    ours, theirs = [], []
    for turn in range(args.rounds):
        both = own.step(), peer.step()
        if turn:
            ours.append(both[0])
            theirs.append(both[1])
    walls = [a["wall_s"] for a in ours]
    print(f"{args.model}, {peer.size}, {args.threads} threads: {1e3 * statistics.median(walls):.1f} ms, PyTorch Geometric "
          f"{1e3 * statistics.median(theirs):.1f} ms; ratio "
          f"{statistics.median(t / o for t, o in zip(theirs, walls)):.2f} ({args.rounds - 1} rounds)")
    for kind in ours[0]["kinds_s"]:
        print(f"  {1e3 * statistics.median(a['kinds_s'][kind] for a in ours):8.2f} ms  {kind}")


if __name__ == "__main__":
    main()
