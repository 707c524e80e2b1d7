"""Files that are cut, mixed, of other versions or of another place: correct numbers, or errors that name the line: hostile.py WATTLAW

Also the formats of which no tool's file is at hand (Alumet: written after its user book; dmon -o DT: after nvidia-smi's help)."""
import gzip
import os
import sys

from harness import Workspace, expect

HEAD = "index, timestamp, power.draw [W], utilization.gpu [%]\n"
ROWS = [f"{g}, 2026/11/20 10:00:{s:02d}.000, {100 + 100 * g}.00 W, {50 + g} %\n" for s in range(11) for g in (0, 1)]
SMI = HEAD + "".join(ROWS)  # 300 W over 10 s


def watts(p, content, *options, name="f.csv"):
    """Mean of each device's power, by a dry run; and the whole answer."""
    answer, r = p.imported("--dry-run", p.write(name, content), *options)
    return [c["mean"] for run in answer["runs"] for c in run["channels"] if c["quantity"] == "power_w"], answer, r


def variants(p):
    """The same readings in other words."""
    quoted = "\n".join(", ".join(f'"{v}"' for v in line.split(", ")) for line in SMI.splitlines()) + "\n"
    for what, content in (("CRLF", SMI.replace("\n", "\r\n")), ("a byte-order mark", b"\xef\xbb\xbf" + SMI.encode()), ("quotes", quoted),
                          ("no units", SMI.replace(" W,", ",").replace(" %\n", "\n")), ("mW", SMI.replace("00.00 W", "00000.0 mW")),
                          ("a header for each reading", "".join(HEAD + row for row in ROWS)), ("blank lines", SMI.replace("\n", "\n\n"))):
        mean, answer, r = watts(p, content)
        expect(mean == [100, 200] and answer["readings"] == 44 and answer["broken"] == 0, f"{what}: {answer}", r)
    other = SMI + "timestamp, index, temperature.gpu, power.draw.instant [W]\n2026/11/20 10:00:11.000, 0, 61, 130.5 W\n"
    mean, answer, r = watts(p, other)
    expect(mean == [100, 200, 130.5] and answer["broken"] == 0, f"another query's columns below: {answer}", r)


def broken_lines(p):
    cut = SMI[:-4]
    for what, content, broken, why in (
            ("cut", cut, 1, "f.csv:23: last line without newline: may be truncated"),
            ("a NUL byte", SMI.replace("11:00", "").replace("10:00:03.000, 100.00", "10:00:03.000, 1\0000.00"), 1, "f.csv:8: a NUL byte"),
            ("decimal commas", SMI.replace("10:00:03.000, 100.00 W", "10:00:03.000, 100,00 W"), 1, "f.csv:8: 5 values under 4 columns"),
            ("words", SMI.replace("10:00:03.000, 100.00 W", "10:00:03.000, much W"), 1, 'f.csv:8: power.draw: "much W" is not a value in W'),
            ("another unit", SMI.replace("10:00:03.000, 100.00 W", "10:00:03.000, 100.00 hp"), 1, '"100.00 hp" is not a value in W'),
            ("31 February", SMI.replace("2026/11/20 10:00:03", "2026/02/31 10:00:03"), 2, 'f.csv:8: "2026/02/31 10:00:03.000" is not a time'),
            ("a driver's message", SMI.replace(ROWS[6], "Unable to determine the device handle for GPU0000:01:00.0: Unknown Error\n"), 1, "f.csv:8: 1 values under"),
            ("an open quote", SMI.replace("10:00:03.000, 100.00 W", '10:00:03.000, "100.00 W'), 1, "f.csv:8: a quote is not closed")):
        mean, answer, r = watts(p, content)
        expect(answer["broken"] == broken and why in r.stderr, f"{what}: {answer}", r)
        expect(what in ("cut",) or mean == [100, 200], f"{what}: the others count: {mean}", r)
    mean, answer, r = watts(p, SMI.replace("100.00 W", "[N/A]").replace("[N/A]", "100.00 W", 9))
    expect(answer["missing"] == {"power_w: [N/A]": 2} and mean == [100, 200], f"missing values: {answer}", r)
    for value in ("1e20 W", "-3 W"):  # as of 0 and of a counter that was not read
        mean, answer, r = watts(p, SMI.replace("10:00:03.000, 100.00 W", f"10:00:03.000, {value}"))
        expect(mean == [100, 200] and sum(answer["missing"].values()) == 1, f"{value}: {answer}", r)
    many = HEAD + "".join(ROWS) + "nothing\n" * 1000
    mean, answer, r = watts(p, many)
    expect(answer["broken"] == 1000 and "and 990 more invalid lines" in r.stderr, "counted after the first ten", r)


