/* Marks from output lines. An epoch is known by its end: then its begin and its end are given together, so that a job
 * that stops in the middle leaves no half epoch behind. */
#include "mark/regex.h"

#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

enum { GROUPS = 16 }; /* group 0 is the whole match */

/* One expression and what its groups are. */
struct matcher {
    const char *option; /* its name, for messages */
    bool set, matched;
    regex_t regex, any_case; /* any_case: the same, upper and lower case alike; of lines before the first match */
    const char *text;        /* the expression */
    char near[80];           /* the first line that matches any_case alone; "": none */
    struct {
        const char *name;
        int group;
    } field[GROUPS];
    size_t n;
};

struct wl_mark_regex {
    struct matcher epoch, begin, step, checkpoint;
    struct wl_mark_log *log; /* NULL: none */
    struct wl_mark_log_facts facts;
    struct {
        double step, samples; /* as counted since the start of the training; NAN: not known */
    } before;                 /* of the last step mark */
    struct wl_strs define;
    bool at_begin; /* an epoch line begins its epoch */
    wl_mark_sink *sink;
    void *ctx;
    int64_t begin_ns;              /* where the epoch that runs began; at_begin: valid while open */
    int64_t last;                  /* number of the epoch that ended (at_begin: began) last; 0: none */
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

/* ---- compiling ---- */

static void free_regex(void *what) { regfree(what); }

/* One "name=group" of a list. */
static int add_field(struct matcher *m, const char *item, struct wl_arena *a, struct wl_err *e)
{
    const char *equals = strchr(item, '=');
    int64_t group;
    if (!equals || equals == item || wl_str_to_int(equals + 1, &group) != 0 || group < 1)
        return wl_fail(e, WL_EINVAL, "--%s-fields: '%s': expected NAME=GROUP, such as epoch=1", m->option, item);
    if ((size_t)group > m->regex.re_nsub)
        return wl_fail(e, WL_EINVAL, "--%s-fields: %s, but --%s-regex has %zu groups", m->option, item, m->option,
                       m->regex.re_nsub);
    if (group >= GROUPS || m->n == GROUPS)
        return wl_fail(e, WL_EINVAL, "--%s-fields: at most %d fields and groups", m->option, GROUPS - 1);
    m->field[m->n].name = wl_strndup(a, item, (size_t)(equals - item));
    m->field[m->n++].group = (int)group;
    return 0;
}

/* "\d" of other dialects would match the letter d, and so nothing. */
static int check_classes(const char *option, const char *regex, struct wl_err *e)
{
    for (const char *c = regex; *c; c++) {
        if (*c != '\\') continue;
        c++;
        if (*c == 'd' || *c == 'D')
            return wl_fail(e, WL_EINVAL, "--%s-regex '%s': \\%c is not known to POSIX extended expressions: write %s",
                           option, regex, *c, *c == 'd' ? "[0-9]" : "[^0-9]");
        if (!*c) break;
    }
    return 0;
}

/* `option` is "epoch" or "step", which is also the name of the first group where no list is given. *faulty as in
 * wl_mark_regex_new. */
static int compile(struct matcher *m, const char *option, const char *regex, const char *fields, const char **faulty,
                   struct wl_arena *a, struct wl_err *e)
{
    char why[256];
    struct wl_strs list;
    int rc;
    m->option = option;
    *faulty = wl_strf(a, "%s-%s", option, regex ? "regex" : "fields");
    if (!regex && fields) return wl_fail(e, WL_EINVAL, "--%s-fields requires --%s-regex", option, option);
    if (!regex) return 0;
    if ((rc = check_classes(option, regex, e)) != 0) return rc;
    rc = regcomp(&m->regex, regex, REG_EXTENDED);
    if (rc != 0) {
        regerror(rc, &m->regex, why, sizeof why);
        return wl_fail(e, WL_EINVAL, "--%s-regex '%s': %s", option, regex, why);
    }
    wl_defer(a, free_regex, &m->regex);
    m->text = regex;
    m->set = true;
    if (regcomp(&m->any_case, regex, REG_EXTENDED | REG_ICASE | REG_NOSUB) == 0)
        wl_defer(a, free_regex, &m->any_case);
    else
        m->matched = true; /* it is not looked for */
    if (!fields) {
        m->field[0].name = option;
        m->field[0].group = 1;
        m->n = m->regex.re_nsub >= 1;
        return 0;
    }
    *faulty = wl_strf(a, "%s-fields", option);
    list = wl_str_split(a, fields, ',');
    for (size_t i = 0; i < list.n; i++)
        if ((rc = add_field(m, list.v[i], a, e)) != 0) return rc;
    return 0;
}

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
    x->facts = (struct wl_mark_log_facts) { NAN, o->samples_per_step > 0 ? (double)o->samples_per_step : NAN,
                                            o->tokens_per_sample > 0 ? (double)o->tokens_per_sample : NAN };
    *faulty = "log";
    if (o->log && o->step_regex)
        return wl_fail(e, WL_EINVAL, "--log and --step-regex exclude each other: both say what a step is");
    if (o->log) x->log = wl_mark_log_new(o->log, a);
    if (x->log && !checkpoint) checkpoint = wl_mark_log_checkpoint_regex(x->log);
    if (x->log && !o->epoch_regex && wl_mark_log_epoch_regex(x->log)) {
        int rc = compile(&x->epoch, "epoch", wl_mark_log_epoch_regex(x->log), "epoch=1", faulty, a, e);
        if (rc) return rc;
        x->at_begin = true;
    }
    return compile(&x->checkpoint, "checkpoint", checkpoint, NULL, faulty, a, e);
}

