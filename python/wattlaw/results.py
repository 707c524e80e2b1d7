"""Results from Python: what the program wattlaw reads out of a store, as tables and DataFrames.  Apache-2.0.

    lab = wattlaw.open("lab1")                  # a .db file, the folder of a campaign, or a CSV file of observations
    lab.runs()                                  # a row per run: settings, seconds, joules, watts
    lab.epochs().frame()                        # the observations as a pandas DataFrame
    lab.samples(run=12)                         # the readings of sensors
    lab.fit(by="workload")["groups"][0]         # what `wattlaw fit --by workload --json` prints
    lab.recommend(deadline="2h")
    lab                                         # in a notebook: the answer, findings and figures

Standard library only; Table.frame() needs pandas. The program does the work (program.py). Units are in the names of
columns: time_s are seconds, energy_j joules, mean_power_w watts, util_pct percent. A value that is missing is None, and
NaN or NA in a DataFrame. Columns are described in docs/formats.md, fields of answers in docs/reference/.
"""

import csv
import html
import io
import json
import os
import tempfile

from wattlaw import program

SHOWN = 20  # rows of a table in a notebook


class Table(list):
    """Rows as dictionaries, in the program's order, all with the keys `columns`."""

    def __init__(self, rows, columns=None):
        rows = list(rows)
        self.columns = list(columns if columns is not None else dict.fromkeys(key for row in rows for key in row))
        super().__init__({key: row.get(key) for key in self.columns} for row in rows)

    def frame(self):
        """The same as a pandas DataFrame."""
        try:
            import pandas
        except ImportError as e:
            raise ImportError("Table.frame() needs pandas (pip install pandas); the table itself is a list of rows") from e
        return pandas.DataFrame(list(self), columns=self.columns)

    def to_parquet(self, path):
        """Writes the same as a Parquet file; needs pyarrow. A column without any value has the type float64. An existing
        file is replaced when the new one is complete."""
        arrow, parquet = _arrow()
        arrays = [_array(arrow, [row[key] for row in self]) for key in self.columns]
        path = os.fspath(path)
        with tempfile.TemporaryDirectory(prefix=".wattlaw-", dir=os.path.dirname(path) or ".") as folder:
            whole = os.path.join(folder, "table")
            parquet.write_table(arrow.table(arrays, names=self.columns), whole)
            os.replace(whole, path)

    def _repr_html_(self):
        """The first rows, without columns that have no value in any row."""
        columns = [key for key in self.columns if any(row[key] is not None for row in self)]
        head = "".join("<th>%s</th>" % html.escape(key) for key in columns)
        body = "".join("<tr>%s</tr>" % "".join("<td>%s</td>" % _cell(row[key]) for key in columns) for row in self[:SHOWN])
        rest = "<p>%d more rows</p>" % (len(self) - SHOWN) if len(self) > SHOWN else ""
        table = "<table><thead><tr>%s</tr></thead><tbody>%s</tbody></table>" % (head, body)
        return '<div style="overflow-x: auto">%s</div>%s' % (table, rest)


def _arrow():
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as e:
        raise ImportError("to_parquet() needs pyarrow (pip install pyarrow); wattlaw export writes CSV and JSON Lines without it") from e
    return pyarrow, pyarrow.parquet


