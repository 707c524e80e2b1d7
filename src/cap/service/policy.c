#include "cap/service/policy.h"

#include "base/trust.h"
#include "cap/safe_file.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16 };

static const struct wl_opt service_rows[] = {
    { .name = "group",
      .type = WL_STR,
      .offset = offsetof(struct wl_service_policy, group),
      .def = "wattlaw",
      .help = "group whose members may use the service" },
    { .name = "lease",
      .type = WL_DURATION,
      .offset = offsetof(struct wl_service_policy, lease_s),
      .def = "60s",
      .min = 3, /* a run says once per second that it runs */
      .max = 86400,
      .unit = "s",
      .help = "a client that stays silent for so long loses its caps" },
    { .name = "sessions-per-user",
      .type = WL_INT,
      .offset = offsetof(struct wl_service_policy, sessions),
      .def = "4",
      .min = 1,
      .max = 64,
      .help = "connections that one user may have at a time" },
    WL_OPT_END,
};

static const struct wl_opt rule_rows[] = {
    { .name = "devices",
      .type = WL_STRS,
      .offset = offsetof(struct wl_service_rule, devices),
      .help = "names of devices, * and ? are wildcards" },
#define SETTING_CAP(member, option, unit_, kind, ...)                                     \
    { .name = option,                                                                     \
      .type = WL_STR,                                                                     \
      .offset = offsetof(struct wl_service_rule, ranges) + (kind) * sizeof(const char *), \
      .unit = unit_,                                                                      \
      .help = "values that may be set: hardware, or MIN to MAX" },
#include "settings/settings.def"
    WL_OPT_END,
};

/* ---- reading ---- */

/* "hardware", "100 to 300"; a bound of the hardware is NAN. */
static bool parse_range(const char *text, double *min, double *max, struct wl_arena *a)
{
    const char *to = strstr(text, " to ");
    *min = *max = NAN;
    if (wl_str_eq(text, "hardware")) return true;
    return to && wl_str_to_real(wl_str_strip(a, wl_strndup(a, text, (size_t)(to - text))), min) == 0 &&
           wl_str_to_real(wl_str_strip(a, to + strlen(" to ")), max) == 0 && *min >= WL_SETTING_CAP_MIN &&
           *min <= *max && *max <= WL_SETTING_CAP_MAX;
}

static int read_rule(const struct wl_ini *ini, const struct wl_ini_section *s, struct wl_service_rule *r,
                     struct wl_arena *a, struct wl_err *e)
{
    *r = (struct wl_service_rule) { .name = s->name };
    int rc = wl_ini_apply(ini, s->name, rule_rows, r, a, e);
    if (rc < 0) return rc;
    if (r->devices.n == 0)
        return wl_fail(e, WL_EINVAL, "%s:%d: [%s] has no devices, such as devices = GPU-*", ini->path, s->line,
                       s->name);
    bool any = false;
    for (int k = 0; k < WL_CAP_KINDS; k++) {
        any |= r->ranges[k] != NULL;
        if (r->ranges[k] && !parse_range(r->ranges[k], &r->min[k], &r->max[k], a))
            return wl_fail(e, WL_EINVAL, "%s:%d: [%s] %s = %s: expected hardware, or MIN to MAX from %d to %g %s",
                           ini->path, s->line, s->name, wl_cap_kind_name(k), r->ranges[k], WL_SETTING_CAP_MIN,
                           WL_SETTING_CAP_MAX, wl_cap_kind_unit(k));
    }
    return any ? 0
               : wl_fail(e, WL_EINVAL, "%s:%d: [%s] allows no limit, such as power_cap_w = 100 to 300", ini->path,
                         s->line, s->name);
}

