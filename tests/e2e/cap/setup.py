"""wattlaw setup --system and its --remove in the tree of an image: setup.py WATTLAW FAKE_NVML_LIBRARY [PART...]"""
import json
import os
import shutil
import subprocess
import sys

from rig import expect
from setup_rig import RECORD, UNITS, Image, setup, tree, wattlaw
from users import USERS, skip_unless_root


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


def as_json():
    """The same for programs: what would be done, what was done, and what a removal leaves."""
    def ask(m, status, *options):
        r = setup(m.path, "--json", *options)
        expect(r.returncode == status, f"{options}", r)
        return json.loads(r.stdout), r.stderr

    with Image() as m:
        before = tree(m.path)
        r = setup(m.path, "--json")
        expect(r.returncode == 2 and r.stdout == "" and "add --yes, or --dry-run" in r.stderr, "it would have to ask", r)
        plan, said = ask(m, 0, "--dry-run")
        expect(tree(m.path) == before and said == "" and plan["dry_run"] and not any(i["done"] for i in plan["items"]), f"nothing is done: {plan}")
        expect((plan["action"], plan["root"], plan["group"], plan["commands"]) == ("set_up", m.path, "wattlaw", []), f"{plan}")
        done, _ = ask(m, 0, "--yes")
        made = {path.removeprefix(m.path): v for path, v in tree(m.path).items() if path not in before and path != m.path + RECORD}
        shown = {i["path"]: i for i in done["items"] if i["action"] == "create"}
        expect(made.keys() == shown.keys() and all(i["done"] for i in shown.values()), f"what is created is shown: {made.keys()} {shown.keys()}")
        for path, (mode, text) in made.items():
            i = shown[path]
            expect((i["type"], i["target"]) == ("link", text) if os.path.islink(m.path + path) else
                   (i["mode"], i.get("content")) == (f"{mode & 0o7777:04o}", text), f"{path}: {i}")
        expect([{**i, "done": False} for i in done["items"]] == plan["items"] and not done["dry_run"], "as planned")
        again, _ = ask(m, 0, "--yes")
        expect({(i["action"], i["done"]) for i in again["items"]} == {("keep", False)}, f"once more: {again}")
        m.write("/etc/udev/rules.d/60-wattlaw.rules", "# changed\n")
        m.write("/etc/tmpfiles.d/mine.conf", "# mine\n")
        os.unlink(m.path + "/etc/sysusers.d/wattlaw.conf")
        refused, said = ask(m, 1, "--yes")
        expect({i["path"]: i["action"] for i in refused["items"]}["/etc/udev/rules.d/60-wattlaw.rules"] == "refuse" and "was changed since" in said and
               not any(i["done"] for i in refused["items"]), f"{refused} {said}")
        changed = tree(m.path)
        plan, _ = ask(m, 0, "--remove", "--dry-run")
        expect(tree(m.path) == changed and plan["action"] == "remove" and not any(i["done"] for i in plan["items"]), f"{plan}")
        done, _ = ask(m, 1, "--remove", "--yes")
        kept = {i["path"]: i["why"] for i in done["items"] if i["action"] == "keep"}
        expect(kept == {"/etc/udev/rules.d/60-wattlaw.rules": "changed since it was made", "/etc/sysusers.d/wattlaw.conf": "it is gone",
                        "/etc/tmpfiles.d": "not empty", "/etc/udev/rules.d": "not empty", "/etc/udev": "not empty"}, f"{kept}")
        removed = {i["path"] for i in done["items"] if i["done"]}
        expect(removed == {path for path in list(made) + [RECORD] if path in {p.removeprefix(m.path) for p in changed} and
                           not os.path.lexists(m.path + path)}, f"{removed}")
        for i in plan["items"]:
            sure = i["type"] != "folder"
            expect(not sure or (i["action"] == "remove") == (i["path"] in removed), f"as planned: {i}")


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


