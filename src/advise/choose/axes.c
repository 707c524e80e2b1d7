#include "advise/choose/axes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what varied ---- */

static bool varies(const struct wl_obs_column *c, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (c->real && c->real[i] != c->real[0] && !(isnan(c->real[i]) && isnan(c->real[0]))) return true;
        if (c->text && strcmp(c->text[i] ? c->text[i] : "", c->text[0] ? c->text[0] : "") != 0) return true;
    }
    return false;
}

static void add_axis(struct wl_choose_campaign *c, const char *column, const struct wl_setting *setting)
{
    c->axes[c->n_axes++] = (struct wl_choose_axis) { .column = column, .setting = setting };
}

void wl_choose_find_axes(const struct wl_observations *obs, struct wl_choose_campaign *c, struct wl_arena *a)
{
    size_t most = 1 + obs->n_extra;
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) most++;
    c->axes = wl_new_array(a, struct wl_choose_axis, most);
    add_axis(c, "workers", wl_setting_find("workers"));
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) {
        struct wl_obs_column column;
        if (r->group == WL_GROUP_NEVER || r->group == WL_GROUP_ALWAYS) continue;
        if (wl_obs_find(obs, r->name, &column, NULL) == 0 && varies(&column, obs->n)) add_axis(c, r->name, r);
    }
    for (size_t k = 0; k < obs->n_extra; k++)
        if (obs->extra[k].setting && !wl_setting_find(obs->extra[k].name) && varies(&obs->extra[k], obs->n))
            add_axis(c, obs->extra[k].name, NULL);
}

static bool is_constant(const struct wl_choose_campaign *c, size_t axis)
{
    for (size_t i = 1; i < c->n; i++)
        if (strcmp(c->value[i][axis], c->value[0][axis]) != 0) return false;
    return true;
}

void wl_choose_drop_constant_axes(struct wl_choose_campaign *c)
{
    size_t kept = 1;
    for (size_t k = 1; k < c->n_axes; k++) {
        if (is_constant(c, k)) continue;
        c->axes[kept] = c->axes[k];
        for (size_t i = 0; i < c->n; i++) c->value[i][kept] = c->value[i][k];
        kept++;
    }
    c->n_axes = kept;
}

/* ---- numbers and names ---- */

static bool is_cap(const struct wl_choose_axis *x) { return x->setting && x->setting->is_cap; }

/* NAN: missing or not a number. */
static double number(const struct wl_choose_campaign *c, size_t i, size_t axis)
{
    double v;
    return wl_str_to_real(c->value[i][axis], &v) == 0 ? v : NAN;
}

/* Positive numbers; no cap is a level of a cap, elsewhere a missing value is a name. */
static bool is_number(const struct wl_choose_campaign *c, size_t axis)
{
    for (size_t i = 0; i < c->n; i++) {
        const bool none = is_cap(&c->axes[axis]) && !*c->value[i][axis];
        if (!none && !(number(c, i, axis) > 0)) return false;
    }
    return true;
}

/* Do settings with equal values of all other axes differ in this one? */
struct keyed {
    char *key;
    const char *value;
};

static int by_key(const void *x, const void *y)
{
    return strcmp(((const struct keyed *)x)->key, ((const struct keyed *)y)->key);
}

static bool follows(const struct wl_choose_campaign *c, size_t axis, struct wl_arena *a)
{
    struct keyed *v = wl_new_array(a, struct keyed, c->n);
    for (size_t i = 0; i < c->n; i++) {
        struct wl_text t = WL_TEXT(a);
        for (size_t k = 0; k < c->n_axes; k++)
            if (k != axis && !c->axes[k].derived) wl_text_addf(&t, "%s\n", c->value[i][k]);
        v[i] = (struct keyed) { t.s, c->value[i][axis] };
    }
    qsort(v, c->n, sizeof *v, by_key);
    for (size_t i = 1; i < c->n; i++)
        if (strcmp(v[i].key, v[i - 1].key) == 0 && strcmp(v[i].value, v[i - 1].value) != 0) return false;
    return true;
}

static size_t count_values(const struct wl_choose_campaign *c, size_t axis, struct wl_arena *a)
{
    const char **texts = wl_new_array(a, const char *, c->n);
    size_t *ids = wl_new_array(a, size_t, c->n), n = 0;
    for (size_t i = 0; i < c->n; i++) texts[i] = c->value[i][axis];
    for (size_t i = 0; i < c->n; i++) {
        size_t k = 0;
        while (k < n && strcmp(texts[ids[k]], texts[i]) != 0) k++;
        if (k == n) ids[n++] = i;
    }
    return n;
}