int wl_service_policy_parse(const char *path, const char *text, struct wl_service_policy *out, struct wl_arena *a,
                            struct wl_err *e)
{
    static const char rule[] = "allow ", service[] = "service";
    struct wl_ini ini;
    *out = (struct wl_service_policy) { 0 };
    wl_opts_default(service_rows, out, a);
    int rc = wl_ini_parse(path, text, &ini, a, e);
    if (rc < 0) return rc;
    const char **known = wl_new_array(a, const char *, ini.n + 1);
    size_t n = 0;
    known[n++] = service;
    for (size_t i = 0; i < ini.n; i++)
        if (wl_str_starts(ini.v[i].name, rule)) known[n++] = ini.v[i].name;
    rc = wl_ini_known_sections(&ini, known, n, e);
    if (rc == 0) rc = wl_ini_apply(&ini, service, service_rows, out, a, e);
    out->v = wl_new_array(a, struct wl_service_rule, ini.n);
    for (size_t i = 0; i < ini.n && rc == 0; i++)
        if (!wl_str_eq(ini.v[i].name, service)) rc = read_rule(&ini, &ini.v[i], &out->v[out->n++], a, e);
    return rc;
}

int wl_service_policy_read(const char *path, struct wl_service_policy *out, struct wl_arena *a, struct wl_err *e)
{
    char *text;
    uid_t owner;
    *out = (struct wl_service_policy) { 0 };
    int rc = wl_safe_file_read(path, TEXT_MAX, &text, &owner, a, e);
    if (rc < 0) return rc;
    if (!wl_path_is_ours(path))
        return wl_fail(e, WL_EPERM,
                       "%s: another user than root can write or replace it, and would decide who may set caps", path);
    return wl_service_policy_parse(path, text, out, a, e);
}

/* ---- using ---- */

static bool names(const struct wl_service_rule *r, const char *device)
{
    for (size_t i = 0; i < r->devices.n; i++)
        if (fnmatch(r->devices.v[i], device, 0) == 0) return true;
    return false;
}

static const struct wl_service_rule *find_rule(const struct wl_service_policy *p, const struct wl_control *k)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].ranges[k->kind] && names(&p->v[i], k->device)) return &p->v[i];
    return NULL;
}

/* Packages have no minimum of their own (src/cap/rapl.c), and short-term limits no maximum: one watt would bring the
 * machine to a halt. Clocks of GPUs have no minimum to be read; the driver rounds up to one. */
int wl_service_policy_range(const struct wl_service_policy *p, const struct wl_control *k, double *min, double *max,
                            struct wl_err *e)
{
    const struct wl_service_rule *r = find_rule(p, k);
    const char *kind = wl_cap_kind_name(k->kind);
    if (!r) return wl_fail(e, WL_EPERM, "the site's rules do not allow to set %s of %s", kind, k->device);
    bool is_package = k->ops == &wl_setter_rapl, is_power = wl_cap_is_power(k->kind);
    if (isnan(r->min[k->kind]) && (is_package || (is_power && isnan(k->range.min))))
        return wl_fail(e, WL_EPERM, "%s has no minimum of its own: [%s] must name one, %s = MIN to MAX", k->device,
                       r->name, kind);
    *min = fmax(r->min[k->kind], k->range.min); /* of a number and NAN the number */
    *max = fmin(r->max[k->kind], k->range.max);
    if (isnan(*min)) *min = WL_SETTING_CAP_MIN;
    if (isnan(*max))
        return wl_fail(e, WL_EPERM, "%s has no maximum that can be read: [%s] must name one, %s = MIN to MAX",
                       k->device, r->name, kind);
    if (*min <= *max) return 0;
    return wl_fail(e, WL_EPERM, "%s takes no value of %s that [%s] allows", k->device, kind, r->name);
}

/* All others are named after their driver: rapl:package-0/long_term. */
bool wl_service_policy_has_gpus(const struct wl_service_policy *p)
{
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->v[i].devices.n; k++) {
            const char *pattern = p->v[i].devices.v[k];
            if (!wl_str_starts(pattern, "rapl:") && !wl_str_starts(pattern, "cpufreq:")) return true;
        }
    return false;
}
