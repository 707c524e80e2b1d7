"""The report of gpu-check: written anew after each check, so that a machine that is taken away leaves what was found."""
import json
import os
import time

PASSED, FAILED, MISSING = "passed", "failed", "not available"
NO_GPU = 77


def status_of(statuses):
    """Of a phase from its checks: one failure fails it, and what is not available never passes."""
    if FAILED in statuses:
        return FAILED
    return PASSED if PASSED in statuses else MISSING


class Report:
    def __init__(self, folder, machine):
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.all = {"version": 1, "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": machine,
                    "status": "running", "phases": []}
        self.write()

    def begin(self, name, limit_s):
        self.all["phases"].append({"name": name, "status": "running", "limit_s": round(limit_s, 1), "time_s": 0, "checks": []})
        self.started = time.monotonic()
        self.write()

    def add(self, name, status, detail, time_s, numbers):
        """One check; `detail` is a line."""
        phase = self.all["phases"][-1]
        phase["checks"].append({"name": name, "status": status, "detail": " ".join(detail.split()),
                                "time_s": round(time_s, 3), **({"numbers": numbers} if numbers else {})})
        phase["time_s"] = round(time.monotonic() - self.started, 3)
        self.write()

    def end(self):
        phase = self.all["phases"][-1]
        phase["status"] = status_of([c["status"] for c in phase["checks"]])
        phase["time_s"] = round(time.monotonic() - self.started, 3)
        self.write()
        return phase

    def finish(self):
        """The exit status."""
        self.all["status"] = status_of([p["status"] for p in self.all["phases"]])
        self.write()
        return 0 if self.all["status"] == PASSED else 1

    def write(self):
        self.replace("report.json", json.dumps(self.all, indent=1) + "\n")
        self.replace("report.txt", self.text())

    def replace(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path + ".new", "w", encoding="utf-8") as f:
            f.write(text)
        os.replace(path + ".new", path)

    def text(self):
        lines = [f"gpu-check {self.all['started']}: {self.all['status']}"]
        lines += [f"{k}: {v}" for k, v in self.all["machine"].items()]
        for p in self.all["phases"]:
            lines.append(f"\n{p['name']}: {p['status']} ({p['time_s']:.1f} s of {p['limit_s']:g} s)")
            for c in p["checks"]:
                tail = f": {c['detail']}" if c["detail"] else ""
                lines.append(f"  {c['status']:<13} {c['name']}{tail} ({c['time_s']:.1f} s)")
                lines += [f"  {'':<13}   {k} {v:.6g}" if isinstance(v, float) else f"  {'':<13}   {k} {v}"
                          for k, v in c.get("numbers", {}).items()]
        return "\n".join(lines) + "\n"
