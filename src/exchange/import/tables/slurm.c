/* Slurm's accounts: sacct -P with ConsumedEnergyRaw, and scontrol show job. The energy is of whole nodes, with whatever
 * else ran there. A step has its own; the batch step and the steps that it started overlap, since each counts all of
 * its nodes, so that the numbered steps count and the batch step only where there are none. 18446744073709551614 is
 * Slurm's "none". Source: the manual pages of sacct(1) and acct_gather.conf(5), and src/common/slurm_protocol_defs.h
 * (NO_VAL64). */
#include "exchange/import/formats.h"
#include "exchange/import/tables/csv.h"

#include <math.h>
#include <string.h>

#define NO_VAL64_TEXT "18446744073709551614"

struct job {
    const char *id, *name, *state;
    int64_t start_ns;
    double time_s, nodes, gpus;
    double steps_j, batch_j; /* NAN: none */
    size_t steps;            /* that count: those with an energy */
    size_t rejected;         /* lines before it */
};

struct reader {
    struct wl_import *im;
    struct wl_table_csv *t;
    struct wl_zone zone;
    struct job now;
    bool open;
    struct wl_arena *a; /* of the job */
};

/* "1-02:03:04", "02:03:04", "03:04.567". */
static bool read_elapsed(struct wl_slice s, double *out)
{
    double v[4] = { 0 }, days = 0;
    int n = 0;
    const char *dash = memchr(s.s, '-', s.n);
    if (dash) {
        if (!wl_slice_real((struct wl_slice) { s.s, (size_t)(dash - s.s) }, &days)) return false;
        s = (struct wl_slice) { dash + 1, s.n - (size_t)(dash + 1 - s.s) };
    }
    for (;;) {
        const char *colon = memchr(s.s, ':', s.n);
        const size_t len = colon ? (size_t)(colon - s.s) : s.n;
        if (n == 3 || !wl_slice_real((struct wl_slice) { s.s, len }, &v[n]) || v[n] < 0) return false;
        n++;
        if (!colon) break;
        s = (struct wl_slice) { colon + 1, s.n - len - 1 };
    }
    if (n < 2) return false;
    *out = days * 86400 + (n == 3 ? v[0] * 3600 + v[1] * 60 + v[2] : v[0] * 60 + v[1]);
    return true;
}

/* "billing=32,gres/gpu=8,node=2": the number of a name. */
static double tres(const char *text, const char *name)
{
    double v;
    const size_t n = strlen(name);
    for (const char *p = text; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        struct wl_slice rest;
        if (strncmp(p, name, n) == 0 && p[n] == '=' && wl_slice_real_then(wl_slice_of(p + n + 1), &v, &rest) &&
            (rest.n == 0 || rest.s[0] == ','))
            return v;
    }
    return NAN;
}

static int finish(struct reader *r, struct wl_err *e)
{
    struct wl_table_row row = wl_table_row_none;
    const struct job *j = &r->now;
    const bool by_batch = j->steps == 0 && j->nodes == 1;
    struct wl_table_energy energy = { .uuid = "nodes",
                                      .scope = "node",
                                      .energy_j = j->steps   ? j->steps_j
                                                  : by_batch ? j->batch_j
                                                             : NAN };
    if (!r->open) return 0;
    r->open = false;
    energy.power_w = energy.energy_j / j->time_s;
    energy.why = j->steps == 0 && !isnan(j->batch_j)
                     ? "only the batch step has an energy, which is that of the first node"
                     : "Slurm recorded no energy: its nodes have no acct_gather_energy";
    row.part = wl_strf(r->a, "job %s", j->id);
    row.set.workload = j->name;
    row.set.nodes = j->nodes;
    row.set.workers = j->gpus;
    row.start_ns = j->start_ns;
    row.time_s = j->time_s;
    row.energies = &energy;
    row.n_energies = 1;
    if (r->im->report.n_rejected > j->rejected) { /* one of its steps may be missing */
        energy.energy_j = energy.power_w = NAN;
        energy.why = "a line of it could not be read";
    }
    if (j->state && !wl_str_starts(j->state, "COMPLETED")) row.failed = wl_strf(r->a, "Slurm: %s", j->state);
    return wl_table_add(r->im, &row, e);
}

