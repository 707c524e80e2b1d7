#include "law/gate.h"

#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double ALPHA = .025; /* one-sided: the ends of a 95 % interval */

static const struct {
    const char *name;
    bool of_energy;
} quantities[WL_GATE_QUANTITIES] = {
    [WL_GATE_TIME] = { "time", false },
    [WL_GATE_ENERGY] = { "energy", true },
    [WL_GATE_POWER] = { "power", true },
    [WL_GATE_EDP] = { "edp", true },
    [WL_GATE_THROUGHPUT] = { "throughput", false },
    [WL_GATE_TOKEN_RATE] = { "token_rate", false },
    [WL_GATE_ENERGY_PER_SAMPLE] = { "energy_per_sample", true },
    [WL_GATE_ENERGY_PER_TOKEN] = { "energy_per_token", true },
};

const char *wl_gate_quantity_name(enum wl_gate_quantity q) { return quantities[q].name; }

/* ---- conditions ---- */

int wl_gate_parse(const char *text, struct wl_gate_condition *out, struct wl_arena *a, struct wl_err *e)
{
    static const char expected[] = "expected QUANTITY>N% or QUANTITY<-N%, such as energy>3%";
    const char *sign = text + strcspn(text, "<>"), *end = text + strlen(text);
    const char *names[WL_GATE_QUANTITIES];
    const char *name = wl_str_strip(a, wl_strndup(a, text, (size_t)(sign - text)));
    double percent;
    if (!*sign || end[-1] != '%' ||
        wl_str_to_real(wl_str_strip(a, wl_strndup(a, sign + 1, (size_t)(end - sign - 2))), &percent))
        return wl_fail(e, WL_EUSAGE, "'%s': %s", text, expected);
    if (!(percent > -100) || !isfinite(percent)) return wl_fail(e, WL_EUSAGE, "'%s': a change is above -100 %%", text);
    for (int q = 0; q < WL_GATE_QUANTITIES; q++) {
        names[q] = quantities[q].name;
        if (!wl_str_eq(name, names[q])) continue;
        *out = (struct wl_gate_condition) { text, (enum wl_gate_quantity)q, *sign == '>', percent / 100 };
        return 0;
    }
    const char *meant = wl_str_closest(name, names, WL_GATE_QUANTITIES);
    struct wl_text list = WL_TEXT(a);
    for (int q = 0; q < WL_GATE_QUANTITIES; q++) wl_text_addf(&list, "%s%s", q ? ", " : "", names[q]);
    if (meant) return wl_fail(e, WL_EUSAGE, "'%s': unknown quantity '%s'; did you mean %s?", text, name, meant);
    return wl_fail(e, WL_EUSAGE, "'%s': unknown quantity '%s': expected one of %s", text, name, list.s);
}

/* ---- runs ---- */

/* Sums over the epochs of a run that count; NAN as soon as one is missing. */
struct run {
    const char *key;
    double time_s, energy_j, samples, tokens, rows;
    bool estimated, simulated;
};
struct side {
    struct run *v;
    size_t n;
};

static const double *column_of(const struct wl_observations *obs, const char *name)
{
    struct wl_obs_column c;
    struct wl_err none;
    return wl_obs_find(obs, name, &c, &none) == 0 ? c.real : NULL;
}

static void add_part(struct wl_text *t, const struct wl_obs_column *c, size_t row, struct wl_arena *a)
{
    const char *value = wl_obs_text(c, row, a);
    if (!*value) return;
    const bool name = wl_str_eq(c->name, "workload") || wl_str_eq(c->name, "hardware");
    wl_text_addf(t, "%s%s%s%s", t->n ? " " : "", name ? "" : c->name, name ? "" : "=", value);
}

/* The settings of a row, "resnet50 workers=2 local_batch=16". */
static int key_of(const struct wl_observations *obs, const struct wl_strs *by, size_t row, const char **out,
                  struct wl_arena *a, struct wl_err *e)
{
    static const char *const settings[] = { "workload",    "hardware",     "nodes",       "workers",
                                            "local_batch", "global_batch", "power_cap_w", "clock_mhz" };
    struct wl_text t = WL_TEXT(a);
    struct wl_obs_column c;
    for (size_t i = 0; i < by->n; i++) {
        int rc = wl_obs_find(obs, by->v[i], &c, e);
        if (rc) return rc;
        add_part(&t, &c, row, a);
    }
    for (size_t i = 0; !by->n && i < WL_COUNT(settings); i++) {
        WL_CHECK(wl_obs_find(obs, settings[i], &c, NULL) == 0);
        add_part(&t, &c, row, a);
    }
    for (size_t i = 0; !by->n && i < obs->n_extra; i++)
        if (obs->extra[i].setting) add_part(&t, &obs->extra[i], row, a);
    *out = t.n ? t.s : "";
    return 0;
}

