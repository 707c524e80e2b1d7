/* The settings of one workload from the runs of the observations. */
#include "advise/choose/axes.h"
#include "advise/choose/collected.h"

#include <math.h>

/* ---- what cannot have been measured ---- */

static bool is_within(double v, double least, double most) { return v >= least && v <= most; }

static bool has_workers(const struct wl_observations *obs)
{
    for (size_t i = 0; i < obs->n; i++)
        if (!isnan(obs->workers[i])) return true;
    return false;
}

/* The observations with times and energies that cannot be real as missing ones. Jobs that say nothing of workers are
 * compared as they are: their number, whatever it is, was not varied. */
static struct wl_observations *without_mistakes(const struct wl_choose_collected *s, struct wl_arena *a)
{
    struct wl_observations *out = wl_new(a, struct wl_observations);
    *out = *s->obs;
    out->time_s = wl_new_array(a, double, out->n);
    out->energy_j = wl_new_array(a, double, out->n);
    for (size_t i = 0; i < out->n; i++) {
        const double t = s->obs->time_s[i], j = s->obs->energy_j[i];
        out->time_s[i] = is_within(t, WL_CHOOSE_TIME_MIN, WL_CHOOSE_TIME_MAX) ? t : NAN;
        out->energy_j[i] = is_within(j, WL_CHOOSE_ENERGY_MIN, WL_CHOOSE_ENERGY_MAX) ? j : NAN;
    }
    s->c->no_workers = s->o->is_store && !has_workers(s->obs);
    if (!s->c->no_workers) return out;
    out->workers = wl_new_array(a, double, out->n);
    for (size_t i = 0; i < out->n; i++) out->workers[i] = 1;
    return out;
}

/* Of runs of the settings. */
static size_t count_bad_energies(const struct wl_choose_collected *s, const struct wl_observations *usable)
{
    size_t n = 0;
    for (size_t row = 0; row < s->obs->n; row++)
        n += s->of_run[s->obs->run_index[row]] < s->c->n && isnan(usable->energy_j[row]) &&
             !isnan(s->obs->energy_j[row]);
    return n;
}

static int fit_groups(const struct wl_choose_collected *s, const struct wl_observations *obs, struct wl_law_result *out,
                      struct wl_arena *a, struct wl_err *e)
{
    struct wl_law_options laws = { .drop_epochs = s->o->drop_epochs, .runs_only = true };
    wl_strs_add(a, &laws.by, "workload");
    for (size_t k = 1; k < s->c->n_axes; k++) wl_strs_add(a, &laws.by, s->c->axes[k].column);
    return wl_law_fit(obs, &laws, out, a, e);
}

/* ---- which settings ---- */

static bool is_of_workload(const struct wl_choose_where *w) { return wl_str_eq(w->column, "workload"); }

/* Is the row of a workload that was asked for? */
static int is_wanted(struct wl_choose_collected *s, size_t row, bool *out, struct wl_err *e)
{
    *out = true;
    for (size_t k = 0; k < s->o->n_where; k++) {
        bool match;
        if (!is_of_workload(&s->o->where[k])) continue;
        const int rc = wl_choose_matches(s->obs, row, &s->o->where[k], &match, s->a, e);
        if (rc) return rc;
        *out = *out && match;
    }
    return 0;
}

/* A setting of one workload cannot be chosen for another. */
static int check_workloads(struct wl_choose_collected *s, const struct wl_strs *names, struct wl_err *e)
{
    struct wl_text t = WL_TEXT(s->a);
    if (names->n < 2) return 0;
    for (size_t i = 0; i < names->n; i++) wl_text_addf(&t, "%s%s", i ? ", " : "", names->v[i]);
    return wl_fail(e, WL_EINVAL, "%s: %zu workloads (%s): choose one with --where workload=NAME", s->obs->source,
                   names->n, t.s);
}

static void add_workload(struct wl_strs *names, const char *name, struct wl_arena *a)
{
    if (!name) name = "without a name";
    for (size_t i = 0; i < names->n; i++)
        if (wl_str_eq(names->v[i], name)) return;
    wl_strs_add(a, names, name);
}

static size_t count_runs(const struct wl_law_result *laws)
{
    size_t n = 0;
    for (size_t g = 0; g < laws->n; g++) n += laws->groups[g].n_runs;
    return n;
}

