"""The guide's commands on what others have measured, as they are written there: guide.py WATTLAW SOURCE_ROOT

Real are Zeus's files of the V100, the times of MLPerf's runs (laid out here as a submission, on systems of our naming), the table of MLPerf's times and
energies, and the six rows of CARAML's README, of which each system has one count of devices. Made up is the ladder of CARAML that gives a law: no table at hand has one."""
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
blocks = ["\n".join(block).replace("\\\n", " ").splitlines() for block in blocks]
commands = [line.strip() for block in blocks for line in block if line.strip().startswith("wattlaw ")]
answers = [" ".join(line.strip() for line in block) for block in blocks if not block[0].startswith("wattlaw ")]
kinds = [command.split()[1] for command in commands]
expect(kinds == ["import", "fit", "recommend", "import", "fit", "import", "fit", "import", "fit"] and len(answers) == 1, f"the guide's commands: {commands}, and answers: {answers}")

with Workspace(wattlaw) as p:
    *zeus, ladders, power, caraml = shared_data.find(source_root, *(os.path.join("zeus", "profile_data", name) for name in ZEUS), "mlperf_ladders/ladders.csv",
                                                     "mlperf_v4.0_power/runs.csv", "formats/caraml/readme_results.txt")
    for path in zeus:
        shutil.copy(path, p.path)
    write_submission(p, longest_ladder(pd.read_csv(ladders)), ".")
    write_caraml(p, "results.csv")
    runs = pd.read_csv(power)
    runs = runs[runs.measure == "ac"]  # each run is there twice, by the energy of either side of its power supplies
    runs.to_csv(p.at("runs.csv"), index=False)
    os.mkdir(p.at("bin"))
    os.symlink(wattlaw, p.at("bin/wattlaw"))
    env = {**os.environ, "PATH": p.at("bin") + ":" + os.environ["PATH"]}
    said = {}
    for command in commands:
        r = subprocess.run(["sh", "-c", command], cwd=p.path, env=env, text=True, capture_output=True, check=False)
        expect(r.returncode == 0, command, r)
        said[command] = r.stdout
    for command, text in said.items():
        source = {"wattlaw.db": "zeus", "mlperf.db": "mlperf", "caraml.db": "caraml", "own.db": "table"}[re.search(r"(\w+\.db)|$", command).group() or "wattlaw.db"]
        if " fit " in command:
            expect(f"source {source}" in text and re.search(r"(?m)^  law +t = [0-9.e+]+ s x N\^-?[01]\.[0-9]+ ", text), f"{command}: no law: {text[:500]}")
        if " import " in command:
            expect("imported" in text, f"{command}: {text[:500]}")
        if " recommend " in command:
            expect(answers[0] in text, f"{command}: the guide says: {answers[0]}\n{text[:500]}")
    means = runs[(runs.benchmark == "llama2_70b_lora") & (runs.global_batch_size == 8)].groupby("gpus")[["ttt_s", "node_energy_J"]].mean()
    speedup, ratio = means.ttt_s[8] / means.ttt_s[64], means.node_energy_J[64] / means.node_energy_J[8]
    expect(f"{speedup:.2f} times as fast as 8, for {ratio:.2f} times the energy" in section, f"the guide's ratios are {speedup:.3f} and {ratio:.3f}")
    table = said["wattlaw fit own.db"].split("llama2_70b_lora, global_batch 8\n")[1].split("\n\n")[1].split("\n")[2].split()
    expect(abs(float(table[table.index("to", 9) - 2]) / speedup - 1) < 1e-3 and float(table[-1]) == round(ratio, 2), f"its line: {table}")
    r = p.run("import", "--store", "readme.db", caraml)
    expect(r.returncode == 0 and len(p.rows("SELECT * FROM run", "readme.db")) == 6, "CARAML's README", r)
    r = p.run("fit", "readme.db")
    expect(r.returncode == 1 and r.stdout.count("no law: one worker count") == 6, "one count of devices each", r)
    r = p.run("recommend", "readme.db")
    expect(r.returncode == 0 and "wattlaw import" not in r.stdout, "to import is not how to run it", r)
print(f"{len(commands)} commands of the guide")