static void begin(struct reader *r, const char *id)
{
    r->now = (struct job) { .id = id,
                            .start_ns = WL_NO_NS,
                            .time_s = NAN,
                            .nodes = NAN,
                            .gpus = NAN,
                            .steps_j = NAN,
                            .batch_j = NAN,
                            .rejected = r->im->report.n_rejected };
    r->open = true;
}

/* ---- sacct ---- */

/* 1: joules, NAN where there are none; 0: rejected. */
static int read_joules(struct reader *r, double *out)
{
    const struct wl_slice v = wl_table_csv_field(r->t, "ConsumedEnergyRaw");
    *out = NAN;
    if (wl_slice_eq(v, NO_VAL64_TEXT)) return 1;
    if (!wl_table_csv_real(r->t, "ConsumedEnergyRaw", out)) return 0;
    if (!(*out > 0)) *out = NAN; /* 0 where a plugin reads nothing */
    return 1;
}

static int read_job(struct reader *r, struct wl_slice id, struct wl_err *e)
{
    const struct wl_slice start = wl_table_csv_field(r->t, "Start");
    struct job *j = &r->now;
    int rc = finish(r, e);
    if (rc < 0) return rc;
    wl_arena_free(r->a);
    r->a = wl_arena_new(r->im->a);
    begin(r, wl_slice_text(id, r->a));
    r->open = false;
    if (!read_elapsed(wl_table_csv_field(r->t, "Elapsed"), &j->time_s)) {
        wl_import_reject(r->im, "Elapsed: \"%.*s\" is not a time as 1-02:03:04",
                         WL_QUOTE(wl_table_csv_field(r->t, "Elapsed")));
        return 0;
    }
    if (!wl_table_csv_real(r->t, "NNodes", &j->nodes)) return 0;
    if (!wl_import_no_value(start) && !wl_slice_eq(start, "Unknown") &&
        !wl_import_time(r->im, &r->zone, start, WL_DATE_YMD, &j->start_ns))
        return 0;
    const char *tres_text =
        wl_table_csv_text(r->t, wl_table_csv_has(r->t, "AllocTRES") ? "AllocTRES" : "TRESUsageInTot", r->a);
    if (tres_text) j->gpus = tres(tres_text, "gres/gpu");
    j->name = wl_table_csv_text(r->t, "JobName", r->a);
    j->state = wl_table_csv_text(r->t, "State", r->a);
    r->open = true;
    return 0;
}

static void read_step(struct reader *r, struct wl_slice step)
{
    double joules;
    struct job *j = &r->now;
    if (!read_joules(r, &joules) || isnan(joules)) return;
    if (wl_slice_eq(step, "batch")) {
        j->batch_j = joules;
    } else if (!wl_slice_eq(step, "extern")) {
        j->steps_j = (j->steps++ ? j->steps_j : 0) + joules;
    }
}

static int read_line(struct reader *r, struct wl_err *e)
{
    const struct wl_slice id = wl_table_csv_field(r->t, "JobID");
    const char *dot = memchr(id.s, '.', id.n);
    if (!dot) return read_job(r, id, e);
    const struct wl_slice job = { id.s, (size_t)(dot - id.s) };
    if (r->open && wl_slice_eq(job, r->now.id))
        read_step(r, (struct wl_slice) { dot + 1, id.n - job.n - 1 });
    else
        wl_import_reject(r->im, "%.*s: a step without the line of its job", WL_QUOTE(id));
    return 0;
}

static int read_sacct(struct reader *r, struct wl_arena *a, struct wl_err *e)
{
    r->t = wl_new(a, struct wl_table_csv);
    int rc = wl_table_csv_open(r->t, r->im, '|', "JobID", a, e);
    if (rc == 0 && !wl_table_csv_has(r->t, "ConsumedEnergyRaw"))
        return wl_fail(e, WL_EINVAL,
                       "%s: no column ConsumedEnergyRaw (ConsumedEnergy is rounded): sacct -P -o "
                       "JobID,JobName,Start,Elapsed,NNodes,ConsumedEnergyRaw,AllocTRES,State",
                       r->im->in->path);
    if (rc == 0 && !wl_table_csv_has(r->t, "Elapsed"))
        return wl_fail(e, WL_EINVAL, "%s: no column Elapsed, the time of a job", r->im->in->path);
    if (rc == 0)
        while ((rc = wl_table_csv_next(r->t, e)) > 0)
            if ((rc = read_line(r, e)) < 0) break;
    return rc;
}

