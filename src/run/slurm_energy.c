/* The energy that Slurm reports for a run: ConsumedEnergyRaw of the job's steps that began and ended within the run,
 * read with sacct after their end. It is stored next to our joules and never added to them: it covers whole nodes,
 * including other jobs, at the site's sampling rate, and only the hardware that its plugin sees. Sources: sacct(1),
 * slurm.conf(5) (AcctGatherEnergyType, JobAcctGatherFrequency), NO_VAL and NO_VAL64 of slurm/slurm.h. */
#include "run/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OUTPUT_MAX = 4 << 20, ATTEMPTS = 3 };
static const double COMMAND_TIMEOUT_S = 5;
/* How long the database takes to know a step's end, and how long after the run's end that may be. Each attempt costs
 * the site's database a query. */
static const double END_DELAY_S = 3;

/* A step; NAN: not known, or an energy that Slurm reports as missing. */
struct step {
    const char *id;
    double start_s, end_s, energy_j; /* times since 1970, in whole seconds */
};

struct sacct_query {
    const char *job;
    double start_s, end_s; /* of the run */
    const char *doubtful;  /* a step that may belong to an earlier run; NULL: none */
    struct step *v;
    size_t n, cap;
    struct wl_arena *a;
};

/* The output of one of Slurm's programs, started with argv. */
static int run_program(struct sacct_query *s, const char *program, char *const *argv, char **text, struct wl_err *e)
{
    struct wl_process_result end;
    if (!wl_process_find_program(program, s->a)) return wl_fail(e, WL_ENOENT, "%s: command not found", program);
    int rc = wl_process_run(&(struct wl_process_run) { .argv = argv,
                                                       .max = OUTPUT_MAX,
                                                       .merge_stderr = true,
                                                       .timeout_s = COMMAND_TIMEOUT_S },
                            text, &end, s->a, e);
    if (rc < 0) return wl_fail(e, rc, "%s: no answer (%s)", program, wl_strdup(s->a, e->msg));
    if (end.status == 0) return 0;
    const char *output = wl_str_strip(s->a, *text);
    return wl_fail(e, WL_EIO, "%s: exit status %d: %.*s", program, end.status, (int)strcspn(output, "\n"), output);
}

/* ---- the site's configuration ---- */

/* The value in the line "Name   = value"; NULL: there is no such line. */
static const char *setting(const char *text, const char *name, struct wl_arena *a)
{
    size_t len = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) || !strchr(" =", line[len])) continue;
        const char *value = line + len + strspn(line + len, " =");
        return wl_str_strip(a, wl_strndup(a, value, strcspn(value, "\n")));
    }
    return NULL;
}

/* "30", "task=30,energy=60": the interval at which Slurm samples the energy of jobs. */
static double period_s(const char *frequency)
{
    const char *energy = frequency ? strstr(frequency, "energy=") : NULL,
               *task = frequency ? strstr(frequency, "task=") : NULL;
    const char *number = energy ? energy + strlen("energy=") : task ? task + strlen("task=") : frequency;
    char *end = NULL;
    double s = number ? strtod(number, &end) : NAN;
    return end == number ? NAN : s;
}

static void read_config(const char *text, struct sacct_query *s, struct wl_slurm_energy *out)
{
    static const char kind[] = "acct_gather_energy/";
    const char *plugin = setting(text, "AcctGatherEnergyType", s->a);
    if (!plugin || !wl_str_starts(plugin, kind) || wl_str_eq(plugin + strlen(kind), "none")) return;
    out->plugin = plugin;
    out->period_s = period_s(setting(text, "JobAcctGatherFrequency", s->a));
}

static int ask_config(struct sacct_query *s, const char **config, struct wl_err *e)
{
    char *text, *argv[] = { (char *)"scontrol", (char *)"show", (char *)"config", NULL };
    int rc = run_program(s, "scontrol", argv, &text, e);
    if (rc == 0) *config = text;
    return rc;
}

/* ---- the steps ---- */

/* NAN also for NO_VAL, NO_VAL64, their INFINITE neighbours and 0, which plugins leave when a reading failed. */
static double energy_of(const char *text)
{
    static const double NO_VAL = 4294967294.0, NO_VAL_32_END = 4294967296.0, NO_VAL64 = 18446744073709551614.0;
    char *end;
    double j = strtod(text, &end);
    if (end == text || *end || !(j > 0) || j >= NO_VAL64) return NAN;
    return j >= NO_VAL && j < NO_VAL_32_END ? NAN : j;
}

static double time_of(const char *text)
{
    char *end;
    double s = strtod(text, &end);
    return end == text || *end ? NAN : s;
}

