/* Marks from output lines. An epoch is known by its end: then its begin and its end are given together, so that a job
 * that stops in the middle leaves no half epoch behind. */
#include "mark/regex.h"

#include "mark/expression.h"
#include "mark/tokens.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The fields of a mark as they are put together. */
struct fields {
    char text[WL_MARK_LINE_MAX];
    size_t n;
};

/* A mark that waits for what is said next. */
struct held {
    bool is_set;
    int64_t t_ns;
    struct fields f;
};

struct wl_mark_regex {
    struct wl_expression epoch, begin, step, checkpoint;
    struct wl_mark_log *log; /* NULL: none */
    struct wl_mark_log_facts facts;
    struct {
        double step, samples;     /* as counted since the start of the training; NAN: not known */
    } before;                     /* of the last step mark */
    struct wl_mark_tokens tokens; /* where the framework counts them */
    struct held step_held;        /* until its loss is known */
    struct held checkpoint_held;  /* until it is whole */
    struct wl_strs define;
    bool at_begin; /* an epoch line begins its epoch */
    wl_mark_sink *sink;
    void *ctx;
    int64_t begin_ns;              /* where the epoch that runs began; at_begin: valid while open */
    int64_t last;                  /* number of the epoch that ended (at_begin: began) last; 0: none */
    bool log_has_epochs;           /* its lines say where epochs begin and end */
    bool early_checkpoints;        /* its lines come while a checkpoint is being saved */
    bool closed;                   /* at_begin: the end of epoch `last` is known */
    int64_t shift;                 /* 1 where the program counts from 0 */
    bool open;                     /* at_begin: epoch `last` runs and may be closed */
    char samples[32], updates[32]; /* at_begin: fields for its end, "" for none */
    int64_t steps;                 /* lines of updates seen */
    int64_t lines;                 /* of output */
};

bool wl_mark_regex_is_set(const struct wl_mark_regex_opts *o)
{
    return o->epoch_regex || o->step_regex || o->log || o->checkpoint_regex;
}

/* ---- options ---- */

/* Each definition is that of a metric, and of nothing else. */
static int check_definitions(const struct wl_strs *define, bool epochs, struct wl_err *e)
{
    for (size_t i = 0; i < define->n; i++) {
        struct wl_mark m;
        char line[2 * WL_MARK_LINE_MAX];
        const int n = snprintf(line, sizeof line, "0 0 define %s", define->v[i]);
        int rc = wl_mark_parse(&m, line, (size_t)n, "--define", e);
        if (rc) return rc;
    }
    return define->n && !epochs ? wl_fail(e, WL_EINVAL, "--define requires --epoch-regex") : 0;
}

/* What a framework prints, and what is known of each step. */
static int open_log(struct wl_mark_regex *x, const struct wl_mark_regex_opts *o, const char **faulty,
                    struct wl_arena *a, struct wl_err *e)
{
    const char *checkpoint = o->checkpoint_regex;
    x->before.step = x->before.samples = NAN;
    x->tokens = wl_mark_tokens_none;
    x->facts = (struct wl_mark_log_facts) { NAN, o->samples_per_step > 0 ? (double)o->samples_per_step : NAN,
                                            o->tokens_per_sample > 0 ? (double)o->tokens_per_sample : NAN };
    *faulty = "log";
    if (o->log && o->step_regex)
        return wl_fail(e, WL_EINVAL, "--log and --step-regex exclude each other: both say what a step is");
    if (o->log) x->log = wl_mark_log_new(o->log, a);
    x->early_checkpoints = x->log && !checkpoint && wl_mark_log_checkpoint_is_early(x->log);
    if (x->log && !checkpoint) checkpoint = wl_mark_log_checkpoint_regex(x->log);
    if (x->log && !o->epoch_regex && wl_mark_log_epoch_regex(x->log)) {
        int rc = wl_expression_compile(&x->epoch, "epoch", wl_mark_log_epoch_regex(x->log), "epoch=1", faulty, a, e);
        if (rc) return rc;
        x->at_begin = x->log_has_epochs = true;
    }
    return wl_expression_compile(&x->checkpoint, "checkpoint", checkpoint, NULL, faulty, a, e);
}