int wl_mark_regex_new(struct wl_mark_regex **r, const struct wl_mark_regex_opts *o, wl_mark_sink *sink, void *ctx,
                      const char **faulty, struct wl_arena *a, struct wl_err *e)
{
    struct wl_mark_regex *x = wl_new(a, struct wl_mark_regex);
    const char *unread;
    int rc;
    if (!faulty) faulty = &unread;
    if ((rc = compile(&x->epoch, "epoch", o->epoch_regex, o->epoch_fields, faulty, a, e)) != 0) return rc;
    if ((rc = compile(&x->step, "step", o->step_regex, o->step_fields, faulty, a, e)) != 0) return rc;
    if ((rc = open_log(x, o, faulty, a, e)) != 0) return rc;
    if ((rc = compile(&x->begin, "start", o->start_regex, NULL, faulty, a, e)) != 0) return rc;
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

/* ---- matching ---- */

static bool match(struct matcher *m, const char *line, regmatch_t at[GROUPS])
{
    if (!m->set) return false;
    if (regexec(&m->regex, line, GROUPS, at, 0) == 0) return m->matched = true;
    if (!m->matched && !*m->near && regexec(&m->any_case, line, 0, NULL, 0) == 0)
        snprintf(m->near, sizeof m->near, "%s", line);
    return false;
}

/* The text of field i in buf, without blanks at its ends; "" where the group took no part. */
static const char *captured(const struct matcher *m, size_t i, const char *line, const regmatch_t at[GROUPS],
                            char buf[64])
{
    regmatch_t g = at[m->field[i].group];
    buf[0] = '\0';
    if (g.rm_so < 0) return buf;
    while (g.rm_so < g.rm_eo && (line[g.rm_so] == ' ' || line[g.rm_so] == '\t')) g.rm_so++;
    while (g.rm_so < g.rm_eo && (line[g.rm_eo - 1] == ' ' || line[g.rm_eo - 1] == '\t')) g.rm_eo--;
    snprintf(buf, 64, "%.*s", (int)(g.rm_eo - g.rm_so), line + g.rm_so);
    return buf;
}

static const char *captured_as(const struct matcher *m, const char *name, const char *line, const regmatch_t at[GROUPS],
                               char buf[64])
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->field[i].name, name) == 0) return captured(m, i, line, at, buf);
    buf[0] = '\0';
    return buf;
}

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
                        const regmatch_t at[GROUPS], struct wl_err *e)
{
    static const char *const own[] = { "epoch", "samples", "updates" };
    const struct matcher *m = &r->epoch;
    for (size_t i = 0; i < m->n; i++) {
        char value[64], fields[256];
        bool metric = true;
        int rc;
        for (size_t k = 0; k < WL_COUNT(own); k++) metric = metric && strcmp(m->field[i].name, own[k]) != 0;
        if (!metric || !*captured(m, i, line, at, value)) continue;
        snprintf(fields, sizeof fields, "name=%.100s value=%s epoch=%lld", m->field[i].name, value, (long long)epoch);
        if ((rc = emit(r, t_ns, WL_MARK_METRIC, fields, e)) != 0) return rc;
    }
    return 0;
}

/* The epoch's number, counted from 1: from its group, else the next one. */
static int epoch_number(struct wl_mark_regex *r, const char *line, const regmatch_t at[GROUPS], int64_t *epoch,
                        struct wl_err *e)
{
    char text[64];
    if (!*captured_as(&r->epoch, "epoch", line, at, text)) {
        *epoch = r->last + 1;
        return 0;
    }
    if (wl_str_to_int(text, epoch) != 0 || *epoch < 0 || *epoch > INT32_MAX)
        return wl_fail(e, WL_EINVAL, "epoch '%s': expected a whole number up to %d", text, INT32_MAX);
    if (r->last == 0 && *epoch == 0) r->shift = 1;
    *epoch += r->shift;
    return 0;
}

