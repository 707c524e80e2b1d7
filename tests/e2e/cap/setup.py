"""wattlaw setup --system and its --remove: in the tree of an image, and on a system whose /etc, /run and /sys are this test's own:
setup.py WATTLAW FAKE_NVML_LIBRARY [PART...]"""
import grp
import json
import os
import shutil
import subprocess
import sys
import tempfile

from rig import PATIENCE_S, expect
from users import USERS, skip_unless_root

wattlaw, fake = map(os.path.abspath, sys.argv[1:3])
PROGRAM = "/usr/bin/wattlaw"
UNITS = "/etc/systemd/system"
RECORD = "/etc/wattlaw/setup.json"


def setup(root, *options, stdin=""):
    return subprocess.run([wattlaw, "setup", "--system", "--root", root, "--program", PROGRAM, *options], input=stdin, text=True, capture_output=True,
                          umask=0o077, check=False, timeout=PATIENCE_S)


def tree(root):
    """Every path with its type, mode and content."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            text = os.readlink(path) if os.path.islink(path) else open(path, encoding="utf-8").read() if os.path.isfile(path) else None
            found[path] = (mode, text)
    return found


class Image:
    """A small system image; `files` are there before."""

    def __init__(self, **files):
        self.folder = tempfile.TemporaryDirectory(prefix="wattlaw-image-")
        self.path = os.path.join(self.folder.name, "image")
        os.makedirs(os.path.join(self.path, "etc/systemd/system"))
        for path, text in files.items():
            self.write(path, text)

    def write(self, path, text):
        path = self.path + path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()


def make_and_remove():
    """What is shown is what is made; a second call changes nothing; --remove leaves what was there before."""
    with Image() as m:
        m.write("/etc/motd", "hello\n")
        before = tree(m.path)
        for options, stdin, status in ((["--dry-run"], "", 0), ([], "", 1), ([], "n\n", 1), ([], "\n", 1)):
            r = setup(m.path, *options, stdin=stdin)
            expect(r.returncode == status and tree(m.path) == before, f"{options} {stdin!r} changes nothing", r)
        shown = setup(m.path, "--dry-run").stdout
        r = setup(m.path, stdin="y\n")
        expect(r.returncode == 0, "made", r)
        made = {path: v for path, v in tree(m.path).items() if path not in before and path != m.path + RECORD}
        for path, (mode, text) in made.items():
            word = f"link     {path}\n" if text and os.path.islink(path) else f"create   {mode & 0o7777:04o}  {path}\n"
            expect(word in shown, f"{word!r} was shown", r)
            for line in (text or "").splitlines() if not os.path.islink(path) else ():
                expect(f"        | {line}\n" in shown, f"{line!r} of {path} was shown")
        expect(sum(line.startswith(("  create", "  link")) for line in shown.splitlines()) == len(made), "nothing else was shown", r)
        all_made = tree(m.path)
        for options in ((), ("--dry-run",)):
            r = setup(m.path, "--yes", *options)
            expect(r.returncode == 0 and tree(m.path) == all_made and "create" not in r.stdout, "once more", r)
        r = setup(m.path, "--yes", "--group", "other")
        expect(r.returncode == 1 and "set up for the group wattlaw" in r.stderr and tree(m.path) == all_made, "another group", r)
        r = setup(m.path, "--remove", "--dry-run")
        expect(r.returncode == 0 and tree(m.path) == all_made, "a dry run of removing", r)
        r = setup(m.path, "--remove", "--yes")
        expect(r.returncode == 0 and tree(m.path) == before, "removed", r)
        r = setup(m.path, "--remove", "--yes")
        expect(r.returncode == 1 and "nothing was set up" in r.stderr, "twice", r)


def killed_halfway():
    """The record is there before the rest: --remove undoes a setup that was killed."""
    with Image() as m:
        before = tree(m.path)
        setup(m.path, "--yes")
        os.unlink(f"{m.path}{UNITS}/wattlaw-caps.service")
        shutil.rmtree(f"{m.path}/etc/udev")
        r = setup(m.path, "--remove", "--yes")
        expect(r.returncode == 0 and tree(m.path) == before, "removed", r)


def others_files():
    """What others have made or changed is named and stays; a link on the path is not followed."""
    with Image() as m:
        m.write(f"{UNITS}/wattlaw-caps.service", "[Service]\nExecStart=/bin/true\n")
        before = tree(m.path)
        r = setup(m.path, "--yes")
        expect(r.returncode == 1 and f"{UNITS}/wattlaw-caps.service: exists and is not what setup would make" in r.stderr and tree(m.path) == before,
               "a foreign unit", r)
    with Image() as m:
        m.write("/etc/wattlaw/caps.conf", "[service]\ngroup = ours\n")
        m.write("/usr/lib/tmpfiles.d/wattlaw.conf", "d /run/wattlaw 3770 root ours -\n")
        before = tree(m.path)
        r = setup(m.path, "--yes")
        expect(r.returncode == 0 and "keep     0644  " in r.stdout and not os.path.exists(m.path + "/etc/tmpfiles.d/wattlaw.conf"), "rules of the site stay", r)
        expect(setup(m.path, "--remove", "--yes").returncode == 0 and tree(m.path) == before, "and stay")
    with Image() as m:
        setup(m.path, "--yes")
        m.write("/etc/udev/rules.d/60-wattlaw.rules", "# changed\n")
        m.write("/etc/tmpfiles.d/mine.conf", "# mine\n")
        r = setup(m.path, "--yes")
        expect(r.returncode == 1 and "or was changed since" in r.stderr, "not overwritten", r)
        r = setup(m.path, "--remove", "--yes")
        left = {path.removeprefix(m.path) for path, v in tree(m.path).items() if v[1] is not None}
        expect(r.returncode == 1 and left == {"/etc/udev/rules.d/60-wattlaw.rules", "/etc/tmpfiles.d/mine.conf"} and
               "60-wattlaw.rules: changed since it was made" in r.stdout, f"changed ones stay: {left}", r)
    for link in ("/etc/udev", "/etc/wattlaw", UNITS):
        with Image() as m:
            outside = os.path.join(m.folder.name, "outside")
            os.mkdir(outside)
            if os.path.isdir(m.path + link):
                os.rmdir(m.path + link)
            os.symlink(outside, m.path + link)
            before = tree(m.folder.name)
            r = setup(m.path, "--yes")
            expect(r.returncode == 1 and tree(m.folder.name) == before, f"{link} leads out of the image", r)
    with Image() as m:  # nor is one that took the place of a folder later, although the file there is the same
        setup(m.path, "--yes")
        outside = shutil.move(m.path + "/etc/udev/rules.d", os.path.join(m.folder.name, "outside"))
        os.symlink(outside, m.path + "/etc/udev/rules.d")
        r = setup(m.path, "--remove", "--yes")
        expect(r.returncode == 1 and os.listdir(outside) == ["60-wattlaw.rules"], "a file outside of the image stays", r)
    for path in ("/victim", "/etc/../victim"):  # a record that names something else is not obeyed
        with Image() as m:
            setup(m.path, "--yes")
            shutil.copy(m.path + "/etc/wattlaw/caps.conf", m.path + "/victim")
            with open(m.path + RECORD, encoding="utf-8") as f:
                record = json.load(f)
            record["made"] = [{**made, "path": path} for made in record["made"] if made["path"] == "/etc/wattlaw/caps.conf"]
            m.write(RECORD, json.dumps(record))
            r = setup(m.path, "--remove", "--yes")
            expect(r.returncode == 1 and os.path.exists(m.path + "/victim"), path, r)


def packaged_units():
    """Units that a package has installed are used if they are what setup would write, and stay when setup is undone."""
    packaged, link = "/usr/lib/systemd/system", f"{UNITS}/sockets.target.wants/wattlaw-caps.socket"
    with Image() as made:
        setup(made.path, "--yes")
        texts = {kind: open(f"{made.path}{UNITS}/wattlaw-caps.{kind}", encoding="ascii").read() for kind in ("service", "socket")}
    for linked in None, "/lib/systemd/system/wattlaw-caps.socket":  # by systemctl enable
        with Image() as m:
            for kind, text in texts.items():
                m.write(f"{packaged}/wattlaw-caps.{kind}", text)
            if linked:
                os.makedirs(os.path.dirname(m.path + link))
                os.symlink(linked, m.path + link)
            before = tree(m.path)
            r = setup(m.path, "--yes")
            expect(r.returncode == 0 and f"keep     0644  {m.path}{packaged}/wattlaw-caps.service\n" in r.stdout and
                   f"{packaged}/wattlaw-caps.socket" in r.stdout and "the package's" in r.stdout, "used as they are", r)
            expect(os.listdir(m.path + UNITS) == ["sockets.target.wants"], f"no unit is written: {os.listdir(m.path + UNITS)}", r)
            expect(os.readlink(m.path + link) == (linked or f"{packaged}/wattlaw-caps.socket"), "the socket starts at boot", r)
            after = tree(m.path)
            expect(setup(m.path, "--yes").returncode == 0 and tree(m.path) == after, "once more")
            r = setup(m.path, "--remove", "--yes")
            expect(r.returncode == 0 and tree(m.path) == before and f"keep     {m.path}{packaged}/wattlaw-caps.socket" in r.stdout, "undone", r)
    with Image() as m:  # for another group than the package's
        for kind, text in texts.items():
            m.write(f"{packaged}/wattlaw-caps.{kind}", text)
        before = tree(m.path)
        r = setup(m.path, "--yes", "--group", "power")
        expect(r.returncode == 0 and f"in place of {m.path}{packaged}/wattlaw-caps.socket, which is different" in r.stdout and
               os.readlink(m.path + link) == f"{UNITS}/wattlaw-caps.socket", "replaced by ours", r)
        expect("SocketGroup=power\n" in open(f"{m.path}{UNITS}/wattlaw-caps.socket", encoding="ascii").read(), "of the group")
        expect(setup(m.path, "--remove", "--yes").returncode == 0 and tree(m.path) == before, "undone")
    with Image() as m:  # systemctl mask: the administrator has forbidden it
        m.write(f"{packaged}/wattlaw-caps.service", texts["service"])
        os.symlink("/dev/null", f"{m.path}{UNITS}/wattlaw-caps.service")
        r = setup(m.path, "--yes")
        expect(r.returncode == 1 and f"{UNITS}/wattlaw-caps.service: exists and is not what setup would make" in r.stderr, "a masked unit", r)


def refused_names():
    with Image() as m:
        for options, why in ((["--group", "-x"], "--group -x"), (["--group", "a b"], "--group a b"), (["--group", "x" * 32], "at most 31"),
                             (["--program", "wattlaw"], "expected an absolute path"), (["--program", "/a b"], "expected an absolute path"),
                             (["--program", "/a%h"], "expected an absolute path"), (["--program", "/home/a/wattlaw"], "does not see /home/")):
            r = setup(m.path, "--yes", *options)
            expect(r.returncode == 1 and why in r.stderr and not os.path.exists(m.path + "/etc/wattlaw"), f"{options}", r)
        program = shutil.copy(wattlaw, os.path.join("/var", f"wattlaw-test-{os.getpid()}"))
        try:
            os.chown(program, *USERS)
            r = subprocess.run([wattlaw, "setup", "--system", "--dry-run", "--program", program], text=True, capture_output=True, check=False)
            expect(r.returncode == 1 and "other users can replace it" in r.stderr, "a program of a user", r)
        finally:
            os.unlink(program)
        r = subprocess.run([wattlaw, "setup", "--system", "--yes", "--program", "/usr/bin/env"], text=True, capture_output=True, check=False,
                           user=USERS[0], group=USERS[0])
        expect(r.returncode == 1 and "only root" in r.stderr, "not as a user", r)


def units():
    """systemd reads the units, and finds them hardened."""
    if not shutil.which("systemd-analyze"):
        print("SKIP of units: no systemd-analyze")
        return
    with Image() as m:
        setup(m.path, "--yes")
        names = [f"{m.path}{UNITS}/wattlaw-caps.{kind}" for kind in ("service", "socket")]
        for name in names:
            text = open(name, encoding="ascii").read()
            with open(name, "w", encoding="ascii") as f:
                f.write(text.replace(PROGRAM, wattlaw))  # it has to exist
        r = subprocess.run(["systemd-analyze", "verify", "--man=no", *names], text=True, capture_output=True, check=False)
        ours = [line for line in r.stderr.splitlines() if "wattlaw" in line]
        expect(r.returncode == 0 and not ours, "verify", r)
        r = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=30", "--no-pager", names[0]], text=True, capture_output=True, check=False)
        expect(r.returncode == 0 and "OK" in r.stdout, "security: exposure of at most 3.0", r)


LIVE = """set -e
mkdir -p $T/upper $T/work $T/bin
mount -t overlay overlay -o lowerdir=/etc,upperdir=$T/upper,workdir=$T/work /etc
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /sys
zone=/sys/devices/virtual/powercap/intel-rapl/intel-rapl:0
mkdir -p $zone /sys/class/powercap
ln -s ../../devices/virtual/powercap/intel-rapl/intel-rapl:0 /sys/class/powercap/intel-rapl:0
echo 12345678 > $zone/energy_uj; chmod 0400 $zone/energy_uj
echo 262143328850 > $zone/max_energy_range_uj
echo package-0 > $zone/name
echo long_term > $zone/constraint_0_name; echo 200000000 > $zone/constraint_0_power_limit_uw
echo short_term > $zone/constraint_1_name; echo 240000000 > $zone/constraint_1_power_limit_uw
ls -A $T/upper | sort > $T/before
$W setup --system --program /usr/bin/env --yes
ls /etc/wattlaw
getent group wattlaw | cut -d: -f1
stat -c '%A %U %G' $zone/energy_uj
stat -c '%a %U' /run/wattlaw
grep -A2 '^.allow cpus' /etc/wattlaw/caps.conf
member="env HOME=$T/home WATTLAW_NODE_DIR=$T/home/node WATTLAW_FAKE_NVML=init=9 setpriv --reuid $U --regid $U --groups $(getent group wattlaw | cut -d: -f3)"
stranger="env HOME=$T/home WATTLAW_NODE_DIR=$T/home/node WATTLAW_FAKE_NVML=init=9 setpriv --reuid $U --regid $U --clear-groups"
if $stranger cat $zone/energy_uj 2>/dev/null; then exit 3; fi
$member cat $zone/energy_uj
if command -v systemd-socket-activate > /dev/null; then # passes the socket as the socket's unit does
    umask 077; WATTLAW_FAKE_NVML=init=9 systemd-socket-activate --seqpacket -l /run/wattlaw-caps.socket -E WATTLAW_FAKE_NVML -- $W serve-caps --idle-exit 1s 2> $T/log &
    service=$!; umask 022
    until [ -S /run/wattlaw-caps.socket ]; do sleep 0.02; done
    chgrp wattlaw /run/wattlaw-caps.socket; chmod 0660 /run/wattlaw-caps.socket
    $member $W measure --nvml-library $N --sensors rapl --quiet --store $T/home/s.db --power-cap-w 150 -- cat $zone/constraint_0_power_limit_uw
    cat $zone/constraint_0_power_limit_uw
    if $stranger $W measure --nvml-library $N --sensors null --quiet --store $T/home/s.db --power-cap-w 150 -- true; then exit 4; fi
    wait $service # ends when it is idle
