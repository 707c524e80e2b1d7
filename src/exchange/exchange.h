/* Observation tables and readings in and out of other files. docs/formats.md describes each format. */
#ifndef WL_EXCHANGE_EXCHANGE_H
#define WL_EXCHANGE_EXCHANGE_H

#include "store/store.h"

#include <stdio.h>

struct wl_dcgm_field;

/* Reads a CSV file with a header into an observation table.
 *
 * `map` renames columns: each entry is "canonical=column in the file". Columns that are neither canonical nor mapped
 * become `extra`. An empty field is missing. Fields are separated by comma, semicolon or tab, whichever the header
 * has most of (comma where the file cannot be read twice). time_s or energy_j must be there.
 *
 * WL_EINVAL names file, line, column and value: a field that is no number, a flag other than 0 and 1, a row with
 * another number of fields than the header, a column that stands twice, a broken `map`. Values are not judged: what
 * the analysis cannot use (a negative time, say) it leaves out and says so. */
int wl_obs_read_csv(const char *path, const struct wl_strs *map, struct wl_observations *out, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;

/* Writes the canonical columns, then the extra ones; missing is an empty field. Numbers keep every digit they need to
 * be read back as the same number. */
void wl_obs_write_csv(const struct wl_observations *obs, FILE *to);

/* JSON Lines: an object a row, missing fields left out. */
void wl_obs_write_jsonl(const struct wl_observations *obs, FILE *to);

/* Every reading of these runs as long CSV, a line a reading:
 * run,host,device,sensor,quantity,unit,scope,variant,estimated,simulated,t_s,value
 * t_s counts from the start of the run; a reading that failed has an empty value. */
int wl_samples_write_csv(struct wl_store *s, const struct wl_run_rows *runs, FILE *to,
                         struct wl_err *e) WL_MUST_CHECK;

/* ---- what NVIDIA's DCGM has measured ---- */

struct wl_dcgm_opts {
    const struct wl_strs *gpus; /* only these: UUIDs or how they begin, HOST, HOST:NUMBER; NULL or empty: all */
    const struct wl_strs *uuids; /* of GPU 0, 1 ... where a file has numbers alone; NULL: not known */
    int64_t from_ns, to_ns;      /* only this time; WL_NO_NS: all */
    int64_t start_ns, period_ns; /* of files that tell no times: of the first reading, and from one to the next; or WL_NO_NS */
};

struct wl_dcgm_device {
    const char *uuid; /* "GPU-5f0a...", or "gpu0" where nothing tells it */
    const char *host; /* as the exporter calls it; "" where nothing tells it */
    const char *model, *driver, *number; /* NULL: not told */
    bool split;                          /* into MIG instances */
};

struct wl_dcgm_reading {
    int64_t t_ns; /* since 1970 */
    double value; /* NAN: DCGM had none */
};

/* A quantity of a device. Names and units are those of src/power. */
enum { WL_DCGM_REASONS = 7 };
struct wl_dcgm_series {
    size_t device;
    const struct wl_dcgm_field *field; /* dcgm.h */
    const char *quantity, *unit, *variant;
    bool counter;
    struct wl_dcgm_reading *v; /* by time, one an instant */
    size_t n, cap;
    size_t missing[WL_DCGM_REASONS]; /* how many have no value, by reason */
    const char *key;                 /* while it is read: of its line, and the scrape that had it last */
    int64_t scrape;
};

struct wl_dcgm {
    struct wl_dcgm_device *devices;
    size_t n_devices, devices_cap;
    struct wl_dcgm_series *series;
    size_t n_series, series_cap, hint;
    struct wl_strs broken;   /* the first lines that make no sense, with file, line and reason */
    size_t n_broken;         /* of all */
    size_t repeated, passed; /* readings of an instant that has one already; of metrics and instances that are not read */
    struct wl_strs notes;    /* what is missing, and why */
};

/* Reads a file into *out, behind what is there (begin with zeros): the text of dcgm-exporter, one scrape or many behind each
 * other, what `dcgmi dmon` prints, or the JSON that Prometheus answers. WL_EINVAL: nothing of DCGM is in it, or nothing
 * tells its times. */
int wl_dcgm_read(const char *path, const struct wl_dcgm_opts *opts, struct wl_dcgm *out, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

/* Behind the last file: series by time, without those that have no value at all, and the notes. WL_EINVAL: nothing is left. */
int wl_dcgm_finish(struct wl_dcgm *d, const struct wl_dcgm_opts *opts, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The usual time between two readings of power, else of anything, in s. */
double wl_dcgm_period_s(const struct wl_dcgm *d, struct wl_arena *a);

/* Devices, channels and readings of a run that is open, inside the caller's transaction. */
int wl_dcgm_store(struct wl_store *s, int64_t run, const struct wl_dcgm *d, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;

#endif