int wl_mark_regex_new(struct wl_mark_regex **r, const struct wl_mark_regex_opts *o, wl_mark_sink *sink, void *ctx,
                      const char **faulty, struct wl_arena *a, struct wl_err *e)
{
    struct wl_mark_regex *x = wl_new(a, struct wl_mark_regex);
    const char *unread;
    int rc;
    if (!faulty) faulty = &unread;
    if ((rc = wl_expression_compile(&x->epoch, "epoch", o->epoch_regex, o->epoch_fields, faulty, a, e)) != 0) return rc;
    if ((rc = wl_expression_compile(&x->step, "step", o->step_regex, o->step_fields, faulty, a, e)) != 0) return rc;
    if ((rc = open_log(x, o, faulty, a, e)) != 0) return rc;
    if ((rc = wl_expression_compile(&x->begin, "start", o->start_regex, NULL, faulty, a, e)) != 0) return rc;
    *faulty = "define";
    if ((rc = check_definitions(&o->define, x->epoch.set, e)) != 0) return rc;
    x->define = o->define;
    x->at_begin |= o->epoch_at && strcmp(o->epoch_at, "begin") == 0;
    if (x->begin.set && (x->at_begin || !x->epoch.set))
        return wl_fail(e, WL_EINVAL, "--start-regex requires --epoch-regex and --epoch-at end");
    x->sink = sink;
    x->ctx = ctx;
    *r = x;
    return 0;
}

/* ---- epochs and steps ---- */

static int emit(struct wl_mark_regex *r, int64_t t_ns, enum wl_mark_word word, const char *fields, struct wl_err *e)
{
    struct wl_mark m;
    int rc = wl_mark_make(&m, t_ns, 0, word, fields, e);
    if (rc == 0) r->sink(r->ctx, &m);
    return rc;
}

/* Begin and end of one epoch. `samples`, `updates`: text, "" for not known. */
static int emit_epoch(struct wl_mark_regex *r, int64_t epoch, int64_t from_ns, int64_t to_ns, const char *samples,
                      const char *updates, struct wl_err *e)
{
    char begin[64], end[192];
    int rc;
    snprintf(begin, sizeof begin, "epoch=%lld", (long long)epoch);
    snprintf(end, sizeof end, "epoch=%lld%s%s%s%s", (long long)epoch, *samples ? " samples=" : "", samples,
             *updates ? " updates=" : "", updates);
    rc = emit(r, from_ns, WL_MARK_EPOCH_BEGIN, begin, e);
    return rc == 0 ? emit(r, to_ns, WL_MARK_EPOCH_END, end, e) : rc;
}

/* The fields that are neither the number nor the counts are metrics of the epoch. */
static int emit_metrics(struct wl_mark_regex *r, int64_t t_ns, int64_t epoch, const char *line,
                        const struct wl_match *found, struct wl_err *e)
{
    static const char *const own[] = { "epoch", "samples", "updates" };
    const struct wl_expression *m = &r->epoch;
    for (size_t i = 0; i < m->n; i++) {
        char value[64], fields[256];
        bool metric = true;
        int rc;
        for (size_t k = 0; k < WL_COUNT(own); k++) metric = metric && strcmp(m->field[i].name, own[k]) != 0;
        if (!metric || !*wl_expression_field(m, i, line, found, value)) continue;
        snprintf(fields, sizeof fields, "name=%.100s value=%s epoch=%lld", m->field[i].name, value, (long long)epoch);
        if ((rc = emit(r, t_ns, WL_MARK_METRIC, fields, e)) != 0) return rc;
    }
    return 0;
}

/* The epoch's number, counted from 1: from its group, else the next one. */
static int epoch_number(struct wl_mark_regex *r, const char *line, const struct wl_match *found, int64_t *epoch,
                        struct wl_err *e)
{
    char text[64];
    if (!*wl_expression_named(&r->epoch, "epoch", line, found, text)) {
        *epoch = r->last + 1;
        return 0;
    }
    if (wl_str_to_int(text, epoch) != 0 || *epoch < 0 || *epoch > INT32_MAX)
        return wl_fail(e, WL_EINVAL, "epoch '%s': expected a whole number up to %d", text, INT32_MAX);
    if (r->last == 0 && *epoch == 0) r->shift = 1;
    *epoch += r->shift;
    return 0;
}

