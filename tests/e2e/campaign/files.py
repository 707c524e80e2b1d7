"""Files of others stay: what wattlaw did not make is not removed, truncated or followed, and no user can block another one by taking
names."""

import contextlib
import glob
import shutil
import sqlite3
import stat
import tempfile
import uuid

from harness import *

MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
EXPERIMENT = """
[campaign]
name = toy
repeats = 1
[sweep]
workload = toy
workers = 1
[measure]
sensors = proc
[launch]
command = toy epochs=1 ms=20
oversubscribe = yes
"""


def plant(path, text="precious\n"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "x", encoding="utf-8") as f:
        f.write(text)
    return path


def content(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def intact(*paths):
    for path in paths:
        check(os.path.isfile(path) and content(path) == "precious\n", path, "has changed")


def listing(folder):
    return sorted(os.listdir(folder))


def leftovers(folder):
    return [p for p in glob.glob(f"{folder}/**/.*", recursive=True, include_hidden=True) if ".wattlaw-" in p]


def two_users():
    """Two unused user ids: of a user who measures, and of an attacker."""
    if os.geteuid() != 0:
        raise Skip("another user needs root")
    first = 200000 + 2 * (os.getpid() % 100000)
    if subprocess.run(["true"], user=first, group=first, extra_groups=[], check=False).returncode != 0:
        raise Skip("there are no other users in this container")
    return first, first + 1


def as_user(uid):
    return {"user": uid, "group": uid, "extra_groups": []}


def ranks(bench, n, env, command=("true",), **how):
    """Started at once, as Open MPI's mpirun does."""
    job = str(uuid.uuid4())
    started = [bench.start("measure", "--sensors", "proc", "--", *command, stdin=subprocess.DEVNULL, **how,
                           env={**env, "OMPI_COMM_WORLD_RANK": str(r), "OMPI_COMM_WORLD_SIZE": str(n), "PMIX_NAMESPACE": job,
                                "OMPI_COMM_WORLD_LOCAL_RANK": str(r), "OMPI_COMM_WORLD_LOCAL_SIZE": str(n)})
               for r in range(n)]
    errors = [p.communicate(timeout=PATIENCE_S)[1] for p in started]
    return [p.returncode for p in started], errors


# ---- the runtime folder ----

def a_folder_that_is_named_keeps_its_files(bench):
    mpirun = shutil.which("mpirun")
    if not mpirun:
        raise Skip("mpirun is not installed")
    names = ["train.h5", "model.pt", ".bashrc", "notes", "host-job.0"]
    os.mkdir(bench.path("d"))
    for name in names:
        with open(bench.path("d", name), "x", encoding="ascii"):
            pass
    r = subprocess.run([mpirun, "-n", "2", bench.wattlaw, "measure", "--", "true"], cwd=bench.folder, capture_output=True, text=True,
                       env={**bench.env, **MPI, "WATTLAW_NODE_DIR": bench.path("d")}, timeout=PATIENCE_S, check=False)
    check(r.returncode == 0, r.stderr)
    check(listing(bench.path("d")) == sorted([*names, f"wattlaw-{os.geteuid()}"]), listing(bench.path("d")))
    check(bench.rows("wattlaw.db", "SELECT status FROM run") == [("done",)])


def only_stale_rendezvous_of_ours_are_removed(bench):
    """In our own folder too: the file's name and content decide."""
    ours = os.path.join(bench.node, f"wattlaw-{os.geteuid()}")
    os.makedirs(ours, 0o700)
    planted = [plant(os.path.join(ours, name)) for name in ("train.h5", "host-job.7", "notes", "a.b")]
    dead = os.path.join(ours, "host-job.3")
    with open(dead, "wb") as f:
        f.write((0x776c7462).to_bytes(4, sys.byteorder) + bytes(60))
    check(ranks(bench, 2, bench.env)[0] == [0, 0])
    intact(*planted)
    check(not os.path.exists(dead), "the rendezvous of a dead job has been removed")
    for path in planted:
        os.unlink(path)


@contextlib.contextmanager
def blocked(uid, attacker, kinds):
    """The names of a user in folders that everybody can write to, taken by another user."""
    taken = {}
    try:
        for place, kind in kinds.items():
            path = f"{place}/wattlaw-{uid}"
            if kind == "folder":
                os.mkdir(path, 0o777)
            elif kind == "link":
                os.symlink("/root", path)
            else:
                with open(path, "x", encoding="ascii"):
                    pass
            os.lchown(path, attacker, attacker)
            taken[path] = os.lstat(path)
        yield taken
    finally:
        for place in ("/dev/shm", "/tmp"):
            for path in glob.glob(f"{place}/wattlaw-{uid}*"):
                shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)


