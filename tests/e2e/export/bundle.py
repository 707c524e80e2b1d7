#!/usr/bin/env python3
"""wattlaw export --format bundle, and wattlaw verify of sound, damaged and hostile archives: bundle.py WATTLAW

Python's zipfile and hashlib are the other side: what wattlaw writes they read, what they write wattlaw verifies."""
import hashlib
import io
import json
import os
import random
import shutil
import sqlite3
import stat
import struct
import subprocess
import sys
import tempfile
import warnings
import zipfile
import zlib

from stores import NASTY, Program, check, make_store

MANIFEST, CRATE = "manifest-sha256.txt", "ro-crate-metadata.json"


def contents(path):
    with zipfile.ZipFile(path) as z:
        check(z.testzip() is None)
        return {info.filename: z.read(info) for info in z.infolist()}


def entities(files):
    graph = json.loads(files[CRATE])["@graph"]
    check(len({e["@id"] for e in graph}) == len(graph), "an @id twice")
    return {e["@id"]: e for e in graph}


def it_is_a_crate_with_checksums(program):
    program.run("export", "--format=bundle", "lab.db", "-o", "lab.zip", "--field", "author=Ada \"Lovelace\"", "--field", "author=B",
                "--field", "license=https://spdx.org/licenses/CC-BY-4.0")
    files = contents(os.path.join(program.folder, "lab.zip"))
    sums = dict(reversed(line.split("  ", 1)) for line in files[MANIFEST].decode().splitlines())
    check(sums == {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != MANIFEST}, "checksums")
    check(list(sums) == sorted(sums) and {"wattlaw.db", "observations.csv", "experiments/lab1.ini", "versions.json", "report/report.html", CRATE} <= set(sums))
    crate = entities(files)
    root = crate["./"]
    check(crate[CRATE] == {"@id": CRATE, "@type": "CreativeWork", "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"}, "about": {"@id": "./"}})
    check({p["@id"] for p in root["hasPart"]} == set(files) - {CRATE} and root["datePublished"] == "2023-11-14", root)
    check([crate[a["@id"]]["name"] for a in root["author"]] == ['Ada "Lovelace"', "B"] and root["license"]["@id"].endswith("CC-BY-4.0"))
    for e in crate.values():
        if e["@type"] == "File" and "contentSize" in e:
            check(int(e["contentSize"]) == len(files[e["@id"]]), e)
    check(crate["#measurement"]["startTime"] == "2023-11-14T22:13:20Z" and crate["#wattlaw"]["version"] == "0.1.0")
    check(files["observations.csv"].decode() == program.run("export", "lab.db"))
    check(json.loads(files["versions.json"])["devices"][0]["name"] == "V100")
    with zipfile.ZipFile(os.path.join(program.folder, "lab.zip")) as z:
        z.extract("wattlaw.db", program.folder)
    check(program.run("export", "samples", "wattlaw.db") == program.run("export", "samples", "lab.db"), "the store in it")
    said = json.loads(program.run("verify", "--json", "lab.zip"))
    check(said["sound"] and said["files"] == len(files) - 1 and said["problems"] == [], said)
    check("sound" in program.run("verify", "lab.zip"))


def the_same_store_gives_the_same_bytes(program):
    first = open(os.path.join(program.folder, "lab.zip"), "rb").read()
    for options in (["-o", "again.zip"], ["-o", "third.zip"]):
        program.run("export", "--format=bundle", "lab.db", *options, "--field", "author=Ada \"Lovelace\"", "--field", "author=B",
                    "--field", "license=https://spdx.org/licenses/CC-BY-4.0", env={"TZ": "Asia/Tokyo", "TMPDIR": tempfile.mkdtemp(dir=program.folder)})
        check(open(os.path.join(program.folder, options[1]), "rb").read() == first, options)


def a_store_in_use_is_copied_whole(program):
    """In WAL mode, with changes that are only in the log."""
    path = os.path.join(program.folder, "live.db")
    make_store(path)
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("INSERT INTO log(run, wall_ns, level, area, message) VALUES (1, 1, 'info', 'test', 'in the log')")
    db.commit()
    program.run("export", "--format=bundle", "live.db", "-o", "live.zip")
    db.close()
    with zipfile.ZipFile(os.path.join(program.folder, "live.zip")) as z:
        z.extract("wattlaw.db", program.folder)
    with sqlite3.connect(os.path.join(program.folder, "wattlaw.db")) as copy:
        check(copy.execute("SELECT count(*) FROM log WHERE message = 'in the log'").fetchone() == (1,))
    check(not any(name.startswith("wattlaw.db-") for name in os.listdir(program.folder)), "a file beside the copy")


