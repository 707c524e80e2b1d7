/* wattlaw show --training: one training over many jobs and restarts. */
#include "cmd/wattlaw/show/show.h"
#include "cmd/wattlaw/work.h"

#include <math.h>
#include <stdlib.h>

/* A job of the training. */
struct part {
    const struct wl_run_row *run;
    const struct wl_span_row *steps, *unsaved; /* NULL: none */
    struct wl_amount energy;
    bool ended, failed; /* failed: it did not do its work, whatever the reason */
    double lost_s;      /* of a failed one; NAN: not known */
    struct wl_amount lost;
};

struct training {
    const char *name;
    struct part *v;
    size_t n, ended, done, failed, running, with_energy;
    bool has_checkpoints;
    double time_s, span_s, steps, samples, tokens;
    struct wl_amount energy, lost; /* of the jobs that have ended and whose energy is known */
    double lost_s;                 /* NAN, as lost: not known, since no job marked a checkpoint */
};

static int by_start(const void *x, const void *y)
{
    const struct part *a = x, *b = y;
    return (a->run->start.wall_ns > b->run->start.wall_ns) - (a->run->start.wall_ns < b->run->start.wall_ns);
}

/* Without a mark of its own, a failed job of a training that marks checkpoints has lost all it did. */
static void set_lost(const struct training *t, struct part *p)
{
    p->lost_s = NAN;
    p->lost = wl_amount_between(NAN, NAN, NAN, "J", p->energy.from);
    if (!p->failed || !t->has_checkpoints) return;
    p->lost_s = p->unsaved ? p->unsaved->time_s : p->run->time_s;
    p->lost = p->unsaved ? wl_work_energy(p->unsaved) : p->energy;
}

static void add_work(struct training *t, const struct part *p)
{
    if (!p->steps) return;
    t->steps += p->steps->steps;
    t->samples += p->steps->samples;
    t->tokens += p->steps->tokens;
}

static void add_up(struct training *t)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    t->energy = wl_amount_between(0, 0, 0, "J", WL_MEASURED);
    t->lost = t->energy;
    for (size_t i = 0; i < t->n; i++) {
        struct part *p = &t->v[i];
        t->running += !p->ended;
        if (!p->ended) continue;
        set_lost(t, p);
        t->ended++;
        t->done += !p->failed;
        t->failed += p->failed;
        t->time_s += p->run->time_s;
        if (p->run->start.wall_ns < first) first = p->run->start.wall_ns;
        if (wl_store_run_end_wall_ns(p->run) > last) last = wl_store_run_end_wall_ns(p->run);
        add_work(t, p);
        if (!isnan(p->energy.value)) wl_amount_add(&t->energy, &p->energy), t->with_energy++;
        if (p->failed) t->lost_s += p->lost_s;
        if (p->failed) wl_amount_add(&t->lost, &p->lost);
    }
    t->span_s = t->ended ? ((double)last - (double)first) / WL_NS_PER_S : NAN;
}

static int read_part(struct wl_store *s, const struct wl_run_row *r, struct part *p, struct wl_arena *a,
                     struct wl_err *e)
{
    struct wl_span_rows spans;
    int rc = wl_store_spans(s, r->id, &spans, a, e);
    if (rc < 0) return rc;
    *p = (struct part) { .run = r, .energy = wl_cmd_run_energy(r) };
    p->ended = r->status >= WL_RUN_DONE && !isnan(r->time_s);
    p->failed = p->ended && r->status != WL_RUN_DONE;
    p->steps = wl_work_span(spans.v, spans.n, WL_SPAN_STEPS);
    p->unsaved = wl_work_span(spans.v, spans.n, WL_SPAN_UNSAVED);
    return 0;
}

/* The names of all trainings of the store, for messages. */
static int unknown(const struct wl_run_rows *runs, const char *name, struct wl_store *s, struct wl_arena *a,
                   struct wl_err *e)
{
    const char **names = wl_new_array(a, const char *, runs->n);
    size_t n = 0;
    for (size_t i = 0; i < runs->n; i++)
        if (runs->v[i].training) names[n++] = runs->v[i].training;
    const char *meant = n ? wl_str_closest(name, names, n) : NULL;
    return wl_fail(e, WL_ENOENT, "%s: no run of a training '%s'%s%s%s", wl_store_path(s), name,
                   meant ? ", did you mean "
                   : n   ? ""
                         : ": measure --training NAME makes one",
                   meant ? meant : "", meant ? "?" : "");
}