def planted_names_do_not_block_another_user(bench):
    """Anybody can make files in /dev/shm first: all ranks find one other folder, at once and in later jobs."""
    me, attacker = two_users()
    os.chmod(bench.world, 0o755)
    os.chown(bench.folder, me, me)
    env = {k: v for k, v in bench.env.items() if k != "WATTLAW_NODE_DIR"} | {"WATTLAW_STATE_DIR": bench.path("state")}
    for kind in ("folder", "file", "link"):
        with blocked(me, attacker, {"/dev/shm": kind, "/tmp": kind}) as taken:
            for job in range(2):
                status, errors = ranks(bench, 4, env, **as_user(me))
                check(status == [0] * 4 and not any("not all of the" in e for e in errors), kind, job, status, errors)
            ours = [p for p in glob.glob(f"/dev/shm/wattlaw-{me}-*")]
            check(len(ours) == 1 and os.stat(ours[0]).st_uid == me and stat.S_IMODE(os.stat(ours[0]).st_mode) == 0o700, ours)
            check(all(os.lstat(p).st_ino == before.st_ino and (not os.path.isdir(p) or os.path.islink(p) or not os.listdir(p))
                      for p, before in taken.items()), "the other user's files are unchanged")
    rows = bench.rows("wattlaw.db", "SELECT status FROM run")
    check(rows == [("done",)] * 6, "each job is one run:", rows)