def planted():
    """The record is not read, written or removed through a link, in folders where others can write nothing is made, and the umask does not matter."""
    for target in ("outside/there", "outside/nothing"):  # a record that leads out of the image, to a file and to none
        with Image() as m:
            outside = os.path.join(m.folder.name, "outside")
            os.mkdir(outside)
            with open(os.path.join(outside, "there"), "w", encoding="utf-8") as f:
                f.write("{}")
            os.mkdir(m.path + "/etc/wattlaw")
            os.symlink(os.path.join(m.folder.name, target), m.path + RECORD)
            before = tree(m.folder.name)
            for options in (["--yes"], ["--remove", "--yes"]):
                r = setup(m.path, *options)
                expect(r.returncode == 1 and f"{RECORD}: a link; it is not followed" in r.stderr and tree(m.folder.name) == before, f"{target} {options}", r)
    with Image() as m:  # the folder of the record takes another one's place after the setup
        setup(m.path, "--yes")
        outside = shutil.move(m.path + "/etc/wattlaw", os.path.join(m.folder.name, "outside"))
        os.symlink(outside, m.path + "/etc/wattlaw")
        before = tree(m.folder.name)
        for options in (["--yes"], ["--remove", "--yes"]):
            r = setup(m.path, *options)
            expect(r.returncode == 1 and "is not followed" in r.stderr and tree(m.folder.name) == before, f"{options}", r)
    for kind in ("fifo", "folder", "user", "group"):
        with Image() as m:
            setup(m.path, "--yes")
            if kind == "user":
                os.chown(m.path + RECORD, *USERS)
            elif kind == "group":
                with open(m.path + RECORD, encoding="utf-8") as f:
                    m.write(RECORD, f.read().replace('"wattlaw"', '"--root=/x"'))
            else:
                os.unlink(m.path + RECORD)
                (os.mkfifo if kind == "fifo" else os.mkdir)(m.path + RECORD)
            before = os.listdir(m.path + UNITS)
            r = setup(m.path, "--remove", "--yes")
            expect(r.returncode == 1 and RECORD in r.stderr and os.listdir(m.path + UNITS) == before, kind, r)
    for path in ("/etc/udev/rules.d", "/etc/wattlaw", UNITS):
        with Image() as m:
            os.makedirs(m.path + path, exist_ok=True)
            os.chmod(m.path + path, 0o777)
            before = tree(m.path)
            r = setup(m.path, "--yes")
            expect(r.returncode == 1 and f"{path}: belongs to another user, or others can write to it" in r.stderr and tree(m.path) == before, path, r)
    with Image() as m:  # a temporary file that a killed setup left, and a link in its place
        outside = os.path.join(m.folder.name, "outside")
        os.mkdir(m.path + "/etc/wattlaw")
        os.symlink(outside, m.path + "/etc/wattlaw/.setup.json.new")
        r = setup(m.path, "--yes")
        expect(r.returncode == 0 and not os.path.lexists(outside) and sorted(os.listdir(m.path + "/etc/wattlaw")) == ["caps.conf", "setup.json"],
               "a planted temporary file", r)
    modes = []
    for umask in (0, 0o077):
        with Image() as m:
            subprocess.run([wattlaw, "setup", "--system", "--root", m.path, "--program", "/usr/bin/wattlaw", "--yes"], umask=umask, check=True, capture_output=True)
            modes.append({path.removeprefix(m.path): mode for path, (mode, _) in tree(m.path).items() if "/systemd" not in path})
    expect(modes[0] == modes[1] and not any(mode & 0o022 for mode in modes[0].values()), f"{modes}")


def changed_while_asked():
    """What another one writes while the question waits is not overwritten."""
    with Image() as m:
        rule = m.path + "/etc/udev/rules.d/60-wattlaw.rules"
        p = subprocess.Popen([wattlaw, "setup", "--system", "--root", m.path, "--program", "/usr/bin/wattlaw"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, bufsize=0)
        said = ""
        while "[y/N]" not in said:
            c = p.stdout.read(1)
            expect(c, f"it asks: {said}")
            said += c
        m.write("/etc/udev/rules.d/60-wattlaw.rules", "# mine\n")
        _, err = p.communicate("y\n", timeout=60)
        expect(p.returncode == 1 and "60-wattlaw.rules: exists and is not what setup would make" in err and open(rule, encoding="utf-8").read() == "# mine\n" and
               not os.path.exists(m.path + RECORD), f"{err}")


PARTS = (make_and_remove, killed_halfway, others_files, planted, changed_while_asked, as_json, packaged_units, refused_names)

skip_unless_root(wattlaw, sys.argv[2])
for part in PARTS:
    if not sys.argv[3:] or part.__name__ in sys.argv[3:]:
        part()
