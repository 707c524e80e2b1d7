#include "cmd/wattlaw/analysis.h"

#include "cmd/wattlaw/footprint.h"
#include "exchange/exchange.h"
#include "store/read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Recognises a store by SQLite's magic bytes, whatever its name. Regular files only: bytes read from a pipe
 * (/dev/stdin) would be lost. */
static bool is_store(const char *path)
{
    if (!wl_is_file(path)) return false;
    static const char magic[] = "SQLite format 3";
    char head[sizeof magic] = "";
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    size_t n = fread(head, 1, sizeof magic, f);
    fclose(f);
    return n == sizeof magic && memcmp(head, magic, sizeof magic) == 0;
}

static int open_store(const char *given, struct wl_store **out, struct wl_arena *a, struct wl_err *e)
{
    char *path;
    int rc = wl_store_find(given, &path, a, e);
    return rc ? rc : wl_store_open(out, path, WL_STORE_READ, a, e);
}

static int read_store(const char *given, const struct wl_strs *map, const char *metric, struct wl_observations *out,
                      struct wl_arena *a, struct wl_err *e)
{
    struct wl_store *store;
    if (map->n) return wl_fail(e, WL_EUSAGE, "--map renames columns of a CSV file; %s is a store", given);
    int rc = open_store(given, &store, a, e);
    if (rc) return rc;
    rc = wl_store_observations_of(store, 0, metric, out, a, e);
    wl_store_close(store);
    return rc;
}

bool wl_analysis_is_store(const char *path) { return wl_is_dir(path) || is_store(path); }

int wl_analysis_read(const char *path, const struct wl_strs *map, struct wl_observations *out, struct wl_arena *a,
                     struct wl_err *e)
{
    return wl_analysis_read_metric(path, map, NULL, out, a, e);
}

int wl_analysis_read_metric(const char *path, const struct wl_strs *map, const char *metric,
                            struct wl_observations *out, struct wl_arena *a, struct wl_err *e)
{
    bool store = wl_analysis_is_store(path);
    int rc = store ? read_store(path, map, metric, out, a, e) : wl_obs_read_csv(path, map, out, a, e);
    if (rc) return rc;
    if (!out->n)
        return wl_fail(e, WL_EINVAL,
                       store ? "%s: no run is done yet; see wattlaw status" : "%s: has a header but no rows", path);
    return 0;
}

int wl_analysis_metrics(const char *path, struct wl_strs *names, struct wl_arena *a, struct wl_err *e)
{
    struct wl_store *store;
    *names = (struct wl_strs) { 0 };
    if (!wl_analysis_is_store(path)) return 0;
    int rc = open_store(path, &store, a, e);
    if (rc) return rc;
    rc = wl_store_metric_names(store, names, a, e);
    wl_store_close(store);
    return rc;
}

/* Rows of one run share a label, which is the run's number in the store. */
static int add_intensities(struct wl_store *s, const struct wl_carbon_intensity *grid, struct wl_observations *obs,
                           struct wl_strs *notes, struct wl_arena *a, struct wl_err *e)
{
    const char **text = wl_new_array(a, const char *, obs->n), **of_run = wl_new_array(a, const char *, obs->runs);
    bool *known = wl_new_array(a, bool, obs->runs);
    int rc = 0;
    for (size_t i = 0; i < obs->n && rc == 0; i++) {
        size_t k = obs->run_index[i];
        int64_t run;
        double g_per_kwh = NAN;
        const char *why = NULL;
        if (!known[k] && obs->run[i] && wl_str_to_int(obs->run[i], &run) == 0) {
            rc = wl_carbon_intensity_of_run(grid, s, run, &g_per_kwh, &why, a, e);
            if (rc == 0 && why) wl_strs_add(a, notes, why);
            if (!isnan(g_per_kwh)) of_run[k] = wl_strf(a, "%.17g", g_per_kwh);
        }
        known[k] = true;
        text[i] = of_run[k];
    }
    if (rc == 0) wl_obs_add_extra(obs, "carbon_g_per_kwh", text, a);
    return rc;
}

