/* Any bytes as a file of each format that is imported: read or refused with a message, and never two formats without
 * one. The dry run reads all that a stored one does; a store of its own would make a mutation cost ten times as much.
 */
#include "fuzz.h"

#include "exchange/exchange.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check(const struct wl_import *im)
{
    for (size_t i = 0; i < im->n_runs; i++) {
        const struct wl_import_run *run = &im->runs[i];
        WL_CHECK(!run->is_row || (run->from_ns >= 0 && run->to_ns > run->from_ns && run->label));
        WL_CHECK(!run->is_row || isnan(run->energy_j) || (run->energy_j >= 0 && run->energy_j < 1e300));
        for (size_t c = 0; c < run->n_channels; c++) {
            const struct wl_import_channel *v = &run->channels[c];
            WL_CHECK(v->device < run->devices && v->missing <= v->readings);
            WL_CHECK(v->readings == 0 || v->first_ns <= v->last_ns);
            WL_CHECK(isnan(v->mean) || fabs(v->mean) < 1e300);
        }
    }
    WL_CHECK(im->report.n_rejected >= im->report.rejected.n);
}

static void import_as(const char *path, const char *as, bool options)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_strs columns = { 0 }, map = { 0 }, paths = { 0 };
    struct wl_settings set = wl_settings_none;
    struct wl_import im;
    struct wl_err e = { 0 };
    struct wl_import_opts opts = { .as = as,
                                   .timezone = options ? "Europe/Berlin" : NULL,
                                   .dates = options ? "mdy" : NULL,
                                   .columns = &columns,
                                   .map = &map,
                                   .set = &set,
                                   .from_ns = WL_NO_NS,
                                   .to_ns = WL_NO_NS,
                                   .start_ns = options ? 1700000000 * WL_NS_PER_S : WL_NO_NS,
                                   .period_ns = options ? WL_NS_PER_S : WL_NO_NS };
    if (options) wl_strs_add(a, &columns, "index");
    if (options) wl_strs_add(a, &columns, "timestamp");
    if (options) wl_strs_add(a, &columns, "power.draw");
    if (options && wl_str_eq(as, "table")) wl_strs_add(a, &map, "energy_j=used [kWh]:kWh");
    if (options && wl_str_eq(as, "table")) wl_strs_add(a, &map, "workers=cards");
    wl_strs_add(a, &paths, path);
    int rc = wl_import_files(&paths, &opts, NULL, &im, a, &e);
    WL_CHECK(rc == 0 ? im.n_runs > 0 : e.code == rc && e.msg[0]);
    if (rc == 0) check(&im);
    wl_arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char path[64];
    int fd = memfd_create("import", 0);
    WL_CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    import_as(path, NULL, n % 2);
    size_t formats = 0;
    while (wl_import_formats[formats]) formats++;
    import_as(path, wl_import_formats[n % formats]->name, n / 2 % 2); /* a file of another format, most times */
    close(fd);
    return 0;
}
