/* The calibration file: an INI file with a section per sensor, device and driver. docs/formats.md has the keys. */
#include "power/calibration/file.h"

#include <math.h>

/* A section, for the option rows. */
struct entry {
    struct wl_calibration c;
    const char *quantity, *variant;
    int64_t updates;
};

#define TEXT(key, field)                                                     \
    {                                                                        \
        .name = key, .type = WL_STR, .offset = offsetof(struct entry, field) \
    }
#define SECONDS(key, field)                                                                                      \
    {                                                                                                            \
        .name = key, .type = WL_REAL, .offset = offsetof(struct entry, field), .min = 0, .max = 1e3, .unit = "s" \
    }
#define WATTS(key, field)                                                                                           \
    {                                                                                                               \
        .name = key, .type = WL_REAL, .offset = offsetof(struct entry, field), .min = -1e6, .max = 1e6, .unit = "W" \
    }

static const struct wl_opt rows[] = {
    TEXT("device", c.uuid),
    TEXT("name", c.name),
    TEXT("driver", c.driver),
    TEXT("quantity", quantity),
    TEXT("variant", variant),
    TEXT("date", c.date),
    SECONDS("update-s", c.update_s.value),
    SECONDS("update-se-s", c.update_s.se),
    SECONDS("window-s", c.window_s.value),
    SECONDS("window-se-s", c.window_s.se),
    SECONDS("lag-s", c.lag_s.value),
    SECONDS("lag-se-s", c.lag_s.se),
    SECONDS("rise-s", c.rise_s.value),
    SECONDS("rise-se-s", c.rise_s.se),
    WATTS("off-w", c.off_w),
    WATTS("on-w", c.on_w),
    WATTS("residual-w", c.residual_w),
    { .name = "updates", .type = WL_INT, .offset = offsetof(struct entry, updates), .min = 0, .max = WL_NO_MAX },
    { .name = "simulated", .type = WL_FLAG, .offset = offsetof(struct entry, c.simulated) },
    WL_OPT_END,
};

double wl_calibration_duty_cycle(const struct wl_calibration *c)
{
    return fmin(1, c->window_s.value / c->update_s.value);
}

char *wl_calibration_path(const struct wl_power_opts *opts, struct wl_arena *a)
{
    return opts->calibration ? wl_strdup(a, opts->calibration)
                             : wl_path_join(a, wl_state_dir(NULL, a), "calibration.ini");
}

static bool same_sensor(const struct wl_calibration *a, const struct wl_calibration *b)
{
    return wl_str_eq(a->uuid, b->uuid) && wl_str_eq(a->driver, b->driver) && a->quantity == b->quantity &&
           a->variant == b->variant;
}

/* ---- Reading ---- */

/* Checks the required keys. */
static int complete(struct entry *en, const char *where, struct wl_err *e)
{
    struct wl_calibration *c = &en->c;
    int quantity = en->quantity ? wl_quantity_from(en->quantity) : -1;
    int variant = en->variant ? wl_variant_from(en->variant) : -1;
    if (!c->uuid || !c->driver) return wl_fail(e, WL_EINVAL, "%s: a calibration needs device and driver", where);
    if (quantity != WL_POWER && quantity != WL_POWER_AVERAGE)
        return wl_fail(e, WL_EINVAL, "%s: quantity is %s, not power_w or power_average_w", where,
                       en->quantity ? en->quantity : "missing");
    if (variant < 0)
        return wl_fail(e, WL_EINVAL, "%s: variant is %s, not instant, average or driver", where,
                       en->variant ? en->variant : "missing");
    if (!(c->update_s.value > 0) || !(c->window_s.value > 0) || isnan(c->lag_s.value))
        return wl_fail(e, WL_EINVAL, "%s: a calibration needs update_s and window_s above 0, and lag_s", where);
    c->quantity = (enum wl_quantity)quantity;
    c->variant = (enum wl_power_variant)variant;
    c->updates = (size_t)en->updates;
    return 0;
}

int wl_calibrations_read(const char *path, struct wl_calibrations *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_ini ini;
    *out = (struct wl_calibrations) { 0 };
    if (!wl_is_file(path)) return 0;
    int rc = wl_ini_read(path, &ini, a, e);
    for (size_t i = 0; i < ini.n && rc == 0; i++) {
        struct entry en;
        wl_opts_default(rows, &en, a);
        rc = wl_ini_apply(&ini, ini.v[i].name, rows, &en, a, e);
        if (rc == 0) rc = complete(&en, wl_strf(a, "%s:%d", path, ini.v[i].line), e);
        if (rc < 0) break;
        WL_GROW(a, out->v, out->n, out->cap);
        out->v[out->n++] = en.c;
    }
    return rc;
}

const struct wl_calibration *wl_calibration_find(const struct wl_calibrations *all, const char *uuid,
                                                 const char *driver, enum wl_quantity q, enum wl_power_variant v)
{
    const struct wl_calibration wanted = { .uuid = uuid, .driver = driver, .quantity = q, .variant = v };
    for (size_t i = 0; i < all->n; i++)
        if (same_sensor(&all->v[i], &wanted)) return &all->v[i];
    return NULL;
}

/* ---- Writing ---- */

static void add_section(struct wl_text *to, const struct wl_calibration *c)
{
    struct entry en = { .c = *c,
                        .quantity = wl_quantity_name(c->quantity),
                        .variant = wl_variant_name(c->variant),
                        .updates = (int64_t)c->updates };
    wl_text_addf(to, "\n[%s %s %s driver %s]\n", c->uuid, en.quantity, en.variant, c->driver);
    wl_opts_ini(rows, &en, to);
}

int wl_calibrations_merge(const char *path, const struct wl_calibrations *fresh, struct wl_arena *a, struct wl_err *e)
{
    struct wl_calibrations all;
    struct wl_text text = WL_TEXT(a);
    int rc = wl_calibrations_read(path, &all, a, e);
    wl_text_add(&text, "# Response of GPU power sensors: written by wattlaw doctor --calibrate.\n");
    for (size_t i = 0; i < all.n && rc == 0; i++) {
        const struct wl_calibration *old = &all.v[i];
        if (!wl_calibration_find(fresh, old->uuid, old->driver, old->quantity, old->variant)) add_section(&text, old);
    }
    for (size_t i = 0; i < fresh->n && rc == 0; i++) add_section(&text, &fresh->v[i]);
    if (rc == 0) rc = wl_mkdirs(wl_path_dir(a, path), e);
    return rc ? rc : wl_file_write(path, text.s, text.n, e);
}