int wl_analysis_footprint(const char *path, struct wl_footprint *f, struct wl_strs *notes, struct wl_arena *a,
                          struct wl_err *e)
{
    struct wl_store *store;
    if (!wl_analysis_is_store(path)) return 0;
    int rc = open_store(path, &store, a, e);
    if (rc) return rc;
    rc = wl_cmd_footprint_of_store(f, store, 0, notes, a, e);
    wl_store_close(store);
    return rc;
}

int wl_analysis_add_carbon(const char *given, const struct wl_carbon_intensity *grid, struct wl_observations *obs,
                           struct wl_strs *notes, struct wl_arena *a, struct wl_err *e)
{
    struct wl_store *store;
    if (!wl_analysis_is_store(given))
        return wl_fail(e, WL_EUSAGE, "--carbon-csv needs a store: the runs in %s have no time of day", given);
    int rc = open_store(given, &store, a, e);
    if (rc) return rc;
    rc = add_intensities(store, grid, obs, notes, a, e);
    wl_store_close(store);
    return rc;
}

static int by_run(const void *key, const void *row)
{
    const int64_t run = *(const int64_t *)key, other = ((const struct wl_peak_row *)row)->run;
    return (run > other) - (run < other);
}

static int read_peaks(const char *given, struct wl_peak_rows *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_store *store;
    int rc = open_store(given, &store, a, e);
    if (rc) return rc;
    rc = wl_store_peaks(store, out, a, e);
    wl_store_close(store);
    return rc;
}

static const char *peak_text(double v, struct wl_arena *a) { return isnan(v) ? NULL : wl_strf(a, "%.17g", v); }

int wl_analysis_add_peaks(const char *given, struct wl_observations *obs, struct wl_arena *a, struct wl_err *e)
{
    struct wl_peak_rows peaks = { 0 };
    if (!wl_analysis_is_store(given)) return 0;
    const int rc = read_peaks(given, &peaks, a, e);
    if (rc || !peaks.n) return rc;
    const char **power = wl_new_array(a, const char *, obs->n), **memory = wl_new_array(a, const char *, obs->n);
    for (size_t i = 0; i < obs->n; i++) {
        int64_t run;
        if (!obs->run[i] || wl_str_to_int(obs->run[i], &run)) continue;
        const struct wl_peak_row *row = bsearch(&run, peaks.v, peaks.n, sizeof *peaks.v, by_run);
        if (row) power[i] = peak_text(row->power_w, a), memory[i] = peak_text(row->memory_bytes, a);
    }
    wl_obs_add_extra(obs, "peak_power_w", power, a);
    wl_obs_add_extra(obs, "peak_memory_bytes", memory, a);
    return 0;
}

static bool is_of_one_run(const char *command, const char *folder)
{
    return strstr(command, "--node-of") || (folder && strstr(command, folder));
}

struct wl_strs wl_analysis_command(const char *path, const char *run, struct wl_arena *a)
{
    struct wl_store *store;
    struct wl_strs words = { 0 };
    const char *command, *folder;
    int64_t id;
    struct wl_err e;
    if (!run || wl_str_to_int(run, &id) || open_store(path, &store, a, &e)) return words;
    const int rc = wl_store_run_command(store, id, &command, &folder, a, &e);
    wl_store_close(store);
    if (rc || !command || is_of_one_run(command, folder)) return words;
    /* the store may be somebody else's: words are split, and quoted again where they are printed */
    if (wl_shell_split(command, &words, a, &e)) words.n = 0;
    if (words.n > 1 && wl_str_eq(words.v[0], "wattlaw") && wl_str_eq(words.v[1], "import"))
        words.n = 0; /* not the job's */
    return words;
}

struct wl_json *wl_analysis_json(const char *path, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_str(root, "wattlaw", WL_VERSION);
    wl_json_add_str(root, "source", path);
    return root;
}