def ranks_that_meet_in_two_folders_are_reported(bench):
    """As if the other user had removed the name between the start of two ranks."""
    me, attacker = two_users()
    os.chmod(bench.world, 0o755)
    os.chown(bench.folder, me, me)
    env = {k: v for k, v in bench.env.items() if k != "WATTLAW_NODE_DIR"} | {"WATTLAW_STATE_DIR": bench.path("state")}
    job = {"OMPI_COMM_WORLD_SIZE": "2", "PMIX_NAMESPACE": str(uuid.uuid4()), "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
    with blocked(me, attacker, {"/dev/shm": "folder"}) as taken:
        first = bench.start("measure", "--", "true", **as_user(me),
                            env={**env, **job, "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_LOCAL_RANK": "0"})
        bench.wait_until("rank 0 has taken its slot", lambda: any("." in n for p in glob.glob(f"/dev/shm/wattlaw-{me}-*")
                                                            for n in os.listdir(p)))
        for path in taken:
            os.rmdir(path)
            os.mkdir(path, 0o700)  # as if made by a rank that had found no other one
            os.chown(path, me, me)
            with open(f"{path}/lock", "x", encoding="ascii"):
                os.chown(f"{path}/lock", me, me)
        second = bench.start("measure", "--", "true", **as_user(me),
                             env={**env, **job, "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_LOCAL_RANK": "1"})
        _, error = second.communicate(timeout=PATIENCE_S)
        check(second.returncode == 1, second.returncode, error)
        contains(error, "ranks of this job meet in two folders")
        first.terminate()
        first.communicate(timeout=PATIENCE_S)


# ---- data of an experiment ----

def a_users_partial_data_stay(bench):
    theirs = plant(bench.path("in/data.partial/half"))
    bench.write("a.ini", EXPERIMENT + "[data]\npath = in/data\nprepare = mkdir {data}\n")
    bench.run("sweep", "a.ini")
    intact(theirs)
    check(listing(bench.path("in")) == ["data", "data.partial"], listing(bench.path("in")))
    os.rmdir(bench.path("in/data"))
    log = plant(bench.path("b/prepare.log"))
    bench.run("sweep", "a.ini", "--set", "campaign.store=b", "--set", "data.prepare=toy say=x {data}", status=1)
    intact(theirs, log)
    check(listing(bench.path("in")) == ["data.partial"], "a failed preparation leaves nothing", listing(bench.path("in")))
    check(os.path.isfile(bench.path("b/prepare.log-2")), listing(bench.path("b")))


def data_created_in_the_meantime_stay(bench):
    bench.write("a.ini", EXPERIMENT + "[data]\npath = in/data\n"
                "prepare = sh -c 'echo ours > \"$0\"; echo precious > in/data' {data}\n")
    r = bench.run("sweep", "a.ini", status=1)
    contains(r.stderr, "in/data: cannot move the data there", "exists")
    intact(bench.path("in/data"))


def a_killed_preparation_is_cleaned_up(bench):
    bench.write("a.ini", EXPERIMENT + "[data]\npath = in/data\n"
                "prepare = sh -c 'mkdir -p \"$0/deep\"; touch \"$0/deep/file\"; test -e go || exec sleep 300' {data}\n")
    p = bench.start("sweep", "a.ini")
    bench.wait_until("data are partly made", lambda: any(c.startswith("sleep 300") for _, c in bench.processes()))
    theirs = plant(bench.path("in/.data.wattlaw-0123456789abcdef01234567/file"))
    p.kill()
    p.communicate(timeout=PATIENCE_S)
    bench.all_gone()
    check(len(leftovers(bench.path("in"))) == 2, leftovers(bench.path("in")))
    bench.write("go", "")
    bench.run("sweep", "a.ini")
    intact(theirs)
    check(listing(bench.path("in")) == [".data.wattlaw-0123456789abcdef01234567", "data"], listing(bench.path("in")))
    check(os.path.isfile(bench.path("in/data/deep/file")))


# ---- folders of runs ----

def folders_named_runs_are_left_unchanged(bench):
    """TensorBoard's default folder, and that of a store of another name."""
    theirs = [plant(bench.path("runs", *name)) for name in (("1", "log"), ("1", "marks"), ("2", "events.out.tfevents.1"), ("3", "log"))]
    r = bench.run("measure", "--", "toy", "epochs=1", "ms=20")
    contains(r.stderr, "runs/1 belongs to another run and is left unchanged: the files of this run are in runs/1-2")
    check(bench.rows("wattlaw.db", "SELECT folder FROM run") == [("runs/1-2",)])
    check("epoch-end" in bench.read("runs/1-2/marks"))
    bench.run("measure", "--", "true")
    bench.write("a.ini", EXPERIMENT)
    bench.run("sweep", "a.ini", "--set", "campaign.store=.", "--set", "launch.command=sh -c 'echo in {run_dir}; exit 3'", status=1)
    folder, = bench.rows("wattlaw.db", "SELECT folder FROM run WHERE status = 'failed'")[0]
    check(folder == "runs/3-2" and bench.read(folder, "log") == f"in {bench.path(folder)}\n", folder)
    contains(bench.run("sweep", "a.ini", "--set", "campaign.store=.", "--set",
                       "launch.command=sh -c 'echo in {run_dir}; exit 3'", status=1).stdout, f"{folder}/log")
    before = {p: os.stat(p).st_mtime_ns for p in glob.glob(bench.path("runs/*/*"))}
    bench.run("measure", "--store", "other.db", "--", "toy", "epochs=1", "ms=20")
    check(all(os.stat(p).st_mtime_ns == t for p, t in before.items()), "files of the other store are unchanged")
    intact(*theirs)
    check(listing(bench.path("runs/2")) == ["events.out.tfevents.1"])


def links_in_runs_are_not_followed(bench):
    precious = plant(bench.path("home/precious"))
    os.mkdir(bench.path("runs"))
    os.mkdir(bench.path("runs/1"))
    os.symlink(precious, bench.path("runs/1/log"))
    os.symlink(precious, bench.path("runs/1/marks"))
    os.mkdir(bench.path("empty"))
    os.symlink(bench.path("empty"), bench.path("runs/1-2"))
    bench.write("a.ini", EXPERIMENT)
    bench.run("sweep", "a.ini", "--set", "campaign.store=.")
    intact(precious)
    check(listing(bench.path("home")) == ["precious"] and not listing(bench.path("empty")), listing(bench.path("empty")))
    check(bench.rows("wattlaw.db", "SELECT folder FROM run") == [("runs/1-3",)])


# ---- export and report ----

def a_store_with_a_run(bench, name="wattlaw.db"):
    bench.run("measure", "--store", name, "--sensors", "proc", "--", "toy", "epochs=2", "ms=20")


def an_export_only_touches_its_file(bench):
    a_store_with_a_run(bench)
    theirs = [plant(bench.path(n)) for n in ("F.tmp", "F.part", "target")]
    os.symlink("target", bench.path("link"))
    bench.write("F", "old\n")
    bench.run("export", "observations", "wattlaw.db", "-o", "F")
    contains(bench.read("F"), "workload")
    contains(bench.run("export", "observations", "wattlaw.db", "-o", "link", status=1).stderr, "link: is a symbolic link")
    intact(*theirs)
    text = bench.run("export", "observations", "wattlaw.db").stdout
    check(bench.run("export", "observations", "wattlaw.db", "-o", "/dev/stdout").stdout == text)
    bench.run("export", "observations", "wattlaw.db", "-o", "/dev/null")
    check(stat.S_ISCHR(os.stat("/dev/null").st_mode))
    with open(bench.path("appended"), "a", encoding="utf-8") as f:
        f.write("before\n")
        f.flush()
        bench.run("export", "observations", "wattlaw.db", "-o", "/dev/stdout", stdout=f)
    check(bench.read("appended") == "before\n" + text, bench.read("appended"))
    bench.run("measure", "--sensors", "proc", "--json-file", "m.json", "--", "true")
    os.symlink("target", bench.path("m2.json"))
    bench.run("measure", "--sensors", "proc", "--json-file", "m2.json", "--", "true", status=None)
    intact(*theirs)
    check(not leftovers(bench.folder), leftovers(bench.folder))


def another_users_links_are_not_followed(bench):
    """In a folder that everybody may write to, like /tmp."""
    me, attacker = two_users()
    os.chmod(bench.world, 0o755)
    a_store_with_a_run(bench)
    os.chmod(bench.folder, 0o1777)
    precious = plant(os.path.join(bench.world, "home/.bashrc"))
    os.chown(os.path.dirname(precious), me, me)
    os.chown(precious, me, me)
    os.makedirs(bench.path("report"))
    os.chmod(bench.path("report"), 0o1777)
    for name in ("F.tmp", "report/report.html", "report/report.html.tmp"):
        subprocess.run(["ln", "-s", precious, bench.path(name)], **as_user(attacker), check=True)
    bench.run("export", "observations", "wattlaw.db", "-o", "F", **as_user(me))
    contains(bench.read("F"), "workload")
    r = bench.run("report", "wattlaw.db", "--formats", "html", "--out", "report", status=1, **as_user(me))
    contains(r.stderr, "report.html: is a symbolic link")
    for name in "new.db", "figures":  # a store and a folder that do not exist yet
        subprocess.run(["ln", "-s", os.path.join(bench.world, "home", name), bench.path(name)], **as_user(attacker), check=True)
    os.chmod(bench.folder, 0o777)  # where the kernel follows them
    r = bench.run("measure", "--store", "new.db", "--", "true", status=1, **as_user(me))
    contains(r.stderr, "new.db: a symbolic link of another user")
    r = bench.run("report", "wattlaw.db", "--out", "figures/r", status=1, **as_user(me))
    contains(r.stderr, "figures: a symbolic link of another user")
    check(os.listdir(os.path.dirname(precious)) == [".bashrc"], os.listdir(os.path.dirname(precious)))
    intact(precious)


def slow_gnuplot(bench):
    """Writes half a picture and waits."""
    os.mkdir(bench.path("bin"))
    path = bench.write("bin/gnuplot", "#!/bin/sh\ntarget=${3#*target = ?}\nprintf half > \"${target%?}\"\ntouch drawing\nexec sleep 300\n")
    os.chmod(path, 0o755)
    return {**bench.env, "PATH": bench.path("bin") + ":" + bench.env["PATH"]}


def the_next_report_removes_what_a_killed_one_left(bench):
    a_store_with_a_run(bench)
    theirs = plant(bench.path("report/figures/a.svg.part"))
    p = bench.start("report", "wattlaw.db", "--formats", "svg", env=slow_gnuplot(bench))
    bench.wait_until("a figure is drawn", lambda: os.path.exists(bench.path("drawing")))
    p.kill()
    p.communicate(timeout=PATIENCE_S)
    check(leftovers(bench.path("report")), "it was killed during a write:", listing(bench.path("report/figures")))
    bench.run("report", "wattlaw.db", "--formats", "html")  # which does not make figures
    check(not leftovers(bench.path("report")), leftovers(bench.path("report")))
    intact(theirs)
    bench.end_all()


# ---- a store from somebody else ----

def a_store_opens_no_files_of_its_reader(bench):
    """Its experiment names a FIFO: no reading command may wait for a writer, or read another file of that name."""
    bench.write("grid.csv", "timestamp,carbon_intensity\n2020-01-01T00:00Z,300\n2040-01-01T00:00Z,300\n2060-01-01T00:00Z,300\n")
    bench.write("a.ini", EXPERIMENT.replace("sensors = proc", "sensors = proc,cpu_model\ncarbon_csv = grid.csv\npue = 1.5"))
    bench.run("sweep", "a.ini", "--set", "campaign.store=s")
    for name in ("fifo", "endless", "grid.csv"):
        path = bench.path("grid.csv")
        os.unlink(path)
        if name == "fifo":
            os.mkfifo(path)
        elif name == "endless":
            os.symlink("/dev/zero", path)
        else:
            bench.write("grid.csv", "not a file of intensities\n")
        for command in (["report", "s", "--formats", "csv"], ["energy", "s"], ["show", "s"], ["fit", "s"], ["status", "s"],
                        ["export", "observations", "s"]):
            r = bench.run(*command, status=None, timeout=60)
            check("no column" not in r.stderr and "cannot open" not in r.stderr, command, r.stderr)
            if command[0] == "report":
                contains(r.stderr, "which is only opened if given as --carbon-csv", bench.path("grid.csv"))
    f = json.loads(bench.run("energy", "s", "--json").stdout)["footprint"]
    check(f["carbon_csv"] is None and f["pue"] == 1.5 and "--carbon-csv" in f["notes"][0], f)
    bench.write("mine.csv", "timestamp,carbon_intensity\n2020-01-01T00:00Z,300\n2040-01-01T00:00Z,300\n2060-01-01T00:00Z,300\n")
    f = json.loads(bench.run("energy", "s", "--json", "--carbon-csv", "mine.csv").stdout)["footprint"]
    check(f["carbon_csv"] == "mine.csv" and not f["notes"], f)


def files_next_to_a_store_are_checked(bench):
    """A lock that is a FIFO, and files that are not spools but have their names."""
    a_store_with_a_run(bench)
    theirs = [plant(bench.path("wattlaw.db-spool-9")), plant(bench.path("target"), "wlspool1")]
    os.symlink("target", bench.path("wattlaw.db-spool-8"))
    short = plant(bench.path("wattlaw.db-spool-7"), "mine")
    os.unlink(bench.path("wattlaw.db-lock"))
    os.mkfifo(bench.path("wattlaw.db-lock"))
    for command in (["show"], ["status"], ["energy", "wattlaw.db"]):
        bench.run(*command, status=None, timeout=60)
    os.unlink(bench.path("wattlaw.db-lock"))
    bench.run("measure", "--sensors", "proc", "--", "true")
    check(content(theirs[0]) == "precious\n" and content(theirs[1]) == "wlspool1" and content(short) == "mine")
    check(os.path.islink(bench.path("wattlaw.db-spool-8")))
    with contextlib.closing(sqlite3.connect(bench.path("wattlaw.db"))) as db:
        next_run = db.execute("SELECT max(id) FROM run").fetchone()[0] + 1
    mine = plant(bench.path(f"wattlaw.db-spool-{next_run}"))
    bench.run("measure", "--sensors", "proc", "--", "toy", "epochs=2", "ms=100")
    intact(mine)
    check(bench.rows("wattlaw.db", f"SELECT status FROM run WHERE id = {next_run}") == [("done",)])


main([a_folder_that_is_named_keeps_its_files, only_stale_rendezvous_of_ours_are_removed, planted_names_do_not_block_another_user,
      ranks_that_meet_in_two_folders_are_reported, a_users_partial_data_stay, data_created_in_the_meantime_stay,
      a_killed_preparation_is_cleaned_up, folders_named_runs_are_left_unchanged, links_in_runs_are_not_followed,
      an_export_only_touches_its_file, another_users_links_are_not_followed, the_next_report_removes_what_a_killed_one_left,
      a_store_opens_no_files_of_its_reader, files_next_to_a_store_are_checked])
