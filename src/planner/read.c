/* Reads a plan file: sections by kind and name, then what follows from cards and from each other. */
#include "planner/plan.h"

#include "planner/parameters.h"
#include "planner/workload_card.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct wl_planner_plan *p;
    const struct wl_ini *ini;
    const char *folder, *cards; /* of the plan file; of cards */
    size_t cap[3];
    struct wl_arena *a;
};

static const char *where(const struct reader *r, int line) { return wl_strf(r->a, "%s:%d", r->ini->path, line); }

static int apply(struct reader *r, const struct wl_ini_section *s, const struct wl_opt *rows, void *out,
                 struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < s->n && rc == 0; i++)
        rc = wl_opts_set(rows, out, s->v[i].key, s->v[i].value, where(r, s->v[i].line), r->a, e);
    return rc;
}

/* ---- sections ---- */

static int check_name(struct reader *r, const struct wl_ini_section *s, const char *kind, const char *name, bool taken,
                      struct wl_err *e)
{
    if (!*name) return wl_fail(e, WL_EINVAL, "%s: [%s]: expected a name: [%s NAME]", where(r, s->line), kind, kind);
    return taken ? wl_fail(e, WL_EINVAL, "%s: [%s %s] is there twice", where(r, s->line), kind, name) : 0;
}

static int add_machine(struct reader *r, const struct wl_ini_section *s, const char *name, struct wl_err *e)
{
    struct wl_planner_plan *p = r->p;
    int rc = check_name(r, s, "machine", name, wl_planner_machine_index(p, name) >= 0, e);
    if (rc) return rc;
    WL_GROW(r->a, p->machines, p->n_machines, r->cap[0]);
    struct wl_planner_machine *m = &p->machines[p->n_machines++];
    wl_opts_default(wl_planner_key_rows("machine NAME"), m, r->a);
    m->name = name;
    m->line = s->line;
    m->card = NULL;
    return apply(r, s, wl_planner_key_rows("machine NAME"), m, e);
}

static int framework_index(const struct wl_planner_plan *p, const char *name)
{
    for (size_t i = 0; i < p->n_frameworks; i++)
        if (wl_str_eq(p->frameworks[i].name, name)) return (int)i;
    return -1;
}

static int add_framework(struct reader *r, const struct wl_ini_section *s, const char *name, struct wl_err *e)
{
    struct wl_planner_plan *p = r->p;
    int rc = check_name(r, s, "framework", name, framework_index(p, name) >= 0, e);
    if (rc) return rc;
    WL_GROW(r->a, p->frameworks, p->n_frameworks, r->cap[1]);
    struct wl_planner_framework *f = &p->frameworks[p->n_frameworks++];
    wl_opts_default(wl_planner_key_rows("framework NAME"), f, r->a);
    f->name = name;
    f->line = s->line;
    return apply(r, s, wl_planner_key_rows("framework NAME"), f, e);
}

static int add_workload(struct reader *r, const struct wl_ini_section *s, const char *name, struct wl_err *e)
{
    struct wl_planner_plan *p = r->p;
    int rc = check_name(r, s, "workload", name, wl_planner_workload_index(p, name) >= 0, e);
    if (rc) return rc;
    WL_GROW(r->a, p->workloads, p->n_workloads, r->cap[2]);
    struct wl_planner_workload *w = &p->workloads[p->n_workloads++];
    wl_opts_default(wl_planner_key_rows("workload NAME"), w, r->a);
    w->name = name;
    w->line = s->line;
    w->framework = NULL;
    return apply(r, s, wl_planner_key_rows("workload NAME"), w, e);
}

static int add_site(struct reader *r, const struct wl_ini_section *s, const char *name, struct wl_err *e)
{
    struct wl_planner_sections *sites = &r->p->sites;
    bool taken = false;
    for (size_t i = 0; i < sites->n; i++) taken = taken || wl_str_eq(sites->v[i]->name, s->name);
    int rc = check_name(r, s, "site", name, taken, e);
    if (rc) return rc;
    WL_GROW(r->a, sites->v, sites->n, sites->cap);
    sites->v[sites->n++] = s;
    return 0;
}

static const struct kind {
    const char *name;
    int (*add)(struct reader *r, const struct wl_ini_section *s, const char *name, struct wl_err *e);
} kinds[] = {
    { "machine", add_machine },
    { "framework", add_framework },
    { "workload", add_workload },
    { "site", add_site },
    { "plan", NULL },
    { "priors", NULL },
};

static int read_section(struct reader *r, const struct wl_ini_section *s, struct wl_err *e)
{
    const size_t n = strcspn(s->name, " \t");
    const char *word = wl_strndup(r->a, s->name, n), *name = wl_str_strip(r->a, s->name + n);
    const char *names[WL_COUNT(kinds)];
    for (size_t i = 0; i < WL_COUNT(kinds); i++) {
        names[i] = kinds[i].name;
        if (!wl_str_eq(word, kinds[i].name)) continue;
        if (kinds[i].add) return kinds[i].add(r, s, name, e);
        if (*name) return wl_fail(e, WL_EINVAL, "%s: [%s] does not take a name", where(r, s->line), word);
        const bool plan = wl_str_eq(word, "plan");
        return apply(r, s, wl_planner_key_rows(word), plan ? (void *)r->p : (void *)r->p->prior_sd, e);
    }
    const char *near = wl_str_closest(word, names, WL_COUNT(names));
    return wl_fail(e, WL_EINVAL, "%s: unknown section [%s]%s%s%s", where(r, s->line), s->name,
                   near ? "; did you mean [" : "; expected plan, machine, framework, workload, priors or site",
                   near ? near : "", near ? "]?" : "");
}