/* ---- scontrol show job ---- */

static const char *value_of(struct wl_slice word, const char *key, struct wl_arena *a)
{
    const size_t n = strlen(key);
    if (word.n <= n || memcmp(word.s, key, n) != 0 || word.s[n] != '=') return NULL;
    return wl_slice_text((struct wl_slice) { word.s + n + 1, word.n - n - 1 }, a);
}

static int read_word(struct reader *r, struct wl_slice word, struct wl_err *e)
{
    struct job *j = &r->now;
    const char *v;
    int rc = 0;
    if ((v = value_of(word, "JobId", r->a))) {
        rc = finish(r, e);
        begin(r, v);
    } else if (!r->open) {
        return 0;
    } else if ((v = value_of(word, "JobName", r->a))) {
        j->name = v;
    } else if ((v = value_of(word, "JobState", r->a))) {
        j->state = v;
    } else if ((v = value_of(word, "RunTime", r->a))) {
        if (!read_elapsed(wl_slice_of(v), &j->time_s))
            wl_import_reject(r->im, "RunTime: \"%.60s\" is not a time as 1-02:03:04", v);
    } else if ((v = value_of(word, "NumNodes", r->a))) {
        if (wl_str_to_real(v, &j->nodes) < 0) j->nodes = NAN;
    } else if ((v = value_of(word, "StartTime", r->a)) && !wl_str_eq(v, "Unknown")) {
        (void)wl_import_time(r->im, &r->zone, wl_slice_of(v), WL_DATE_YMD, &j->start_ns); /* it has been rejected */
    } else if ((v = value_of(word, "AllocTRES", r->a)) || (v = value_of(word, "TRES", r->a))) {
        j->gpus = tres(v, "gres/gpu");
        j->steps_j = tres(v, "energy");
        j->steps = j->steps_j > 0;
    }
    return rc;
}

static int read_scontrol(struct reader *r, struct wl_err *e)
{
    enum { WORDS = 256 };
    struct wl_slice line, v[WORDS];
    int rc;
    while ((rc = wl_import_line(r->im, &line, e)) > 0) {
        const int n = wl_slice_words(line, v, WORDS);
        rc = 0;
        for (int i = 0; i < n && i < WORDS && rc == 0; i++) rc = read_word(r, v[i], e);
        if (rc < 0) break;
    }
    return rc;
}

/* ---- the format ---- */

static bool is_scontrol(const struct wl_import_head *h, struct wl_arena *a)
{
    const char *line = wl_import_head_line(h, a);
    return line && wl_str_starts(line, "JobId=");
}

static const char *const columns[] = { "JobID", "Elapsed", NULL };

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    const char *line = wl_import_head_line(h, a);
    return is_scontrol(h, a) || (line && strchr(line, '|') && wl_table_csv_recognise(h, '|', columns, a));
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct reader r = { .im = im, .a = wl_arena_new(im->a) };
    struct wl_slice head;
    int rc = wl_zone_open(&r.zone, im->opts->timezone, a, e);
    if (rc == 0) rc = wl_lines_peek(im->in, 64, &head, e);
    wl_import_set_tool(im, "Slurm");
    wl_import_note(im, "energy of Slurm is that of whole nodes, with whatever else ran there");
    if (rc == 0) rc = wl_slice_starts(wl_slice_trim(head), "JobId=") ? read_scontrol(&r, e) : read_sacct(&r, a, e);
    if (rc == 0) rc = finish(&r, e);
    wl_arena_free(r.a);
    wl_arena_free(a);
    return rc;
}

const struct wl_import_format wl_import_slurm = {
    .name = "slurm",
    .title = "Slurm's accounts (sacct -P, scontrol show job)",
    .looks_for = "a header with JobID| and Elapsed, or JobId=",
    .kind = WL_IMPORT_TABLE,
    .columns = columns,
    .recognise = recognise,
    .read = read_file,
};
