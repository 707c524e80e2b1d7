/* wattlaw doctor --calibrate: update period, averaging window and delay of the GPUs' power sensors. */
#include "cmd/wattlaw/doctor/doctor.h"

#include "cmd/wattlaw/format.h"

#include <signal.h>
#include <string.h>

static const char unsupported[] =
    "only NVIDIA GPUs can be calibrated: wattlaw has no load program for AMD and Intel GPUs";

/* ---- Ctrl-C ---- */

static volatile sig_atomic_t asked; /* the only type that a signal handler may set */

static void on_signal(int number) { asked = number; }

static bool is_asked_to_stop(void) { return asked != 0; }

/* Without SA_RESTART, so that waiting ends. A second signal kills. */
static void catch_signals(void)
{
    struct sigaction act;
    memset(&act, 0, sizeof act);
    act.sa_handler = on_signal;
    act.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
}

/* ---- Which GPUs ---- */

static bool is_named(const struct wl_device *d, const char *name)
{
    int64_t index;
    if (wl_str_to_int(name, &index) == 0) return index == d->index;
    return wl_str_starts(d->uuid, name) || wl_str_eq(d->bus_id, name);
}

static int refuse_name(const struct wl_gpus *g, const char *name, struct wl_arena *a, struct wl_err *e)
{
    struct wl_text list = WL_TEXT(a);
    for (size_t i = 0; i < g->n; i++)
        wl_text_addf(&list, "%s%d (%s, %s)", i ? ", " : "", g->devices[i].index, g->devices[i].uuid,
                     g->devices[i].name);
    return wl_fail(e, WL_EUSAGE, "--calibrate: no NVIDIA GPU %s; found %s; %s", name, list.s, unsupported);
}

/* ---- The run ---- */

static void show_progress(void *data, double done, double total, const char *note)
{
    wl_progress_update(data, done, total, -1, note);
}

static int calibrate_one(const struct wl_gpus *g, size_t i, const struct wl_doctor_calibration *o,
                         struct wl_calibrations *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_progress bar;
    struct wl_calibrate_options how = { .cuda_library = o->cuda_library,
                                        .force = o->force,
                                        .stop = is_asked_to_stop,
                                        .progress = show_progress,
                                        .data = &bar };
    wl_progress_start(&bar, wl_strf(a, "calibrating %d: %s", g->devices[i].index, g->devices[i].name));
    int rc = wl_calibrate(g, i, &how, out, a, e);
    wl_progress_clear(&bar);
    return rc;
}

/* The result of each GPU is saved before the next one starts. */
static int calibrate_all(const struct wl_gpus *g, const char *name, const char *path,
                         const struct wl_doctor_calibration *o, struct wl_calibrations *out, struct wl_arena *a,
                         struct wl_err *e)
{
    bool any = false;
    int rc = 0;
    for (size_t i = 0; i < g->n && rc == 0; i++) {
        if (name && !is_named(&g->devices[i], name)) continue;
        any = true;
        rc = calibrate_one(g, i, o, out, a, e);
        if (rc == 0) rc = wl_calibrations_merge(path, out, a, e);
    }
    return any ? rc : refuse_name(g, name, a, e);
}

/* ---- Output ---- */

static void cell_of(struct wl_table *t, const struct wl_fitted *f)
{
    const double Z = 1.96; /* 95 % */
    double half_ms = 1e3 * Z * f->se;
    int decimals = wl_format_decimals(half_ms);
    wl_table_cellf(t, "%.*f +- %.*f", decimals, 1e3 * f->value, decimals, half_ms);
}

