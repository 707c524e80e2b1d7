/* Plays a recording: a CSV with the columns t_s, device, quantity, value. t_s = 0 is the start of the sampler; values
 * are interpolated between rows; before a series starts there is nothing to record, after its end every reading fails.
 * All channels are marked simulated. device is gpu0, module0, package-0, dram-0, psys or node, which sets the scope;
 * quantity is a name of wl_quantity_name. An empty value is a failed reading. */
#include "power/sensor.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* The rows of one device and quantity, in order of time. */
struct track {
    double *t_s, *value;
    size_t n, cap_t, cap_v;
    size_t at; /* the row at or before the present */
};

struct replay {
    int64_t start_ns;
    struct track *tracks; /* [channel] */
    size_t n, cap;
};

struct row {
    double t_s, value;
    const char *device;
    enum wl_scope scope;
    enum wl_quantity quantity;
};

/* "gpu0" -> gpu. The name of a scope, followed by nothing, digits or "-" and anything. */
static bool scope_of(const char *device, enum wl_scope *scope)
{
    for (int i = 0; i < WL_SCOPES; i++) {
        const char *name = wl_scope_name(i);
        if (i == WL_SCOPE_JOB || !wl_str_starts(device, name)) continue;
        char next = device[strlen(name)];
        if (next != '\0' && next != '-' && !isdigit((unsigned char)next)) continue;
        *scope = i;
        return true;
    }
    return false;
}

