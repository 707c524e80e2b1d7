/* EAR's tables of jobs (eacct -c, or the CSV report plug-in): a line per node with means over TIME_SEC. Which columns
 * there are depends on how EAR was built. Source: gitlab.bsc.es/ear_team/ear, and its user guide. */
#include "exchange/import/formats.h"
#include "exchange/import/tables/csv.h"

#include <math.h>
#include <string.h>

/* The lines of one step, one after the other in the file. */
struct step {
    const char *job, *step, *name;
    int64_t start_ns;
    double time_s, clock_khz, gpus;
    struct wl_table_energy *v;
    size_t n, cap, nodes;
    size_t rejected; /* lines before it */
};

struct reader {
    struct wl_table_csv *t;
    struct step now;
    bool open;
    struct wl_arena *a; /* of the step */
};

static int finish(struct reader *r, struct wl_err *e)
{
    struct wl_table_row row = wl_table_row_none;
    const struct step *s = &r->now;
    if (!r->open) return 0;
    r->open = false;
    row.part = wl_strf(r->a, "job %s.%s", s->job, s->step);
    if (r->t->im->report.n_rejected > s->rejected) { /* a node of it may be missing */
        wl_import_note(r->t->im, "%s, %s: left out, since a line after its first one could not be read",
                       r->t->im->in->path, row.part);
        return 0;
    }
    row.set.workload = s->name;
    row.set.nodes = (double)s->nodes;
    if (s->gpus > 0) row.set.workers = s->gpus;
    row.start_ns = s->start_ns;
    row.time_s = s->time_s;
    row.energies = s->v;
    row.n_energies = s->n;
    return wl_table_add(r->t->im, &row, e);
}

/* Adds watts x time_s; false: not a number. A power of 0 or less is EAR's "not measured". */
static bool add(struct reader *r, const char *column, const char *host, const char *uuid, const char *scope,
                double time_s, bool part)
{
    double watts;
    struct step *s = &r->now;
    if (!wl_table_csv_has(r->t, column)) return true;
    if (!wl_table_csv_real(r->t, column, &watts)) return false;
    const bool none = !(watts > 0);
    if (none && part) return true;
    WL_GROW(r->a, s->v, s->n, s->cap);
    s->v[s->n++] = (struct wl_table_energy) { .host = host,
                                              .uuid = wl_strdup(r->a, uuid),
                                              .scope = scope,
                                              .integral = true,
                                              .part = part,
                                              .energy_j = none ? NAN : watts * time_s,
                                              .power_w = none ? NAN : watts,
                                              .why = "EAR measured no power of the node" };
    return true;
}

static bool add_node(struct reader *r, const char *host, double time_s)
{
    struct step *s = &r->now;
    double node_w;
    if (!wl_table_csv_real(r->t, "DC_NODE_POWER_W", &node_w)) return false;
    const bool whole = node_w > 0 || !wl_table_csv_has(r->t, "PCK_POWER_W"); /* the others are parts of it */
    if (whole && !add(r, "DC_NODE_POWER_W", host, "node", "node", time_s, false)) return false;
    if (!add(r, "PCK_POWER_W", host, "packages", "package", time_s, whole)) return false;
    if (!add(r, "DRAM_POWER_W", host, "memory", "dram", time_s, whole)) return false;
    for (int i = 0; i < 64; i++) {
        const char *column = wl_strf(r->a, "GPU%d_POWER_W", i);
        const size_t before = s->n;
        if (!wl_table_csv_has(r->t, column)) break;
        if (!add(r, column, host, wl_strf(r->a, "gpu%d", i), "gpu", time_s, whole)) return false;
        s->gpus += s->n > before;
    }
    s->nodes++;
    if (time_s > s->time_s) s->time_s = time_s;
    return true;
}

static int read_row(struct reader *r, struct wl_err *e)
{
    struct wl_table_csv *t = r->t;
    struct step *s = &r->now;
    double time_s, start_s;
    const struct wl_slice job = wl_table_csv_field(t, "JOBID"), step = wl_table_csv_field(t, "STEPID");
    if (!wl_table_csv_positive(t, "TIME_SEC", &time_s) || !wl_table_csv_real(t, "JOB_START_TIME", &start_s)) return 0;
    if (!r->open || !wl_slice_eq(job, s->job) || !wl_slice_eq(step, s->step)) {
        int rc = finish(r, e);
        if (rc < 0) return rc;
        wl_arena_free(r->a);
        r->a = wl_arena_new(t->im->a);
        *s = (struct step) { .job = wl_slice_text(job, r->a),
                             .step = wl_slice_text(step, r->a),
                             .rejected = t->im->report.n_rejected,
                             .name = wl_table_csv_text(t, "JOBNAME", r->a),
                             .start_ns = start_s > 1e9 && start_s < 9e9 ? (int64_t)start_s * WL_NS_PER_S : WL_NO_NS };
        r->open = true;
    }
    const char *host = wl_table_csv_text(t, "NODENAME", r->a);
    (void)add_node(r, host ? host : wl_strf(r->a, "node%zu", s->nodes), time_s); /* it has been rejected */
    return 0;
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct reader r = { .t = wl_new(a, struct wl_table_csv), .a = wl_arena_new(im->a) };
    int rc = wl_table_csv_open(r.t, im, ';', "JOBID", a, e);
    wl_import_set_tool(im, "EAR");
    if (rc == 0)
        while ((rc = wl_table_csv_next(r.t, e)) > 0)
            if ((rc = read_row(&r, e)) < 0) break;
    if (rc == 0) rc = finish(&r, e);
    wl_arena_free(r.a);
    wl_arena_free(a);
    return rc;
}

static const char *const columns[] = { "JOBID", "STEPID", "NODENAME", "TIME_SEC", "DC_NODE_POWER_W", NULL };

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    return wl_table_csv_recognise(h, ';', columns, a);
}

const struct wl_import_format wl_import_ear = {
    .name = "ear",
    .title = "EAR's table of jobs",
    .looks_for = "a header with JOBID;STEPID, NODENAME, TIME_SEC and DC_NODE_POWER_W",
    .kind = WL_IMPORT_TABLE,
    .columns = columns,
    .recognise = recognise,
    .read = read_file,
};
