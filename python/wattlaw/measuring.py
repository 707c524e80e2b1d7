"""Time and energy of a part of a Python program: the program wattlaw measures this process while it runs.  Apache-2.0.

    with wattlaw.measure("fine-tune", store="lab.db") as run:
        for n in range(1, 4):
            with wattlaw.epoch(n):
                ...
    run.time_s, run.energy_j, run.energy_interval_j        # seconds, joules

    @wattlaw.measure("fine-tune")
    def train(): ...

Standard library only. The block is a run of the store, as one of `wattlaw measure`: `wattlaw show`, fit and report know it.
"""

import functools
import json
import os
import socket
import subprocess
import tempfile
import warnings

import wattlaw
from wattlaw import program, results

START_S = 600  # --cooldown-wait may take 10 minutes before it


class Run:
    """What was measured of a block; before its end, and where it could not be measured, everything is None."""

    def __init__(self):
        self.answer = None  # what `wattlaw measure --json` prints
        self.store = None

    def _get(self, key):
        return self.answer.get(key) if self.answer else None

    @property
    def number(self):
        """Of the run in its store."""
        return self._get("run")

    @property
    def time_s(self):
        """Seconds from the begin of the block to its end."""
        return self._get("time_s")

    def _counted(self, key):
        values = [row.get(key) for row in self._get("energies") or [] if row["counted"]]
        return sum(values) if values and None not in values else None

    @property
    def energy_j(self):
        """Joules of the machine during the block, None where no sensor has read it; `job` has the share of this process."""
        return self._counted("energy_j")

    @property
    def energy_interval_j(self):
        """(least, most): joules that agree with the errors of the sensors; None: not known."""
        ends = self._counted("energy_lo_j"), self._counted("energy_hi_j")
        return None if None in ends else ends

    @property
    def estimated(self):
        """Is a part of energy_j estimated, not measured?"""
        rows = [row for row in self._get("energies") or [] if row["counted"]]
        return any(row["estimated"] for row in rows) if rows else None

    @property
    def energies(self):
        """A row per scope (gpu, cpu, ...) and method: joules with their interval; those with `counted` add up to energy_j."""
        return results.Table(self._get("energies") or [])

    @property
    def job(self):
        """The energy of this process's share of the machine, as `wattlaw measure --json` has it."""
        return self._get("job")

    @property
    def epochs(self):
        """A row per epoch that wattlaw.epoch or a callback marked in the block."""
        return results.Table(self._get("epochs") or [])

    def __repr__(self):
        if not self.answer:
            return "<wattlaw run, not measured>"
        energy = "energy unknown" if self.energy_j is None else "%.5g J" % self.energy_j
        return "<wattlaw run %s: %.5g s, %s%s>" % (self.number, self.time_s, energy, ", estimated" if self.estimated else "")


class _Session:
    """A process of wattlaw that measures this one."""

    def __init__(self, options):
        ours, theirs = socket.socketpair()
        self.errors = tempfile.TemporaryFile()
        command = [program.path(), "measure", "--json", "--attach=%d" % os.getpid(), "--control=%d" % theirs.fileno(), *options]
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors,
                                            pass_fds=[theirs.fileno()], start_new_session=True)
        except OSError as e:
            raise program.ProgramError("%s: %s" % (command[0], e.strerror)) from e
        finally:
            theirs.close()
        self.owner, self.socket = os.getpid(), ours
        self.marks = self._wait_start()

    def _wait_start(self):
        """The file for marks, once wattlaw measures."""
        self.socket.settimeout(START_S)
        line = b""
        try:
            while not line.endswith(b"\n"):
                got = self.socket.recv(4096)
                if not got:
                    break
                line += got
        except socket.timeout:
            self.process.terminate()
        if not line.startswith(b"started ") or not line.endswith(b"\n"):
            raise self._failure()
        self.socket.settimeout(None)
        return os.fsdecode(line[len(b"started "):-1])

    def _failure(self):
        self.socket.close()
        self.process.communicate()
        self.errors.seek(0)
        text = self.errors.read().decode("utf-8", "replace").strip()
        self.errors.close()
        return program.ProgramError("wattlaw measure: %s" % (text or "exit status %d" % self.process.returncode), self.process.returncode)

    def end(self, error):
        """The answer. error: the exception that ended the block, or None."""
        why = "" if error is None else " ".join(("%s: %s" % (type(error).__name__, error)).split())
        line = "end" if error is None else "failed " + why[:400]
        try:
            self.socket.sendall(line.encode("utf-8", "replace") + b"\n")
        except OSError:
            raise self._failure() from None
        out = self.process.communicate()[0]
        if not out.strip():
            raise self._failure()
        self.socket.close()
        self.errors.close()
        return json.loads(out.decode("utf-8"))


class measure:
    """Measures a block, or each call of a function that it decorates, as a run of a store.

    name: of the workload in tables. store: a .db file or the folder of a campaign. Further keywords are options of `wattlaw measure`:
    rate_hz=10, sensors="nvml", power_cap_w=250, idle="5s". Only rank 0 measures (wattlaw.rank), its whole node; measure jobs of several
    nodes by the command. Raises ProgramError where measuring cannot begin, before the block runs; later failures are warnings, and
    an exception of the block passes through and makes the run a failed one.
    """

    def __init__(self, name=None, store=None, **options):
        self._options = results.options_as_words({"name": name, "store": store, **options})
        self._session = None

    def __enter__(self):
        if self._session:
            raise RuntimeError("this block is being measured already: use another wattlaw.measure(...)")
        if os.environ.get("WATTLAW_MARKS"):
            raise RuntimeError("this process is being measured already (WATTLAW_MARKS is set): wattlaw.phase(...) marks a part of a run")
        run = self._run = Run()
        if wattlaw.rank() == 0:
            self._session = _Session(self._options)
            wattlaw.redirect(self._session.marks)
        return run

    def __exit__(self, kind, error, trace):
        session, self._session = self._session, None
        if not session or session.owner != os.getpid():  # a child process that left the block
            return
        wattlaw.redirect(None)
        try:
            self._run.answer = session.end(error)
            self._run.store = self._run.answer["store"]
        except (program.ProgramError, OSError, ValueError) as e:
            warnings.warn("the block was not measured: %s" % e, RuntimeWarning, stacklevel=2)

    def __call__(self, function):
        """Each call is a run; the last one is `function.run`."""
        @functools.wraps(function)
        def measured(*args, **kwargs):
            with self as run:
                measured.run = run
                return function(*args, **kwargs)
        measured.run = Run()
        return measured