static const char **values_of(struct wl_choose_collected *s, size_t row)
{
    const char **v = wl_new_array(s->a, const char *, s->c->n_axes);
    for (size_t k = 0; k < s->c->n_axes; k++) {
        struct wl_obs_column column;
        v[k] = wl_obs_find(s->obs, s->c->axes[k].column, &column, NULL) == 0 ? wl_obs_text(&column, row, s->a) : "";
    }
    return v;
}

static void allocate(struct wl_choose_collected *s, size_t most)
{
    struct wl_choose_campaign *c = s->c;
    c->settings = wl_new_array(s->a, struct wl_choose_setting, most);
    c->value = wl_new_array(s->a, const char **, most);
    c->row = wl_new_array(s->a, size_t, most);
    c->from = wl_new_array(s->a, enum wl_provenance, most);
    s->samples = wl_new_array(s->a, double, most);
    s->of_run = wl_new_array(s->a, size_t, s->obs->runs);
    for (size_t k = 0; k < s->obs->runs; k++) s->of_run[k] = (size_t)-1;
    for (int r = 0; r < WL_JOINT_RESPONSES; r++) s->runs[r] = wl_new_array(s->a, struct wl_joint_runs, most);
}

static void add_value(struct wl_joint_runs *r, double v)
{
    const double delta = v - r->mean;
    r->n++;
    r->mean += delta / (double)r->n;
    r->sum_squares += delta * (v - r->mean);
}

static double ln_time(const struct wl_choose_collected *s, const struct wl_law_run *r)
{
    return r->ln_time_s - (s->per_sample ? log(r->samples) : 0);
}

static double ln_power(const struct wl_law_run *r) { return r->ln_energy_j - log(r->workers) - r->ln_time_s; }

/* Runs of one setting. */
struct span {
    const struct wl_law_run *runs;
    size_t n;
};

/* Measured runs do not agree to the last digit in time and energy: the table has one run under two labels. */
static bool is_copy(const struct span *v, size_t k)
{
    for (size_t i = 0; i < k; i++)
        if (v->runs[i].ln_time_s == v->runs[k].ln_time_s && v->runs[i].ln_energy_j == v->runs[k].ln_energy_j &&
            !wl_str_eq(v->runs[i].label, v->runs[k].label))
            return true;
    return false;
}

static struct span without_copies(struct wl_choose_collected *s, const struct span *v, struct wl_arena *scratch)
{
    struct wl_law_run *kept = wl_new_array(scratch, struct wl_law_run, v->n);
    size_t n = 0;
    for (size_t k = 0; k < v->n; k++) {
        s->of_run[s->obs->run_index[v->runs[k].row]] = s->c->n;
        if (is_copy(v, k))
            s->copies++;
        else
            kept[n++] = v->runs[k];
    }
    return (struct span) { kept, n };
}

/* Products of the residuals of t and P about their means over the runs that have both. */
static void add_residuals(struct wl_choose_collected *s, const struct span *v)
{
    double n = 0, t = 0, p = 0;
    for (size_t k = 0; k < v->n; k++) {
        if (!isfinite(v->runs[k].ln_energy_j)) continue;
        t += ln_time(s, &v->runs[k]);
        p += ln_power(&v->runs[k]);
        n++;
    }
    for (size_t k = 0; k < v->n && n > 1; k++) {
        if (!isfinite(v->runs[k].ln_energy_j)) continue;
        const double of_t = ln_time(s, &v->runs[k]) - t / n, of_p = ln_power(&v->runs[k]) - p / n;
        s->cross += of_t * of_p;
        s->squares[0] += of_t * of_t;
        s->squares[1] += of_p * of_p;
    }
    s->df += n > 1 ? n - 1 : 0;
}