def hostile_names_stay_inside(program):
    make_store(os.path.join(program.folder, "odd.db"), "DROP TRIGGER campaign_keeps", ("UPDATE campaign SET name = ?", ("../../" + NASTY,)))
    program.run("export", "--format=bundle", "odd.db", "-o", "odd.zip")
    program.run("verify", "odd.zip")
    check(not any(".." in name for name in contents(os.path.join(program.folder, "odd.zip"))))


# ---- archives that are not sound ----

def rewritten(program, change, name="bad.zip"):
    """The bundle, with its entries changed: a list of (ZipInfo or name, bytes)."""
    with zipfile.ZipFile(os.path.join(program.folder, "lab.zip")) as z:
        entries = [(info, z.read(info)) for info in z.infolist()]
    with zipfile.ZipFile(os.path.join(program.folder, name), "w", zipfile.ZIP_DEFLATED) as z:
        for info, data in change(entries):
            z.writestr(info, data)
    return name


def verified(program, name):
    """What --json says of an archive that is not sound: the exit status is 1, and stderr empty."""
    done = subprocess.run([program.path, "verify", "--json", name], cwd=program.folder, capture_output=True, text=True, check=False)
    check(done.returncode == 1 and done.stderr == "", done)
    return json.loads(done.stdout)


def changed_files_are_found(program):
    def of(name, new):
        return lambda entries: [(info, new(data) if info.filename == name else data) for info, data in entries]

    def without(name):
        return lambda entries: [(info, data) for info, data in entries if info.filename != name]

    for change, words in [(lambda entries: entries, None),
                          (of("observations.csv", lambda data: data.replace(b"120", b"119")), "observations.csv was changed"),
                          (of("versions.json", lambda data: data + b" "), "versions.json was changed"),
                          (of(CRATE, lambda data: data.replace(b"Ada", b"Eve")), CRATE + " was changed"),
                          (without("observations.csv"), "observations.csv is missing"),
                          (lambda entries: [*entries, ("extra.csv", b"1")], "extra.csv is not in the manifest")]:
        name = rewritten(program, change)
        if words is None:
            check(json.loads(program.run("verify", "--json", name))["sound"], "archived by another program")
            continue
        said = verified(program, name)
        check(not said["sound"] and any(words in problem for problem in said["problems"]), words, said)
    for change, words in [(without(MANIFEST), "no " + MANIFEST), (without(CRATE), "no " + CRATE),
                          (of(MANIFEST, lambda data: b"x" + data), MANIFEST + ":1:"),
                          (of(MANIFEST, lambda data: data + data.splitlines(True)[0]), "order of names"),
                          (of(MANIFEST, lambda data: data[:-1]), MANIFEST + ":")]:
        check(words in program.run("verify", rewritten(program, change), status=1), words)


def special(name, mode=0o100644, system=3, flag=0):
    info = zipfile.ZipInfo(name)
    info.create_system = system
    info.external_attr = mode << 16
    info.flag_bits |= flag
    return info


def hostile_archives_are_refused(program):
    for entry, words in [(special("../up"), "is not the name of a file"), (special("/etc/passwd"), "is not the name"), (special("a/../../b"), "is not the name"),
                         (special("C:/x"), "is not the name"), (special("a\\b"), "is not the name"), (special("a//b"), "is not the name"),
                         (special("./a"), "is not the name"), (special("tab\there"), "is not the name"), (special("\u202efdp.exe"), "is not the name"),
                         (special("link", stat.S_IFLNK | 0o777), "not a plain file"), (special("dev", stat.S_IFCHR | 0o666), "not a plain file"),
                         (special("folder/"), "is not the name"), (special("x" * 2000), "too long")]:
        error = program.run("verify", rewritten(program, lambda entries, entry=entry: [*entries, (entry, b"x")]), status=1)
        check(words in error, entry.filename, error)
    check("not a zip archive of files" in program.run("verify", rewritten(program, lambda entries: []), status=1), "an empty archive")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = program.run("verify", rewritten(program, lambda entries: [*entries, ("observations.csv", b"x")]), status=1)
    check("twice" in error, error)


