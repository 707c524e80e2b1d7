/* Reads an experiment file and --set into the keys. */
#include "campaign/experiment_reader.h"

#include <ctype.h>
#include <string.h>

static void *section_struct(struct wl_experiment *x, const struct wl_experiment_section *s)
{
    return (char *)x + s->offset;
}

static const struct wl_experiment_section *find_section(const char *name)
{
    for (const struct wl_experiment_section *s = wl_experiment_sections(); s->name; s++)
        if (wl_str_eq(s->name, name)) return s;
    return NULL;
}

static struct wl_strs section_names(struct wl_arena *a)
{
    struct wl_strs names = { 0 };
    for (const struct wl_experiment_section *s = wl_experiment_sections(); s->name; s++)
        wl_strs_add(a, &names, s->name);
    return names;
}

/* ---- the file, then --set ---- */

static int check_user_key(const char *key, const char *where, struct wl_err *e)
{
    bool valid = isalpha((unsigned char)*key) || *key == '_';
    for (const char *c = key; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_') valid = false;
    if (!valid)
        return wl_fail(e, WL_EINVAL, "%s: [sweep] %s: expected letters, digits and _ (not starting with a digit)",
                       where, key);
    if (wl_placeholder_reserved(key))
        return wl_fail(e, WL_EINVAL, "%s: [sweep] %s: {%s} already has a meaning; choose another name", where, key,
                       key);
    if (wl_store_is_observation_column(key))
        return wl_fail(e, WL_EINVAL,
                       "%s: [sweep] %s: wattlaw has a column of this name in the table of observations; choose another "
                       "name",
                       where, key);
    return 0;
}

static int set_user_axis(struct wl_experiment_reader *r, const char *key, const char *value, const char *where,
                         struct wl_err *e)
{
    int rc = check_user_key(key, where, e);
    if (rc < 0) return rc;
    struct wl_strs values = wl_str_split(r->a, value, ',');
    for (size_t i = 0; i < values.n; i++)
        if (!*values.v[i]) values.n = 0;
    if (values.n == 0)
        return wl_fail(e, WL_EINVAL, "%s: [sweep] %s = '%s': expected a list of values", where, key, value);
    struct wl_experiment *x = r->x;
    for (size_t i = 0; i < x->n_user; i++)
        if (wl_str_eq(x->user[i].key, key)) {
            x->user[i].values = values;
            return 0;
        }
    WL_GROW(r->a, x->user, x->n_user, r->cap_user);
    x->user[x->n_user++] = (struct wl_user_axis) { wl_strdup(r->a, key), values };
    return 0;
}

static int set_key(struct wl_experiment_reader *r, const struct wl_experiment_section *s, const char *key,
                   const char *value, const char *where, struct wl_err *e)
{
    if (wl_str_eq(s->name, "sweep") && !wl_opts_find(s->rows, key)) return set_user_axis(r, key, value, where, e);
    return wl_opts_set(s->rows, section_struct(r->x, s), key, value, where, r->a, e);
}

static int apply_file(struct wl_experiment_reader *r, struct wl_err *e)
{
    struct wl_strs names = section_names(r->a);
    int rc = wl_ini_known_sections(r->ini, (const char *const *)names.v, names.n, e);
    for (size_t i = 0; i < r->ini->n && rc == 0; i++) {
        const struct wl_ini_section *from = &r->ini->v[i];
        const struct wl_experiment_section *s = find_section(from->name);
        for (size_t k = 0; k < from->n && rc == 0; k++) {
            const char *where = wl_strf(r->a, "%s:%d", r->ini->path, from->v[k].line);
            rc = set_key(r, s, from->v[k].key, from->v[k].value, where, e);
        }
    }
    return rc;
}

/* "section.key=value" */
static int apply_set(struct wl_experiment_reader *r, const char *text, struct wl_err *e)
{
    const char *where = wl_strf(r->a, "--set %s", text);
    const char *dot = strchr(text, '.'), *equals = strchr(text, '=');
    if (!dot || !equals || equals < dot) return wl_fail(e, WL_EINVAL, "%s: expected section.key=value", where);
    const char *section = wl_str_strip(r->a, wl_strndup(r->a, text, (size_t)(dot - text)));
    const char *key = wl_str_strip(r->a, wl_strndup(r->a, dot + 1, (size_t)(equals - dot - 1)));
    const struct wl_experiment_section *s = find_section(section);
    if (s) return set_key(r, s, key, wl_str_strip(r->a, equals + 1), where, e);

    struct wl_strs names = section_names(r->a);
    const char *meant = wl_str_closest(section, (const char *const *)names.v, names.n);
    return wl_fail(e, WL_EINVAL, "%s: no section '%s'%s%s%s", where, section, meant ? "; did you mean '" : "",
                   meant ? meant : "", meant ? "'?" : "");
}

/* ---- the expanded text ---- */

static const char *expanded_text(struct wl_experiment *x, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (const struct wl_experiment_section *s = wl_experiment_sections(); s->name; s++) {
        wl_text_addf(&t, "%s[%s]\n", t.n ? "\n" : "", s->name);
        wl_opts_ini(s->rows, section_struct(x, s), &t);
        for (size_t i = 0; wl_str_eq(s->name, "sweep") && i < x->n_user; i++) {
            wl_text_addf(&t, "%s = ", x->user[i].key);
            for (size_t k = 0; k < x->user[i].values.n; k++)
                wl_text_addf(&t, "%s%s", k ? "," : "", x->user[i].values.v[k]);
            wl_text_add(&t, "\n");
        }
    }
    return t.s;
}

/* Lists, repeats, order, limits, carbon and price may change between two calls of one sweep; what a run does may not.
 */
static bool may_change(const char *section, const char *line)
{
    static const char *const keys[] = {
        "campaign.name",         "campaign.repeats",      "campaign.order",
        "campaign.store",        "data.prepare",          "launch.timeout",
        "launch.grace",          "launch.oversubscribe",  "measure.rules",
        "launch.launcher",       "launch.account",        "launch.qos",
        "launch.time_limit",     "launch.sbatch_options", "launch.setup",
        "launch.wattlaw",        "launch.local_dir",      "launch.max_in_queue",
        "launch.max_nodes",      "launch.retries",        "launch.poll",
        "launch.submit_command", "launch.states_command", "launch.cancel_command",
        "launch.job_variable",   "launch.time_margin",    "launch.signal_before",
        "launch.array",          "launch.pack",           "launch.stop_after_failures"
    };
    if (wl_str_eq(section, "sweep")) return true;
    size_t n = strlen(section), key = strcspn(line, " ");
    if (wl_str_eq(section, "measure") && wl_footprint_has_key(line, key)) return true;
    for (size_t i = 0; i < WL_COUNT(keys); i++)
        if (strncmp(keys[i], section, n) == 0 && keys[i][n] == '.' && strlen(keys[i] + n + 1) == key &&
            strncmp(keys[i] + n + 1, line, key) == 0)
            return true;
    return false;
}

const char *wl_experiment_immutable(const char *expanded, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    const char *section = "";
    for (const char *s = expanded; *s;) {
        size_t n = strcspn(s, "\n");
        if (*s == '[' && n > 2)
            section = wl_strndup(a, s + 1, n - 2);
        else if (n && !may_change(section, s))
            wl_text_addf(&t, "[%s] %.*s\n", section, (int)n, s);
        s += n + (s[n] == '\n');
    }
    return t.s;
}

static int read_experiment(struct wl_experiment_reader *r, struct wl_err *e)
{
    struct wl_experiment *x = r->x;
    for (const struct wl_experiment_section *s = wl_experiment_sections(); s->name; s++)
        wl_opts_default(s->rows, section_struct(x, s), r->a);
    int rc = apply_file(r, e);
    for (size_t i = 0; r->sets && i < r->sets->n && rc == 0; i++) rc = apply_set(r, r->sets->v[i], e);
    if (rc == 0) rc = wl_experiment_complete(r, e);
    if (rc < 0) return rc;
    x->expanded = expanded_text(x, r->a);
    x->fixed = wl_experiment_immutable(x->expanded, r->a);
    return 0;
}

int wl_experiment_parse(const char *path, const char *text, const struct wl_strs *sets, struct wl_experiment *out,
                        struct wl_arena *a, struct wl_err *e)
{
    struct wl_ini ini = { 0 };
    int rc = wl_ini_parse(path, text, &ini, a, e);
    if (rc < 0) return rc;
    *out = (struct wl_experiment) { .path = wl_strdup(a, path) };
    return read_experiment(&(struct wl_experiment_reader) { out, &ini, sets, 0, a }, e);
}

int wl_experiment_read(const char *path, const struct wl_strs *sets, struct wl_experiment *out, struct wl_arena *a,
                       struct wl_err *e)
{
    struct wl_ini ini = { 0 };
    int rc = wl_ini_read(path, &ini, a, e);
    if (rc < 0) return rc;
    *out = (struct wl_experiment) { .path = wl_strdup(a, path) };
    return read_experiment(&(struct wl_experiment_reader) { out, &ini, sets, 0, a }, e);
}
