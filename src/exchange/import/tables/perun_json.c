/* perun export ... json: a tree of an application, its runs, and the rounds of each, which have totals of all devices
 * of a kind. Values times their magnitude are in the unit. Source: github.com/Helmholtz-AI-Energy/perun, data_model. */
#include "exchange/import/formats.h"
#include "exchange/import/import.h"

#include <math.h>
#include <string.h>

enum { MAX_BYTES = 1 << 28, DEEPEST = 8, ROUND = 3 }; /* `type` of a node of the tree */

/* Of a metric of a round: NAN where it has none. */
static double metric_of(const struct wl_json *metrics, const char *name, const char *unit)
{
    const struct wl_json *m = wl_json_get(metrics, name), *about = wl_json_get(m, "metric_md");
    const double mag = wl_json_real(wl_json_get(about, "mag"));
    if (!wl_str_eq(wl_json_str(wl_json_get(about, "unit")), unit)) return NAN;
    return wl_json_real(wl_json_get(m, "value")) * (isnan(mag) ? 1 : mag);
}

static int read_round(struct wl_import *im, const struct wl_json *node, const char *run, struct wl_err *e)
{
    static const struct {
        const char *energy, *power, *uuid, *scope;
    } kinds[] = { { "gpu_energy", "gpu_power", "gpus", "gpu" },
                  { "cpu_energy", "cpu_power", "cpus", "package" },
                  { "dram_energy", "dram_power", "dram", "dram" } };
    const struct wl_json *metrics = wl_json_get(node, "metrics"), *about = wl_json_get(node, "metadata");
    const char *id = wl_json_str(wl_json_get(node, "id")), *version = wl_json_str(wl_json_get(about, "perun_version"));
    struct wl_table_energy energies[WL_COUNT(kinds)];
    struct wl_table_row row = wl_table_row_none;
    for (size_t i = 0; i < WL_COUNT(kinds); i++) {
        struct wl_table_energy v = { .uuid = kinds[i].uuid, .scope = kinds[i].scope, .integral = true };
        v.energy_j = metric_of(metrics, kinds[i].energy, "J");
        v.power_w = metric_of(metrics, kinds[i].power, "W");
        v.part = row.n_energies && i > 0 && wl_str_eq(energies[0].scope, "gpu"); /* as in runs that wattlaw measures */
        if (v.energy_j >= 0) energies[row.n_energies++] = v;                     /* -1: perun had none */
    }
    if (version) wl_import_set_tool(im, wl_strf(im->a, "perun %s", version));
    row.part = wl_strf(im->a, "%s, round %s", run ? run : "run", id ? id : "?");
    row.host = wl_json_str(wl_json_get(about, "hostname"));
    row.time_s = metric_of(metrics, "runtime", "s");
    row.energies = energies;
    if (!(row.time_s > 0)) {
        wl_import_reject(im, "%s has no runtime in s", row.part);
        return 0;
    }
    return wl_table_add(im, &row, e);
}

/* The rounds below a node. `nodes` is a list of objects whose members are nodes. */
static int read_node(struct wl_import *im, const struct wl_json *node, const char *parent, int depth, struct wl_err *e)
{
    const struct wl_json *lists = wl_json_get(node, "nodes");
    const char *id = wl_json_str(wl_json_get(node, "id"));
    if (wl_json_int(wl_json_get(node, "type"), 0) == ROUND) return read_round(im, node, parent, e);
    int rc = 0;
    for (size_t i = 0; i < wl_json_size(lists) && depth < DEEPEST; i++) {
        const struct wl_json *list = wl_json_at(lists, i);
        if (!wl_json_is_object(list)) continue;
        for (const char *key = wl_json_key(list, NULL); key && rc == 0; key = wl_json_key(list, key))
            rc = read_node(im, wl_json_get(list, key), id, depth + 1, e);
    }
    return rc;
}

/* 2^64 - 1, which perun writes for "none" of unsigned metrics and for their limit, is more than the parser's integers
 * hold: it becomes a real of the same length. */
static void replace_long_integers(char *text)
{
    static const char real[] = "1e19";
    enum { DIGITS = 19 }; /* that always fit: 18 */
    bool in_string = false;
    for (char *p = text; *p; p++) {
        if (in_string && *p == '\\' && p[1]) p++;
        if (*p == '"') in_string = !in_string;
        size_t n = in_string ? 0 : strspn(p, "0123456789");
        if (n == 0) continue;
        if (n >= DIGITS && p[n] != '.' && (p == text || p[-1] != '.')) {
            memset(p, ' ', n);
            memcpy(p, real, strlen(real));
        }
        p += n - 1;
    }
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct wl_slice text;
    struct wl_json *root;
    int rc = wl_lines_rest(im->in, MAX_BYTES, &text, a, e);
    if (rc == 0 && strlen(text.s) < text.n) rc = wl_fail(e, WL_EINVAL, "%s: a NUL byte: not JSON", im->in->path);
    char *copy = rc == 0 ? wl_strndup(a, text.s, text.n) : NULL;
    if (copy) replace_long_integers(copy);
    if (rc == 0) rc = wl_json_parse(copy, im->in->path, &root, a, e);
    if (rc == 0) rc = read_node(im, root, NULL, 0, e);
    wl_arena_free(a);
    return rc;
}

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    (void)a;
    return h->text[strspn(h->text, " \t\r\n")] == '{' && wl_import_head_has(h, "\"metric_md\"") &&
           wl_import_head_has(h, "\"nodes\"");
}

const struct wl_import_format wl_import_perun_json = {
    .name = "perun-json",
    .title = "perun",
    .looks_for = "JSON with metric_md and nodes",
    .kind = WL_IMPORT_TABLE,
    .recognise = recognise,
    .read = read_file,
};