/* Does the epoch come after the warm-up? The last one of a run always counts. */
static bool counts(const struct wl_observations *obs, size_t row, const double *last, int64_t drop)
{
    const double epoch = obs->epoch[row], end = last[obs->run_index[row]];
    if (isnan(epoch)) return isnan(end); /* a total beside epochs */
    return epoch > (double)drop || epoch == end;
}

static int collect(const struct wl_observations *obs, const struct wl_gate_options *o, struct side *out,
                   struct wl_arena *a, struct wl_err *e)
{
    const double *tokens = column_of(obs, "tokens");
    double *last = wl_new_array(a, double, obs->runs);
    *out = (struct side) { wl_new_array(a, struct run, obs->runs), obs->runs };
    for (size_t i = 0; i < obs->runs; i++) last[i] = NAN;
    for (size_t i = 0; i < obs->n; i++) last[obs->run_index[i]] = fmax(last[obs->run_index[i]], obs->epoch[i]);
    for (size_t i = 0; i < obs->n; i++) {
        struct run *r = &out->v[obs->run_index[i]];
        int rc = r->key ? 0 : key_of(obs, &o->by, i, &r->key, a, e);
        if (rc) return rc;
        if (!counts(obs, i, last, o->drop_epochs)) continue;
        r->time_s += obs->time_s[i];
        r->energy_j += obs->energy_j[i];
        r->samples += obs->samples[i];
        r->tokens += tokens ? tokens[i] : NAN;
        r->estimated |= obs->estimated[i] != 0;
        r->simulated |= obs->simulated[i] != 0;
        r->rows++;
    }
    return 0;
}

static double value_of(const struct run *r, enum wl_gate_quantity q)
{
    switch (q) {
    case WL_GATE_TIME: return r->time_s / r->rows;
    case WL_GATE_ENERGY: return r->energy_j / r->rows;
    case WL_GATE_POWER: return r->energy_j / r->time_s;
    case WL_GATE_EDP: return r->energy_j / r->rows * (r->time_s / r->rows);
    case WL_GATE_THROUGHPUT: return r->samples / r->time_s;
    case WL_GATE_TOKEN_RATE: return r->tokens / r->time_s;
    case WL_GATE_ENERGY_PER_SAMPLE: return r->energy_j / r->samples;
    case WL_GATE_ENERGY_PER_TOKEN: return r->energy_j / r->tokens;
    case WL_GATE_QUANTITIES: break;
    }
    return NAN;
}

/* ---- one check ---- */

struct sample {
    double mean, variance; /* of logarithms; variance NAN where n < 2 */
    size_t n;
};

static struct sample sample_of(const struct side *s, const char *key, enum wl_gate_quantity q, struct wl_arena *a)
{
    double *v = wl_new_array(a, double, s->n);
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const double x = wl_str_eq(s->v[i].key, key) ? value_of(&s->v[i], q) : NAN;
        if (x > 0 && isfinite(x)) v[n++] = log(x);
    }
    const double sd = wl_sd(v, n);
    return (struct sample) { wl_mean(v, n), sd * sd, n };
}

/* P of so far beyond a bound on the logarithm if the true change were at it; without scatter it is known. */
static double tail(double distance, double se, double df)
{
    return se > 0 ? wl_t_sf(distance / se, df) : isnan(se) ? NAN : distance > 0 ? 0 : 1;
}

static void compare(struct wl_gate_check *c, struct sample base, struct sample now)
{
    const double u = base.variance / (double)base.n, v = now.variance / (double)now.n, ln = now.mean - base.mean,
                 se = sqrt(u + v); /* Welch 1947; degrees of freedom after Satterthwaite */
    const double df = (u + v) * (u + v) / (u * u / ((double)base.n - 1) + v * v / ((double)now.n - 1));
    const double half = se > 0 ? wl_t_quantile(1 - ALPHA, df) * se : se;
    c->base_runs = base.n;
    c->new_runs = now.n;
    c->base = exp(base.mean);
    c->now = exp(now.mean);
    c->change = expm1(ln);
    c->lo = expm1(ln - half);
    c->hi = expm1(ln + half);
    if (!c->condition) return;
    const double beyond = (c->condition->above ? 1 : -1) * (ln - log1p(c->condition->change));
    c->p_worse = tail(beyond, se, df);
    c->p_within = tail(-beyond, se, df);
}