/* ---- what follows ---- */

static int by_value(const void *x, const void *y)
{
    const int64_t p = *(const int64_t *)x, q = *(const int64_t *)y;
    return (p > q) - (p < q);
}

/* Ascending, each count once: ratios are to the smallest, and the summary is of the largest. */
static void order_counts(struct wl_ints *counts)
{
    size_t n = 0;
    if (counts->n) qsort(counts->v, counts->n, sizeof *counts->v, by_value);
    for (size_t i = 0; i < counts->n; i++)
        if (i == 0 || counts->v[i] != counts->v[n - 1]) counts->v[n++] = counts->v[i];
    counts->n = n;
}

static void drop_repeats(struct wl_reals *values)
{
    size_t n = 0;
    for (size_t i = 0; i < values->n; i++) {
        bool listed = false;
        for (size_t k = 0; k < n; k++) listed = listed || values->v[k] == values->v[i];
        if (!listed) values->v[n++] = values->v[i];
    }
    values->n = n;
}

static void or_card(double *to, double v)
{
    if (isnan(*to)) *to = v;
}

static int complete_machine(struct reader *r, struct wl_planner_machine *m, struct wl_err *e)
{
    if (m->card_name) {
        struct wl_hardware_card *c = wl_new(r->a, struct wl_hardware_card);
        int rc = wl_hardware_card_find(m->card_name, r->cards ? r->cards : r->folder, c, r->a, e);
        if (rc) return wl_err_prefix(e, "%s: [machine %s] card", where(r, m->line), m->name);
        m->card = c;
        or_card(&m->idle_w, c->idle_w);
        or_card(&m->max_w, c->max_w);
        or_card(&m->min_cap_w, c->min_cap_w);
        or_card(&m->clock_mhz, c->clock_mhz);
        or_card(&m->lowest_clock_mhz, c->lowest_clock_mhz);
        or_card(&m->node_gb_s, c->link_b_s / 1e9);
        if (!m->devices_per_node && !isnan(c->devices_per_node)) m->devices_per_node = (int64_t)c->devices_per_node;
    }
    if (!m->devices_per_node) m->devices_per_node = 1;
    if (m->max_w <= m->idle_w)
        return wl_fail(e, WL_EINVAL, "%s: [machine %s] idle_power = %g: expected less than max_power = %g (W)",
                       where(r, m->line), m->name, m->idle_w, m->max_w);
    if (m->lowest_clock_mhz > m->clock_mhz)
        return wl_fail(e, WL_EINVAL, "%s: [machine %s] lowest_clock = %g: expected at most clock = %g (MHz)",
                       where(r, m->line), m->name, m->lowest_clock_mhz, m->clock_mhz);
    return 0;
}

static int choose_framework(struct reader *r, struct wl_planner_workload *w, struct wl_err *e)
{
    struct wl_planner_plan *p = r->p;
    const char *names[64];
    size_t n = 0;
    for (; n < p->n_frameworks && n < WL_COUNT(names); n++) names[n] = p->frameworks[n].name;
    if (!w->framework_name && p->n_frameworks == 1) w->framework_name = p->frameworks[0].name;
    if (!w->framework_name)
        return wl_fail(e, WL_EINVAL, "%s: [workload %s] framework is missing: there are %zu frameworks",
                       where(r, w->line), w->name, p->n_frameworks);
    const int i = framework_index(p, w->framework_name);
    if (i >= 0) return w->framework = &p->frameworks[i], 0;
    const char *near = wl_str_closest(w->framework_name, names, n);
    return wl_fail(e, WL_EINVAL, "%s: [workload %s] framework = %s: there is no [framework %s]%s%s%s",
                   where(r, w->line), w->name, w->framework_name, w->framework_name, near ? "; did you mean " : "",
                   near ? near : "", near ? "?" : "");
}

/* The load from a measured power, on the machine where the step was measured. */
static int complete_load(struct reader *r, struct wl_planner_workload *w, const struct wl_planner_machine *m,
                         struct wl_err *e)
{
    if (isnan(w->active_w) || isnan(m->max_w) || isnan(m->idle_w)) return 0;
    w->load = (w->active_w - m->idle_w) / (m->max_w - m->idle_w);
    if (w->load > 0 && w->load <= 1) return 0;
    return wl_fail(e, WL_EINVAL,
                   "%s: [workload %s] active_power = %g: expected more than %g and at most %g (W), the idle and "
                   "maximum power of [machine %s]",
                   where(r, w->line), w->name, w->active_w, m->idle_w, m->max_w, m->name);
}

