/* Zeus: windows of its monitor (CSV) and the profiles of its power limit optimizer (JSON). Source:
 * github.com/ml-energy/zeus, zeus/monitor/energy.py and zeus/optimizer/power_limit.py. */
#include "exchange/import/formats.h"
#include "exchange/import/tables/csv.h"

#include <math.h>
#include <string.h>

#define CAP_WINDOW "__GlobalPowerLimitOptimizer_"
enum { GPUS = WL_TABLE_COLUMNS, LONGEST = 16 << 20 };

/* "V100+resnet50+gpu0,1.csv", as Zeus names its profiles: hardware and workload. */
static void name_from_file(struct wl_import *im, struct wl_table_row *row, struct wl_arena *a)
{
    const char *base = wl_path_base(im->in->path), *first = strchr(base, '+'),
               *second = first ? strchr(first + 1, '+') : NULL;
    if (!second || first == base || second == first + 1 || !wl_str_starts(second + 1, "gpu")) return;
    row->set.hardware = wl_strndup(a, base, (size_t)(first - base));
    row->set.workload = wl_strndup(a, first + 1, (size_t)(second - first - 1));
    wl_import_note(im, "hardware and workload are from the names of the files, HARDWARE+WORKLOAD+gpu0,1.csv");
}

/* ---- windows ---- */

/* "gpu3_energy": its GPU; false: another column. */
static bool gpu_of(const char *column, const char **uuid, struct wl_arena *a)
{
    uint64_t number;
    size_t n = strlen(column), suffix = strlen("_energy");
    if (!wl_str_starts(column, "gpu") || n <= 3 + suffix || !wl_str_eq(column + n - suffix, "_energy")) return false;
    if (!wl_slice_uint((struct wl_slice) { column + 3, n - 3 - suffix }, &number)) return false;
    *uuid = wl_strndup(a, column, n - suffix);
    return true;
}

static bool read_energies(const struct wl_table_csv *t, struct wl_table_row *row, struct wl_arena *a)
{
    struct wl_table_energy *v = wl_new_array(a, struct wl_table_energy, (size_t)t->n);
    size_t gpus = 0;
    for (int i = 0; i < t->n; i++) {
        struct wl_table_energy *x = &v[row->n_energies];
        const char *name = t->column[i], *other;
        *x = (struct wl_table_energy) { .energy_j = NAN, .power_w = NAN };
        if (gpu_of(name, &x->uuid, a)) {
            x->scope = "gpu";
            x->model = row->set.hardware;
            gpus++;
        } else if ((other = strstr(name, "_energy"))) { /* cpu0_energy, dram0_energy of newer versions */
            x->uuid = wl_strndup(a, name, (size_t)(other - name));
            x->scope = wl_str_starts(name, "dram") || strstr(name, "dram") ? "dram" : "package";
        } else {
            continue;
        }
        if (!wl_table_csv_real(t, name, &x->energy_j)) return false;
        if (x->energy_j < 0) {
            wl_import_reject(t->im, "%s: %g J is below 0", name, x->energy_j);
            return false;
        }
        x->power_w = x->energy_j / row->time_s;
        x->why = "the field is empty";
        row->n_energies++;
    }
    row->energies = v;
    if (gpus) row->set.workers = (double)gpus;
    return true;
}

/* start_time is of a clock that does not count from 1970 (time.monotonic or the like) unless it is recent. */
static int64_t start_of(const struct wl_table_csv *t)
{
    enum { FROM_S = 1000000000 }; /* 2001: no machine has been up for that long */
    double s;
    if (!wl_table_csv_real(t, "start_time", &s) || !(s > FROM_S) || s > 9e9) return WL_NO_NS;
    return llround(s * 1e6) * 1000;
}