static int read_training(struct wl_store *s, const char *name, struct training *t, struct wl_arena *a, struct wl_err *e)
{
    struct wl_run_rows *runs = wl_new(a, struct wl_run_rows);
    int rc = wl_store_runs(s, &(struct wl_run_filter) { 0 }, runs, a, e);
    if (rc < 0) return rc;
    *t = (struct training) { .name = name, .v = wl_new_array(a, struct part, runs->n) };
    for (size_t i = 0; i < runs->n && rc == 0; i++) {
        const struct wl_run_row *r = &runs->v[i];
        if (wl_str_eq(r->training, name) && r->start.wall_ns != WL_NO_NS) rc = read_part(s, r, &t->v[t->n++], a, e);
    }
    if (rc < 0) return rc;
    if (!t->n) return unknown(runs, name, s, a, e);
    qsort(t->v, t->n, sizeof *t->v, by_start);
    for (size_t i = 0; i < t->n; i++) t->has_checkpoints |= t->v[i].unsaved != NULL;
    add_up(t);
    return 0;
}

/* ---- text ---- */

static const char *energy_text(const struct training *t, struct wl_arena *a)
{
    if (!t->with_energy) return "unknown: no job has an energy";
    const char *text = wl_amount_text(&t->energy, a);
    return t->with_energy == t->ended
               ? text
               : wl_strf(a, "%s of %zu of %zu jobs; that of the others is unknown", text, t->with_energy, t->ended);
}

static const char *lost_text(const struct training *t, struct wl_arena *a)
{
    if (!t->failed) return "nothing: no job failed";
    if (!t->has_checkpoints) return "unknown: no job marked a checkpoint (marks, --log or --checkpoint-regex)";
    const char *energy = isnan(t->lost.value) ? "an unknown energy" : wl_amount_text(&t->lost, a);
    const double share = t->lost.value / t->energy.value;
    return wl_strf(a, "%s and %s%s since the last checkpoints of %zu job%s that did not end well", energy,
                   wl_human_time(a, t->lost_s), share >= 0 ? wl_strf(a, " (%.2g %% of the energy)", 100 * share) : "",
                   t->failed, t->failed == 1 ? "" : "s");
}

static const char *work_text(const struct training *t, struct wl_arena *a)
{
    struct wl_text w = WL_TEXT(a);
    wl_text_addf(&w, "%s steps between the first and the last mark of each job", wl_number_text(t->steps, a));
    if (t->samples > 0) wl_text_addf(&w, ", %s samples", wl_number_text(t->samples, a));
    if (t->tokens > 0) wl_text_addf(&w, ", %s tokens", wl_number_text(t->tokens, a));
    if (t->tokens > 0 && t->with_energy == t->ended) {
        const struct wl_amount each = wl_amount_times(&t->energy, 1e9 / t->tokens, "J");
        wl_text_addf(&w, "; %s per 10^9 tokens, start-up and repeated steps included", wl_amount_text(&each, a));
    }
    return w.s;
}

/* Without intervals, which the sums above have. */
static const char *brief(const struct wl_amount *v, struct wl_arena *a)
{
    const struct wl_amount plain = wl_amount_of(v->value, v->unit, v->from);
    return isnan(v->value) ? NULL : wl_amount_text(&plain, a);
}

/* In order of importance: a narrow terminal cuts the last columns off. */
static void print_table(const struct training *t, struct wl_arena *a)
{
    struct wl_table table = wl_table_new(a);
    static const char *const heads[] = { "time", "energy", "lost time", "lost energy", "steps" };
    wl_table_column(&table, "run", true);
    wl_table_column(&table, "status", false);
    for (size_t i = 0; i < WL_COUNT(heads); i++) wl_table_column(&table, heads[i], true);
    wl_table_column(&table, "started", false);
    wl_table_column(&table, "slurm job", false);
    for (size_t i = 0; i < t->n; i++) {
        const struct part *p = &t->v[i];
        wl_table_cellf(&table, "%lld", (long long)p->run->id);
        wl_table_cell(&table, wl_run_status_names[p->run->status]);
        wl_table_cell(&table, p->ended ? wl_human_time(a, p->run->time_s) : NULL);
        wl_table_cell(&table, brief(&p->energy, a));
        wl_table_cell(&table, p->failed && !isnan(p->lost_s) ? wl_human_time(a, p->lost_s) : NULL);
        wl_table_cell(&table, p->failed ? brief(&p->lost, a) : NULL);
        wl_table_int(&table, p->steps ? p->steps->steps : NAN);
        wl_table_cell(&table, wl_clock_iso(a, p->run->start.wall_ns));
        wl_table_cell(&table, p->run->slurm_job.id);
        wl_table_row(&table);
    }
    wl_print("\n");
    wl_table_print(&table, WL_STDOUT, wl_out_width(WL_STDOUT));
}