def bombs_are_refused(program):
    """Entries that share one piece of data, as in Fifield's zip bomb; a size that is not true; a declared encryption."""
    path = os.path.join(program.folder, "bomb.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("kernel", b"\0" * 10_000_000)
        first = z.infolist()[0]
        for i in range(50):
            again = special("f%d" % i)
            for name in ("header_offset", "CRC", "compress_size", "file_size", "compress_type"):
                setattr(again, name, getattr(first, name))
            z.filelist.append(again)
            z.NameToInfo[again.filename] = again
    check("zip bomb" in program.run("verify", "bomb.zip", status=1))
    data = bytearray(open(os.path.join(program.folder, "lab.zip"), "rb").read())
    central = data.index(b"PK\1\2")
    huge = bytearray(data)
    huge[central + 24:central + 28] = (0x7fffffff).to_bytes(4, "little")
    open(path, "wb").write(huge)
    check("more than compression can give" in program.run("verify", "bomb.zip", status=1))
    large = bytearray(data)
    large[central + 24:central + 28] = (0xffffffff).to_bytes(4, "little")  # the size is in a 64-bit extra field, which may say anything
    open(path, "wb").write(large)
    check("larger than 4 GiB" in program.run("verify", "bomb.zip", status=1))
    secret = bytearray(data)
    secret[central + 8] |= 1
    open(path, "wb").write(secret)
    check("encrypted" in program.run("verify", "bomb.zip", status=1))


def bytes_at(at, new):
    return lambda data: data[:at] + new + data[at + len(new):]


def with_64_bit_end(data, entries, begin, offset=0):
    """The records of APPNOTE 4.3.14 and 4.3.15 before the end, whose own fields defer to them."""
    end = data.rindex(b"PK\5\6")
    record = struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, entries, entries, end - begin, begin + offset)
    return data[:end] + record + struct.pack("<IIQI", 0x07064b50, 0, end, 1) + data[end:end + 8] + b"\xff" * 12 + data[end + 20:]


def both_lists_are_checked(program):
    """What is in an archive and in none of its files, and what programs that unpack it may read in two ways."""
    def archive(*more):
        """Sound, with more files, which manifest and crate have too."""
        with zipfile.ZipFile(os.path.join(program.folder, "lab.zip")) as z:
            files = {info.filename: z.read(info) for info in z.infolist() if info.filename != MANIFEST}
        crate = json.loads(files[CRATE])
        for entity in crate["@graph"]:
            if entity["@id"] == "./":
                entity["hasPart"] += [{"@id": info.filename} for info in more]
        files = {special(name): data for name, data in {**files, CRATE: json.dumps(crate).encode()}.items()} | {info: b"more" for info in more}
        sums = {info.filename: hashlib.sha256(data).hexdigest() for info, data in files.items()}
        files[special(MANIFEST)] = "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)).encode()
        to = io.BytesIO()
        with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as z:
            for info, data in files.items():
                z.writestr(info, data, zipfile.ZIP_DEFLATED)
        return to.getvalue()

    whole = archive()
    begin, end, n = whole.index(b"PK\1\2"), whole.rindex(b"PK\5\6"), whole.count(b"PK\1\2")
    local = whole.index(b"PK\3\4", 1)
    entry = whole.index(b"PK\1\2", begin + 1)  # of the file at `local`
    shifted = bytearray(whole[:local] + b"hidden" + whole[local:])  # the offsets of all later files, and of the directory
    at = begin + 6
    while shifted[at:at + 4] == b"PK\1\2":
        old = int.from_bytes(shifted[at + 42:at + 46], "little")
        shifted[at + 42:at + 46] = (old + 6 * (old >= local)).to_bytes(4, "little")
        at += 46 + sum(struct.unpack("<HHH", shifted[at + 28:at + 34]))
    shifted[at + 16:at + 20] = (begin + 6).to_bytes(4, "little")
    inner, outer = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(inner, "w") as z:
        z.writestr(special("inner"), b"in")
    with zipfile.ZipFile(outer, "w") as z:
        z.writestr(special("outer"), inner.getvalue())
        again = special("inner")
        again.header_offset, again.CRC, again.file_size, again.compress_size = 30 + len("outer"), zlib.crc32(b"in"), 2, 2
        z.filelist.append(again)
    for what, data, words in [
            ("a file in a file", outer.getvalue(), "overlaps with what follows"), ("one more", archive(special("more.txt")), None),
            ("by case", archive(special("Observations.CSV")), "takes the place of"), ("a file for a folder", archive(special("Report")), "takes the place of"),
            ("a folder for a file", archive(special("Wattlaw.db/x")), "takes the place of"),
            ("a link from a Mac", archive(special("l", stat.S_IFLNK | 0o777, 19)), "not a plain file"), ("from DOS", archive(special("l", stat.S_IFLNK | 0o777, 0)), "not a plain file"),
            ("a program before it", b"#!/bin/sh\n" + whole, "begins with bytes"), ("bytes after it", whole + b"x" * 100, "its end has bytes"),
            ("without its last byte", whole[:-1], "cut off"), ("a hole", bytes(shifted), "6 bytes at %d are of no file" % local),
            ("another name inside", bytes_at(local + 30, b"X")(whole), "has another name"), ("encrypted inside", bytes_at(local + 6, b"\1")(whole), "packed in another way"),
            ("another method inside", bytes_at(local + 8, b"\0")(whole), "packed in another way"), ("placed in content", bytes_at(entry + 42, b"\7\0")(whole), "damaged header"),
            ("a disk of three", bytes_at(end + 4, b"\3\0\3\0")(whole), "not a zip archive"), ("fewer files", bytes_at(end + 8, b"\1\0\1\0")(whole), "are of no file"),
            ("more files", bytes_at(end + 8, b"\xff\xf0\xff\xf0")(whole), "cut off"), ("a directory at 0", bytes_at(end + 16, b"\0" * 4)(whole), "refused"),
            ("64 bits", with_64_bit_end(whole, n, begin), None), ("2^63 files", with_64_bit_end(whole, 1 << 63, begin), "cut off"),
            ("a directory elsewhere", with_64_bit_end(whole, n, begin, 1 << 62), "not a zip archive"),
            *[(f"a comment of {k} bytes", whole[:-2] + k.to_bytes(2, "little") + b"c" * k, None) for k in (1, 65512, 65513, 65514, 65535)],
            ("a longer comment than it says", whole[:-2] + b"\xfe\xff" + b"c" * 65535, "not a zip archive"),
            ("a shorter comment than it says", whole[:-2] + b"\xff\xff" + b"c" * 65534, "cut off"),
            ("a comment with an end", whole[:-2] + b"\x16\0" + b"PK\5\6" + b"\0" * 18, "refused")]:
        open(os.path.join(program.folder, "list.zip"), "wb").write(data)
        said = program.run("verify", "list.zip", status=1 if words else 0)

        check((words or "sound") in said, what, said)