def _array(arrow, values):
    """A column: numbers where all are, else texts."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in known) and known:
        return arrow.array(values, type=arrow.bool_())
    if all(isinstance(value, int) and not isinstance(value, bool) for value in known) and known:
        return arrow.array(values, type=arrow.int64())
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known):
        return arrow.array([None if value is None else float(value) for value in values], type=arrow.float64())
    return arrow.array([None if value is None else str(value) for value in values], type=arrow.string())


def _cell(value):
    if value is None:
        return "-"
    return html.escape("%.5g" % value if isinstance(value, float) else str(value))


def options_as_words(options):
    """by="a", all=True, at=[1, 2] as --by a --all --at 1 --at 2; None and False: not given."""
    words = []
    for key, value in options.items():
        name = "--" + key.rstrip("_").replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(name)
            elif one is not None and one is not False:
                words.append("%s=%s" % (name, one))
    return words


def _flat(run):
    """A run as a row: its settings are columns too, and of what is nested no more."""
    row = {"run": run["run"], "status": run["status"], **run.get("settings", {})}
    row.update((key, value) for key, value in run.items() if not isinstance(value, (dict, list)))
    return row


# Columns of every table, None where they are not known: row["workers"] works for a block of Python, too.
SETTINGS = ("workload", "hardware", "nodes", "workers", "local_batch", "global_batch", "power_cap_w", "clock_mhz")
OF_EPOCHS = ("run", "epoch", "time_s", "energy_j", "samples", "updates")


def _table(rows, first):
    rows = list(rows)
    return Table(rows, dict.fromkeys([*first, *(key for row in rows for key in row)]))


SAMPLE_NUMBERS = {"run": int, "estimated": int, "simulated": int, "t_s": float, "value": float}


def _sample(row):
    """A row of CSV: numbers, texts, None where a field is empty."""
    return {key: None if text == "" else SAMPLE_NUMBERS.get(key, str)(text) for key, text in row.items()}


class Results:
    """A store, or a CSV file of observations. Nothing is kept: each call reads what is there now, a campaign in progress
    too. All calls raise ProgramError (program.py) with the program's own text."""

    def __init__(self, path, campaign=None):
        """path: as the commands of wattlaw take it. campaign: one of several in the store."""
        self.path = os.fspath(path)
        self._campaign = ["--campaign=%s" % campaign] if campaign else []

    def __repr__(self):
        return "wattlaw.open(%r)" % self.path

    def _place(self):
        """The path as an argument of the program: it is not an option."""
        return os.path.join(".", self.path) if self.path.startswith("-") else self.path

    def _stored(self, command, *more):
        return program.answer(command, *self._campaign, *more, self._place())

    def runs(self):
        """A row for each run: number, status, settings, time_s, energy_j with its interval, mean_power_w, util_pct ..."""
        return _table((_flat(run) for run in self._stored("show")["runs"]), ("run", "status", *SETTINGS))

    def run(self, number):
        """All of one run as `wattlaw show --run N --json` prints it: epochs, energies of devices, phases, sampling."""
        return self._stored("show", "--run=%d" % number)

    def epochs(self):
        """The observations: a row for each epoch of the runs that are done."""
        lines = program.output("export", *self._campaign, "--format=jsonl", "observations", self._place())
        return _table((json.loads(line) for line in lines.decode("utf-8").splitlines()), (*SETTINGS, *OF_EPOCHS))

    def samples(self, run):
        """A row for each reading of a sensor in a run."""
        text = program.output("export", *self._campaign, "--run=%d" % run, "samples", self._place())
        reader = csv.DictReader(io.StringIO(text.decode("utf-8"), newline=""))
        return Table(map(_sample, reader), reader.fieldnames)

    def to_parquet(self, folder, samples=True):
        """Writes runs.parquet, epochs.parquet and, of the runs that have begun, samples.parquet to `folder`, which is made
        where it is missing. Needs pyarrow. Returns the paths."""
        _arrow()
        os.makedirs(folder, exist_ok=True)
        runs = self.runs()
        tables = {"runs": runs, "epochs": self.epochs()}
        if samples:
            parts = [self.samples(row["run"]) for row in runs if row["status"] != "planned"]
            tables["samples"] = Table((row for part in parts for row in part), parts[0].columns if parts else [])
        paths = []
        for name, table in tables.items():
            paths.append(os.path.join(os.fspath(folder), name + ".parquet"))
            table.to_parquet(paths[-1])
        return paths

    def answer(self, command, **options):
        """What `wattlaw COMMAND --json` prints about it; options as in fit()."""
        return program.answer(command, *options_as_words(options), self._place())

    def fit(self, **options):
        """Scaling laws. Options are those of the command: by="workload,local_batch" is --by workload,local_batch,
        exclude_busy=True is --exclude-busy, at=["workers=4", "workers=8"] gives --at twice."""
        return self.answer("fit", **options)

    def energy(self, **options):
        """Joules against worker-hours, speed-up, carbon and cost; options as in fit()."""
        return self.answer("energy", **options)

    def predict(self, **options):
        """Time or energy at other worker counts: at="workers=64"; options as in fit()."""
        return self.answer("predict", **options)

    def recommend(self, **options):
        """Which setting to use: minimize="energy", deadline="2h"; options as in fit()."""
        return self.answer("recommend", **options)

    def compare(self, **options):
        """Whether a factor changes time and energy: factor="power_cap_w"; options as in fit()."""
        return self.answer("compare", **options)

    def report(self, out, **options):
        """Writes the page, figures and tables to the folder `out`; returns what --json prints: paths, answers,
        findings, warnings."""
        return self.answer("report", out=os.fspath(out), **options)

    def figures(self):
        """The figures of the report: {"epoch-time": "<svg ...", ...}."""
        return self._page()[1]

    def _page(self):
        with tempfile.TemporaryDirectory(prefix="wattlaw-") as folder:
            said = self.report(os.path.join(folder, "report"), formats="svg")
            figures = {}
            for path in said["paths"]:
                if path.endswith(".svg"):
                    with open_file(path, encoding="utf-8") as f:
                        figures[os.path.basename(path)[:-4]] = f.read()
            return said, figures

    def _repr_html_(self):
        said, figures = self._page()
        parts = ["<h3>%s</h3>" % html.escape(said["title"])]
        warned = "\n".join(said["warnings"])
        said["choice"] = [line for line in said["choice"] if line.rstrip(".") not in warned]  # a note on it is a warning, too
        for name in ("choice", "findings", "warnings"):
            lines = "".join("<li>%s</li>" % html.escape(line) for line in said[name])
            parts += ["<h4>%s</h4><ul>%s</ul>" % (name.capitalize(), lines)] if lines else []
        return "\n".join([*parts, *(figure[max(figure.find("<svg"), 0):] for figure in figures.values())])


open_file = open


def open(path, campaign=None):  # noqa: A001: wattlaw.open, as gzip.open and shelve.open
    """The results in a store (a .db file, or the folder of a campaign) or a CSV file of observations. Raises ProgramError
    where the program is missing, FileNotFoundError where nothing is at `path`."""
    os.stat(path)
    program.path()
    return Results(path, campaign)