static int parse_row(const struct wl_csv *csv, const int *column, struct row *row, struct wl_err *e)
{
    int code = wl_csv_real(csv, column[0], &row->t_s, e);
    if (code == 0) code = wl_csv_real(csv, column[3], &row->value, e);
    if (code < 0) return code;
    if (!isfinite(row->t_s)) return wl_fail(e, WL_EINVAL, "%s:%d: t_s is empty", csv->path, csv->line);
    row->device = csv->row[column[1]];
    if (!scope_of(row->device, &row->scope)) {
        return wl_fail(e, WL_EINVAL, "%s:%d: device '%s' is not gpuN, moduleN, package-N, dram-N, psys or node",
                       csv->path, csv->line, row->device);
    }
    const char *name = csv->row[column[2]];
    int quantity = wl_quantity_from(name);
    if (quantity < 0) {
        const char *names[WL_QUANTITIES];
        for (int i = 0; i < WL_QUANTITIES; i++) names[i] = wl_quantity_name(i);
        const char *near = wl_str_closest(name, names, WL_QUANTITIES);
        return wl_fail(e, WL_EINVAL, "%s:%d: unknown quantity '%s'%s%s%s", csv->path, csv->line, name,
                       near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
    }
    row->quantity = quantity;
    return 0;
}

static int device_of(struct wl_sensor *s, const char *name)
{
    for (size_t i = 0; i < s->n_devices; i++) {
        if (wl_str_eq(s->devices[i].name, name)) return (int)i;
    }
    const char *own = wl_strdup(s->arena, name);
    struct wl_device d = { .name = own, .uuid = wl_strf(s->arena, "replay:%s", own), .index = (int)s->n_devices };
    return wl_sensor_add_device(s, &d);
}

static struct track *track_of(struct wl_sensor *s, const struct row *row)
{
    struct replay *r = s->state;
    int device = device_of(s, row->device);
    for (size_t i = 0; i < s->n_channels; i++) {
        if (s->channels[i].device == device && s->channels[i].quantity == row->quantity) return &r->tracks[i];
    }
    bool power = row->quantity == WL_POWER || row->quantity == WL_POWER_AVERAGE;
    enum wl_power_variant variant = row->quantity == WL_POWER_AVERAGE ? WL_VARIANT_AVERAGE : WL_VARIANT_INSTANT;
    int channel = wl_sensor_add_channel(s, device, row->quantity, row->scope, power ? variant : WL_VARIANT_NONE);
    s->channels[channel].simulated = true;
    WL_GROW(s->arena, r->tracks, r->n, r->cap);
    r->tracks[r->n] = (struct track) { 0 };
    return &r->tracks[r->n++];
}

static int add_row(struct wl_sensor *s, const struct wl_csv *csv, const struct row *row, struct wl_err *e)
{
    struct track *t = track_of(s, row);
    if (t->n > 0 && row->t_s <= t->t_s[t->n - 1]) {
        return wl_fail(e, WL_EINVAL, "%s:%d: t_s %g of %s is not after %g in its previous row", csv->path, csv->line,
                       row->t_s, row->device, t->t_s[t->n - 1]);
    }
    WL_GROW(s->arena, t->t_s, t->n, t->cap_t);
    WL_GROW(s->arena, t->value, t->n, t->cap_v);
    t->t_s[t->n] = row->t_s;
    t->value[t->n++] = row->value;
    return 0;
}

static int load(struct wl_sensor *s, const char *path, struct wl_err *e)
{
    struct wl_csv csv;
    int code = wl_csv_open(&csv, path, ',', s->arena, e);
    if (code < 0) return code;
    static const char *const names[] = { "t_s", "device", "quantity", "value" };
    int column[WL_COUNT(names)];
    for (size_t i = 0; i < WL_COUNT(names); i++) {
        column[i] = wl_csv_column(&csv, names[i]);
        if (column[i] < 0) return wl_fail(e, WL_EINVAL, "%s: column '%s' is missing", path, names[i]);
    }
    while ((code = wl_csv_next(&csv, e)) > 0) {
        struct row row;
        code = parse_row(&csv, column, &row, e);
        if (code == 0) code = add_row(s, &csv, &row, e);
        if (code < 0) return code;
    }
    if (code < 0) return code;
    return s->n_channels > 0 ? 0 : wl_fail(e, WL_EINVAL, "%s: no rows after the header", path);
}

static int replay_open(struct wl_sensor *s, const struct wl_power_opts *o, struct wl_err *e)
{
    struct replay *r = wl_new(s->arena, struct replay);
    s->state = r;
    if (!o->replay_file) {
        s->fix = "name a recording: --replay-file FILE.csv";
        return wl_fail(e, WL_EUNAVAIL, "no recording was named");
    }
    int code = load(s, o->replay_file, e);
    if (code < 0) return code;
    r->start_ns = wl_now_ns();
    s->source = wl_strf(s->arena, "%s (simulated)", o->replay_file);
    return 0;
}

static void replay_start(struct wl_sensor *s, int64_t t_ns)
{
    struct replay *r = s->state;
    r->start_ns = t_ns;
    for (size_t i = 0; i < r->n; i++) r->tracks[i].at = 0;
}

static void play(struct track *t, double now_s, int64_t t0_ns, struct wl_reading *out)
{
    if (now_s < t->t_s[0]) return;
    while (t->at + 1 < t->n && t->t_s[t->at + 1] <= now_s) t->at++;
    size_t i = t->at;
    if (i + 1 == t->n && now_s > t->t_s[i]) {
        wl_reading_fail(out, "the recording has ended");
        return;
    }
    double value = t->value[i];
    if (i + 1 < t->n) value += (t->value[i + 1] - t->value[i]) * (now_s - t->t_s[i]) / (t->t_s[i + 1] - t->t_s[i]);
    if (isfinite(value))
        *out = (struct wl_reading) { .value = value, .t_ns = t0_ns };
    else
        wl_reading_fail(out, "the recording has no value here");
}

static void replay_read(struct wl_sensor *s, struct wl_due due, struct wl_reading *out)
{
    (void)due;
    struct replay *r = s->state;
    int64_t now_ns = wl_now_ns();
    double now_s = (double)(now_ns - r->start_ns) / WL_NS_PER_S;
    for (size_t i = 0; i < r->n; i++) play(&r->tracks[i], now_s, now_ns, &out[i]);
}

const struct wl_sensor_ops wl_sensor_replay = {
    .name = "replay",
    .help = "a recording of another machine, from a CSV; always marked simulated",
    .open = replay_open,
    .read = replay_read,
    .start = replay_start,
};