def refusals(p):
    for name, content, options, why, status in (
            ("long.csv", HEAD + "x" * 3000000, [], "long.csv:2: the line is longer than 1048576 bytes", 1),
            ("empty", b"", [], "empty: the file is empty", 1), ("log.gz", gzip.compress(SMI.encode()), [], "a compressed file: unpack it first", 1),
            ("bare.csv", "".join(ROWS), [], "bare.csv:1: the file has no header: give --columns", 1),
            ("poem.txt", "the quality of mercy\n", [], 'poem.txt: not of a known format: it begins with "the quality of mercy"; wattlaw import --help', 1),
            ("columns.csv", "a;b;c;d;e;f;g;h;i;j\n", [], 'its columns are "a", "b", "c", "d", "e", "f", "g", "h" and 2 more; wattlaw', 1),
            ("renamed.csv", "timestamp,project_name,run_id,seconds,energy_consumed\n", [],
             'did you mean codecarbon (CodeCarbon\'s emissions.csv)? Its file also has "duration"; wattlaw', 1),
            ("core", b"\x7fELF\x02\x01\x01\0" + bytes(60), [], "it begins with the bytes 7f 45 4c 46 02 01 01 00; wattlaw", 1),
            ("utf16.csv", SMI.encode("utf-16"), [], "text in UTF-16, as PowerShell writes it: convert it first", 1),
            ("utf16le.csv", SMI.encode("utf-16-le"), [], "text in UTF-16, as PowerShell writes it: convert it first", 1),
            ("wide.csv", ",".join(f"c{i}" for i in range(150000)) + "\n", [], '"c7" and at least 109', 1),
            ("wider.csv", "index,power.draw," + "power.draw," * 1000000 + "\n" + "1," * 1000002 + "\n", [], "did you mean nvidia-smi (nvidia-smi --query-gpu", 1),
            ("poem.txt", "the quality of mercy\n", ["--as", "jpwr"], "expected a header ',timestamps,METHOD:NUMBER,...'", 1),
            ("head.csv", HEAD, [], "nothing could be read as nvidia-smi", 1),
            ("smi.csv", SMI, ["--as", "nvidia-sim"], "--as nvidia-sim: no such format; did you mean nvidia-smi?", 2),
            ("smi.csv", SMI, ["--timezone", "Europe/Berln"], "did you mean Europe/Berlin?", 2), ("smi.csv", SMI, ["--timezone", "../../etc/passwd"], "expected a name", 2),
            ("one.csv", HEAD + ROWS[0], [], "all readings have the same time", 1), ("smi.csv", SMI, ["--gpus", "GPU-x"], "none is of a GPU given by --gpus", 1),
            ("na.csv", SMI.replace("00.00 W", "[N/A]").replace("1[N/A]", "[N/A]").replace("2[N/A]", "[N/A]").replace("50 %", "[N/A]").replace("51 %", "[N/A]"),
             [], "no reading has a value: power_w: [N/A]", 1)):
        p.refused(p.write(name, content), *options, why=why, status=status)
    r = p.run("import", "missing.csv")
    expect(r.returncode == 1 and "missing.csv: cannot open: No such file" in r.stderr, "a file that is not there", r)
    expect(not os.path.exists(p.at("wattlaw.db")), "no store was made")


