/* nvtop's snapshots (nvtop -s, and -l in a loop): arrays of one object per GPU, of which the numbers are texts with
 * units; without times. Source: github.com/Syllo/nvtop, src/interface.c; version 3.3.0 left out commas. */
#include "exchange/import/formats.h"
#include "exchange/import/reader.h"

#include <math.h>
#include <string.h>

enum { LONGEST = 1 << 20 }; /* of a snapshot, bytes */

static const struct member {
    const char *name;
    struct wl_import_quantity of;
} members[] = {
    { "power_draw", { "power_w", "W", "gpu", "driver" } },  { "gpu_clock", { "sm_clock_mhz", "MHz", "gpu", "" } },
    { "mem_clock", { "mem_clock_mhz", "MHz", "gpu", "" } }, { "temp", { "temperature_c", "°C", "gpu", "" } },
    { "gpu_util", { "sm_util_pct", "%", "gpu", "" } },      { "mem_used", { "mem_used_bytes", "B", "gpu", "" } },
};

struct reader {
    struct wl_import *im;
    struct wl_import_ticks ticks;
    struct wl_arena *a; /* of a snapshot */
};

static int read_member(struct reader *r, const struct wl_json *gpu, const struct member *m, int device, int64_t t_ns,
                       struct wl_err *e)
{
    const struct wl_json *member = wl_json_get(gpu, m->name);
    const char *text = wl_json_str(member);
    struct wl_slice unit;
    double v = wl_json_real(member), scale = 1;
    if (!member) return 0;
    int channel = wl_series_channel(r->im, device, &m->of);
    if (text && wl_slice_real_then(wl_slice_trim(wl_slice_of(text)), &v, &unit))
        scale = wl_import_unit(unit, m->of.unit);
    if (text && isnan(v) && !wl_import_no_value(wl_slice_of(text)))
        wl_import_reject(r->im, "%s: \"%.60s\" is not a value in %s", m->name, text, m->of.unit);
    if (isnan(v)) return wl_series_missing(r->im, channel, t_ns, "null", e);
    if (!isnan(scale)) return wl_series_add(r->im, channel, t_ns, v * scale, e);
    wl_import_reject(r->im, "%s: \"%.60s\" is not a value in %s", m->name, text, m->of.unit);
    return 0;
}

static int read_snapshot(struct reader *r, const char *text, struct wl_err *e)
{
    struct wl_json *root;
    struct wl_err why = { 0 };
    int64_t t_ns;
    if (wl_json_parse(text, "snapshot", &root, r->a, &why) < 0) {
        wl_import_reject(r->im, "the snapshot that ends here is not JSON (nvtop 3.3.0 writes none): %.200s", why.msg);
        return 0;
    }
    int rc = wl_import_tick(r->im, &r->ticks, true, &t_ns, e);
    for (size_t i = 0; i < wl_json_size(root) && rc == 0; i++) {
        const struct wl_json *gpu = wl_json_at(root, i);
        char uuid[32], number[24];
        snprintf(number, sizeof number, "%zu", i);
        snprintf(uuid, sizeof uuid, "gpu%zu", i);
        const struct wl_import_device d = { .uuid = uuid,
                                            .number = number,
                                            .model = wl_json_str(wl_json_get(gpu, "device_name")) };
        int device = wl_series_device(r->im, &d);
        for (size_t k = 0; k < WL_COUNT(members) && rc == 0; k++)
            rc = read_member(r, gpu, &members[k], device, t_ns, e);
    }
    return rc;
}

/* Where a text is in JSON: how many brackets are open, and whether a string is. */
struct nesting {
    int depth;
    bool in_string, escaped;
};

static void follow(struct nesting *n, char c)
{
    if (n->escaped) {
        n->escaped = false;
    } else if (n->in_string) {
        n->escaped = c == '\\';
        n->in_string = c != '"';
    } else {
        n->in_string = c == '"';
        n->depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    }
}

/* Adds a line to a snapshot, and reads it where it is complete. */
static int read_part(struct reader *r, struct wl_text *snapshot, struct nesting *n, struct wl_slice line,
                     struct wl_err *e)
{
    for (size_t i = 0, from = 0; i < line.n; i++) {
        const int before = n->depth;
        follow(n, line.s[i]);
        if (before == 0 && n->depth == 0) from = i + 1; /* between two snapshots */
        const bool ends = before > 0 && n->depth <= 0;
        if (!ends && i + 1 < line.n) continue;
        wl_text_addn(snapshot, line.s + from, i + 1 - from);
        from = i + 1;
        if (!ends) break;
        n->depth = 0;
        int rc = read_snapshot(r, snapshot->s, e);
        wl_arena_free(r->a);
        r->a = wl_arena_new(r->im->a);
        *snapshot = WL_TEXT(r->a);
        if (rc < 0) return rc;
    }
    wl_text_add(snapshot, "\n");
    return 0;
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct reader r = { .im = im, .a = wl_arena_new(im->a) };
    struct wl_text snapshot = WL_TEXT(r.a);
    struct nesting n = { 0 };
    struct wl_slice line;
    int rc;
    wl_import_set_tool(im, "nvtop");
    while ((rc = wl_lines_next(im->in, &line, e)) > 0) {
        if (im->in->nul) {
            wl_import_reject(im, "a NUL byte: not text");
            continue;
        }
        if ((rc = read_part(&r, &snapshot, &n, line, e)) < 0) break;
        if (snapshot.n <= LONGEST) continue;
        rc = wl_fail(e, WL_EINVAL, "%s:%lld: a snapshot is longer than %d bytes", im->in->path, (long long)im->in->line,
                     LONGEST);
        break;
    }
    if (rc == 0 && n.depth > 0) wl_import_reject(im, "the last snapshot is cut");
    wl_arena_free(r.a);
    return rc;
}

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    (void)a;
    return h->text[0] == '[' && wl_import_head_has(h, "\"device_name\"") && wl_import_head_has(h, "\"power_draw\"");
}

const struct wl_import_format wl_import_nvtop = {
    .name = "nvtop",
    .title = "nvtop",
    .looks_for = "JSON with device_name and power_draw",
    .kind = WL_IMPORT_SERIES,
    .recognise = recognise,
    .read = read_file,
};
