#!/usr/bin/env python3
"""Writes tests/golden/models/schnet.json and dimenet.json: energies, loss and gradients of PyTorch Geometric's networks.

    tools/oracle/molecules.py [schnet dimenet]         (seconds; needs torch_geometric)

The truth is double; PyTorch's own f32 is measured against it. Molecules, targets and weights come from rules that
tests/unit/models/molecules.c and test_molecules.c compute too. Neighbours are found here, so that neither torch_cluster
nor torch_sparse is needed.
"""
import copy
import json
import os
import sys

import numpy as np
import torch
from torch_geometric.nn import DimeNet, SchNet
from torch_geometric.nn.models import dimenet as pyg

import rules

SEED, MOLECULES = 6, 12
ELEMENTS, MOST = [1, 6, 7, 8, 9], 29
TO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "models")


def molecule(seed, m):
    """Atomic numbers [n] and positions [n,3] in f32 of molecule m."""
    apart = 3.2 if m % 2 else 1.4
    n = 1 + int(rules.below(seed, rules.hash_text("atoms"), 1, m, MOST)[0])
    z = rules.below(seed, rules.hash_text("elements"), n, m * MOST, len(ELEMENTS))
    moves = 2 * rules.uniform(seed, rules.hash_text(f"molecule {m}"), 3 * n).reshape(n, 3) - 1
    i = np.arange(n)
    place = np.stack([i % 3, i // 3 % 3, i // 9], 1)
    return np.array(ELEMENTS)[z], (apart * place + 0.35 * moves).astype(np.float32)


def batch(seed, count):
    """z [A], positions [A,3] in double, molecule of each atom [A], targets [count]."""
    z, at = zip(*(molecule(seed, m) for m in range(count)))
    owner = np.concatenate([np.full(len(one), m) for m, one in enumerate(z)])
    targets = rules.normal(seed, rules.hash_text("targets"), count).astype(np.float32)
    return (torch.from_numpy(np.concatenate(z)), torch.from_numpy(np.concatenate(at)).double(),
            torch.from_numpy(owner), torch.from_numpy(targets).double())


def neighbours(pos, owner, cutoff):
    """edge_index [2,E] of all atoms of one molecule that are nearer than the cutoff, target by target, and lengths."""
    apart = (pos[:, None] - pos[None]).norm(dim=-1)
    near = (apart.float() < cutoff) & (owner[:, None] == owner[None]) & ~torch.eye(len(pos), dtype=torch.bool)
    to, source = near.nonzero(as_tuple=True)
    return torch.stack([source, to]), apart[to, source]


def set_weights(net, seed):
    """Weights as the engine starts them; what starts as 0, and all biases, normal with deviation .1."""
    with torch.no_grad():
        for name, p in net.named_parameters():
            stream, n = rules.hash_text(name), p.numel()
            spread = 2 * rules.uniform(seed, stream, n) - 1
            if name == "rbf.freq":
                value = np.pi * np.arange(1, n + 1)
            elif p.dim() == 1 or p.shape[0] == 1:
                value = 0.1 * rules.normal(seed, stream, n)
            elif name.startswith("embedding"):
                value = rules.normal(seed, stream, n)
            elif name.startswith("emb."):
                value = spread * (np.sqrt(3) if name == "emb.emb.weight" else 1 / np.sqrt(p.shape[1]))
            elif p.dim() == 3:
                value = rules.normal(seed, stream, n) * 2 / p.shape[0]
            else:
                value = spread * np.sqrt(6 / sum(p.shape))
            p.copy_(torch.from_numpy(value.astype(np.float32)).view_as(p))


def schnet(seed):
    net = SchNet(interaction_graph=lambda pos, owner: neighbours(pos, owner, 10.0)).double()
    offsets = torch.linspace(0, 10, 50, dtype=torch.float64)
    net.distance_expansion.offset = offsets
    net.distance_expansion.coeff = -0.5 / (10 / 49) ** 2
    set_weights(net, seed)
    return net


def triplets(edge_index, num_nodes):
    """What torch_geometric's function of this name gives, without torch_sparse."""
    source, to = edge_index
    ji, kj = (source[:, None] == to[None]).nonzero(as_tuple=True)  # k->j in front of j->i
    keep = source[kj] != to[ji]
    ji, kj = ji[keep], kj[keep]
    return to, source, to[ji], source[ji], source[kj], kj, ji


def dimenet(seed):
    """The envelope and the spherical basis of PyTorch Geometric lose digits near 0 and the cutoff, and its zeros are
    rounded to f32, in double too: 1e-7 of the energies."""
    net = DimeNet(128, 1, 6, 8, 7, 6).double()
    set_weights(net, seed)
    return net


def radius_graph(pos, r, batch, max_num_neighbors):
    del max_num_neighbors  # 32: no molecule here has so many
    return neighbours(pos, batch, r)[0]


pyg.radius_graph, pyg.triplets = radius_graph, triplets
NETWORKS = {"schnet": schnet, "dimenet": dimenet}


def train(net, z, pos, owner, targets):
    net.zero_grad(set_to_none=True)
    energies = net(z, pos, owner).view(-1)
    loss = ((energies - targets) ** 2).mean()
    loss.backward()
    grads = {name: p.grad.double().numpy() for name, p in net.named_parameters()}
    return energies.detach().double().numpy(), loss.item(), grads


def golden(model):
    net = NETWORKS[model](SEED)
    z, pos, owner, targets = batch(SEED, MOLECULES)
    energies, loss, grads = train(net, z, pos, owner, targets)
    single = copy.deepcopy(net).float()
    f32, _, f32_grads = train(single, z, pos.float(), owner, targets.float())
    size = sum(np.sum(g ** 2) for g in grads.values())
    away = np.sqrt(sum(np.sum((f32_grads[n] - g) ** 2) for n, g in grads.items()) / size)
    count = sum(p.numel() for p in net.parameters())
    print(f"{model}: {count} parameters, loss {loss:.6g}, f32 gradients {away:.1e} from double, energies "
          f"{np.abs(f32 - energies).max() / np.abs(energies).max():.1e}")
    return {"model": model, "torch": torch.__version__, "seed": SEED, "molecules": MOLECULES, "parameter_count": count,
            "loss": loss, "torch_f32": float(away), "energies": [float(f"{e:.12g}") for e in energies],
            "parameters": [{"name": n, "gradient": [float(f"{v:.10g}") for v in rules.fingerprint(n, g)]}
                           for n, g in grads.items()]}


def write(model):
    found = golden(model)
    rows = ",\n".join(json.dumps(row) for row in found.pop("parameters"))
    with open(os.path.join(TO, model + ".json"), "w") as f:
        f.write(f'{json.dumps(found, indent=1)[:-2]},\n "parameters": [\n{rows}\n]}}\n')


def main():
    for model in sys.argv[1:] or NETWORKS:
        if model not in NETWORKS:
            sys.exit(f"molecules.py: no network {model}; there are {', '.join(NETWORKS)}")
        write(model)


if __name__ == "__main__":
    main()