/* Of the two batches the one with more values first: the other one is what is held fixed. */
static void derive_batch(struct wl_choose_campaign *c, struct wl_arena *a)
{
    int local = -1, global = -1;
    for (size_t k = 0; k < c->n_axes; k++) {
        if (wl_str_eq(c->axes[k].column, "local_batch")) local = (int)k;
        if (wl_str_eq(c->axes[k].column, "global_batch")) global = (int)k;
    }
    if (local < 0 && global < 0) return;
    const int only = local < 0 ? global : local;
    int first = only;
    if (local >= 0 && global >= 0)
        first = count_values(c, (size_t)global, a) < count_values(c, (size_t)local, a) ? local : global;
    c->axes[first].derived = follows(c, (size_t)first, a);
}

void wl_choose_classify_axes(struct wl_choose_campaign *c, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    for (size_t k = 0; k < c->n_axes; k++) c->axes[k].number = is_number(c, k);
    derive_batch(c, scratch);
    wl_arena_free(scratch);
}

/* ---- words ---- */

static void add_words(const struct wl_choose_axis *x, const char *value, struct wl_text *to)
{
    const struct wl_setting *s = x->setting;
    if (to->n) wl_text_add(to, ", ");
    if (!*value)
        wl_text_addf(to, "%s", s && s->missing ? s->missing : "");
    else if (s && s->before)
        wl_text_addf(to, "%s%s%s", s->before, value, s->after ? s->after : "");
    else if (s && (s->type == WL_SETTING_CHOICE || s->observed))
        wl_text_add(to, value);
    else
        wl_text_addf(to, "%s %s", s ? s->label : x->column, value);
    if (!*value && !(s && s->missing)) wl_text_addf(to, "no %s", s ? s->label : x->column);
}

static const char *name(const struct wl_choose_campaign *c, size_t i, bool caps, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    const double n = c->settings[i].workers;
    if (!c->no_workers) wl_text_addf(&t, "%g worker%s", n, n == 1 ? "" : "s");
    for (size_t k = 1; k < c->n_axes; k++)
        if (!c->axes[k].derived && (caps || !is_cap(&c->axes[k]))) add_words(&c->axes[k], c->value[i][k], &t);
    return t.n ? t.s : "all runs";
}

const char *wl_choose_name_setting(const struct wl_choose_campaign *c, size_t i, struct wl_arena *a)
{
    return name(c, i, true, a);
}

const char *wl_choose_name_without_caps(const struct wl_choose_campaign *c, size_t i, struct wl_arena *a)
{
    return name(c, i, false, a);
}

/* ---- coordinates ---- */

static int ascending(const void *p, const void *q)
{
    const double x = *(const double *)p, y = *(const double *)q;
    return (x > y) - (x < y);
}

/* ln of no cap: one step above the largest, the median step between neighbours; a fifth where there is one cap. */
static double no_cap(const double *ln, size_t n, struct wl_arena *a)
{
    static const double fifth = 0.2;
    double *v = wl_new_array(a, double, n + 1), *step = wl_new_array(a, double, n + 1);
    size_t m = 0, steps = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(ln[i])) v[m++] = ln[i];
    if (!m) return 0;
    qsort(v, m, sizeof *v, ascending);
    for (size_t i = 1; i < m; i++)
        if (v[i] > v[i - 1]) step[steps++] = v[i] - v[i - 1];
    return v[m - 1] + (steps ? wl_median(step, steps, a) : fifth);
}

static bool fill(const struct wl_choose_campaign *c, size_t axis, size_t first, size_t n, double *x, struct wl_arena *a)
{
    bool varied = false;
    for (size_t i = 0; i < n; i++) x[i] = log(number(c, first + i, axis));
    const double none = no_cap(x, n, a);
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) x[i] = none;
        varied = varied || x[i] != x[0];
    }
    return varied;
}

size_t wl_choose_coordinates(const struct wl_choose_campaign *c, size_t first, size_t n, struct wl_joint_axis *out,
                             struct wl_arena *a)
{
    size_t axes = 0;
    for (size_t k = 0; k < c->n_axes; k++) {
        double *x = wl_new_array(a, double, n);
        if (!c->axes[k].number || c->axes[k].derived || !fill(c, k, first, n, x, a)) continue;
        out[axes] = k == 0 ? wl_joint_workers_axis : is_cap(&c->axes[k]) ? wl_joint_cap_axis : wl_joint_count_axis;
        out[axes++].x = x;
    }
    return axes;
}

/* ---- restrictions ---- */

int wl_choose_matches(const struct wl_observations *obs, size_t row, const struct wl_choose_where *w, bool *out,
                      struct wl_arena *a, struct wl_err *e)
{
    struct wl_obs_column column;
    const int rc = wl_obs_find(obs, w->column, &column, e);
    if (rc) return rc;
    const char *text = wl_obs_text(&column, row, a);
    double v, want;
    const bool is_real = wl_str_to_real(text, &v) == 0;
    if (w->none || !*text)
        *out = w->none && !*text;
    else if (!w->value)
        *out = is_real && v >= w->least && v <= w->most;
    else
        *out = is_real && wl_str_to_real(w->value, &want) == 0 ? v == want : wl_str_eq(text, w->value);
    return 0;
}
