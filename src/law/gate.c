#include "law/gate.h"

#include "law/run_sums.h"
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

/* The runs of BASE or NEW. */
struct side {
    struct wl_run_sums *v;
    size_t n;
    size_t *first; /* + 1: the first run of each configuration, by its number; 0: it has none */
    size_t *next;  /* [n] + 1: the next run of its configuration; 0: none */
};

/* Configurations are numbered as they appear, first those of BASE. */
struct sides {
    struct side base, now;
    struct wl_numbering keys;
    double *room; /* for a value of each run of a configuration */
};

static double value_of(const struct wl_run_sums *r, enum wl_gate_quantity q)
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

static struct sample sample_of(const struct side *s, size_t key, enum wl_gate_quantity q, double *room)
{
    size_t n = 0;
    for (size_t i = s->first[key]; i; i = s->next[i - 1]) {
        const double x = value_of(&s->v[i - 1], q);
        if (x > 0 && isfinite(x)) room[n++] = log(x);
    }
    const double sd = wl_sd(room, n);
    return (struct sample) { wl_mean(room, n), sd * sd, n };
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

/* Of a configuration without any setting. */
static const char *title_of(const char *key) { return *key ? key : "all runs"; }

/* In reverse, so that the runs of a configuration keep their order. */
static void index_side(struct side *s, struct wl_numbering *keys, size_t most, struct wl_arena *a)
{
    s->first = wl_new_array(a, size_t, most);
    s->next = wl_new_array(a, size_t, s->n);
    for (size_t i = 0; i < s->n; i++) wl_numbering_of(keys, s->v[i].key);
    for (size_t i = s->n; i > 0; i--) {
        size_t *first = &s->first[wl_numbering_of(keys, s->v[i - 1].key)];
        s->next[i - 1] = *first;
        *first = i;
    }
}

static void index_sides(struct sides *s, struct wl_arena *a)
{
    const size_t most = s->base.n + s->now.n;
    s->keys = wl_numbering_new(most, a);
    s->room = wl_new_array(a, double, most);
    index_side(&s->base, &s->keys, most, a);
    index_side(&s->now, &s->keys, most, a);
}

static void note_missing(const struct sides *s, const struct side *in, const char *name, struct wl_gate_result *r,
                         struct wl_arena *a)
{
    for (size_t k = 0; k < s->keys.n; k++)
        if (!in->first[k])
            wl_strs_add(a, &r->notes,
                        wl_strf(a, "%s is not in %s and was not compared", title_of(s->keys.text[k]), name));
}

static void add_check(struct wl_gate_result *r, const struct sides *s, size_t key, enum wl_gate_quantity q,
                      const struct wl_gate_condition *condition)
{
    struct wl_gate_check *c = &r->v[r->n++];
    *c = (struct wl_gate_check) {
        .title = s->keys.text[key], .condition = condition, .quantity = q, .p_worse = NAN, .p_within = NAN
    };
    compare(c, sample_of(&s->base, key, q, s->room), sample_of(&s->now, key, q, s->room));
    const struct side *const both[] = { &s->base, &s->now };
    for (size_t k = 0; k < 2 && quantities[q].of_energy; k++)
        for (size_t i = both[k]->first[key]; i; i = both[k]->next[i - 1]) {
            c->estimated |= both[k]->v[i - 1].estimated;
            c->simulated |= both[k]->v[i - 1].simulated;
        }
}

int wl_gate_compare(const struct wl_observations *base, const struct wl_observations *now,
                    const struct wl_gate_options *o, struct wl_gate_result *out, struct wl_arena *a, struct wl_err *e)
{
    static const enum wl_gate_quantity shown[] = { WL_GATE_TIME, WL_GATE_ENERGY };
    struct sides sides;
    *out = (struct wl_gate_result) { 0 };
    sides.base.n = base->runs;
    sides.now.n = now->runs;
    int rc = wl_run_sums_collect(base, &o->by, o->drop_epochs, &sides.base.v, a, e);
    if (rc == 0) rc = wl_run_sums_collect(now, &o->by, o->drop_epochs, &sides.now.v, a, e);
    if (rc) return rc;
    index_sides(&sides, a);
    out->v = wl_new_array(a, struct wl_gate_check, sides.base.n * (o->n ? o->n : WL_COUNT(shown)));
    for (size_t key = 0; key < sides.keys.n; key++) {
        if (!sides.base.first[key] || !sides.now.first[key]) continue;
        for (size_t k = 0; k < o->n; k++) add_check(out, &sides, key, o->conditions[k].quantity, &o->conditions[k]);
        for (size_t k = 0; !o->n && k < WL_COUNT(shown); k++) add_check(out, &sides, key, shown[k], NULL);
    }
    note_missing(&sides, &sides.now, "NEW", out, a);
    note_missing(&sides, &sides.base, "BASE", out, a);
    if (!out->n)
        return wl_fail(
            e, WL_EINVAL,
            "no configuration is in both %s (%s) and %s (%s): --by names the columns that tell configurations "
            "apart",
            base->source, title_of(sides.base.v[0].key), now->source, title_of(sides.now.v[0].key));
    decide(out, a);
    return 0;
}
