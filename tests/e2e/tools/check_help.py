"""tools/check-help refuses each kind of bad row and passes on good ones: check_help.py SOURCE BUILD [--wattlaw-only]"""
import os
import subprocess
import sys
import tempfile

tool = os.path.join(sys.argv[1], "tools/check-help")
HEAD = "usage: tool job [options]\n\nRun a job.\n\noptions\n"


def check(rows):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
        f.write(HEAD + rows + "\n\nStatus: 0.\n")
        f.flush()
        return subprocess.run([tool, "--text", f.name], capture_output=True, text=True, check=False)


def refused(why, rows):
    done = check(rows)
    assert done.returncode == 1 and why in done.stdout, f"wanted '{why}' for {rows!r}, got {done.returncode}: {done.stdout}{done.stderr}"


def accepted(rows):
    done = check(rows)
    assert done.returncode == 0, f"{rows!r}: {done.stdout}{done.stderr}"


accepted("  --rate-hz Hz                  sampling rate of each sensor (0.01 to 1000, default 10)\n"
         "  --setter auto|nvml|rapl|cpufreq\n"
         "                                setter of power caps (default auto)\n"
         "  -o, --out FILE                file to write to (default: stdout)\n"
         "  --[no-]bar                    hide the progress bar")
refused("fewer than 3 words", "  --workers N                   data-parallel ranks (1 to 1024, default 1)")
refused("fewer than 3 words", "  --quiet                       no summary")
refused("starts with 'of'", "  --seed N                      of the order of the runs")
refused("starts with 'how'", "  --comm auto|mpi               how ranks exchange gradients")
refused("starts with the capital of 'Print'", "  --json                        Print the results as JSON")
refused("'it' refers", "  --epoch-at end|begin          line that ends its epoch or begins it")
refused("'them' refers", "  --pack                        pack files and write them")
refused("'the same' refers", "  --restore TEXT                command that restores, the same with the old watts")
refused("'for that' refers", "  --wait s                      longest wait for that")
refused("'if not given': write (default VALUE)", "  --pue X                       power usage effectiveness; 1 if not given")
refused("no default: write", "  --cooldown-c C                temperature above which a run waits (0 to 150)")
accepted("  --cooldown-c C                temperature above which a run waits (default: off) (0 to 150)")
accepted("  --text FILE                   text file to tokenise; required without --synthetic")
refused("shows TEXT", "  --from TEXT                   time at which the run starts (default: the first reading)")
refused("'may be repeated' twice", "  --text FILE                   text file; may be repeated; default: none (may be repeated)")
refused("write --cap-wait: attempts", "  --cap-wait s                  timeout of a site command (default 10s)\n"
        "  --cap-tries N                 attempts, each with the timeout cap-wait (default 1)")
accepted("  --cap-wait s                  timeout of a site command (default 10s)\n"
         "  --cap-tries N                 attempts, each with the timeout --cap-wait (default 1)")
refused("0 rows", "")

# Keys of an experiment file name other keys, not options of the command line.
with tempfile.TemporaryDirectory() as folder:
    os.makedirs(folder + "/src/cmd")
    for name in ("wattlaw", "wattlaw-train"):
        path = f"{folder}/src/cmd/{name}"
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"""#!/bin/sh
case $2 in
--keys) echo "[cap]  caps"
    echo "  command       command that sets a power cap (default: none)"
    echo "  wait          timeout of cap-command (default 10s)"
    echo "  tries         attempts of --cap-command before a failure" ;;
esac
""")
        os.chmod(path, 0o755)
    done = subprocess.run([tool, folder], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "[cap] wait: write command" in done.stdout and "[cap] tries: no default" in done.stdout
    assert "[cap] tries: write command" in done.stdout, done

done = subprocess.run([tool, *sys.argv[2:]], capture_output=True, text=True, check=False)
assert done.returncode == 0, done.stdout + done.stderr