def damage_is_found_everywhere(program):
    """A bit of the contents flipped, which is found; a byte anywhere, where a date or a version may change without harm; the archive
    cut off."""
    whole, rng = open(os.path.join(program.folder, "lab.zip"), "rb").read(), random.Random(7)
    with zipfile.ZipFile(os.path.join(program.folder, "lab.zip")) as z:
        spans = [(info.header_offset + 30 + len(info.filename), info.compress_size) for info in z.infolist()]
    path = os.path.join(program.folder, "damaged.zip")

    def verify(data):
        open(path, "wb").write(data)
        done = subprocess.run([program.path, "verify", "damaged.zip"], cwd=program.folder, capture_output=True, text=True, check=False)
        check(done.returncode in (0, 1), done.returncode, done.stderr[-1000:])
        return done.returncode

    times = 12 if os.environ.get("TEST_SANITIZER", "none") != "none" else 25
    for _ in range(times):
        begin, size = rng.choice([span for span in spans if span[1] > 100])
        at = begin + rng.randrange(size)
        check(verify(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1:]) == 1, "not noticed: byte", at)
    for _ in range(times):
        at = rng.randrange(len(whole))
        verify(whole[:at] + bytes([whole[at] ^ 0xff]) + whole[at + 1:])
    for _ in range(5):
        check(verify(whole[:rng.randrange(len(whole))]) == 1, "cut off")


def use(program):
    for arguments, words in [(["--format=bundle", "lab.db"], "--out"), (["--format=bundle", "lab.db", "-o", "x.zip", "--run=1"], "whole store"),
                             (["--format=bundle", "lab.db", "-o", "x.zip", "--field", "autor=x"], "author")]:
        check(words in program.run("export", *arguments, status=2), arguments)
    check("regular file" in program.run("export", "--format=bundle", "lab.db", "-o", "/dev/null", status=1))
    check(not os.path.exists(os.path.join(program.folder, "x.zip")))
    for name, words in [("lab.db", "not a zip archive of files"), (".", "file was expected"), ("nowhere.zip", "nowhere.zip")]:
        check(program.run("verify", name, status=1), name)
    program.run("verify", status=2)


def main():
    with tempfile.TemporaryDirectory(prefix="wattlaw-e2e-") as folder:
        program = Program(sys.argv[1], folder)
        make_store(os.path.join(folder, "lab.db"))
        tests = [it_is_a_crate_with_checksums, the_same_store_gives_the_same_bytes, a_store_in_use_is_copied_whole, hostile_names_stay_inside,
                 changed_files_are_found, hostile_archives_are_refused, bombs_are_refused, both_lists_are_checked, damage_is_found_everywhere, use]
        for test in tests:
            test(program)
        check(shutil.disk_usage(folder) and not [name for name in os.listdir(folder) if name.startswith(".")], "a temporary file is left")
    print("bundle: passed")


main()
