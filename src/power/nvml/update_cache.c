#include "power/nvml/update_cache.h"

#include <math.h>

#define TEXT(key, field)                                                                \
    {                                                                                   \
        .name = key, .type = WL_STR, .offset = offsetof(struct wl_update_period, field) \
    }
#define SECONDS(key, field)                                                                                      \
    {                                                                                                            \
        .name = key, .type = WL_REAL, .offset = offsetof(struct wl_update_period, field), .min = 1e-4, .max = 1, \
        .unit = "s"                                                                                              \
    }

static const struct wl_opt rows[] = {
    TEXT("device", uuid),
    TEXT("name", name),
    TEXT("driver", driver),
    TEXT("date", date),
    SECONDS("power-s", power_s),
    SECONDS("energy-s", energy_s),
    { .name = "simulated", .type = WL_FLAG, .offset = offsetof(struct wl_update_period, simulated) },
    WL_OPT_END,
};

char *wl_update_cache_path(struct wl_arena *a) { return wl_path_join(a, wl_state_dir(NULL, a), "updates.ini"); }

static bool is_complete(const struct wl_update_period *u)
{
    return u->uuid && u->name && u->driver && u->date && u->power_s > 0 && u->energy_s > 0;
}

int wl_update_cache_read(const char *path, struct wl_update_cache *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_ini ini;
    *out = (struct wl_update_cache) { 0 };
    if (!wl_is_file(path)) return 0;
    int rc = wl_ini_read(path, &ini, a, e);
    for (size_t i = 0; i < ini.n && rc == 0; i++) {
        struct wl_update_period u;
        wl_opts_default(rows, &u, a);
        rc = wl_ini_apply(&ini, ini.v[i].name, rows, &u, a, e);
        if (rc == 0 && !is_complete(&u))
            rc = wl_fail(e, WL_EINVAL, "%s:%d: device, name, driver, date, power_s and energy_s are needed", path,
                         ini.v[i].line);
        if (rc < 0) break;
        WL_GROW(a, out->v, out->n, out->cap);
        out->v[out->n++] = u;
    }
    return rc;
}

static const struct wl_update_period *of_device(const struct wl_update_cache *all, const char *uuid)
{
    for (size_t i = 0; i < all->n; i++)
        if (wl_str_eq(all->v[i].uuid, uuid)) return &all->v[i];
    return NULL;
}

const struct wl_update_period *wl_update_cache_find(const struct wl_update_cache *all,
                                                    const struct wl_update_period *of)
{
    const struct wl_update_period *u = of_device(all, of->uuid);
    bool same = u && wl_str_eq(u->name, of->name) && wl_str_eq(u->driver, of->driver) && u->simulated == of->simulated;
    return same ? u : NULL;
}

static void add_section(struct wl_text *to, const struct wl_update_period *u)
{
    if (!is_complete(u)) return;
    wl_text_addf(to, "\n[%s]\n", u->uuid);
    wl_opts_ini(rows, u, to);
}

int wl_update_cache_merge(const char *path, const struct wl_update_cache *fresh, struct wl_arena *a, struct wl_err *e)
{
    struct wl_update_cache all;
    struct wl_text text = WL_TEXT(a);
    if (wl_update_cache_read(path, &all, a, e) < 0) all.n = 0;
    wl_text_add(&text,
                "# Update periods of GPU sensors, found by wattlaw. Safe to delete: they are then found again.\n");
    for (size_t i = 0; i < all.n; i++)
        if (!of_device(fresh, all.v[i].uuid)) add_section(&text, &all.v[i]);
    for (size_t i = 0; i < fresh->n; i++) add_section(&text, &fresh->v[i]);
    int rc = wl_mkdirs(wl_path_dir(a, path), e);
    return rc ? rc : wl_file_write(path, text.s, text.n, e);
}