/* "12.0|1700000000|1700000009|4200"; the steps batch and extern, which last as long as the job, have no number. */
static void add_step(struct sacct_query *s, const char *line)
{
    enum { ID, START, END, ENERGY, FIELDS };
    const char *field[FIELDS];
    char *at = wl_strdup(s->a, line);
    for (int i = 0; i < FIELDS; i++) {
        field[i] = strsep(&at, "|");
        if (!field[i]) return;
    }
    const char *dot = strchr(field[ID], '.');
    if (!dot || strspn(dot + 1, "0123456789") != strlen(dot + 1)) return;
    struct step step = { wl_strdup(s->a, field[ID]), time_of(field[START]), time_of(field[END]),
                         energy_of(field[ENERGY]) };
    if (!(step.start_s >= s->start_s) || step.start_s > s->end_s) return;
    if (step.end_s <= s->start_s) { /* ended in the second in which the run began: possibly before it */
        s->doubtful = step.id;
        return;
    }
    WL_GROW(s->a, s->v, s->n, s->cap);
    s->v[s->n++] = step;
}

static int read_steps(struct sacct_query *s, struct wl_err *e)
{
    char *text, *line;
    char *argv[] = { (char *)"env",
                     (char *)"SLURM_TIME_FORMAT=%s",
                     (char *)"sacct",
                     (char *)"-n",
                     (char *)"-P",
                     (char *)"-j",
                     (char *)s->job,
                     (char *)"--format=JobIDRaw,Start,End,ConsumedEnergyRaw",
                     NULL };
    int rc = run_program(s, "sacct", argv, &text, e);
    s->n = 0;
    while (rc == 0 && (line = strsep(&text, "\n"))) add_step(s, line);
    return rc;
}

/* Why the steps do not cover the run; NULL: they do. *again: they may a little later. */
static const char *why_incomplete(const struct sacct_query *s, bool *again)
{
    *again = s->n == 0;
    if (s->n == 0 && s->doubtful)
        return wl_strf(s->a,
                       "step %s began and ended in the second in which the run began: it may belong to another run",
                       s->doubtful);
    if (s->n == 0) return wl_strf(s->a, "no step of job %s began within the run", s->job);
    for (size_t i = 0; i < s->n; i++) {
        *again = isnan(s->v[i].end_s);
        if (*again) return wl_strf(s->a, "step %s has not ended", s->v[i].id);
        if (s->v[i].end_s > s->end_s + END_DELAY_S) return wl_strf(s->a, "step %s ended after the run", s->v[i].id);
    }
    for (size_t i = 0; i < s->n; i++)
        if (isnan(s->v[i].energy_j)) return wl_strf(s->a, "Slurm reports no energy for step %s", s->v[i].id);
    return NULL;
}

static void sum_steps(const struct sacct_query *s, struct wl_slurm_energy *out)
{
    struct wl_text t = WL_TEXT(s->a);
    double sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        wl_text_addf(&t, "%s%s", i ? " " : "", s->v[i].id);
        sum += s->v[i].energy_j;
    }
    out->steps = s->n ? t.s : NULL;
    if (!out->why) out->energy_j = sum;
}

/* Is this process in a numbered step? Batch scripts and shells of salloc have no number, or one of the special ones. */
static bool is_in_step(void)
{
    static const double SPECIAL = 0xfffffff0;
    const char *id = getenv("SLURM_STEP_ID");
    return id && strtod(id, NULL) < SPECIAL;
}

struct wl_slurm_energy wl_slurm_energy_query(const struct wl_anchor *start, const struct wl_anchor *end,
                                             const char *config, struct wl_arena *a)
{
    struct wl_slurm_energy out = wl_slurm_energy_none;
    struct wl_err e;
    struct sacct_query s = { .job = getenv("SLURM_JOB_ID"),
                             .start_s = floor((double)start->wall_ns / WL_NS_PER_S),
                             .end_s = ceil((double)end->wall_ns / WL_NS_PER_S),
                             .a = a };
    if (!s.job || !*s.job) return out;
    int rc = config ? 0 : ask_config(&s, &config, &e);
    if (rc < 0 && rc != WL_ENOENT) out.why = wl_strdup(a, e.msg);
    if (rc == 0) read_config(config, &s, &out);
    if (!out.plugin) return out;
    if (is_in_step()) {
        out.why = wl_strf(a, "the run is part of step %s.%s, whose energy Slurm reports after the step ends", s.job,
                          getenv("SLURM_STEP_ID"));
        return out;
    }
    bool again = true;
    for (int i = 0; again && i < ATTEMPTS; i++) {
        usleep((useconds_t)(i * END_DELAY_S / ATTEMPTS * 1e6)); /* 0, 1 and 2 s */
        if (read_steps(&s, &e) < 0) {
            out.why = wl_strdup(a, e.msg);
            return out;
        }
        out.why = why_incomplete(&s, &again);
    }
    sum_steps(&s, &out);
    return out;
}

/* ---- the job itself ---- */

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

struct wl_slurm_job wl_slurm_job_here(void)
{
    return (struct wl_slurm_job) { .id = variable("SLURM_JOB_ID"),
                                   .account = variable("SLURM_JOB_ACCOUNT"),
                                   .cluster = variable("SLURM_CLUSTER_NAME"),
                                   .partition = variable("SLURM_JOB_PARTITION") };
}
