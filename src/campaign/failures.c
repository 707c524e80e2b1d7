/* A campaign in which nothing works: a program or a module that is missing fails every run alike. It stops before all
 * of them are lost. A setting that is too large for the machine must not stop the others: docs/reference/campaigns.md
 */
#include "campaign/sweep.h"

#include "job/job.h"

#include <string.h>

static const char *skip_word(const char *s)
{
    s += strcspn(s, " ");
    return s + strspn(s, " ");
}

/* An error without the job and the nodes that batch_collect.c puts in front. */
static const char *without_job(const char *error)
{
    if (!wl_str_starts(error, "job ")) return error;
    const char *s = skip_word(skip_word(error));
    return wl_str_starts(s, "on ") ? skip_word(skip_word(s)) : s;
}

/* Words with digits or slashes differ between runs: times, processes, nodes, paths. */
static bool may_differ(const char *word, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((word[i] >= '0' && word[i] <= '9') || word[i] == '/') return true;
    return false;
}

const char *wl_sweep_cause(const char *error, const char *last_line, struct wl_arena *a)
{
    const char *what = without_job(error ? error : "");
    struct wl_text t = WL_TEXT(a);
    if (wl_job_says_out_of_memory(error) || wl_job_says_out_of_memory(last_line)) return NULL;
    /* by somebody who knows why: in the queue, or by a request */
    if (wl_str_starts(what, "was cancelled") || wl_str_starts(what, "cancelled by ")) return NULL;
    wl_text_add(&t, what);
    for (const char *s = last_line ? last_line : ""; *s; s += strspn(s, " ")) {
        const size_t n = strcspn(s, " ");
        if (n && !may_differ(s, n)) wl_text_addf(&t, " %.*s", (int)n, s);
        s += n;
    }
    return t.s;
}

/* Is the word of n bytes one of those of a label, "workers=2 local_batch=16"? */
static bool label_has(const char *label, const char *word, size_t n)
{
    for (const char *s = label; *s; s += strspn(s, " ")) {
        const size_t m = strcspn(s, " ");
        if (m == n && strncmp(s, word, n) == 0) return true;
        s += m;
    }
    return false;
}

/* The failures that are alike. */
struct alike {
    const struct wl_failed_run **v;
    size_t n, trials;
};

static struct alike find_alike(const struct wl_sweep *s, const struct wl_failed_run *one, struct wl_arena *a)
{
    struct alike out = { .v = wl_new_array(a, const struct wl_failed_run *, s->out->n_failed) };
    struct wl_numbering trials = wl_numbering_new(s->out->n_failed, a);
    for (size_t i = 0; i < s->out->n_failed; i++) {
        const struct wl_failed_run *f = &s->out->failed[i];
        if (!f->cause || !wl_str_eq(f->cause, one->cause)) continue;
        out.v[out.n++] = f;
        wl_numbering_of(&trials, f->trial);
    }
    out.trials = trials.n;
    return out;
}

static bool all_have(const struct alike *f, const char *word, size_t n)
{
    for (size_t i = 0; i < f->n; i++)
        if (!label_has(f->v[i]->trial, word, n)) return false;
    return true;
}

/* A value that all of them have, and others of the campaign do not. */
static bool share_a_value(const struct wl_sweep *s, const struct alike *f)
{
    const char *label = f->v[0]->trial;
    for (const char *word = label; *word; word += strspn(word, " ")) {
        const size_t n = strcspn(word, " ");
        bool others = false;
        for (size_t i = 0; i < s->grid.n_trials && !others; i++)
            others = !s->grid.trials[i].skip && !label_has(s->grid.trials[i].label, word, n);
        if (others && all_have(f, word, n)) return true;
        word += n;
    }
    return false;
}

static size_t count_trials(const struct wl_sweep *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->grid.n_trials; i++) n += !s->grid.trials[i].skip;
    return n;
}

int wl_sweep_check_failures(struct wl_sweep *s, struct wl_err *e)
{
    const size_t most = (size_t)s->x->launch.stop_after_failures, trials = count_trials(s);
    int rc = 0;
    if (!most || s->out->done || s->opts->only) return 0;
    for (; s->failures_seen < s->out->n_failed && rc == 0; s->failures_seen++) {
        const struct wl_failed_run *f = &s->out->failed[s->failures_seen];
        struct wl_arena *a = wl_arena_new(s->a);
        struct alike found = { 0 };
        if (f->cause) found = find_alike(s, f, a);
        if (found.n >= most && found.trials >= (trials < most ? trials : most) && !share_a_value(s, &found))
            rc = wl_fail(
                e, WL_EJOB,
                "campaign %s is stopped: no run has succeeded, and %zu failed alike: %s%s%s%s%s%s. Mend the cause, "
                "then --retry-failed runs them again and goes on; --set launch.stop_after_failures=0 goes on "
                "without",
                s->x->campaign.name, found.n, f->error, f->last_line ? ": " : "", f->last_line ? f->last_line : "",
                f->log ? " (" : "", f->log ? f->log : "", f->log ? ")" : "");
        wl_arena_free(a);
    }
    return rc;
}