static int epoch_begins(struct wl_mark_regex *r, int64_t t_ns, const char *line, const struct wl_match *found,
                        struct wl_err *e)
{
    char text[64];
    int64_t epoch, ended = r->open ? r->last : 0;
    int rc = epoch_number(r, line, found, &epoch, e);
    if (rc != 0 || ((r->open || r->closed) && epoch == r->last)) return rc; /* the same epoch, reported again */
    if (ended && epoch == ended + 1) rc = emit_epoch(r, ended, r->begin_ns, t_ns, r->samples, r->updates, e);
    r->open = true;
    r->closed = false;
    r->last = epoch;
    r->begin_ns = t_ns;
    snprintf(r->samples, sizeof r->samples, "%s", wl_expression_named(&r->epoch, "samples", line, found, text));
    snprintf(r->updates, sizeof r->updates, "%s", wl_expression_named(&r->epoch, "updates", line, found, text));
    if (rc == 0 && ended && epoch != ended + 1)
        rc = wl_fail(e, WL_EINVAL, "epoch %lld follows epoch %lld, whose end is therefore unknown",
                     (long long)(epoch - r->shift), (long long)(ended - r->shift));
    return rc == 0 ? emit_metrics(r, t_ns, epoch, line, found, e) : rc;
}

static int epoch_ends(struct wl_mark_regex *r, int64_t t_ns, const char *line, const struct wl_match *found,
                      struct wl_err *e)
{
    char samples[64], updates[64];
    int64_t epoch, before = r->last;
    int rc = epoch_number(r, line, found, &epoch, e);
    if (rc != 0) return rc;
    if (before && epoch <= before)
        return wl_fail(e, WL_EINVAL, "the end of epoch %lld follows that of epoch %lld", (long long)(epoch - r->shift),
                       (long long)(before - r->shift));
    r->last = epoch;
    wl_expression_named(&r->epoch, "samples", line, found, samples);
    wl_expression_named(&r->epoch, "updates", line, found, updates);
    if (before && epoch != before + 1)
        rc = wl_fail(e, WL_EINVAL, "epoch %lld follows epoch %lld, so its beginning is unknown",
                     (long long)(epoch - r->shift), (long long)(before - r->shift));
    else
        rc = emit_epoch(r, epoch, r->begin_ns, t_ns, samples, updates, e);
    r->begin_ns = t_ns;
    return rc == 0 ? emit_metrics(r, t_ns, epoch, line, found, e) : rc;
}

static void add(struct fields *f, const char *name, const char *value)
{
    if (f->n < sizeof f->text)
        f->n += (size_t)snprintf(f->text + f->n, sizeof f->text - f->n, "%s%s=%s", f->n ? " " : "", name, value);
}

static void add_count(struct fields *f, const char *name, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.0f", value);
    if (value >= 0 && value <= (double)WL_MARK_COUNT_MAX) add(f, name, text); /* not NAN */
}

/* Adds the work since the step before that the line itself does not have: as counted since the start of the training,
 * else by what is known of each step. */
static void add_work(struct wl_mark_regex *r, struct fields *f, double step, double samples, double consumed,
                     bool has_tokens)
{
    const bool has_samples = !isnan(samples), is_first = isnan(r->before.step);
    if (is_first) wl_mark_tokens_begin(&r->tokens, step);
    if (!has_samples) samples = consumed - r->before.samples;
    if (isnan(samples)) samples = (step - r->before.step) * r->facts.samples_per_step;
    if (!has_samples) add_count(f, "samples", samples);
    double tokens = samples * r->facts.tokens_per_sample;
    if (isnan(tokens) && !is_first) tokens = wl_mark_tokens_take(&r->tokens, step);
    if (!has_tokens) add_count(f, "tokens", tokens);
    r->before.step = step;
    r->before.samples = consumed;
}

static double real_of(const char *text)
{
    double v;
    return *text && wl_str_to_real(text, &v) == 0 ? v : NAN;
}