static int complete_workload(struct reader *r, struct wl_planner_workload *w, struct wl_err *e)
{
    struct wl_planner_plan *p = r->p;
    int rc = w->card ? wl_planner_workload_card_read(wl_path_join(r->a, r->folder, w->card), w, r->a, e) : 0;
    if (rc) return wl_err_prefix(e, "%s: [workload %s] card", where(r, w->line), w->name);
    if (isnan(w->samples) || isnan(w->local_batch))
        return wl_fail(e, WL_EINVAL, "%s: [workload %s] %s is missing", where(r, w->line), w->name,
                       isnan(w->samples) ? "samples" : "local_batch");
    if ((double)(w->pipeline_stages * w->pipeline_chunks) > w->layers)
        return wl_fail(e, WL_EINVAL,
                       "%s: [workload %s] layers = %g: expected at least pipeline_stages x pipeline_chunks "
                       "= %lld",
                       where(r, w->line), w->name, w->layers, (long long)(w->pipeline_stages * w->pipeline_chunks));
    if (!w->dtype) w->dtype = "f32";
    if (isnan(w->step_batch)) w->step_batch = w->local_batch;
    if (isnan(w->step_mb)) w->step_mb = 0;
    if (!w->step_machine) w->step_machine = p->machines[0].name;
    const int m = wl_planner_machine_index(p, w->step_machine);
    if (m < 0)
        return wl_fail(e, WL_EINVAL, "%s: [workload %s] step_machine = %s: there is no [machine %s]", where(r, w->line),
                       w->name, w->step_machine, w->step_machine);
    order_counts(&w->workers);
    if (!w->workers.n) w->workers = p->workers;
    rc = complete_load(r, w, &p->machines[m], e);
    return rc ? rc : choose_framework(r, w, e);
}

static int complete(struct reader *r, struct wl_err *e)
{
    struct wl_planner_plan *p = r->p;
    if (!p->name) p->name = wl_path_base(p->path);
    if (!p->n_machines || !p->n_workloads)
        return wl_fail(e, WL_EINVAL, "%s: no [%s NAME]: expected at least one", p->path,
                       p->n_machines ? "workload" : "machine");
    if (!p->n_frameworks) {
        WL_GROW(r->a, p->frameworks, p->n_frameworks, r->cap[1]);
        wl_opts_default(wl_planner_key_rows("framework NAME"), p->frameworks, r->a);
        p->frameworks[p->n_frameworks++].name = "default";
    }
    order_counts(&p->workers);
    drop_repeats(&p->power_caps);
    drop_repeats(&p->clocks);
    int rc = 0;
    for (size_t i = 0; i < p->n_machines && rc == 0; i++) rc = complete_machine(r, &p->machines[i], e);
    for (size_t i = 0; i < p->n_workloads && rc == 0; i++) rc = complete_workload(r, &p->workloads[i], e);
    if (rc == 0 && p->calibrate) p->calibrate = wl_path_join(r->a, r->folder, p->calibrate);
    return rc;
}

static int read_plan(struct reader *r, struct wl_err *e)
{
    struct wl_planner_plan *p = r->p;
    p->prior_sd = wl_new_array(r->a, double, WL_PLANNER_PARAMETERS);
    wl_opts_default(wl_planner_key_rows("plan"), p, r->a);
    wl_opts_default(wl_planner_key_rows("priors"), p->prior_sd, r->a);
    int rc = 0;
    for (size_t i = 0; i < r->ini->n && rc == 0; i++) rc = read_section(r, &r->ini->v[i], e);
    return rc ? rc : complete(r, e);
}

int wl_planner_parse(const char *path, const char *text, const char *cards, struct wl_planner_plan *out,
                     struct wl_arena *a, struct wl_err *e)
{
    struct wl_ini *ini = wl_new(a, struct wl_ini); /* sites point into it */
    int rc = wl_ini_parse(path, text, ini, a, e);
    *out = (struct wl_planner_plan) { .path = wl_strdup(a, path) };
    return rc ? rc : read_plan(&(struct reader) { out, ini, wl_path_dir(a, path), cards, { 0 }, a }, e);
}

int wl_planner_read(const char *path, const char *cards, struct wl_planner_plan *out, struct wl_arena *a,
                    struct wl_err *e)
{
    struct wl_ini *ini = wl_new(a, struct wl_ini);
    int rc = wl_ini_read(path, ini, a, e);
    *out = (struct wl_planner_plan) { .path = wl_strdup(a, path) };
    return rc ? rc : read_plan(&(struct reader) { out, ini, wl_path_dir(a, path), cards, { 0 }, a }, e);
}

int wl_planner_machine_index(const struct wl_planner_plan *p, const char *name)
{
    for (size_t i = 0; i < p->n_machines; i++)
        if (wl_str_eq(p->machines[i].name, name)) return (int)i;
    return -1;
}

int wl_planner_workload_index(const struct wl_planner_plan *p, const char *name)
{
    for (size_t i = 0; i < p->n_workloads; i++)
        if (wl_str_eq(p->workloads[i].name, name)) return (int)i;
    return -1;
}