/* Runs [first, end) of a group, which have one worker count, are a setting. */
static void add_setting(struct wl_choose_collected *s, const struct wl_law_group *g, size_t first, size_t end,
                        struct wl_arena *scratch)
{
    struct wl_choose_campaign *c = s->c;
    const struct span all = { g->runs + first, end - first }, v = without_copies(s, &all, scratch);
    const size_t i = c->n++;
    double least = INFINITY, most = 0;
    c->row[i] = v.runs[0].row;
    c->value[i] = values_of(s, c->row[i]);
    c->from[i] = wl_provenance_of(g->estimated, g->simulated);
    c->settings[i] = (struct wl_choose_setting) { .workers = v.runs[0].workers, .nodes = s->obs->nodes[c->row[i]] };
    for (size_t k = 0; k < v.n; k++) {
        add_value(&s->runs[WL_JOINT_TIME][i], ln_time(s, &v.runs[k]));
        if (isfinite(v.runs[k].ln_energy_j)) add_value(&s->runs[WL_JOINT_POWER][i], ln_power(&v.runs[k]));
        s->samples[i] += v.runs[k].samples / (double)v.n;
        least = fmin(least, v.runs[k].samples);
        most = fmax(most, v.runs[k].samples);
    }
    add_residuals(s, &v);
    s->unlike += most > 1.05 * least;
    c->settings[i].runs = v.n;
    c->runs += v.n;
    c->repeated += v.n > 1;
    c->any_from |= c->from[i];
}

/* Are the samples of every epoch known? */
static bool knows_samples(const struct wl_law_result *laws)
{
    for (size_t g = 0; g < laws->n; g++)
        for (size_t k = 0; k < laws->groups[g].n_runs; k++)
            if (!(laws->groups[g].runs[k].samples > 0)) return false;
    return true;
}

/* No cap is an empty value; 0 W, -1 W and 1e308 W are mistakes. */
static bool has_bad_cap(const struct wl_choose_collected *s, size_t row)
{
    for (size_t k = 0; k < s->c->n_axes; k++) {
        const struct wl_setting *setting = s->c->axes[k].setting;
        struct wl_obs_column column;
        double v;
        if (!setting || !setting->is_cap || wl_obs_find(s->obs, setting->name, &column, NULL)) continue;
        const char *text = wl_obs_text(&column, row, s->a);
        if (*text && (wl_str_to_real(text, &v) || !is_within(v, WL_SETTING_CAP_MIN, WL_SETTING_CAP_MAX))) return true;
    }
    return false;
}

static void add_settings(struct wl_choose_collected *s, const struct wl_law_group *g, struct wl_arena *scratch)
{
    if (has_bad_cap(s, g->runs[0].row)) {
        s->bad_caps += g->n_runs;
        return;
    }
    for (size_t k = 0, end; k < g->n_runs; k = end) {
        for (end = k + 1; end < g->n_runs && g->runs[end].workers == g->runs[k].workers;) end++;
        add_setting(s, g, k, end, scratch);
    }
}

static bool names_workload(const struct wl_choose_campaign_options *o)
{
    for (size_t k = 0; k < o->n_where; k++)
        if (is_of_workload(&o->where[k])) return true;
    return false;
}

static int collect_from(struct wl_choose_collected *s, const struct wl_observations *usable, struct wl_arena *scratch,
                        struct wl_err *e)
{
    struct wl_law_result laws;
    struct wl_strs names = { 0 };
    int rc = fit_groups(s, usable, &laws, scratch, e);
    if (rc) return rc;
    allocate(s, count_runs(&laws));
    s->per_sample = knows_samples(&laws);
    for (size_t g = 0; g < laws.n; g++) {
        const struct wl_law_group *group = &laws.groups[g];
        bool wanted = !group->n_runs;
        if (group->n_runs) rc = is_wanted(s, group->runs[0].row, &wanted, e);
        if (rc) return rc;
        if (wanted) s->bad_rows += group->counts.no_workers + group->counts.no_response + group->counts.not_positive;
        if (!wanted || !group->n_runs) continue;
        const char *name = s->obs->workload[group->runs[0].row];
        s->c->workload = name && *name ? name : NULL;
        add_workload(&names, s->c->workload, s->a);
        add_settings(s, group, scratch);
    }
    s->bad_energies = count_bad_energies(s, usable);
    if (s->c->n) return check_workloads(s, &names, e);
    return wl_fail(e, WL_EINVAL, "%s: no run with a positive time and worker count%s%s%s", s->obs->source,
                   s->bad_caps ? " and caps that can be set" : "",
                   names_workload(s->o) ? " matches --where workload" : "",
                   has_workers(s->obs) ? "" : ": no row has workers; --map workers=COLUMN names their column");
}

int wl_choose_collect_runs(struct wl_choose_collected *s, struct wl_err *e)
{
    struct wl_arena *scratch = wl_arena_new(s->a);
    const int rc = collect_from(s, without_mistakes(s, scratch), scratch, e);
    wl_arena_free(scratch);
    return rc;
}
