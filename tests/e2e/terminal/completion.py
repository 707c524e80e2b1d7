#!/usr/bin/env python3
"""The completion of each shell in that shell: completion.py WATTLAW [WATTLAW_TRAIN]

bash is typed at on a terminal, fish is asked by `complete -C`, zsh gets a TAB on a terminal of its own (zpty).
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from shells import Shell

programs = [os.path.abspath(p) for p in sys.argv[1:]]
wattlaw = programs[0]

# What is typed -> what is offered: (all of it) or, with a leading "+", at least these; "-" before a word: not that one.
CASES = [
    ("wattlaw fi", ["fit"]),
    ("wattlaw ", ["+fit", "+measure", "+completion"]),
    ("wattlaw fit --resp", ["--response"]),
    ("wattlaw fit --response ", ["energy_j", "time_s"]),
    ("wattlaw fit --color ", ["always", "auto", "never"]),
    ("wattlaw sweep ", ["+grid.ini", "+results"]),
    ("wattlaw report --out ", ["+results", "-grid.ini"]),
    ("wattlaw export ", ["+observations", "+samples"]),
    ("wattlaw completion ", ["bash", "fish", "zsh"]),
    ("wattlaw-train data ", ["+era5", "+imagenet", "+qm9", "+wikitext"]),
    ("wattlaw-train resnet50 --optimizer ", ["adam", "adamw", "sgd"]),
    ("wattlaw-train data imagenet --clas", ["--classes"]),
    ("wattlaw-train resnet50 --no-val", ["--no-validate"]),
]

# ESC * inserts all completions, and ^Xq writes the line down.
BASH = ("source {script}; bind 'set bell-style none'; bind -x '\"\\C-xq\": printf \"%s\\0\" \"$READLINE_LINE\" >> lines; READLINE_LINE= READLINE_POINT=0; echo =DO\"\"NE='; "
        "PS1='REA''DY>'")

# A shell of its own on a pseudo-terminal; TAB lists instead of inserting, and ^Xq, which is read after it, says that it has. It is ready
# when its line editor is: before that, the terminal echoes what is typed.
ZSH = r"""
zmodload zsh/zpty
zpty z "TERM=dumb zsh -f -i"
zpty -w z "PROMPT=; unsetopt prompt_sp prompt_cr; fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D
setopt auto_list no_beep; LISTMAX=400; stty -echo cols 200 rows 500; bindkey '^I' list-choices
listed() { BUFFER=; zle -M LIS''TED }; zle -N listed; bindkey '^Xq' listed
zle-line-init() { print -r REA''DY }; zle -N zle-line-init"
local line text
until [[ $line == *READY* ]]; do zpty -r z line || exit; done
for typed in "${@[2,-1]}"; do
    print -r -- "=== $typed"
    zpty -n -w z "$typed"$'\t\x18q'
    text=
    until [[ $text == *LISTED* ]]; do zpty -r z line || exit; text+=$line; done
    print -r -- "$text"
done
zpty -d z
"""

FISH = "source $argv[1]; for typed in $argv[2..]; echo \"=== $typed\"; complete -C $typed; end"


def script(folder, text, end=""):
    return os.path.join(folder, "scripts", text.split()[0] + end)


def run(argv, folder):
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, env={**os.environ, "HOME": folder}, timeout=120, check=False)
    return done.stdout + done.stderr


def answers(out):
    """typed -> lines"""
    out = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x07", "", out).replace("\r", "\n")
    parts = re.split(r"^=== (.*)$", out, flags=re.M)
    return {typed: [line for line in lines.splitlines() if line.strip()] for typed, lines in zip(parts[1::2], parts[2::2])}


def bash(folder, texts):
    """As readline inserts them; a word that stays as it was typed was not completed."""
    lines = os.path.join(folder, "lines")
    open(lines, "w", encoding="utf-8").close()
    shell = Shell(["bash", "--norc", "-i"], folder, BASH.format(script=script(folder, texts[0])))
    for t in texts:
        shell.type(t + "\x1b*\x18q", "=DONE=")
    shell.close()
    with open(lines, encoding="utf-8") as f:
        got = [shlex.split(line) for line in f.read().split("\0")[:-1]]
    before = [len(t.split()) - (not t.endswith(" ")) for t in texts]
    return {t: [w.rstrip("/") for w in words[n:]] for t, words, n in zip(texts, got, before)}


def fish(folder, texts):
    out = answers(run(["fish", "--no-config", "-c", FISH, script(folder, texts[0], ".fish"), *texts], folder))
    return {typed: [line.split("\t")[0].rstrip("/") for line in lines] for typed, lines in out.items()}


def zsh(folder, texts):
    """A line is "name  -- description", or names side by side; what was typed is drawn, too."""
    out = answers(run(["zsh", "-f", "-c", ZSH, "zsh", os.path.join(folder, "scripts"), *texts], folder))
    return {typed: [name.rstrip("/") for line in "\n".join(lines).replace(typed, "\n").splitlines()
                    if not line.startswith(("wattlaw", "LISTED")) for name in line.split("  -- ")[0].split()]
            for typed, lines in out.items()}


def complaint(got, want):
    exact = [w for w in want if w[0] not in "+-" or w.startswith("--")]
    for word in want:
        if word.startswith("+") and word[1:] not in got:
            return f"{word[1:]} is not offered"
        if word.startswith("-") and not word.startswith("--") and word[1:] in got:
            return f"{word[1:]} is offered"
    return f"{sorted(set(got))}, not {exact}" if exact and sorted(set(got)) != sorted(exact) else None


def main():
    shells = [s for s in (bash, zsh, fish) if shutil.which(s.__name__)]
    missing = [s.__name__ for s in (bash, zsh, fish) if s not in shells]
    wrong = []
    with tempfile.TemporaryDirectory(prefix="wattlaw-e2e-") as folder:
        os.mkdir(os.path.join(folder, "scripts"))
        os.mkdir(os.path.join(folder, "results"))
        open(os.path.join(folder, "grid.ini"), "w", encoding="utf-8").close()
        for program in programs:
            name = os.path.basename(program)
            for shell, file in ("bash", name), ("zsh", "_" + name), ("fish", name + ".fish"):
                with open(os.path.join(folder, "scripts", file), "w", encoding="utf-8") as f:
                    subprocess.run([program, "completion", shell], stdout=f, check=True)
        for shell in shells:
            for program in map(os.path.basename, programs):
                cases = [(text, want) for text, want in CASES if text.split()[0] == program]
                got = shell(folder, [text for text, _ in cases])
                wrong += [f"{shell.__name__}: {text!r}: {why}; got {got.get(text)}"
                          for text, want in cases if (why := complaint(got.get(text, []), want))]
    r = subprocess.run([wattlaw, "completion", "tcsh"], capture_output=True, text=True, check=False)
    if r.returncode != 2 or "bash, zsh or fish" not in r.stderr:
        wrong.append(f"completion tcsh: {r.returncode} {r.stderr}")
    for line in wrong:
        print(line)
    if missing:
        print(f"SKIP: not installed: {', '.join(missing)}")
    print(f"{len(shells)} shells, {len(CASES)} lines each, {len(wrong)} wrong")
    return 1 if wrong else 77 if missing else 0


sys.exit(main())
