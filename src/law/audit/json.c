/* An audit as JSON; docs/formats.md describes the keys, which are stable. */
#include "law/json.h"
#include "law/audit/audit.h"

static void add_row(struct wl_json *array, const struct wl_audit_row *row, const struct wl_audit_implied *m)
{
    struct wl_json *o = wl_json_add_object(array, NULL);
    wl_json_add_str(o, "level", row->level);
    wl_json_add_str(o, "setting", row->setting);
    wl_json_add_real(o, "beta", row->beta.value);
    wl_json_add_real(o, "r2", row->r2.value);
    wl_json_add_number(o, "n", m->n);
    wl_json_add_real(o, "se_printed", row->se.value);
    wl_json_add_real(o, "se", m->se);
    wl_law_json_interval(o, "se_rounding", m->lo, m->hi);
    wl_json_add_str(o, "se_from", m->reason ? NULL : m->from_r2 ? "r2" : "printed");
    wl_json_add_bool(o, "se_contradicts_r2", m->contradicts);
    struct wl_json *curve = wl_json_add_object(o, "amdahl_with_this_beta");
    wl_json_add_real(curve, "c_over_w", m->share);
    wl_json_add_real(curve, "r2", m->curve_r2);
    wl_json_add_real(curve, "se", m->curve_se);
    wl_json_add_str(curve, "why", m->curve_reason);
    wl_json_add_str(o, "why", m->reason);
}

static void add_pair(struct wl_json *array, const struct wl_audit *audit, const struct wl_audit_pair *p)
{
    struct wl_json *o = wl_json_add_object(array, NULL);
    wl_json_add_str(o, "a", audit->rows[p->a].level);
    wl_json_add_str(o, "b", audit->rows[p->b].level);
    wl_json_add_real(o, "difference", p->difference);
    wl_law_json_interval(o, "ci95", p->lo, p->hi);
    wl_json_add_real(o, "t", p->t);
    wl_json_add_real(o, "df", p->df);
    wl_json_add_real(o, "p", p->p);
    wl_json_add_real(o, "p_holm", p->p_holm);
    wl_json_add_real(o, "p_worst", p->p_worst);
    wl_json_add_real(o, "p_worst_holm", p->p_worst_holm);
}

static void add_sentences(struct wl_json *o, const char *key, const struct wl_strs *list)
{
    struct wl_json *array = wl_json_add_array(o, key);
    for (size_t i = 0; i < list->n; i++) wl_json_add_str(array, NULL, list->v[i]);
}

void wl_audit_json(const struct wl_audit *audit, struct wl_json *object)
{
    struct wl_json *groups = wl_json_add_array(object, "groups");
    for (size_t i = 0; i < audit->n_groups; i++) {
        const struct wl_audit_group *g = &audit->groups[i];
        struct wl_json *o = wl_json_add_object(groups, NULL);
        wl_json_add_str(o, "group", g->name);
        struct wl_json *rows = wl_json_add_array(o, "rows"), *pairs = wl_json_add_array(o, "pairwise");
        for (size_t j = 0; j < g->n; j++) add_row(rows, &audit->rows[g->rows[j]], &audit->implied[g->rows[j]]);
        for (size_t j = 0; j < g->n_pairs; j++) add_pair(pairs, audit, &g->pairs[j]);
        struct wl_json *q = wl_json_add_object(o, "homogeneity");
        wl_json_add_real(q, "q", g->q);
        wl_json_add_real(q, "df", g->q_df);
        wl_json_add_real(q, "p", g->q_p);
        wl_json_add_real(q, "p_worst", g->q_p_worst);
        wl_json_add_str(q, "why", g->q_reason);
    }
    add_sentences(object, "findings", &audit->findings);
    add_sentences(object, "limits", &audit->limits);
}
