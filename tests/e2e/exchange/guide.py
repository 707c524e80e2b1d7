"""The guide's commands on what others have measured, as they are written there: guide.py WATTLAW SOURCE_ROOT

On Zeus's files of the V100, on times of real runs of MLPerf Training laid out as a submission, and on a table of CARAML's columns."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "analysis"))
import shared_data  # noqa: E402
from harness import Workspace, expect, pandas_or_skip  # noqa: E402
from submissions import longest_ladder, write_caraml, write_submission  # noqa: E402

pd = pandas_or_skip()

wattlaw, source_root = os.path.abspath(sys.argv[1]), sys.argv[2]
ZEUS = ["V100+resnet50+gpu0.csv", "V100+resnet50+gpu0,1.csv"]
with open(os.path.join(source_root, "docs", "guide.md"), encoding="utf-8") as guide:
    section = re.search(r"(?ms)^## With measurements that you have\n(.*?)^## ", guide.read()).group(1)
blocks = [block.strip().splitlines() for block in re.findall(r"(?m)(?:^    .*\n)+", section)]
commands = [line.strip() for block in blocks for line in block if line.strip().startswith("wattlaw ")]
answers = [" ".join(line.strip() for line in block) for block in blocks if not block[0].startswith("wattlaw ")]
kinds = [command.split()[1] for command in commands]
expect(kinds == ["import", "fit", "recommend", "import", "fit", "import", "fit"] and len(answers) == 1, f"the guide's commands: {commands}, and answers: {answers}")

with Workspace(wattlaw) as p:
    *zeus, ladders = shared_data.find(source_root, *(os.path.join("zeus", "profile_data", name) for name in ZEUS), "mlperf_ladders/ladders.csv")
    for path in zeus:
        shutil.copy(path, p.path)
    write_submission(p, longest_ladder(pd.read_csv(ladders)), ".")
    write_caraml(p, "results.csv")
    os.mkdir(p.at("bin"))
    os.symlink(wattlaw, p.at("bin/wattlaw"))
    env = {**os.environ, "PATH": p.at("bin") + ":" + os.environ["PATH"]}
    said = {}
    for command in commands:
        r = subprocess.run(["sh", "-c", command], cwd=p.path, env=env, text=True, capture_output=True, check=False)
        expect(r.returncode == 0, command, r)
        said[command] = r.stdout
    for command, text in said.items():
        source = {"wattlaw.db": "zeus", "mlperf.db": "mlperf", "caraml.db": "caraml"}[re.search(r"(\w+\.db)|$", command).group() or "wattlaw.db"]
        if " fit " in command:
            expect(f"source {source}" in text and re.search(r"(?m)^  law +t = [0-9.e+]+ s x N\^-?[01]\.[0-9]+ ", text), f"{command}: no law: {text[:500]}")
        if " import " in command:
            expect("imported" in text, f"{command}: {text[:500]}")
        if " recommend " in command:
            expect(answers[0] in text, f"{command}: the guide says: {answers[0]}\n{text[:500]}")
print(f"{len(commands)} commands of the guide")
