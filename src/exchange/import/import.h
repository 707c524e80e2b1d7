/* Measurements of other tools, read from their files into a store. docs/reference/importing.md, docs/adr/164.
 *
 * A format is a row of one table (formats.c): it says by which content a file is recognised and reads it line by line.
 * What it reads goes into one of three sinks: readings of devices over time (series.h) become a run with channels and
 * samples, rows of a table of results (table.h) become a run each; what a training logged becomes marks of a run that
 * the store has (training.h). All count what they take and what they leave, with
 * the reason (report.h). Nothing is stored before all of it is read: one transaction, which a message or a signal
 * undoes. */
#ifndef WL_EXCHANGE_IMPORT_IMPORT_H
#define WL_EXCHANGE_IMPORT_IMPORT_H

#include "exchange/import/format.h"
#include "exchange/import/lines.h"
#include "exchange/import/report.h"
#include "exchange/import/series.h"
#include "exchange/import/table.h"
#include "store/store.h"

/* What the user asked for. Texts and lists may be NULL, times WL_NO_NS: not given. */
struct wl_import_opts {
    const char *as;                            /* name of the format; NULL: the one whose content it is */
    const struct wl_strs *columns;             /* of a file without a header */
    const struct wl_strs *map;                 /* "NAME=COLUMN:UNIT" of a table of no known tool */
    const char *timezone;                      /* of local times: "Europe/Berlin", "+02:00"; NULL: UTC, with a note */
    const char *dates;                         /* order of dates of which two readings make sense: "dmy" or "mdy" */
    const char *host;                          /* of devices of which the file does not name one */
    const struct wl_strs *gpus;                /* only these: UUIDs or UUID prefixes, HOST, HOST:NUMBER */
    const struct wl_strs *uuids;               /* of GPU 0, 1, ..., for files that only number them */
    int64_t from_ns, to_ns;                    /* only this time */
    int64_t start_ns, period_ns;               /* time of the first reading, and interval, of a file without times */
    int64_t run;                               /* that the log of a training is of; 0: not given */
    bool each;                                 /* each file is a run of its own; else all series of a call form one */
    const struct wl_settings *set;             /* of the runs: the workload's name, workers and so on */
    void (*on_block)(void *ctx, size_t bytes); /* (optional) called for each block of a file */
    void *ctx;
    bool named; /* --name was given; else the workload's name in `set` is that of a file */
};

/* A file. */
struct wl_import_source {
    const char *path; /* absolute */
    const struct wl_import_format *format;
    int64_t bytes;
    uint32_t crc; /* CRC-32C of its content, then of wl_import_selection */
};

/* A run that was imported or, with a dry run, would have been. */
struct wl_import_run {
    int64_t run;       /* in the store; 0: dry run */
    const char *label; /* of a file with several: "round 1"; NULL: none */
    const struct wl_import_format *format;
    bool is_log;     /* epochs and metrics that were added to a run: `readings` values and `devices` epochs */
    bool is_row;     /* of a table: `channels` and `device` are empty, and the next ones are known */
    double energy_j; /* sum of its energies, or NAN with why_no_energy; of a row with readings NAN in a dry run */
    bool estimated;  /* of that */
    struct wl_settings set; /* texts of the call's arena */
    const char *hosts;      /* "n1", "n1 and 3 more", "unknown" */
    int64_t from_ns, to_ns; /* since 1970, or since the start where `undated` */
    bool undated;           /* the file has no dates */
    double period_s;        /* usual time between two readings; NAN: a row of a table */
    size_t devices, readings;
    const char *why_no_energy;                /* NULL: it has one, or was not stored */
    const struct wl_import_channel *channels; /* [n_channels]; a row of a table has none */
    size_t n_channels;
    const struct wl_import_device *device; /* [devices] */
    size_t first_source, n_sources;        /* its files; none: the row of a table says itself what it is from */
};

/* One call of `wattlaw import`. Readers call the functions of report.h, series.h, table.h and training.h with it and
 * read no member but those marked. */
struct wl_import {
    const struct wl_import_opts *opts;     /* for readers */
    const struct wl_import_format *format; /* of the file that is read; for readers */
    struct wl_lines *in;                   /* the file that is read; for readers */
    struct wl_arena *a;                    /* of the call; for readers */
    const char *store_path;                /* NULL: dry run */
    struct wl_store *store;                /* NULL: not opened yet; see wl_import_open_store */
    struct wl_import_report report;
    struct wl_series *series;         /* series.c */
    struct wl_import_source *sources; /* the files, the one that is read last */
    size_t n_sources, sources_cap;
    const struct wl_strs *paths;       /* as given */
    const struct wl_import_format *as; /* of --as; NULL: by content */
    int64_t known_run;                 /* in the store, that one of the files is already; 0: none is */
    size_t n_known_rows;               /* of tables, in the store or in this call already */
    size_t n_left_out;                 /* files of folders */
    struct wl_import_run *runs;        /* finished */
    size_t n_runs, runs_cap;
};

/* Reads the files and folders (whose files of this format are taken, and the others named) and stores what they hold;
 * with store_path NULL nothing is stored. WL_EINVAL, and nothing stored: a file is of no format, of several, or has no
 * measurements, or none of its lines can be read; the message names what was looked for. A file that is in the store
 * already, over the same time, is left out, with a note that names the run. */
int wl_import_files(const struct wl_strs *paths, const struct wl_import_opts *opts, const char *store_path,
                    struct wl_import *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- for sinks ---- */

/* Opens the store, if there is to be one, for the first thing that is stored: a call that only finds errors makes no
 * file. */
int wl_import_open_store(struct wl_import *im, struct wl_err *e) WL_MUST_CHECK;

/* Adds a run that has been read. */
void wl_import_add_run(struct wl_import *im, const struct wl_import_run *run);

/* What the options select of a file: "" all, so that a part of a file is not taken for all of it. */
const char *wl_import_selection(const struct wl_import *im, struct wl_arena *a);

/* The call as a command, for the run's row. */
const char *wl_import_command(const struct wl_import *im);

#endif
