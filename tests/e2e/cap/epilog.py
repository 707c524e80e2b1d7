"""The epilog of docs/reference/power-caps.md and contrib/, run verbatim after a job that was killed with its guard: epilog.py WATTLAW FAKE_NVML_LIBRARY"""
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys

from rig import Rig, expect, guard_of, kill, wait_until

SKIP = 77
wattlaw, fake = map(os.path.abspath, sys.argv[1:3])
GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs", "reference", "power-caps.md")
# 250 and 400 W as the mW of a record of the simulated limits
TOOL = r"""#!/bin/sh
case ${2%%.*} in 250) mw='\220\320\003\000';; 400) mw='\200\032\006\000';; *) exit 1;; esac
printf "$mw" | dd of=%s bs=4 seek=$((4 * $(printf %%s "$1" | cut -c 12))) conv=notrunc 2>/dev/null
"""
USER = "nobody"


def skip(why):
    print("SKIP:", why)
    sys.exit(SKIP)


def epilog():
    with open(GUIDE, encoding="utf-8") as f:
        block = re.search(r"\n    # Slurm: in the script that slurm.conf names as Epilog\n((?:    .*\n)+)", f.read())
    expect(block and "PATH=/usr/local/bin:" in block[1], "the guide has an epilog")
    with open(os.path.join(os.path.dirname(GUIDE), "..", "..", "contrib", "slurm-epilog.sh"), encoding="utf-8") as f:
        expect(f.read().split("\n", 2)[2] == re.sub("(?m)^    ", "", block[1]), "contrib/ has the same one")
    return block[1].replace("/usr/local/bin", os.path.dirname(wattlaw))


def killed_job(m, tool, home, env):
    """A user's job with caps set by the site's command; wattlaw, its guard and the job are killed at once, like a Slurm step."""
    user = pwd.getpwnam(USER)
    p = subprocess.Popen([wattlaw, "measure", "--sensors", "nvml", "--nvml-library", fake, "--power-cap-w", "250", "--cap-command",
                          f"{tool} {{uuid}} {{watts}}", "--store", os.path.join(home, "s.db"), "--quiet", "--", "sleep", "60"],
                         env=env, cwd=home, start_new_session=True, user=user.pw_uid, group=user.pw_gid, extra_groups=[])
    expect(wait_until(lambda: m.watts() == [250, 250] and guard_of(p.pid), 20), f"set: {m.watts()}")
    kill(guard_of(p.pid), signal.SIGKILL)
    kill(p.pid, signal.SIGKILL)
    p.wait()
    expect(m.watts() == [250, 250], "caps are set")


def main():
    if os.geteuid() != 0:
        skip("an epilog is root's")
    if not shutil.which("runuser"):
        skip("no runuser (util-linux)")
    with Rig(wattlaw, fake) as m:
        home, tool = os.path.join(m.path, "home"), os.path.join(m.path, "site-cap")
        os.mkdir(home)
        shutil.chown(home, USER)
        with open(tool, "w", encoding="ascii") as f:
            f.write(TOOL % m.limits)
        for path, mode in ((m.path, 0o755), (m.limits, 0o666), (m.state, 0o1777), (tool, 0o755)):
            os.chmod(path, mode)
        if subprocess.run(["head", "-c", "1", wattlaw, fake, tool], user=USER, group=pwd.getpwnam(USER).pw_gid, extra_groups=[],
                          capture_output=True, check=False).returncode:
            skip(f"{USER} cannot read what is tested")
        env = {**m.env, "HOME": home}
        killed_job(m, tool, home, env)
        with open(os.path.join(m.path, "logger"), "w", encoding="ascii") as f:
            f.write(f'#!/bin/sh\necho "$@" >>{m.path}/called\n')
        os.chmod(os.path.join(m.path, "logger"), 0o755)
        env.update(PATH=f"{m.path}:{env['PATH']}", SLURM_JOB_USER=USER, HOME="/")
        r = subprocess.run(["sh", "-c", epilog()], env=env, text=True, capture_output=True, check=False)
        expect(r.returncode == 0 and m.watts() == [400, 400] and not os.path.exists(os.path.join(m.path, "called")), f"restored: {m.watts()}", r)
        expect(r.stdout.count("restored to 400 W (was set to 250 W)") == 2, "and said", r)


main()