static void print_training(const struct training *t, struct wl_arena *a)
{
    wl_print("training %s: %zu job%s, %zu done, %zu failed or interrupted%s\n", t->name, t->n, t->n == 1 ? "" : "s",
             t->done, t->failed, t->running ? wl_strf(a, ", %zu not ended and not in the sums", t->running) : "");
    wl_print("  energy    %s\n", energy_text(t, a));
    wl_print("  time      %s in jobs", wl_human_time(a, t->time_s));
    if (t->ended > 1) wl_print(", %s from the first start to the last end", wl_human_time(a, t->span_s));
    wl_print("\n  lost      %s\n", lost_text(t, a));
    if (t->steps > 0) wl_print("  work      %s\n", work_text(t, a));
    print_table(t, a);
}

/* ---- JSON ---- */

static void add_amount(struct wl_json *o, const char *name, const struct wl_amount *v, struct wl_arena *a)
{
    wl_json_add_real(o, wl_strf(a, "%s_j", name), v->value);
    wl_json_add_real(o, wl_strf(a, "%s_lo_j", name), v->lo);
    wl_json_add_real(o, wl_strf(a, "%s_hi_j", name), v->hi);
}

static void print_json(const struct training *t, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a);
    const bool known = t->with_energy == t->ended;
    wl_json_add_str(root, "training", t->name);
    wl_json_add_int(root, "jobs", (int64_t)t->n);
    wl_json_add_int(root, "done", (int64_t)t->done);
    wl_json_add_int(root, "failed", (int64_t)t->failed);
    wl_json_add_int(root, "not_ended", (int64_t)t->running);
    wl_json_add_real(root, "time_s", t->time_s);
    wl_json_add_real(root, "first_to_last_s", t->span_s);
    wl_json_add_bool(root, "energy_complete", known);
    add_amount(root, "energy", &t->energy, a);
    wl_json_add_bool(root, "checkpoints", t->has_checkpoints);
    wl_json_add_real(root, "lost_s", t->failed && !t->has_checkpoints ? NAN : t->lost_s);
    add_amount(root, "lost", &t->lost, a);
    wl_json_add_bool(root, "estimated", t->energy.from & WL_ESTIMATED);
    wl_json_add_bool(root, "simulated", t->energy.from & WL_SIMULATED);
    wl_json_add_number(root, "steps", t->steps > 0 ? t->steps : NAN);
    wl_json_add_number(root, "samples", t->samples > 0 ? t->samples : NAN);
    wl_json_add_number(root, "tokens", t->tokens > 0 ? t->tokens : NAN);
    struct wl_json *list = wl_json_add_array(root, "runs");
    for (size_t i = 0; i < t->n; i++) {
        const struct part *p = &t->v[i];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_int(o, "run", p->run->id);
        wl_json_add_str(o, "status", wl_run_status_names[p->run->status]);
        wl_json_add_str(o, "started", wl_clock_iso(a, p->run->start.wall_ns));
        wl_json_add_real(o, "time_s", p->run->time_s);
        add_amount(o, "energy", &p->energy, a);
        wl_json_add_number(o, "steps", p->steps ? p->steps->steps : NAN);
        wl_json_add_real(o, "lost_s", p->failed ? p->lost_s : 0);
        wl_json_add_real(o, "lost_j", p->failed ? p->lost.value : 0);
        wl_work_slurm_job_json(&p->run->slurm_job, o);
    }
    wl_json_print(root);
}

int wl_show_training(struct wl_store *s, const char *name, bool json, struct wl_arena *a, struct wl_err *e)
{
    struct training t;
    int rc = read_training(s, name, &t, a, e);
    if (rc) return rc;
    if (json)
        print_json(&t, a);
    else
        print_training(&t, a);
    return WL_EXIT_OK;
}
