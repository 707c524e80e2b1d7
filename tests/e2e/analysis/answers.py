"""A command whose answers are read: what it prints as text and JSON, and what it refuses."""
import json
import subprocess
import sys


def says(text, *parts):
    for part in parts:
        assert part in text, f"no '{part}' in:\n{text}"


class Command:
    """A program with its first arguments. No answer may show a number that is not finite or a missing text."""

    def __init__(self, *argv):
        self.argv = argv

    def run(self, *args, status=0):
        """(stdout, stderr)"""
        done = subprocess.run([*self.argv, *args], capture_output=True, text=True, check=False)
        assert done.returncode == status, f"{args}: status {done.returncode}, not {status}\n{done.stdout}{done.stderr}"
        for word in (" nan", " inf", "-nan", "(null)"):
            assert word not in done.stdout + done.stderr, f"{args}: prints {word}: {done.stdout}{done.stderr}"
        return done.stdout, done.stderr

    def answer(self, *args, status=0):
        return json.loads(self.run(*args, "--json", status=status)[0], parse_constant=lambda word: sys.exit(f"{args}: {word} is not JSON"))

    def refused(self, part, *args, status=1):
        says(self.run(*args, status=status)[1], part)