static int step_seen(struct wl_mark_regex *r, int64_t t_ns, const char *line, const struct wl_match *found,
                     struct wl_err *e)
{
    const struct wl_expression *m = &r->step;
    struct fields f = { .n = 0 };
    char text[64], count[32];
    r->steps++;
    snprintf(count, sizeof count, "%lld", (long long)r->steps);
    const char *step = *wl_expression_named(m, "step", line, found, text) ? text : count;
    add(&f, "step", step);
    const double number = real_of(step);
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->field[i].name, "step") != 0 && *wl_expression_field(m, i, line, found, text))
            add(&f, m->field[i].name, text);
    const double samples = real_of(wl_expression_named(m, "samples", line, found, text));
    add_work(r, &f, number, samples, NAN, *wl_expression_named(m, "tokens", line, found, text) != '\0');
    return emit(r, t_ns, WL_MARK_STEP, f.text, e);
}

/* torchrun puts "[rank3]:" before the lines of a rank. */
static bool is_of_other_rank(const char *line)
{
    static const char prefix[] = "[rank";
    const bool ranked = strncmp(line, prefix, strlen(prefix)) == 0;
    return ranked && strncmp(line + strlen(prefix), "0]", 2) != 0;
}

/* What a framework prints without the step that it is of. */
static int log_values(struct wl_mark_regex *r, int64_t t_ns, const char *line, struct wl_err *e)
{
    char loss[64], value[32];
    const double tokens = wl_mark_log_read_tokens(r->log, line);
    wl_mark_log_read_facts(r->log, line, &r->facts);
    if (!line[strspn(line, " ")]) wl_mark_tokens_cleared(&r->tokens);
    const bool known = !isnan(r->facts.samples_per_step * r->facts.tokens_per_sample);
    if (!isnan(tokens) && !known) wl_mark_tokens_line(&r->tokens, t_ns, tokens);
    if (!wl_mark_log_read_loss(r->log, line, value)) return 0;
    snprintf(loss, sizeof loss, "name=train_loss value=%s", value);
    return emit(r, t_ns, WL_MARK_METRIC, loss, e);
}

static int release(struct wl_mark_regex *r, struct held *h, enum wl_mark_word word, struct wl_err *e)
{
    if (!h->is_set) return 0;
    h->is_set = false;
    return emit(r, h->t_ns, word, h->f.text, e);
}

/* One that repeats a step (a bar that is drawn anew, another rank) says nothing new, unless tokens have been counted or
 * the loss comes with the repetition. */
static int log_step(struct wl_mark_regex *r, int64_t t_ns, const struct wl_mark_log_step *s, struct wl_err *e)
{
    struct held *held = &r->step_held;
    struct fields f = { .n = 0 };
    const bool late_loss = wl_mark_log_loss_is_late(r->log), again = s->step == r->before.step;
    if (again && held->is_set && *s->loss) {
        add(&held->f, "loss", s->loss);
        return release(r, held, WL_MARK_STEP, e);
    }
    if (again && !(wl_mark_tokens_since(&r->tokens, s->step) > 0)) return 0;
    int rc = release(r, held, WL_MARK_STEP, e);
    if (rc == 0 && !again) rc = release(r, &r->checkpoint_held, WL_MARK_CHECKPOINT, e);
    if (rc) return rc;
    add_count(&f, "step", s->step);
    add_work(r, &f, s->step, NAN, s->consumed_samples, false);
    add_count(&f, "total", isnan(s->total) ? r->facts.total : s->total);
    if (*s->loss && !late_loss) add(&f, "loss", s->loss);
    if (!late_loss) return emit(r, t_ns, WL_MARK_STEP, f.text, e);
    *held = (struct held) { .is_set = true, .t_ns = t_ns, .f = f };
    return 0;
}

/* After a line that counts tokens, of a step that has been marked. */
static int log_late_tokens(struct wl_mark_regex *r, int64_t t_ns, struct wl_err *e)
{
    const struct wl_mark_log_step again = { .step = r->before.step, .total = NAN, .consumed_samples = NAN };
    return isnan(again.step) ? 0 : log_step(r, t_ns, &again, e);
}

static int log_ends_epoch(struct wl_mark_regex *r, int64_t t_ns, double steps, struct wl_err *e)
{
    const double samples = steps * r->facts.samples_per_step;
    char count[32] = "";
    if (!r->log_has_epochs || !r->open || isnan(steps)) return 0;
    if (samples <= (double)WL_MARK_COUNT_MAX) snprintf(count, sizeof count, "%.0f", samples);
    r->open = false;
    r->closed = true;
    return emit_epoch(r, r->last, r->begin_ns, t_ns, count, "", e);
}

