"""Ratios of what bench/train_step.py measured, as text and as the table of docs/performance.md."""
import json
import statistics

from train_alternate import ALONE, OWN

TARGET = {"f32": 1.3, "bf16": 1.15}  # against the better PyTorch that was not compiled
SHARE, EFFICIENCY = 0.85, 0.97
PLAN_BYTES = {"resnet50:f32:16:t1": 2.1e9}
KINDS = ("default", "tuned", "compiled")


class Ratios:
    """Of one contestant to ours, step by step."""

    def __init__(self, contestant, own, clock):
        key = clock + "_s"
        self.name, self.library, self.seen = contestant["name"], contestant["library"], contestant
        self.steps = [theirs / ours for theirs, ours in zip(contestant[key], own[key])]
        self.median = statistics.median(self.steps)

    def __str__(self):
        return f"{self.median:.2f} ({min(self.steps):.2f}-{max(self.steps):.2f})"

    def kind(self):
        return next((k for k in reversed(KINDS) if k in self.name.split()), None)

    def what(self):
        """ "2.13.0, channels_last" """
        words = self.name.split()
        return f"{words[1]}, {words[3].replace('plain', 'NCHW')}"


class Row:
    def __init__(self, found, clock):
        self.found, self.clock = found, clock
        self.own = found["contestants"][0]
        self.ratios = []
        for part in [found, *found.get("more", [])]:
            own = next(c for c in part["contestants"] if c["name"] == OWN)
            self.ratios += [Ratios(c, own, clock) for c in part["contestants"] if c["name"] != OWN]

    def best(self, *kinds):
        """The fastest peer of these kinds: the smallest ratio."""
        return min((r for r in self.ratios if r.kind() in kinds), key=lambda r: r.median, default=None)

    def efficiency(self):
        return next((r for r in self.ratios if r.name == ALONE), None)

    def step_s(self):
        return statistics.median(self.own[self.clock + "_s"])

    def share(self):
        return statistics.median(self.own["matrix_share"])

    def samples(self):
        model, _, batch, on = self.found["row"].split(":")
        return int(batch) * (int(on[1:]) if on[0] == "r" else 1)


def kinds_of(own):
    """Median share of the step that each kind of operation takes, largest first."""
    steps = list(zip(own["kinds_s"], own["wall_s"]))
    share = {k: statistics.median(kinds[k] / wall for kinds, wall in steps) for k in steps[0][0]}
    return [(k, v) for k, v in sorted(share.items(), key=lambda i: -i[1]) if v >= 0.005]


def text(found, clock):
    row = Row(found, clock)
    lines = [f"{found['row']}, {found['rounds']} rounds, {'wall-clock' if clock == 'wall' else 'processor'} time",
             f"  {row.own['library']:44} {row.step_s() * 1e3:8.0f} ms  {row.samples() / row.step_s():7.2f} samples/s  "
             f"peak {row.own['peak_bytes'] / 1e9:.2f} GB, plan {row.own['plan_bytes'] / 1e9:.2f} GB",
             f"  convolutions and matrix products {row.share():.2f} of it;  "
             + ", ".join(f"{k} {v:.1%}" for k, v in kinds_of(row.own))]
    for r in sorted(row.ratios, key=lambda r: r.median):
        step_s = statistics.median(r.seen[clock + "_s"])
        lines.append(f"  {r.name:44} {step_s * 1e3:8.0f} ms  ratio {r}  peak {r.seen['peak_bytes'] / 1e9:.2f} GB")
    return "\n".join(lines)


def merge(paths):
    """The rows of several files; those of one name become one, whose parts keep their own steps of ours."""
    rows = {}
    for path in paths:
        with open(path) as f:
            for line in f:
                row = json.loads(line)
                if row["row"] in rows:
                    rows[row["row"]].setdefault("more", []).append(row)
                else:
                    rows[row["row"]] = row
    return [rows[name] for name in sorted(rows, key=lambda n: (n.split(":")[0], n.split(":")[1] != "f32", n))]


def cell(ratio):
    return f"{ratio} {ratio.what()}" if ratio else "-"


def markdown(rows, clock):
    lines = ["| network | precision | batch | on | step | samples/s | matrix share | peak memory | PyTorch tuned: "
             "ratio (range), which | default | compiled | its memory | 2 ranks' efficiency |", "|" + "---|" * 13]
    for found in rows:
        row, (model, precision, batch, on) = Row(found, clock), found["row"].split(":")
        best, efficiency = row.best("tuned", "default"), row.efficiency()
        place = f"{on[1:]} {'thread' if on[0] == 't' else 'rank'}{'s' if on[1:] != '1' else ''}"
        memory = f"{best.seen['peak_bytes'] / 1e9:.2f} GB" if best else "-"
        peers = " | ".join(cell(row.best(kind)) for kind in ("tuned", "default", "compiled"))
        lines.append(f"| {model} | {precision} | {batch} | {place} | {row.step_s():.3f} s | "
                     f"{row.samples() / row.step_s():.1f} | {row.share():.2f} | {row.own['peak_bytes'] / 1e9:.2f} GB | "
                     f"{peers} | {memory} | {efficiency or '-'} |")
    parts = [part for found in rows for part in [found, *found.get("more", [])]]
    libraries = sorted({c["library"] for part in parts for c in part["contestants"]})
    dates, machines = (", ".join(sorted({part[key] for part in parts})) for key in ("date", "machine"))
    return "\n".join([f"{dates}, {machines}; {', '.join(libraries)}.", "", *lines])


def missed(rows, clock):
    """A line for each target that a row misses."""
    out = []
    for found in rows:
        row, precision = Row(found, clock), found["row"].split(":")[1]
        checks = [("share of convolutions and matrix products", row.share(), SHARE)]
        if row.best("default", "tuned"):
            checks.append(("ratio to the better PyTorch", row.best("default", "tuned").median, TARGET[precision]))
        if row.efficiency():
            checks.append(("efficiency of two ranks", row.efficiency().median, EFFICIENCY))
        out += [f"{found['row']}: {what} {got:.3f}, wanted {want}" for what, got, want in checks if got < want]
        room = PLAN_BYTES.get(found["row"])
        if room and row.own["plan_bytes"] > room:
            out.append(f"{found['row']}: plan of {row.own['plan_bytes'] / 1e9:.2f} GB, wanted {room / 1e9:.1f}")
    return out
