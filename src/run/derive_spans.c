/* The parts of a run that its marks of steps and checkpoints give; their energies are added by derive_energy.c. */
#include "run/derive.h"

#include <math.h>
#include <string.h>

/* Work of all workers. A mark has that since the last mark that had it, so a program that counts it only now and then
 * leaves some marks without. */
struct work {
    double sum;
    bool complete; /* the last mark has it */
};

/* The steps between two marks of rank 0, and the work in them. */
struct steps {
    int64_t marks, begin_ns, end_ns;
    double last, steps;
    struct work samples, tokens;
};

/* A sum that a double does not count exactly, and a store does not take, is not known. */
static double counted(double sum) { return sum <= (double)WL_MARK_COUNT_MAX ? sum : NAN; }

static void add_work(struct work *w, double v)
{
    w->complete = !isnan(v);
    if (w->complete) w->sum = counted(w->sum + v);
}

static double work_of(const struct work *w) { return w->complete ? w->sum : NAN; }

static void add_step(struct steps *s, const struct wl_mark *m)
{
    const double step = (double)wl_mark_int(m, "step", 0);
    if (s->marks++ == 0) {
        *s = (struct steps) { .marks = 1, .begin_ns = m->t_ns };
    } else {
        if (step > s->last) s->steps = counted(s->steps + step - s->last); /* a job that resumed does some twice */
        add_work(&s->samples, wl_mark_real(m, "samples"));
        add_work(&s->tokens, wl_mark_real(m, "tokens"));
    }
    s->last = step;
    s->end_ns = m->t_ns;
}

static bool is_checkpoint(const struct wl_mark *m)
{
    return m->word == WL_MARK_CHECKPOINT ||
           (m->word == WL_MARK_PHASE_END && wl_str_eq(wl_mark_str(m, "name"), "checkpoint"));
}

static struct wl_span_row span_of(const char *kind, int64_t begin_ns, int64_t end_ns, const struct steps *s)
{
    const bool counted = s->marks > 1;
    return (struct wl_span_row) { .kind = kind,
                                  .begin_ns = begin_ns,
                                  .end_ns = end_ns,
                                  .time_s = (double)(end_ns - begin_ns) / WL_NS_PER_S,
                                  .steps = counted ? s->steps : NAN,
                                  .samples = counted ? work_of(&s->samples) : NAN,
                                  .tokens = counted ? work_of(&s->tokens) : NAN,
                                  .energy_j = NAN,
                                  .energy_lo_j = NAN,
                                  .energy_hi_j = NAN };
}

/* Work after a checkpoint is counted from the last step before it. */
void wl_derive_spans(const struct wl_mark_rows *marks, int64_t end_ns, struct wl_derived *out, struct wl_arena *a)
{
    struct wl_span_row *rows = wl_new_array(a, struct wl_span_row, 2);
    struct steps all = { 0 }, since = { 0 };
    int64_t saved_ns = WL_NO_NS;
    struct wl_mark m;
    for (size_t i = 0; i < marks->n; i++) {
        if (marks->v[i].rank != 0 || !wl_derive_parse_mark(&marks->v[i], &m)) continue;
        if (m.word == WL_MARK_STEP) add_step(&all, &m), add_step(&since, &m);
        if (!is_checkpoint(&m)) continue;
        saved_ns = m.t_ns;
        since = (struct steps) { .marks = all.marks > 0, .last = all.last };
    }
    if (all.steps > 0 && all.end_ns > all.begin_ns)
        rows[out->n_spans++] = span_of(WL_SPAN_STEPS, all.begin_ns, all.end_ns, &all);
    if (saved_ns != WL_NO_NS && saved_ns <= end_ns)
        rows[out->n_spans++] = span_of(WL_SPAN_UNSAVED, saved_ns, end_ns, &since);
    out->spans = rows;
}