/* A line of a framework. */
static int log_line(struct wl_mark_regex *r, int64_t t_ns, const char *line, struct wl_err *e)
{
    struct wl_mark_log_step s;
    if (is_of_other_rank(line)) return 0;
    int rc = log_values(r, t_ns, line, e);
    if (rc) return rc;
    if (!wl_mark_log_read_step(r->log, line, &s)) return log_late_tokens(r, t_ns, e);
    wl_mark_tokens_bar(&r->tokens, t_ns, s.step);
    rc = log_step(r, t_ns, &s, e);
    return rc == 0 ? log_ends_epoch(r, t_ns, s.ended_epoch, e) : rc;
}

static int checkpoint_seen(struct wl_mark_regex *r, int64_t t_ns, const char *line, const struct wl_match *found,
                           struct wl_err *e)
{
    struct fields f = { .n = 0 };
    char text[64];
    if (*wl_expression_named(&r->checkpoint, "checkpoint", line, found, text)) add(&f, "step", text);
    if (!r->early_checkpoints) return emit(r, t_ns, WL_MARK_CHECKPOINT, f.text, e);
    r->checkpoint_held = (struct held) { .is_set = true, .t_ns = t_ns, .f = f };
    return 0;
}

/* ---- the job's life ---- */

const char *wl_mark_regex_without_steps(const struct wl_mark_regex *r)
{
    return r->log && isnan(r->before.step) ? wl_mark_log_without_steps(r->log) : NULL;
}

void wl_mark_regex_start(struct wl_mark_regex *r, int64_t t_ns)
{
    r->begin_ns = t_ns;
    for (size_t i = 0; i < r->define.n; i++) WL_CHECK(emit(r, t_ns, WL_MARK_DEFINE, r->define.v[i], NULL) == 0);
}

int wl_mark_regex_line(struct wl_mark_regex *r, int64_t t_ns, const char *line, size_t n, struct wl_err *e)
{
    char text[4096]; /* the rest of the line is not searched */
    struct wl_match found;
    struct wl_err why;
    int rc = 0;
    if (n >= sizeof text) n = sizeof text - 1;
    memcpy(text, line, n);
    text[n] = '\0';
    const bool is_lower_bar = wl_mark_log_is_lower_bar(text);
    r->lines++;
    if (r->log) wl_mark_log_strip_colours(text);
    if (wl_expression_match(&r->begin, text, &found)) r->begin_ns = t_ns;
    if (wl_expression_match(&r->epoch, text, &found))
        rc = (r->at_begin ? epoch_begins : epoch_ends)(r, t_ns, text, &found, &why);
    if (rc == 0 && wl_expression_match(&r->step, text, &found)) rc = step_seen(r, t_ns, text, &found, &why);
    if (rc == 0 && r->log && !is_lower_bar) rc = log_line(r, t_ns, text, &why);
    if (rc == 0 && wl_expression_match(&r->checkpoint, text, &found)) rc = checkpoint_seen(r, t_ns, text, &found, &why);
    if (rc == 0) return 0;
    return wl_fail(e, rc, "output line '%.120s': %s", text, why.msg);
}

void wl_mark_regex_end(struct wl_mark_regex *r, int64_t t_ns, bool ok)
{
    (void)release(r, &r->step_held, WL_MARK_STEP, NULL);
    if (ok) (void)release(r, &r->checkpoint_held, WL_MARK_CHECKPOINT, NULL);
    if (ok && r->open) (void)emit_epoch(r, r->last, r->begin_ns, t_ns, r->samples, r->updates, NULL);
    r->open = false;
}

/* ---- what has not matched ---- */

struct wl_strs wl_mark_regex_unmatched(const struct wl_mark_regex *r, struct wl_arena *a)
{
    struct wl_strs out = { 0 };
    if (!r->log) wl_expression_add_unmatched(&out, &r->epoch, r->lines, a); /* it may be the preset's own */
    wl_expression_add_unmatched(&out, &r->begin, r->lines, a);
    wl_expression_add_unmatched(&out, &r->step, r->lines, a);
    return out;
}