static const char *why_undecided(const struct wl_gate_check *c, struct wl_arena *a)
{
    if (!c->base_runs || !c->new_runs)
        return wl_strf(a, "%s no %s",
                       c->base_runs  ? "NEW has"
                       : c->new_runs ? "BASE has"
                                     : "BASE and NEW have",
                       quantities[c->quantity].name);
    if (isnan(c->p_worse)) return "needs at least two runs of each";
    if (c->p_worse <= ALPHA) return "beyond its bound alone, but not among so many checks";
    return wl_strf(a, "the interval has %.3g %% in it: more runs decide", 100 * c->condition->change);
}

static void decide(struct wl_gate_result *r, struct wl_arena *a)
{
    double *p = wl_new_array(a, double, r->n), *holm = wl_new_array(a, double, r->n);
    for (size_t i = 0; i < r->n; i++) p[i] = r->v[i].p_worse;
    wl_holm(p, r->n, holm, a);
    r->verdict = WL_GATE_PASSED;
    for (size_t i = 0; i < r->n; i++) {
        struct wl_gate_check *c = &r->v[i];
        c->p_worse_holm = holm[i];
        c->verdict = !c->condition || c->p_within <= ALPHA ? WL_GATE_PASSED
                     : c->p_worse_holm <= ALPHA            ? WL_GATE_FAILED
                                                           : WL_GATE_UNDECIDED;
        if (c->verdict == WL_GATE_UNDECIDED) c->why = why_undecided(c, a);
        if (c->verdict > r->verdict) r->verdict = c->verdict;
    }
}

/* ---- all of them ---- */

static bool has(const struct side *s, const char *key)
{
    for (size_t i = 0; i < s->n; i++)
        if (wl_str_eq(s->v[i].key, key)) return true;
    return false;
}

static bool is_first(const struct side *s, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (wl_str_eq(s->v[k].key, s->v[i].key)) return false;
    return true;
}

static void note_missing(const struct side *of, const struct side *in, const char *name, struct wl_gate_result *r,
                         struct wl_arena *a)
{
    for (size_t i = 0; i < of->n; i++)
        if (is_first(of, i) && !has(in, of->v[i].key))
            wl_strs_add(a, &r->notes, wl_strf(a, "%s is not in %s and was not compared", of->v[i].key, name));
}

static void add_check(struct wl_gate_result *r, const struct side *base, const struct side *now, const char *key,
                      enum wl_gate_quantity q, const struct wl_gate_condition *condition, struct wl_arena *a)
{
    struct wl_gate_check *c = &r->v[r->n++];
    *c =
        (struct wl_gate_check) { .title = key, .condition = condition, .quantity = q, .p_worse = NAN, .p_within = NAN };
    compare(c, sample_of(base, key, q, a), sample_of(now, key, q, a));
    const struct side *const sides[] = { base, now };
    for (size_t s = 0; s < 2 && quantities[q].of_energy; s++)
        for (size_t i = 0; i < sides[s]->n; i++) {
            if (!wl_str_eq(sides[s]->v[i].key, key)) continue;
            c->estimated |= sides[s]->v[i].estimated;
            c->simulated |= sides[s]->v[i].simulated;
        }
}

int wl_gate_compare(const struct wl_observations *base, const struct wl_observations *now,
                    const struct wl_gate_options *o, struct wl_gate_result *out, struct wl_arena *a, struct wl_err *e)
{
    static const enum wl_gate_quantity shown[] = { WL_GATE_TIME, WL_GATE_ENERGY };
    struct side sides[2];
    *out = (struct wl_gate_result) { 0 };
    int rc = collect(base, o, &sides[0], a, e);
    if (rc == 0) rc = collect(now, o, &sides[1], a, e);
    if (rc) return rc;
    out->v = wl_new_array(a, struct wl_gate_check, sides[0].n * (o->n ? o->n : WL_COUNT(shown)));
    for (size_t i = 0; i < sides[0].n; i++) {
        const char *key = sides[0].v[i].key;
        if (!is_first(&sides[0], i) || !has(&sides[1], key)) continue;
        for (size_t k = 0; k < o->n; k++)
            add_check(out, &sides[0], &sides[1], key, o->conditions[k].quantity, &o->conditions[k], a);
        for (size_t k = 0; !o->n && k < WL_COUNT(shown); k++)
            add_check(out, &sides[0], &sides[1], key, shown[k], NULL, a);
    }
    note_missing(&sides[0], &sides[1], "NEW", out, a);
    note_missing(&sides[1], &sides[0], "BASE", out, a);
    if (!out->n)
        return wl_fail(
            e, WL_EINVAL,
            "no configuration is in both %s (%s) and %s (%s): --by names the columns that tell configurations "
            "apart",
            base->source, sides[0].v[0].key, now->source, sides[1].v[0].key);
    decide(out, a);
    return 0;
}
