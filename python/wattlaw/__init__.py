"""wattlaw marks from Python: how a training program reports its epochs to `wattlaw`.  Apache-2.0.

    import wattlaw

    wattlaw.start(workload="mynet", workers=world, local_batch=batch)
    wattlaw.define("val_f1", better="larger", label="F1 on held-out data")
    for n in range(1, epochs + 1):
        with wattlaw.epoch(n) as e:
            ...
            e.samples, e.updates = samples_of_all_workers, updates
        with wattlaw.phase("validate"):
            top1 = ...
        wattlaw.metric("val_top1", top1, epoch=n)
    wattlaw.stop()

This file is all that marks need (Python 3.8 or later, standard library only). It writes the same lines as include/wattlaw/mark.h:

    <CLOCK_MONOTONIC ns> <rank> <word> key=value key=value ...

to the file that WATTLAW_MARKS names, each by one write(2) of at most 512 bytes. Without WATTLAW_MARKS a call does
nothing and converts nothing: a value such as a torch tensor is then not read, so the device is not waited for. No call
raises because of the marks file; trouble is reported once on stderr. Words and fields: docs/formats.md.
"""

import contextlib
import os
import sys
import time

__all__ = ["mark", "enabled", "rank", "set_rank", "start", "stop", "epoch", "phase", "phase_time", "step", "checkpoint",
           "define", "metric"]

MAX_LINE = 512

_fd = None  # None: not looked yet; -1: marks are off
_rank = None  # set by set_rank
_warned = False


def _warn(text):
    global _warned
    if not _warned:
        _warned = True
        print("wattlaw: " + text, file=sys.stderr, flush=True)


def _open():
    global _fd
    _fd = -1
    path = os.environ.get("WATTLAW_MARKS")
    if path:
        try:
            _fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except OSError as e:
            _warn("marks are off: cannot open WATTLAW_MARKS=%s: %s" % (path, e.strerror))
    return _fd


def redirect(path):
    """Marks go to this file from now on, in this process and in those that it starts; None: nowhere. `measure` does this."""
    global _fd
    if _fd is not None and _fd >= 0:
        os.close(_fd)
    _fd = None
    if path is None:
        os.environ.pop("WATTLAW_MARKS", None)
    else:
        os.environ["WATTLAW_MARKS"] = path


def enabled():
    """Are marks written? Use it to spare work that is needed for marks only."""
    return (_open() if _fd is None else _fd) >= 0


def set_rank(value):
    """Sets the rank in marks, where the environment does not tell it (torch.multiprocessing.spawn, say)."""
    global _rank
    _rank = int(value)


def rank():
    """What set_rank said, else WATTLAW_RANK, RANK beside WORLD_SIZE (torchrun), OMPI_COMM_WORLD_RANK, PMI_RANK,
    SLURM_PROCID, RANK; otherwise 0."""
    if _rank is not None:
        return _rank
    names = ["WATTLAW_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "RANK"]
    if "WORLD_SIZE" in os.environ:
        names.insert(1, "RANK")
    for name in names:
        text = os.environ.get(name, "")
        if text.isdecimal():
            return int(text)
    return 0


def _text(value):
    """A value as written in a line: without blanks and control characters."""
    if hasattr(value, "item"):  # a torch or numpy scalar
        value = value.item()
    if isinstance(value, bool):
        value = int(value)
    text = "%.9g" % value if isinstance(value, float) else str(value)
    return "".join("_" if c.isspace() or not c.isprintable() else c for c in text)


def mark(word, **fields):
    """Appends one mark; a field that is None is left out."""
    if not enabled():
        return
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    parts = ["%d %d %s" % (now, rank(), word)]
    parts += ["%s=%s" % (key, _text(value)) for key, value in fields.items() if value is not None]
    line = (" ".join(parts) + "\n").encode("utf-8", "replace")
    if len(line) > MAX_LINE:
        _warn("a '%s' mark of %d bytes was not written: a line has at most %d" % (word, len(line), MAX_LINE))
        return
    try:
        if os.write(_fd, line) != len(line):
            _warn("a mark was written in part: is the disk full?")
    except OSError as e:
        _warn("a mark was not written: %s" % e.strerror)


def start(**fields):
    """The job starts: workload, workers, local_batch, global_batch ...; each rank may say so."""
    if enabled():
        mark("start", **{"host": os.uname().nodename, "pid": os.getpid(), **fields})


def stop(status="ok"):
    """The job ends: "ok", or one word that says why not."""
    mark("stop", status=status)


class _Epoch:
    """What an epoch did, for its epoch-end: the work of all workers. None: not known."""

    samples = None
    updates = None


@contextlib.contextmanager
def epoch(number, samples=None, updates=None):
    """A training epoch, counted from 1, without its validation. Set `samples` and `updates` of the yielded object, or
    give them here. An exception leaves the epoch without its end."""
    done = _Epoch()
    done.samples, done.updates = samples, updates
    mark("epoch-begin", epoch=number)
    yield done
    mark("epoch-end", epoch=number, samples=done.samples, updates=done.updates)


@contextlib.contextmanager
def phase(name):
    """A phase inside or beside epochs: load, train, validate, checkpoint, input ..."""
    mark("phase-begin", name=name)
    yield
    mark("phase-end", name=name)


def phase_time(name, seconds, epoch=None):
    """Seconds in a phase of many short pieces (waiting for input, say), added up over an epoch's training pass."""
    mark("phase", name=name, time_s=seconds, epoch=epoch)


def step(number, samples=None, loss=None, tokens=None, total=None):
    """One update: its number, the samples and tokens of all workers since the last call that gave them, its loss, and how many
    updates the job will do."""
    mark("step", step=number, samples=samples, loss=loss, tokens=tokens, total=total)


def checkpoint(step=None):
    """The job can be resumed from here; step: the last one that is saved."""
    mark("checkpoint", step=step)


def define(name, unit=None, better=None, label=None, main=False, baseline_of=None):
    """What a metric is, once, before or after its first value: better is "larger" or "smaller", label is for people
    (without it the name is shown), main says that runs are judged by it, baseline_of names the metric that this one is
    the baseline of: a forecast that anybody could make. None: not known."""
    if better not in (None, "larger", "smaller"):
        raise ValueError("better should be 'larger' or 'smaller', not %r" % (better,))
    mark("define", name=name, unit=unit, better=better, label=label, main=1 if main else None, baseline_of=baseline_of)


def metric(name, value, epoch=None):
    """A result: train_loss, val_top1, val_top5, lr ...; without an epoch it is of the whole run."""
    mark("metric", name=name, value=value, epoch=epoch)


def __getattr__(name):
    """wattlaw.open, wattlaw.measure and what belongs to them are loaded when they are used: marks need none of it."""
    if name == "measure":
        from wattlaw.measuring import measure
        return measure
    if name in ("open", "Results", "Table"):
        from wattlaw import results
        return getattr(results, name)
    if name == "ProgramError":
        from wattlaw.program import ProgramError
        return ProgramError
    raise AttributeError("module 'wattlaw' has no attribute %r" % name)
