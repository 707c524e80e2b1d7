/* The sentences of an audit: what a table shows, and what it cannot support. */
#include "law/audit/findings.h"

#include "law/fit/notes.h"

#include <math.h>
#include <string.h>

static const double alpha = 0.05;

static void add_pair_findings(struct wl_audit *audit, const struct wl_audit_group *g, struct wl_arena *a)
{
    double open = 0;
    size_t n_found = 0;
    for (size_t i = 0; i < g->n_pairs; i++) {
        const struct wl_audit_pair *p = &g->pairs[i];
        open = fmax(open, fmax(fabs(p->lo), fabs(p->hi)));
        if (!(p->p_holm < alpha)) continue;
        n_found++;
        wl_strs_addf(a, &audit->findings, "%s: the slopes of %s and %s differ by %.3g (Welch p = %.2g, Holm %.2g), %s",
                     g->name, audit->rows[p->a].level, audit->rows[p->b].level, fabs(p->difference), p->p, p->p_holm,
                     p->p_worst_holm < alpha ? "however the numbers were rounded"
                                             : "though not for every number that rounds to the printed ones");
    }
    if (!isnan(g->q_p) && g->q_p < alpha)
        wl_strs_addf(a, &audit->findings,
                     "%s: one slope for all rows is rejected (Q = %.3g, %g degrees of freedom, p = %.2g)", g->name,
                     g->q, g->q_df, g->q_p);
    if (g->n_pairs && !n_found && !(g->q_p < alpha))
        wl_strs_addf(a, &audit->limits,
                     "%s: no two slopes differ significantly (Q p = %.2g), but differences of up to %.2g are not "
                     "excluded: this is not evidence for equal slopes",
                     g->name, g->q_p, open);
}

static void add_error_findings(struct wl_audit *audit, struct wl_arena *a)
{
    for (size_t i = 0; i < audit->n; i++) {
        const struct wl_audit_row *row = &audit->rows[i];
        const struct wl_audit_implied *m = &audit->implied[i];
        if (m->contradicts)
            wl_strs_addf(
                a, &audit->findings,
                "%s, %s: R2 = %g over %g points implies a standard error of %.2g, not %g; %g would imply R2 = %.3f",
                row->group, row->level, row->r2.value, m->n, m->se, row->se.value, row->se.value, m->r2_of_se);
        if (m->reason && audit->n > 1)
            wl_strs_addf(a, &audit->limits, "%s, %s: not compared, since %s", row->group, row->level, m->reason);
    }
}

/* Rows of one setting that were printed with different exponents. */
static void add_setting_findings(struct wl_audit *audit, struct wl_arena *a)
{
    for (size_t i = 0; i < audit->n; i++)
        for (size_t j = i + 1; j < audit->n; j++) {
            const struct wl_audit_row *p = &audit->rows[i], *q = &audit->rows[j];
            if (!p->setting || !q->setting || strcmp(p->setting, q->setting) != 0) continue;
            double d = fabs(q->beta.value - p->beta.value);
            if (d <= p->beta.half + q->beta.half) continue;
            wl_strs_addf(a, &audit->findings,
                         "%s has two exponents: %g in %s and %g in %s. They are fits to different points; over other "
                         "worker counts a curve has another exponent, so neither holds beyond its own range",
                         p->setting, p->beta.value, p->group, q->beta.value, q->group);
        }
}

/* Where a straight line through W/N + c has the same exponent and about the same R2, R2 does not support a power law.
 */
static void add_curve_findings(struct wl_audit *audit, struct wl_arena *a)
{
    size_t with_curve = 0, alike = 0;
    for (size_t i = 0; i < audit->n; i++) {
        const struct wl_audit_implied *m = &audit->implied[i];
        if (isnan(m->share)) continue;
        with_curve++;
        alike += m->curve_r2 >= audit->rows[i].r2.value - audit->rows[i].r2.half - 0.03;
    }
    if (with_curve)
        wl_strs_addf(a, &audit->limits,
                     "R2 is not evidence for a power law: in %zu of the %zu rows with worker counts, a straight line "
                     "through W/N + c without noise has the same exponent and an R2 as high to within 0.03",
                     alike, with_curve);
}

void wl_audit_add_findings(struct wl_audit *audit, double assumed_n, struct wl_arena *a)
{
    size_t assumed = 0, errors = 0;
    for (size_t i = 0; i < audit->n; i++) {
        assumed += isnan(audit->rows[i].n) && !isnan(assumed_n);
        errors += !audit->implied[i].reason;
    }
    for (size_t i = 0; i < audit->n_groups; i++) add_pair_findings(audit, &audit->groups[i], a);
    add_error_findings(audit, a);
    add_setting_findings(audit, a);
    add_curve_findings(audit, a);
    if (assumed)
        wl_strs_addf(a, &audit->limits, "%s without a number of points: %g is assumed",
                     wl_law_count_text(a, assumed, "row"), assumed_n);
    if (errors)
        wl_strs_addf(a, &audit->limits,
                     "the standard errors hold if the points scatter independently about a straight line. A table of "
                     "slopes cannot show whether they do; that takes the points themselves, with repeats");
}