else
    echo "SKIP of the passed socket: no systemd-socket-activate"; echo 150000000; echo 200000000
fi
$W setup --system --remove --yes | grep -v '^  \|^wattlaw '
stat -c '%A %U %G' $zone/energy_uj
getent group wattlaw || echo no group
ls /etc/wattlaw /etc/udev/rules.d/60-wattlaw.rules 2>/dev/null || true
"""


def live():
    """The running system: group, counters, and a member's capped run through a socket that is passed; then all is undone."""
    with tempfile.TemporaryDirectory(prefix="wattlaw-live-", dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)  # an overlay over an overlay does not work
        try:
            os.chmod(folder, 0o755)
            os.mkdir(f"{folder}/home")
            os.chown(f"{folder}/home", *USERS[:1] * 2)
            env = {**os.environ, "T": folder, "W": wattlaw, "N": fake, "U": str(USERS[0])}
            for name in ("NVML_LIBRARY", "WATTLAW_STATE_DIR", "XDG_STATE_HOME", "CUDA_VISIBLE_DEVICES"):
                env.pop(name, None)
            r = subprocess.run(["unshare", "--mount", "sh", "-c", LIVE], env=env, cwd="/", text=True, capture_output=True, check=False, timeout=PATIENCE_S)
            if "unshare" in r.stderr or "mount:" in r.stderr:
                print("SKIP of the running system: no mount namespace:", r.stderr)
                return
            log = open(f"{folder}/log", encoding="utf-8").read() if os.path.exists(f"{folder}/log") else ""
            lines = r.stdout.splitlines()
            at = next((i for i, line in enumerate(lines) if line.startswith("done: ")), None)
            expect(r.returncode == 0 and at is not None, f"{log}", r)
            expect(lines[at + 1:] == ["caps.conf", "setup.json", "wattlaw", "-r--r----- root wattlaw", "1777 root", "[allow cpus]", "devices = rapl:*",
                                      "power_cap_w = 100 to 240", "12345678", "150000000", "200000000", "removed", "-r-------- root root", "no group"],
                   f"{lines[at + 1:]} {log}", r)
        finally:
            subprocess.run(["umount", folder], check=True)


def main():
    skip_unless_root(wattlaw, fake)
    if any(g.gr_name == "wattlaw" for g in grp.getgrall()):
        print("SKIP: this system has a group wattlaw")
        sys.exit(77)
    for part in (make_and_remove, killed_halfway, others_files, packaged_units, refused_names, units, live):
        if not sys.argv[3:] or part.__name__ in sys.argv[3:]:
            part()


main()