def clocks(p):
    """Times of a place, whose clocks go back and forward."""
    if not os.path.exists("/usr/share/zoneinfo/Europe/Berlin"):
        print("SKIP of time zones: no /usr/share/zoneinfo/Europe/Berlin (Debian: tzdata)")
        return
    rows = "".join(f"0, 2026/10/25 {t}, 100 W, 1 %\n" for t in ("01:59:30.000", "02:30:00.000", "02:59:59.000", "02:00:00.000", "02:40:00.000", "03:00:00.000"))
    _, answer, r = watts(p, HEAD + rows, "--timezone", "Europe/Berlin")
    run = answer["runs"][0]
    expect(run["started"] == "2026-10-24T23:59:30Z" and run["time_s"] == 7230 and answer["broken"] == 0, f"clocks go back: {run}", r)
    expect("02:30:00.000 happens twice in Europe/Berlin" in r.stderr and "times go back, 1" not in r.stderr, "the hour that happens twice is named", r)
    _, answer, r = watts(p, HEAD + rows, "--timezone", "+02:00")
    expect("times go back, 1 time, first at f.csv:5" in r.stderr and answer["runs"][0]["time_s"] == 3630, "another place", r)
    rows = "".join(f"0, 2026/03/29 {t}, 100 W, 1 %\n" for t in ("01:59:59.000", "02:30:00.000", "03:00:01.000"))
    _, answer, r = watts(p, HEAD + rows, "--timezone", "Europe/Berlin")
    expect(answer["runs"][0]["time_s"] == 2 and "2026/03/29 02:30:00.000\" does not exist in Europe/Berlin" in r.stderr, f"clocks go forward: {answer}", r)
    _, answer, r = watts(p, SMI)
    expect("times without a time zone are taken for UTC" in r.stderr, "said where none is given", r)