static int epoch_begins(struct wl_mark_regex *r, int64_t t_ns, const char *line, const regmatch_t at[GROUPS],
                        struct wl_err *e)
{
    char text[64];
    int64_t epoch, ended = r->open ? r->last : 0;
    int rc = epoch_number(r, line, at, &epoch, e);
    if (rc != 0 || (r->open && epoch == r->last)) return rc; /* the same epoch, reported again */
    if (ended && epoch == ended + 1) rc = emit_epoch(r, ended, r->begin_ns, t_ns, r->samples, r->updates, e);
    r->open = true;
    r->last = epoch;
    r->begin_ns = t_ns;
    snprintf(r->samples, sizeof r->samples, "%s", captured_as(&r->epoch, "samples", line, at, text));
    snprintf(r->updates, sizeof r->updates, "%s", captured_as(&r->epoch, "updates", line, at, text));
    if (rc == 0 && ended && epoch != ended + 1)
        rc = wl_fail(e, WL_EINVAL, "epoch %lld follows epoch %lld, whose end is therefore unknown",
                     (long long)(epoch - r->shift), (long long)(ended - r->shift));
    return rc == 0 ? emit_metrics(r, t_ns, epoch, line, at, e) : rc;
}

static int epoch_ends(struct wl_mark_regex *r, int64_t t_ns, const char *line, const regmatch_t at[GROUPS],
                      struct wl_err *e)
{
    char samples[64], updates[64];
    int64_t epoch, before = r->last;
    int rc = epoch_number(r, line, at, &epoch, e);
    if (rc != 0) return rc;
    if (before && epoch <= before)
        return wl_fail(e, WL_EINVAL, "the end of epoch %lld follows that of epoch %lld", (long long)(epoch - r->shift),
                       (long long)(before - r->shift));
    r->last = epoch;
    captured_as(&r->epoch, "samples", line, at, samples);
    captured_as(&r->epoch, "updates", line, at, updates);
    if (before && epoch != before + 1)
        rc = wl_fail(e, WL_EINVAL, "epoch %lld follows epoch %lld, so its beginning is unknown",
                     (long long)(epoch - r->shift), (long long)(before - r->shift));
    else
        rc = emit_epoch(r, epoch, r->begin_ns, t_ns, samples, updates, e);
    r->begin_ns = t_ns;
    return rc == 0 ? emit_metrics(r, t_ns, epoch, line, at, e) : rc;
}

/* The fields of a step mark as they are put together. */
struct fields {
    char text[WL_MARK_LINE_MAX];
    size_t n;
};

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
    const bool has_samples = !isnan(samples);
    if (!has_samples) samples = consumed - r->before.samples;
    if (isnan(samples)) samples = (step - r->before.step) * r->facts.samples_per_step;
    if (!has_samples) add_count(f, "samples", samples);
    if (!has_tokens) add_count(f, "tokens", samples * r->facts.tokens_per_sample);
    r->before.step = step;
    r->before.samples = consumed;
}

static double real_of(const char *text)
{
    double v;
    return *text && wl_str_to_real(text, &v) == 0 ? v : NAN;
}

static int step_seen(struct wl_mark_regex *r, int64_t t_ns, const char *line, const regmatch_t at[GROUPS],
                     struct wl_err *e)
{
    const struct matcher *m = &r->step;
    struct fields f = { .n = 0 };
    char text[64], count[32];
    r->steps++;
    snprintf(count, sizeof count, "%lld", (long long)r->steps);
    const char *step = *captured_as(m, "step", line, at, text) ? text : count;
    add(&f, "step", step);
    const double number = real_of(step);
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->field[i].name, "step") != 0 && *captured(m, i, line, at, text)) add(&f, m->field[i].name, text);
    const double samples = real_of(captured_as(m, "samples", line, at, text));
    add_work(r, &f, number, samples, NAN, *captured_as(m, "tokens", line, at, text) != '\0');
    return emit(r, t_ns, WL_MARK_STEP, f.text, e);
}

/* torchrun puts "[rank3]:" before the lines of a rank. */
static bool is_of_other_rank(const char *line)
{
    static const char prefix[] = "[rank";
    const bool ranked = strncmp(line, prefix, strlen(prefix)) == 0;
    return ranked && strncmp(line + strlen(prefix), "0]", 2) != 0;
}

