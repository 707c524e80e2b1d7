#!/usr/bin/env python3
"""File names that a shell would take for something else are completed as one word, and run nothing: completion_names.py WATTLAW

Each shell is real and on a terminal: the first letters of a name are typed, TAB, and return. `wattlaw` is a function there, which
writes down the arguments that it gets: what the shell made of the completed line is the file's name, or the test fails.
"""
import os
import shutil
import subprocess
import sys
import tempfile

from shells import PROMPT, Shell

wattlaw = os.path.abspath(sys.argv[1])

# One for each first letter.
NAMES = ["a b.db", "b'c.db", 'c"d.db', "d$(touch owned).db", "e`touch owned`.db", "f;touch owned;.db", "g\nh.db", "h&i.db", "j*k?[l].db", "k\\l.db",
         "m|n>o.db", "p{q,r}.db", "s!t.db", "u#v$HOME.db", "w~\t.db", "x\x1b[31m.db", "y=z:a.db", "zürich.db", "A(b)<c.db", "B%d^e,f.db"]
FOLDER = "o$(touch owned) ut"

DONE = "=DONE="  # said by the function; typed in two parts, so that the echo of it does not count
BASH = ("source ../scripts/wattlaw; wattlaw() { printf '%s\\0' \"$#\" \"$@\" >> ../got; echo '=DO''NE='; }; bind 'set bell-style none'; set +o history; "
        "PS1='REA''DY>'")
ZSH = ("unsetopt prompt_sp prompt_cr; fpath=($PWD/../scripts $fpath); autoload -Uz compinit; compinit -u -D; setopt no_beep no_bang_hist; "
       "wattlaw() { printf '%s\\0' $# \"$@\" >> ../got; print '=DO''NE=' }; PROMPT='REA''DY>'")
FISH = ("source ../scripts/wattlaw.fish; function wattlaw; printf '%s\\0' (count $argv) $argv >> ../got; echo '=DO''NE='; end; "
        "function fish_prompt; echo -n REA''DY'>'; end")
SHELLS = {"bash": (["bash", "--norc", "-i"], BASH), "zsh": (["zsh", "-f", "-i"], ZSH), "fish": (["fish", "--no-config", "-i"], FISH)}


def received(folder):
    """Arguments of each call."""
    with open(os.path.join(folder, "got"), "rb") as f:
        words = f.read().decode().split("\0")
    calls = []
    while len(words) > 1:
        n = int(words.pop(0))
        calls.append(words[:n])
        del words[:n]
    return calls


def try_shell(name, folder):
    argv, setup = SHELLS[name]
    wrong = []
    # fish itself takes what follows a tabulator for a description
    cases = [("fit ", n[0], n) for n in NAMES if name != "fish" or "\t" not in n] + [("report --out ", FOLDER[0], FOLDER + "/")]
    if name == "bash":  # what was typed so far is quoted by hand
        cases += [("fit ", 'a\\ ', "a b.db"), ("fit ", '"a ', "a b.db")]
    shell = Shell(argv, os.path.join(folder, "here"), setup)
    try:
        for before, typed, want in cases:
            open(os.path.join(folder, "got"), "w", encoding="utf-8").close()
            said = shell.type(f"wattlaw {before}{typed}\t\n", DONE)
            got = received(folder)
            expected = [[*before.split(), want]]
            if [[w.rstrip("/") for w in call] for call in got] != [[w.rstrip("/") for w in call] for call in expected]:
                wrong.append(f"{name}: {before}{typed!r}: {got}, not {expected}; said {said!r}")
            if os.path.exists(os.path.join(folder, "here", "owned")):
                wrong.append(f"{name}: {before}{typed!r} ran a command of the file's name")
                os.unlink(os.path.join(folder, "here", "owned"))
    finally:
        shell.close()
    return wrong


def main():
    wrong, missing = [], [s for s in SHELLS if not shutil.which(s)]
    for name in SHELLS:
        if name in missing:
            continue
        with tempfile.TemporaryDirectory(prefix="wattlaw-e2e-") as folder:
            os.mkdir(os.path.join(folder, "scripts"))
            os.makedirs(os.path.join(folder, "here", FOLDER))
            for file in NAMES:
                open(os.path.join(folder, "here", file), "w", encoding="utf-8").close()
            for shell, file in ("bash", "wattlaw"), ("zsh", "_wattlaw"), ("fish", "wattlaw.fish"):
                with open(os.path.join(folder, "scripts", file), "w", encoding="utf-8") as f:
                    subprocess.run([wattlaw, "completion", shell], stdout=f, check=True)
            wrong += try_shell(name, folder)
    for line in wrong:
        print(line)
    if missing:
        print(f"SKIP: not installed: {', '.join(missing)}")
    print(f"{len(SHELLS) - len(missing)} shells, {len(NAMES) + 1} names each, {len(wrong)} wrong")
    return 1 if wrong else 77 if missing else 0


assert PROMPT not in BASH + ZSH + FISH and DONE not in BASH + ZSH + FISH
sys.exit(main())