static int read_window(const struct wl_table_csv *t, struct wl_arena *a, struct wl_err *e)
{
    struct wl_table_row row = wl_table_row_none;
    const char *name = wl_slice_text(wl_table_csv_field(t, "window_name"), a);
    double cap;
    if (!wl_table_csv_positive(t, "elapsed_time", &row.time_s)) return 0;
    name_from_file(t->im, &row, a);
    row.part = wl_strf(a, "window %lld, %.60s", (long long)t->rows, name);
    row.start_ns = start_of(t);
    if (wl_str_starts(name, CAP_WINDOW)) {
        if (wl_str_to_real(name + strlen(CAP_WINDOW), &cap) < 0 || !(cap > 0)) {
            wl_import_reject(t->im, "window_name: \"%.60s\" has no power limit in W after %s", name, CAP_WINDOW);
            return 0;
        }
        row.set.power_cap_w = cap;
        row.part = wl_strf(a, "window %lld, cap %g W", (long long)t->rows, cap);
    } else {
        row.set.extra = wl_settings_extra((struct wl_setting_pair[]) { { "window", name } }, 1, a);
    }
    if (!read_energies(t, &row, a)) return 0;
    return wl_table_add(t->im, &row, e);
}

static int read_windows(struct wl_import *im, struct wl_arena *a, struct wl_err *e)
{
    struct wl_table_csv *t = wl_new(a, struct wl_table_csv);
    int rc = wl_table_csv_open(t, im, ',', "window_name", a, e);
    if (rc == 0) rc = wl_table_csv_each(t, read_window, e);
    return rc;
}

/* ---- the profile of power limits ---- */

static int read_point(struct wl_import *im, const struct wl_json *point, size_t i, struct wl_arena *a, struct wl_err *e)
{
    struct wl_table_row row = wl_table_row_none;
    struct wl_table_energy energy = { .uuid = "gpus", .scope = "gpu" };
    name_from_file(im, &row, a);
    row.set.power_cap_w = wl_json_real(wl_json_get(point, "power_limit"));
    row.time_s = wl_json_real(wl_json_get(point, "time"));
    energy.energy_j = wl_json_real(wl_json_get(point, "energy"));
    energy.power_w = energy.energy_j / row.time_s;
    if (!(row.set.power_cap_w > 0) || !(row.time_s > 0) || !(energy.energy_j > 0)) {
        wl_import_reject(im, "measurement %zu: expected power_limit, time and energy above 0", i + 1);
        return 0;
    }
    row.part = wl_strf(a, "measurement %zu, cap %g W", i + 1, row.set.power_cap_w);
    row.energies = &energy;
    row.n_energies = 1;
    return wl_table_add(im, &row, e);
}

static int read_profile(struct wl_import *im, struct wl_arena *a, struct wl_err *e)
{
    struct wl_slice text;
    struct wl_json *root = NULL;
    int rc = wl_lines_rest(im->in, LONGEST, &text, a, e);
    if (rc == 0) rc = wl_json_parse(text.s, im->in->path, &root, a, e);
    if (rc < 0) return rc;
    const struct wl_json *v = wl_json_get(root, "measurements");
    if (wl_json_size(v) == 0 || wl_json_is_object(v))
        return wl_fail(e, WL_EINVAL, "%s: no array \"measurements\" with elements: no measurements", im->in->path);
    wl_import_note(
        im, "the energy of all GPUs together, whose number the file does not say: --workers gives it; each power limit "
            "was measured once, so that nothing is known of the spread");
    for (size_t i = 0; i < wl_json_size(v) && rc == 0; i++) rc = read_point(im, wl_json_at(v, i), i, a, e);
    return rc;
}

/* ---- the format ---- */

static bool is_profile(const struct wl_import_head *h)
{
    return h->text[strspn(h->text, " \t\r\n")] == '{' && wl_import_head_has(h, "\"measurements\"") &&
           wl_import_head_has(h, "\"power_limit\"");
}

static const char *const columns[] = { "start_time", "window_name", "elapsed_time", NULL };

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    return is_profile(h) || wl_table_csv_recognise(h, ',', columns, a);
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct wl_slice head;
    int rc = wl_lines_peek(im->in, 64, &head, e);
    wl_import_set_tool(im, "Zeus");
    while (head.n && strchr(" \t\r\n", head.s[0])) head.s++, head.n--;
    if (rc == 0) rc = head.n && head.s[0] == '{' ? read_profile(im, a, e) : read_windows(im, a, e);
    wl_arena_free(a);
    return rc;
}

const struct wl_import_format wl_import_zeus = {
    .name = "zeus",
    .title = "Zeus, windows or power limit profile",
    .looks_for = "a header with window_name and elapsed_time, or JSON with measurements of power_limit",
    .kind = WL_IMPORT_TABLE,
    .columns = columns,
    .recognise = recognise,
    .read = read_file,
};
