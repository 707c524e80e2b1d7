"""What systemd and udev make of the files of wattlaw setup --system: in an image, and on a system whose /etc, /run and /sys are this test's
own: setup_system.py WATTLAW FAKE_NVML_LIBRARY [PART...]"""
import grp
import json
import os
import shutil
import subprocess
import sys
import tempfile

from rig import PATIENCE_S, expect
from setup_rig import PROGRAM, UNITS, Image, setup, wattlaw
from users import USERS, skip_unless_root

fake = os.path.abspath(sys.argv[2])


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
        r = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", names[0]], text=True, capture_output=True, check=False)
        expect(r.returncode == 0 and "OK" in r.stdout, "security: exposure of at most 2.0", r)


def zones(folder):
    """The powercap tree of a machine with one package, as the kernel makes it below /sys."""
    top = f"{folder}/devices/virtual/powercap/intel-rapl"
    for zone in ("", "/intel-rapl:0", "/intel-rapl:0/intel-rapl:0:0"):
        os.makedirs(top + zone)
        os.makedirs(f"{folder}/class/powercap", exist_ok=True)
        os.symlink(os.path.relpath(f"{folder}/class/powercap", top + zone), f"{top}{zone}/subsystem")
        os.symlink(os.path.relpath(top + zone, f"{folder}/class/powercap"), f"{folder}/class/powercap/{os.path.basename(top + zone)}")
        for name, mode in (("uevent", 0o644), ("enabled", 0o644), *((("energy_uj", 0o400), ("max_energy_range_uj", 0o444)) if zone else ())):
            with open(f"{top}{zone}/{name}", "w", encoding="ascii") as f:
                f.write("1\n")
            os.chmod(f"{top}{zone}/{name}", mode)
    return top


def modes(top):
    """Mode and group of every file below."""
    found = {}
    for folder, _, files in os.walk(top):
        for name in files:
            st = os.stat(os.path.join(folder, name))
            found[os.path.relpath(os.path.join(folder, name), top)] = (st.st_mode & 0o7777, st.st_uid, st.st_gid)
    return found