/* A line of a framework. One that repeats a step (a bar that is drawn anew, another rank) says nothing new. */
static int log_line(struct wl_mark_regex *r, int64_t t_ns, const char *line, struct wl_err *e)
{
    struct wl_mark_log_step s;
    struct fields f = { .n = 0 };
    char loss[64], value[32];
    if (is_of_other_rank(line)) return 0;
    wl_mark_log_read_facts(r->log, line, &r->facts);
    if (wl_mark_log_read_loss(r->log, line, value)) {
        snprintf(loss, sizeof loss, "name=train_loss value=%s", value);
        return emit(r, t_ns, WL_MARK_METRIC, loss, e);
    }
    if (!wl_mark_log_read_step(r->log, line, &s) || s.step == r->before.step) return 0;
    add_count(&f, "step", s.step);
    add_work(r, &f, s.step, NAN, s.consumed_samples, false);
    add_count(&f, "total", isnan(s.total) ? r->facts.total : s.total);
    if (*s.loss) add(&f, "loss", s.loss);
    return emit(r, t_ns, WL_MARK_STEP, f.text, e);
}

static int checkpoint_seen(struct wl_mark_regex *r, int64_t t_ns, const char *line, const regmatch_t at[GROUPS],
                           struct wl_err *e)
{
    struct fields f = { .n = 0 };
    char text[64];
    if (*captured_as(&r->checkpoint, "checkpoint", line, at, text)) add(&f, "step", text);
    return emit(r, t_ns, WL_MARK_CHECKPOINT, f.text, e);
}

/* ---- the job's life ---- */

void wl_mark_regex_start(struct wl_mark_regex *r, int64_t t_ns)
{
    r->begin_ns = t_ns;
    for (size_t i = 0; i < r->define.n; i++) WL_CHECK(emit(r, t_ns, WL_MARK_DEFINE, r->define.v[i], NULL) == 0);
}

int wl_mark_regex_line(struct wl_mark_regex *r, int64_t t_ns, const char *line, size_t n, struct wl_err *e)
{
    char text[4096]; /* the rest of the line is not searched */
    regmatch_t at[GROUPS];
    struct wl_err why;
    int rc = 0;
    r->lines++;
    if (n >= sizeof text) n = sizeof text - 1;
    memcpy(text, line, n);
    text[n] = '\0';
    if (r->log) wl_mark_log_strip_colours(text);
    if (match(&r->begin, text, at)) r->begin_ns = t_ns;
    if (match(&r->epoch, text, at)) rc = (r->at_begin ? epoch_begins : epoch_ends)(r, t_ns, text, at, &why);
    if (rc == 0 && match(&r->step, text, at)) rc = step_seen(r, t_ns, text, at, &why);
    if (rc == 0 && r->log) rc = log_line(r, t_ns, text, &why);
    if (rc == 0 && match(&r->checkpoint, text, at)) rc = checkpoint_seen(r, t_ns, text, at, &why);
    if (rc == 0) return 0;
    return wl_fail(e, rc, "output line '%.120s': %s", text, why.msg);
}

void wl_mark_regex_end(struct wl_mark_regex *r, int64_t t_ns, bool ok)
{
    if (ok && r->open) (void)emit_epoch(r, r->last, r->begin_ns, t_ns, r->samples, r->updates, NULL);
    r->open = false;
}

/* ---- what has not matched ---- */

static const char *count_of(int64_t lines, struct wl_arena *a)
{
    return wl_strf(a, "%lld line%s", (long long)lines, lines == 1 ? "" : "s");
}

static void add_unmatched(struct wl_strs *out, const struct matcher *m, int64_t lines, struct wl_arena *a)
{
    if (!m->set || m->matched) return;
    if (lines == 0)
        wl_strs_addf(a, out, "--%s-regex '%s': the command printed nothing", m->option, m->text);
    else
        wl_strs_addf(a, out, "--%s-regex '%s' matches no line of the output (%s)%s%s%s", m->option, m->text,
                     count_of(lines, a), *m->near ? "; it would match '" : "", m->near,
                     *m->near ? "' but for upper and lower case" : "");
}

struct wl_strs wl_mark_regex_unmatched(const struct wl_mark_regex *r, struct wl_arena *a)
{
    struct wl_strs out = { 0 };
    if (!r->log) add_unmatched(&out, &r->epoch, r->lines, a); /* it may be the preset's own */
    add_unmatched(&out, &r->begin, r->lines, a);
    add_unmatched(&out, &r->step, r->lines, a);
    return out;
}
