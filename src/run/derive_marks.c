/* The epochs, metrics and settings of a run from its marks. */
#include "run/derive.h"

#include <math.h>

bool wl_derive_parse_mark(const struct wl_mark_row *row, struct wl_mark *m)
{
    for (int w = 0; w < WL_MARK_WORDS; w++)
        if (wl_str_eq(wl_mark_word_name((enum wl_mark_word)w), row->word))
            return wl_mark_make(m, row->t_ns, (int)row->rank, (enum wl_mark_word)w, row->fields, NULL) == 0;
    return false;
}

/* Rank 0's pairs of marks define the epochs. Of one that is marked twice (by a job that resumed within the run) the
 * last one counts. */
static void find_epochs(const struct wl_mark_rows *marks, struct wl_derived *out, struct wl_arena *a)
{
    struct wl_epoch_row *rows = wl_new_array(a, struct wl_epoch_row, marks->n);
    struct wl_numbering epochs = wl_numbering_new(marks->n, a);
    int64_t open = 0, begin_ns = 0;
    struct wl_mark m;
    for (size_t i = 0; i < marks->n; i++) {
        if (marks->v[i].rank != 0 || !wl_derive_parse_mark(&marks->v[i], &m)) continue;
        if (m.word == WL_MARK_EPOCH_BEGIN) {
            open = wl_mark_int(&m, "epoch", 0);
            begin_ns = m.t_ns;
        } else if (m.word == WL_MARK_EPOCH_END && open && wl_mark_int(&m, "epoch", 0) == open) {
            const size_t k = wl_numbering_of(&epochs, wl_strf(a, "%lld", (long long)open));
            rows[k] = (struct wl_epoch_row) { .epoch = open,
                                              .begin_ns = begin_ns,
                                              .end_ns = m.t_ns,
                                              .time_s = (double)(m.t_ns - begin_ns) / WL_NS_PER_S,
                                              .samples = wl_mark_real(&m, "samples"),
                                              .updates = wl_mark_real(&m, "updates"),
                                              .tokens = wl_mark_real(&m, "tokens") };
            open = 0;
        }
    }
    out->epochs = rows;
    out->n_epochs = epochs.n;
}

/* A metric mark as a row; a phase mark, with the seconds summed by the workload, is the metric NAME_s. */
static bool metric_row(const struct wl_mark *m, struct wl_metric_row *row, struct wl_arena *a)
{
    int64_t epoch = wl_mark_int(m, "epoch", -1);
    bool phase = m->word == WL_MARK_PHASE;
    if (!phase && m->word != WL_MARK_METRIC) return false;
    *row = (struct wl_metric_row) { .epoch = epoch < 0 ? NAN : (double)epoch,
                                    .name = wl_strf(a, "%s%s", wl_mark_str(m, "name"), phase ? "_s" : ""),
                                    .value = wl_mark_real(m, phase ? "time_s" : "value") };
    return true;
}

static void find_metrics(const struct wl_mark_rows *marks, struct wl_derived *out, struct wl_arena *a)
{
    struct wl_metric_row *rows = wl_new_array(a, struct wl_metric_row, marks->n);
    struct wl_numbering known = wl_numbering_new(marks->n, a);
    struct wl_mark m;
    for (size_t i = 0; i < marks->n; i++) {
        struct wl_metric_row row;
        if (marks->v[i].rank != 0 || !wl_derive_parse_mark(&marks->v[i], &m) || !metric_row(&m, &row, a)) continue;
        rows[wl_numbering_of(&known, wl_strf(a, "%.0f %s", row.epoch, row.name))] = row; /* the last one counts */
    }
    out->metrics = rows;
    out->n_metrics = known.n;
}

/* "_" becomes a blank: values of marks contain none. NULL stays NULL. */
static const char *with_blanks(const char *value, struct wl_arena *a)
{
    if (!value) return NULL;
    char *text = wl_strdup(a, value);
    for (char *p = text; *p; p++)
        if (*p == '_') *p = ' ';
    return text;
}

static double better_of(const char *word) { return word ? (double)wl_str_eq(word, "larger") : NAN; }