def image_at_boot():
    """What systemd makes of the files when an image starts: the group, counters that it reads, the folder for journals; nothing else changes."""
    if not (shutil.which("systemd-sysusers") and shutil.which("systemd-tmpfiles")):
        print("SKIP of image_at_boot: no systemd-sysusers, or no systemd-tmpfiles")
        return
    with Image() as m:
        m.write("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
        m.write("/etc/group", "root:x:0:\n")
        setup(m.path, "--yes")
        os.chmod(m.path, 0o755)
        os.mkdir(f"{m.path}/run")
        top = zones(f"{m.path}/sys")
        before = modes(top)
        for words in (["systemd-sysusers", f"--root={m.path}"], ["systemd-tmpfiles", "--create", f"--root={m.path}"]):
            r = subprocess.run(words, text=True, capture_output=True, check=False)
            expect(r.returncode == 0, " ".join(words), r)
        group = next(int(line.split(":")[2]) for line in open(f"{m.path}/etc/group", encoding="ascii") if line.startswith("wattlaw:"))
        opened = {path: v for path, v in modes(top).items() if v != before[path]}
        expect(group > 0 and opened == {f"{zone}/energy_uj": (0o440, 0, group) for zone in ("intel-rapl:0", "intel-rapl:0/intel-rapl:0:0")}, f"{opened}")
        st = os.stat(f"{m.path}/run/wattlaw")
        expect((st.st_mode & 0o7777, st.st_uid, st.st_gid) == (0o1777, 0, 0), f"/run/wattlaw: {st}")


UDEV = """set -e
mount -t tmpfs tmpfs /run
mount --bind $T/sys /sys
mkdir -p /run/udev/rules.d
cp $T/image/etc/udev/rules.d/60-wattlaw.rules /run/udev/rules.d/
export SYSTEMD_DEVICE_VERIFY_SYSFS=0
for device in /class/net/lo0 $(find /sys/devices/virtual/powercap -name uevent -printf '/%P\n' | sed 's#^/#/devices/virtual/powercap/#; s#/uevent$##' | sort); do
    for action in add change remove; do
        echo "$action $device"
        udevadm test --action=$action $device 2>&1 | grep -o '/bin/ch[a-z]* [a-z0-9]* /sys/[^'"'"' ]*' || true
    done
done
"""


def rule_of_udev():
    """udev opens the counter of a zone that appears, and no other file (udevadm reads the rule and the tree of a fake /sys)."""
    if not shutil.which("udevadm"):
        print("SKIP of rule_of_udev: no udevadm")
        return
    group = grp.getgrgid(1)
    with Image() as m:
        setup(m.path, "--yes", "--group", group.gr_name)
        rule = f"{m.path}/etc/udev/rules.d/60-wattlaw.rules"
        if subprocess.run(["udevadm", "verify", "--help"], capture_output=True, check=False).returncode == 0:  # from systemd 254 on
            r = subprocess.run(["udevadm", "verify", rule], text=True, capture_output=True, check=False)
            expect(r.returncode == 0 and not r.stderr.replace(rule, ""), "verify", r)
        top = zones(f"{m.folder.name}/sys")
        os.makedirs(f"{m.folder.name}/sys/class/net/lo0")  # another subsystem, with a file of the same name
        os.symlink("..", f"{m.folder.name}/sys/class/net/lo0/subsystem")
        for name in ("uevent", "energy_uj"):
            with open(f"{m.folder.name}/sys/class/net/lo0/{name}", "w", encoding="ascii"):
                pass
        r = subprocess.run(["unshare", "--mount", "sh", "-c", UDEV], env={**os.environ, "T": m.folder.name}, text=True, capture_output=True, check=False)
        if "unshare" in r.stderr or "mount:" in r.stderr:
            print("SKIP of rule_of_udev: no mount namespace:", r.stderr)
            return
        expected = []
        for device in ("/class/net/lo0", *(f"/devices/virtual/powercap/intel-rapl{zone}" for zone in ("", "/intel-rapl:0", "/intel-rapl:0/intel-rapl:0:0"))):
            for action in ("add", "change", "remove"):
                expected.append(f"{action} {device}")
                if action == "add" and "rapl:0" in device:
                    expected += [f"/bin/chgrp {group.gr_name} /sys{device}/energy_uj", f"/bin/chmod 0440 /sys{device}/energy_uj"]
        expect(r.returncode == 0 and r.stdout.splitlines() == expected, f"{expected}", r)
        before = modes(top)
        for line in expected:
            if line.startswith("/bin/"):
                subprocess.run(line.replace(" /sys/", f" {m.folder.name}/sys/").split(), check=True)
        opened = {path: v for path, v in modes(top).items() if v != before[path]}
        expect(opened == {f"{zone}/energy_uj": (0o440, 0, 1) for zone in ("intel-rapl:0", "intel-rapl:0/intel-rapl:0:0")}, f"{opened}")


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
for name in groupadd groupdel systemd-tmpfiles udevadm systemctl gpasswd; do printf '#!/bin/sh\ntouch %s/owned\n' $T > $T/bin/$name; chmod 755 $T/bin/$name; done
PATH=$T/bin:$PATH; export PATH # none of these is run
$W setup --system --program /usr/bin/env --dry-run --json > $T/setup.json
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
$W setup --system --remove --dry-run --json > $T/removal.json
$W setup --system --remove --yes | grep -v '^  \|^wattlaw '
stat -c '%A %U %G' $zone/energy_uj
getent group wattlaw || echo no group
ls /etc/wattlaw /etc/udev/rules.d/60-wattlaw.rules $T/owned 2>/dev/null || true
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
            plans = [json.load(open(f"{folder}/{name}.json", encoding="ascii")) for name in ("setup", "removal")]
            first = [plan["commands"][0] for plan in plans]
            expect(first[0] == {"argv": ["groupadd", "--system", "wattlaw"], "why_not": None, "done": False, "failure": None} and
                   first[1]["argv"][:2] == ["systemctl", "stop"] and first[1]["why_not"] == "systemd is not running", f"{first}")
            expect(plans[1]["commands"][-1]["argv"] == ["groupdel", "wattlaw"] and plans[1]["group_stays"] is None and
                   plans[1]["counters_closed"] == 0, f"{plans[1]}")
        finally:
            subprocess.run(["umount", folder], check=True)


PARTS = (units, image_at_boot, rule_of_udev, live)


def main():
    skip_unless_root(wattlaw, fake)
    if any(g.gr_name == "wattlaw" for g in grp.getgrall()):
        print("SKIP: this system has a group wattlaw")
        sys.exit(77)
    for part in PARTS:
        if not sys.argv[3:] or part.__name__ in sys.argv[3:]:
            part()


main()