def other_formats(p):
    dmon = "#Date       Time        gpu    pwr  gtemp     sm\n#YYYYMMDD   HH:MM:SS    Idx      W      C      %\n"
    rows = [f" 20261120   23:59:{s:02d}      {g}    {100 + g}     61      -\n" for s in (58, 59) for g in (0, 1)]
    mean, answer, r = watts(p, dmon + "".join(rows) + dmon + " 20261121   00:00:00      0    100     61      -\n")
    expect(mean == [100, 101] and answer["runs"][0]["time_s"] == 2 and answer["missing"] == {"sm_util_pct: -": 5}, f"dmon -o DT: {answer}", r)
    timed = "#Time        gpu    pwr\n#HH:MM:SS    Idx      W\n" + "".join(f" {t}      0    100\n" for t in ("23:59:58", "23:59:59", "00:00:01"))
    _, answer, r = watts(p, timed, "--start", "2026-11-20T00:00:00Z")
    expect((answer["runs"][0]["started"], answer["runs"][0]["time_s"]) == ("2026-11-20T23:59:58Z", 3), f"dmon -o T over midnight: {answer}", r)
    p.refused("--dry-run", "f.csv", why="rows have a time and no date: give --start")
    names = "metric;timestamp;value;resource_kind;resource_id;consumer_kind;consumer_id;domain;__late_attributes\n"
    alumet = names + "".join(
        f"rapl_consumed_energy_J;2025-04-25T15:08:{s:02d}.5Z;50.0;cpu_package;0;local_machine;;package;\n"
        f"rapl_consumed_energy_J;2025-04-25T15:08:{s:02d}.5Z;20.0;cpu_package;0;local_machine;;pp0;\n"
        f"nvml_energy_consumption_mJ;2025-04-25T15:08:{s:02d}.5Z;200000;gpu;0;local_machine;;;\n"
        f"attributed_energy_J;2025-04-25T15:08:{s:02d}.5Z;7;cpu_package;0;process;42;;\n" for s in range(11))
    for what, content in (("columns", alumet), ("commas", alumet.replace(";", ",")), ("late attributes", alumet.replace("package;\n", ";domain=package\n")),
                          ("no units", alumet.replace("_mJ", "").replace("_J", ""))):
        answer, r = p.imported("--dry-run", p.write("a.csv", content))
        got = {c["device"]: c["difference"] for c in answer["runs"][0]["channels"]}
        expect(got == {"package-0": 500, "gpu0": 2000} and answer["passed_over"]["metric " + ("attributed_energy" + "_J" * (what != "no units"))] == 11,
               f"Alumet, {what}: {answer}", r)
    wraps = "# timestamp reading-time[ns] cpu-0[uJ]\n"
    lap = 2**32 * 2**-14 * 1e6
    counter = "".join(f"  2025-10-07_09:38:{s:02d}.000000 45560 {(lap - 450e6 + 100e6 * s) % lap:.0f}\n" for s in range(11))
    answer, r = p.imported("--dry-run", p.write("w.log", wraps + counter))
    expect(abs(answer["runs"][0]["channels"][0]["difference"] - 1000) < 1e-3 and "began at 0 again 1 time, which is made good" in r.stderr, f"a counter wraps: {answer}", r)
    reset = "".join(f"  2025-10-07_09:38:{s:02d}.000000 45560 {5e9 + 100e6 * s if s < 5 else 100e6 * s:.0f}\n" for s in range(11))
    answer, r = p.imported("--dry-run", p.write("w.log", wraps + reset))
    expect("energy_j decreases at w.log:7: the counter was reset" in r.stderr, "a counter is reset", r)
    spl = "".join(f"Time,05-06-2024 10:00:{s:02d}.000,Watts,{w},Volts,230,Amps,1,PF,1,Mark,notset\n" for s, w in enumerate((100, -1, 102)))
    p.refused("--dry-run", p.write("spl.txt", spl), why="the date 05-06-2024 may begin with the day or the month: give --dates dmy or mdy")
    for options, content, started in ((["--dates", "dmy"], spl, "2024-06-05T10:00:00Z"), (["--dates", "mdy"], spl, "2024-05-06T10:00:00Z"),
                                      ([], spl.replace("notset", "2024-05-06_09-59-58_run"), "2024-05-06T10:00:00Z"), ([], spl.replace("05-06", "25-06"), "2024-06-25T10:00:00Z")):
        mean, answer, r = watts(p, content, *options, name="spl.txt")
        expect(mean == [101] and answer["runs"][0]["started"] == started and sum(answer["missing"].values()) == 1, f"{options}: {answer}", r)
    snapshot = '[\n {\n  "device_name": "A100",\n  "gpu_util": null,\n  "power_draw": "%dW"\n }\n]\n'
    clock = ["--start", "2026-11-20T10:00:00Z", "--period", "2s"]
    mean, answer, r = watts(p, snapshot % 100 + snapshot % 200, *clock, name="n.json")
    expect(mean == [150] and answer["runs"][0]["time_s"] == 2, f"nvtop in a loop: {answer}", r)
    mean, answer, r = watts(p, snapshot % 100 + (snapshot % 200).replace("null,", "null") + snapshot % 300, *clock, name="n.json")
    expect(mean == [200] and "n.json:14: the snapshot that ends here is not JSON (nvtop 3.3.0 writes none)" in r.stderr, f"nvtop 3.3.0: {answer}", r)
    module = ",timestamps,pynvml:0,gh:Module Power Socket 0\n" + "".join(f"{s},{1795167038 + s}.0,400.0,600.0\n" for s in range(5))
    answer, r = p.imported("--dry-run", p.write("gh.csv", module))
    expect([c["scope"] for c in answer["runs"][0]["channels"]] == ["gpu", "module"], f"a module and its GPU are not the same scope: {answer}", r)


def a_new_folder(p):
    """More readings of a channel than memory holds are kept beside the store, whose folder is made when they are stored."""
    rows = [f"0, 2026/11/20 10:{s // 60:02d}:{s % 60:02d}.000, {100 + s % 2}.00 W, 50 %\n" for s in range(600)]
    answer, r = p.imported("--store", "new/folder/x.db", p.write("long.csv", HEAD + "".join(rows)))
    expect(answer["readings"] == 1200 and p.rows("SELECT count(*), sum(value) FROM sample s JOIN channel c ON c.id = s.channel WHERE quantity = 'power_w'", "new/folder/x.db") == [(600, 60300)], f"{answer}", r)
    p.refused("--store", "other/x.db", "long.csv", p.write("words.txt", "no numbers here\n"), why="words.txt")
    expect(not os.path.exists(p.at("other")), "a refused import makes no folder")


with Workspace(sys.argv[1]) as workspace:
    a_new_folder(workspace)
    variants(workspace)
    broken_lines(workspace)
    refusals(workspace)
    clocks(workspace)
    other_formats(workspace)