static void print_all(const struct wl_calibrations *all, const char *path, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    static const char *const heads[] = { "device", "name", "quantity", "kind" };
    static const char *const numbers[] = { "update period, ms", "window, ms", "lag, ms", "duty cycle %",
                                           "rise, ms",          "idle W",     "load W",  "residual W" };
    for (size_t i = 0; i < WL_COUNT(heads); i++) wl_table_column(&t, heads[i], false);
    for (size_t i = 0; i < WL_COUNT(numbers); i++) wl_table_column(&t, numbers[i], true);
    wl_table_column(&t, "note", false);
    for (size_t i = 0; i < all->n; i++) {
        const struct wl_calibration *c = &all->v[i];
        wl_table_cellf(&t, "%.12s", c->uuid);
        wl_table_cell(&t, c->name);
        wl_table_cell(&t, wl_quantity_name(c->quantity));
        wl_table_cell(&t, wl_variant_name(c->variant));
        cell_of(&t, &c->update_s);
        cell_of(&t, &c->window_s);
        cell_of(&t, &c->lag_s);
        wl_table_real(&t, 100 * wl_calibration_duty_cycle(c), 3);
        cell_of(&t, &c->rise_s);
        wl_table_real(&t, c->off_w, 4);
        wl_table_real(&t, c->on_w, 4);
        wl_table_real(&t, c->residual_w, 2);
        wl_table_cell(&t, c->simulated ? "simulated" : "");
        wl_table_row(&t);
    }
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
    for (size_t i = 0; i < all->notes.n; i++) wl_print("note: %s\n", all->notes.v[i]);
    wl_print("saved in %s for %s\n", path, all->n ? wl_strf(a, "driver %s", all->v[0].driver) : "no driver");
}

static void add_fitted(struct wl_json *o, const char *key, const char *se_key, const struct wl_fitted *f)
{
    wl_json_add_real(o, key, f->value);
    wl_json_add_real(o, se_key, f->se);
}

static void print_json(const struct wl_calibrations *all, const char *path, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_str(root, "version", WL_VERSION);
    wl_json_add_str(root, "file", path);
    struct wl_json *list = wl_json_add_array(root, "calibrations");
    for (size_t i = 0; i < all->n; i++) {
        const struct wl_calibration *c = &all->v[i];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "device", c->uuid);
        wl_json_add_str(o, "name", c->name);
        wl_json_add_str(o, "driver", c->driver);
        wl_json_add_str(o, "quantity", wl_quantity_name(c->quantity));
        wl_json_add_str(o, "variant", wl_variant_name(c->variant));
        wl_json_add_str(o, "date", c->date);
        add_fitted(o, "update_s", "update_se_s", &c->update_s);
        add_fitted(o, "window_s", "window_se_s", &c->window_s);
        add_fitted(o, "lag_s", "lag_se_s", &c->lag_s);
        add_fitted(o, "rise_s", "rise_se_s", &c->rise_s);
        wl_json_add_real(o, "seen", wl_calibration_duty_cycle(c));
        wl_json_add_real(o, "off_w", c->off_w);
        wl_json_add_real(o, "on_w", c->on_w);
        wl_json_add_real(o, "residual_w", c->residual_w);
        wl_json_add_int(o, "updates", (int64_t)c->updates);
        wl_json_add_bool(o, "simulated", c->simulated);
    }
    struct wl_json *notes = wl_json_add_array(root, "notes");
    for (size_t i = 0; i < all->notes.n; i++) wl_json_add_str(notes, NULL, all->notes.v[i]);
    wl_json_print(root);
}

int wl_doctor_calibrate(const struct wl_doctor_calibration *o, const struct wl_power_opts *power, const char *device,
                        bool json, struct wl_arena *a, struct wl_err *e)
{
    struct wl_calibrations found = { 0 };
    struct wl_gpus *gpus;
    const char *fix = NULL, *path = wl_calibration_path(power, a);
    int rc = wl_gpus_open(&gpus, power, false, a, &fix, e);
    if (rc < 0 && fix) wl_err_prefix(e, "%s (fix: %s)", unsupported, fix);
    if (rc < 0) return fix ? rc : wl_err_prefix(e, "%s", unsupported);
    catch_signals();
    rc = calibrate_all(gpus, device, path, o, &found, a, e);
    if (rc < 0) return rc;
    if (json)
        print_json(&found, path, a);
    else
        print_all(&found, path, a);
    return 0;
}