/* The definitions of the metrics, in the order of their first marks. */
static void find_definitions(const struct wl_mark_rows *marks, struct wl_derived *out, struct wl_arena *a)
{
    struct wl_metric_def_row *rows = wl_new_array(a, struct wl_metric_def_row, marks->n);
    struct wl_numbering names = wl_numbering_new(marks->n, a);
    struct wl_mark m;
    for (size_t i = 0; i < marks->n; i++) {
        if (marks->v[i].rank != 0 || !wl_derive_parse_mark(&marks->v[i], &m) || m.word != WL_MARK_DEFINE) continue;
        const char *name = wl_strdup(a, wl_mark_str(&m, "name")), *of = wl_mark_str(&m, "baseline_of");
        const size_t k = wl_numbering_of(&names, name);
        rows[k] = (struct wl_metric_def_row) { .name = name,
                                               .label = with_blanks(wl_mark_str(&m, "label"), a),
                                               .unit = with_blanks(wl_mark_str(&m, "unit"), a),
                                               .larger = better_of(wl_mark_str(&m, "better")),
                                               .baseline_of = of ? wl_strdup(a, of) : NULL,
                                               .main = wl_mark_int(&m, "main", 0) != 0,
                                               .place = (int64_t)k + 1 };
    }
    out->metric_defs = rows;
    out->n_metric_defs = names.n;
}

/* A count of a start mark that can be stored: whole, at least 1, and exact as a double. */
static double count_of(const struct wl_mark *m, const struct wl_setting *r)
{
    double v = wl_mark_real(m, r->name);
    return v >= 1 && v <= (double)WL_MARK_COUNT_MAX && v == floor(v) ? v : NAN;
}

struct wl_strs wl_derive_unusable_settings(const struct wl_mark *m, struct wl_arena *a)
{
    struct wl_strs list = { 0 };
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) {
        const char *text = wl_mark_str(m, r->name);
        if (r->type != WL_SETTING_COUNT || !text || !isnan(count_of(m, r))) continue;
        wl_strs_add(a, &list,
                    wl_strf(a, "%s=%s: expected a whole number from 1 to %lld", r->name, text,
                            (long long)WL_MARK_COUNT_MAX));
    }
    return list;
}

/* What rank 0 says in its start mark; caps are wattlaw's own. */
static void take_settings(const struct wl_mark *m, struct wl_settings *set, struct wl_arena *a)
{
    struct wl_setting_pair pairs[WL_SETTING_CHOICES + 1];
    size_t n = 0;
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) {
        const char *text = wl_mark_str(m, r->name);
        if (r->is_cap || r->observed) continue;
        if (r->type == WL_SETTING_COUNT)
            wl_setting_set_real(r, set, count_of(m, r));
        else if (r->type == WL_SETTING_TEXT)
            wl_setting_set_string(r, set, text ? wl_strdup(a, text) : NULL);
        else if (text)
            pairs[n++] = (struct wl_setting_pair) { r->name, text };
    }
    set->extra = wl_settings_extra(pairs, n, a);
}

static void find_settings(const struct wl_mark_rows *marks, struct wl_derived *out, struct wl_arena *a)
{
    struct wl_settings *set = &out->actual;
    struct wl_numbering hosts = wl_numbering_new(marks->n, a); /* one in several start marks is one node */
    struct wl_mark m;
    *set = wl_settings_none;
    for (size_t i = 0; i < marks->n; i++) {
        if (!wl_derive_parse_mark(&marks->v[i], &m) || m.word != WL_MARK_START) continue;
        const char *host = wl_mark_str(&m, "host");
        if (host) wl_numbering_of(&hosts, wl_strdup(a, host));
        if (m.rank != 0) continue;
        take_settings(&m, set, a);
    }
    set->nodes = hosts.n ? (double)hosts.n : 1;
}

void wl_derive_from_marks(const struct wl_mark_rows *marks, struct wl_derived *out, struct wl_arena *a)
{
    find_epochs(marks, out, a);
    find_metrics(marks, out, a);
    find_definitions(marks, out, a);
    find_settings(marks, out, a);
}
