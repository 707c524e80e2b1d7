#include "campaign/internal.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define KEY(type_, field_) .type = type_, .offset = offsetof(struct SECTION, field_)

#define SECTION wl_campaign_keys
static const struct wl_opt campaign_rows[] = {
    { .name = "name", KEY(WL_STR, name), .required = true, .help = "name of the campaign: letters, digits, . _ -" },
    { .name = "repeats", KEY(WL_INT, repeats), .def = "3", .min = 1, .max = 10000, .help = "runs of each trial" },
    { .name = "order",
      KEY(WL_CHOICE, order),
      .def = "random",
      .choices = "random|sequential",
      .help = "order of the runs inside each repeat" },
    { .name = "seed",
      KEY(WL_INT, seed),
      .def = "1",
      .min = 0,
      .max = 1e9,
      .help = "of the order; repeat r of a trial is given {seed} = seed + r - 1" },
    { .name = "store",
      KEY(WL_STR, store),
      .help = "folder of the results (or a file NAME.db in it); the campaign's name if not given" },
    { .name = "scaling",
      KEY(WL_CHOICE, scaling),
      .def = "strong",
      .choices = "strong|weak",
      .help = "strong: the data stay the same; weak: samples in proportion to workers" },
    WL_OPT_END,
};
#undef SECTION

#define SECTION wl_sweep_keys
static const struct wl_opt sweep_rows[] = {
    { .name = "workload", KEY(WL_STRS, workload), .help = "names of workloads" },
    { .name = "workers", KEY(WL_INTS, workers), .min = 1, .max = 1e6, .help = "data-parallel ranks; 1 if not given" },
    { .name = "local-batch",
      KEY(WL_INTS, local_batch),
      .min = 1,
      .max = 1e9,
      .unit = "samples",
      .help = "batch of one worker" },
    { .name = "global-batch",
      KEY(WL_INTS, global_batch),
      .min = 1,
      .max = 1e9,
      .unit = "samples",
      .help = "workers x local batch x accumulation" },
    { .name = "accumulation",
      KEY(WL_INTS, accumulation),
      .min = 1,
      .max = 1e6,
      .help = "local batches before an update" },
    { .name = "epochs", KEY(WL_INTS, epochs), .min = 1, .max = 1e6, .help = "passes over the data" },
    { .name = "power-cap-w",
      KEY(WL_REALS, power_cap_w),
      .min = 1,
      .max = 1e5,
      .unit = "W",
      .help = "power limit of each device" },
    { .name = "clock-mhz",
      KEY(WL_REALS, clock_mhz),
      .min = 1,
      .max = 1e5,
      .unit = "MHz",
      .help = "clock limit of each device" },
    { .name = "threads", KEY(WL_INTS, threads), .min = 1, .max = 1e5, .help = "threads of one worker; 1 if not given" },
    WL_OPT_END,
};
#undef SECTION

#define SECTION wl_data_keys
static const struct wl_opt data_rows[] = {
    { .name = "path", KEY(WL_STR, path), .help = "folder or file that stands for {data}" },
    { .name = "prepare",
      KEY(WL_STR, prepare),
      .help = "command that writes {data}; run once, before the first run, if the path is not there" },
    { .name = "samples",
      KEY(WL_INT, samples),
      .min = 0,
      .max = 1e12,
      .unit = "samples",
      .help = "samples of an epoch (weak scaling: of each worker) for {samples}; 0: the workload decides" },
    WL_OPT_END,
};
#undef SECTION

#define SECTION wl_measure_keys
static const struct wl_opt measure_rows[] = {
    WL_POWER_OPT_ROWS(struct wl_measure_keys, power),
    WL_MARK_REGEX_OPT_ROWS(struct wl_measure_keys, regex),
    { .name = "idle",
      KEY(WL_DURATION, idle_s),
      .def = "0",
      .min = 0,
      .max = 25,
      .unit = "s",
      .help = "measure the machine at rest for so long before and behind each run; 0: not" },
    WL_OPT_END,
};
#undef SECTION

static const struct wl_opt cap_rows[] = {
    WL_CAP_OPT_ROWS(struct wl_cap_keys, opts, ""),
    WL_OPT_END,
};

#define SECTION wl_launch_keys
static const struct wl_opt launch_rows[] = {
    { .name = "launcher", KEY(WL_STR, launcher), .def = "local", .help = "how runs are started" },
    { .name = "command",
      KEY(WL_STR, command),
      .help = "words with {placeholders}; wattlaw-train for the reference workloads if not given" },
    { .name = "args", KEY(WL_STR, args), .help = "words with {placeholders} put behind the command" },
    { .name = "env", KEY(WL_STR, env), .help = "NAME=value words with {placeholders}, added to the environment" },
    { .name = "cwd", KEY(WL_STR, cwd), .help = "folder in which the command runs" },
    { .name = "timeout",
      KEY(WL_DURATION, timeout_s),
      .def = "0",
      .min = 0,
      .max = 1e9,
      .unit = "s",
      .help = "a run that takes longer is stopped and counts as failed; 0: none" },
    { .name = "grace",
      KEY(WL_DURATION, grace_s),
      .def = "5",
      .min = 0,
      .max = 3600,
      .unit = "s",
      .help = "time between SIGTERM and SIGKILL for a job that has to stop" },
    { .name = "oversubscribe",
      KEY(WL_FLAG, oversubscribe),
      .def = "no",
      .help = "allow more workers x threads than cores" },
    WL_OPT_END,
};
#undef SECTION

static const struct wl_section sections[] = {
    { "campaign", campaign_rows, offsetof(struct wl_experiment, campaign), "the campaign as a whole" },
    { "sweep", sweep_rows, offsetof(struct wl_experiment, sweep),
      "axes of the grid, comma-separated; any other key is an axis of your own and must stand as {key} in the "
      "command" },
    { "data", data_rows, offsetof(struct wl_experiment, data), "what the workload reads" },
    { "measure", measure_rows, offsetof(struct wl_experiment, measure), "sampling and marks" },
    { "cap", cap_rows, offsetof(struct wl_experiment, cap), "how power_cap_w and clock_mhz are set" },
    { "launch", launch_rows, offsetof(struct wl_experiment, launch), "how a run is started" },
    { 0 },
};

const struct wl_section *wl_experiment_sections(void) { return sections; }

static void add_note(struct wl_text *notes, const char *note)
{
    wl_text_addf(notes, "%s%s", notes->n ? "; " : "", note);
}

static void print_key(const struct wl_opt *o, FILE *to)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_text notes = WL_TEXT(a);
    char *name = wl_strdup(a, o->name);
    for (char *c = name; *c; c++)
        if (*c == '-') *c = '_';
    const char *blank = o->unit ? " " : "", *unit = o->unit ? o->unit : "";
    if (o->required) add_note(&notes, "must be given");
    if (o->def && *o->def) add_note(&notes, wl_strf(a, "default %s", o->def));
    if (o->choices) add_note(&notes, o->choices);
    if (o->min != 0 || o->max != 0) add_note(&notes, wl_strf(a, "%.9g to %.9g%s%s", o->min, o->max, blank, unit));
    fprintf(to, "  %-13s %s%s%s%s\n", name, o->help, notes.n ? " (" : "", notes.s, notes.n ? ")" : "");
    wl_arena_free(a);
}

void wl_experiment_print_keys(FILE *to)
{
    for (const struct wl_section *s = sections; s->name; s++) {
        fprintf(to, "%s[%s]  %s\n", s == sections ? "" : "\n", s->name, s->help);
        for (const struct wl_opt *o = s->rows; o->name; o++) print_key(o, to);
    }
}

static void *section_struct(struct wl_experiment *x, const struct wl_section *s) { return (char *)x + s->offset; }

static const struct wl_section *find_section(const char *name)
{
    for (const struct wl_section *s = sections; s->name; s++)
        if (wl_streq(s->name, name)) return s;
    return NULL;
}

/* ---- reading: the file, then --set ---- */

struct reader {
    struct wl_experiment *x;
    const struct wl_ini *ini;
    const struct wl_strs *sets;
    size_t cap_user;
    struct wl_arena *a;
};

static int check_user_key(const char *key, const char *where, struct wl_err *e)
{
    bool fine = isalpha((unsigned char)*key) || *key == '_';
    for (const char *c = key; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_') fine = false;
    if (!fine)
        return wl_fail(e, WL_EINVAL, "%s: [sweep] %s: a key of your own is made of letters, digits and _", where, key);
    if (wl_placeholder_reserved(key))
        return wl_fail(e, WL_EINVAL, "%s: [sweep] %s: {%s} already has a meaning; take another name", where, key, key);
    return 0;
}

static int set_user_axis(struct reader *r, const char *key, const char *value, const char *where, struct wl_err *e)
{
    int rc = check_user_key(key, where, e);
    if (rc < 0) return rc;
    struct wl_strs values = wl_split(r->a, value, ',');
    for (size_t i = 0; i < values.n; i++)
        if (!*values.v[i]) values.n = 0;
    if (values.n == 0)
        return wl_fail(e, WL_EINVAL, "%s: [sweep] %s = '%s': expected a list of values", where, key, value);
    struct wl_experiment *x = r->x;
    for (size_t i = 0; i < x->n_user; i++)
        if (wl_streq(x->user[i].key, key)) {
            x->user[i].values = values;
            return 0;
        }
    WL_GROW(r->a, x->user, x->n_user, r->cap_user);
    x->user[x->n_user++] = (struct wl_user_axis) { wl_strdup(r->a, key), values };
    return 0;
}

static int set_key(struct reader *r, const struct wl_section *s, const char *key, const char *value, const char *where,
                   struct wl_err *e)
{
    if (wl_streq(s->name, "sweep") && !wl_opts_find(s->rows, key)) return set_user_axis(r, key, value, where, e);
    return wl_opts_set(s->rows, section_struct(r->x, s), key, value, where, r->a, e);
}

static int apply_file(struct reader *r, struct wl_err *e)
{
    const char *names[WL_COUNT(sections)];
    size_t n = 0;
    for (const struct wl_section *s = sections; s->name; s++) names[n++] = s->name;
    int rc = wl_ini_known_sections(r->ini, names, n, e);
    for (size_t i = 0; i < r->ini->n && rc == 0; i++) {
        const struct wl_ini_section *from = &r->ini->v[i];
        const struct wl_section *s = find_section(from->name);
        for (size_t k = 0; k < from->n && rc == 0; k++) {
            const char *where = wl_strf(r->a, "%s:%d", r->ini->path, from->v[k].line);
            rc = set_key(r, s, from->v[k].key, from->v[k].value, where, e);
        }
    }
    return rc;
}

/* "section.key=value" */
static int apply_set(struct reader *r, const char *text, struct wl_err *e)
{
    const char *where = wl_strf(r->a, "--set %s", text);
    const char *dot = strchr(text, '.'), *equals = strchr(text, '=');
    if (!dot || !equals || equals < dot) return wl_fail(e, WL_EINVAL, "%s: expected section.key=value", where);
    const char *section = wl_strip(r->a, wl_strndup(r->a, text, (size_t)(dot - text)));
    const char *key = wl_strip(r->a, wl_strndup(r->a, dot + 1, (size_t)(equals - dot - 1)));
    const struct wl_section *s = find_section(section);
    if (s) return set_key(r, s, key, wl_strip(r->a, equals + 1), where, e);

    const char *names[WL_COUNT(sections)];
    size_t n = 0;
    for (s = sections; s->name; s++) names[n++] = s->name;
    const char *meant = wl_closest(section, names, n);
    return wl_fail(e, WL_EINVAL, "%s: no section '%s'%s%s%s", where, section, meant ? "; did you mean '" : "",
                   meant ? meant : "", meant ? "'?" : "");
}

/* Where a key was given: "exp.ini:12", "--set" or the file. */
static const char *place_of(void *ctx, const char *section, const char *key)
{
    struct reader *r = ctx;
    const char *start = wl_strf(r->a, "%s.%s=", section, key);
    for (size_t i = 0; r->sets && i < r->sets->n; i++)
        if (wl_starts(r->sets->v[i], start)) return "--set";
    const struct wl_ini_section *s = wl_ini_section(r->ini, section);
    for (size_t i = 0; s && i < s->n; i++)
        if (wl_streq(s->v[i].key, key)) return wl_strf(r->a, "%s:%d", r->ini->path, s->v[i].line);
    return r->ini->path;
}

/* ---- what the rows cannot say ---- */

static int check_name(struct reader *r, struct wl_err *e)
{
    const char *name = r->x->campaign.name;
    if (!name) return wl_fail(e, WL_EINVAL, "%s: [campaign] name is missing: every campaign has a name", r->ini->path);
    bool fine = *name && *name != '.' && *name != '-';
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c)) fine = false;
    if (fine) return 0;
    return wl_fail(e, WL_EINVAL,
                   "%s: [campaign] name = '%s': expected letters, digits, . _ - (not starting with . or -)",
                   place_of(r, "campaign", "name"), name);
}

/* A value that stands twice in an axis would give one trial twice. */
static int check_twice(struct reader *r, const char *key, const char *const *values, size_t n, struct wl_err *e)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (wl_streq(values[i], values[k]))
                return wl_fail(e, WL_EINVAL, "%s: [sweep] %s: %s stands twice", place_of(r, "sweep", key), key,
                               values[i]);
    return 0;
}

static int check_axes(struct reader *r, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < r->x->n_user && rc == 0; i++) {
        const struct wl_strs *values = &r->x->user[i].values;
        rc = check_twice(r, r->x->user[i].key, (const char *const *)values->v, values->n, e);
    }
    struct wl_trial t = wl_trial_empty(r->x, r->a);
    for (const struct wl_axis *axis = wl_axes(); axis->key && rc == 0; axis++) {
        size_t n = wl_axis_count(axis, &r->x->sweep);
        const char **values = wl_new_array(r->a, const char *, n);
        for (size_t i = 0; i < n; i++) {
            wl_axis_take(axis, &r->x->sweep, i, &t);
            values[i] = wl_axis_text(axis, &t, r->a);
        }
        rc = check_twice(r, axis->key, values, n, e);
    }
    return rc;
}

static void no_sink(void *ctx, const struct wl_mark *m) { (void)ctx, (void)m; }

/* An expression that cannot be read is found now, at its line, and not by the first run. */
static int check_regex(struct reader *r, struct wl_err *e)
{
    struct wl_mark_regex *unused;
    struct wl_err why;
    const char *option = NULL;
    struct wl_arena *a = wl_arena_new(NULL);
    int rc = wl_mark_regex_new(&unused, &r->x->measure.regex, no_sink, NULL, &option, a, &why);
    if (rc < 0) {
        char *key = wl_strdup(a, option);
        for (char *c = key; *c; c++)
            if (*c == '-') *c = '_';
        rc = wl_fail(e, rc, "%s: [measure] %s", place_of(r, "measure", key), why.msg);
    }
    wl_arena_free(a);
    return rc;
}

/* The reference workloads bring their command along. Ranks of one machine need no mpirun; pinned, one worker does not
 * borrow the cores that several would use. */
static const char *default_command(const struct wl_experiment *x, struct wl_arena *a)
{
    return wl_strf(a,
                   "{train} {workload} --workers {workers}%s --epochs {epochs} --local-batch {local_batch} "
                   "--accumulation {accumulation} --threads {threads} --pin --seed {seed}%s",
                   x->data.path ? " --data {data}" : "", x->data.samples ? " --train-samples {samples}" : "");
}

static int complete(struct reader *r, struct wl_err *e)
{
    struct wl_experiment *x = r->x;
    if (!x->campaign.store) x->campaign.store = x->campaign.name;
    if (!x->launch.command) {
        if (x->sweep.workload.n == 0)
            return wl_fail(e, WL_EINVAL,
                           "%s: [launch] command is missing; without one, [sweep] workload must name "
                           "reference workloads",
                           r->ini->path);
        x->launch.command = default_command(x, r->a);
    }
    if (wl_streq(x->campaign.scaling, "weak") && x->data.samples == 0)
        return wl_fail(e, WL_EINVAL,
                       "%s: [campaign] scaling = weak needs [data] samples, the samples of one worker's "
                       "epoch",
                       place_of(r, "campaign", "scaling"));
    return 0;
}

/* ---- the expanded text ---- */

static const char *expanded_text(struct wl_experiment *x, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (const struct wl_section *s = sections; s->name; s++) {
        wl_text_addf(&t, "%s[%s]\n", s == sections ? "" : "\n", s->name);
        wl_opts_ini(s->rows, section_struct(x, s), &t);
        for (size_t i = 0; s->rows == sweep_rows && i < x->n_user; i++) {
            wl_text_addf(&t, "%s = ", x->user[i].key);
            for (size_t k = 0; k < x->user[i].values.n; k++)
                wl_text_addf(&t, "%s%s", k ? "," : "", x->user[i].values.v[k]);
            wl_text_add(&t, "\n");
        }
    }
    return t.s;
}

/* Lists, repeats, order and limits may change between two calls of one sweep; what a run does may not. */
static bool may_change(const char *section, const char *line)
{
    static const char *const keys[] = { "campaign.name", "campaign.repeats", "campaign.order", "campaign.store",
                                        "data.prepare",  "launch.timeout",   "launch.grace",   "launch.oversubscribe" };
    if (wl_streq(section, "sweep")) return true;
    size_t n = strlen(section), key = strcspn(line, " ");
    for (size_t i = 0; i < WL_COUNT(keys); i++)
        if (strncmp(keys[i], section, n) == 0 && keys[i][n] == '.' && strlen(keys[i] + n + 1) == key &&
            strncmp(keys[i] + n + 1, line, key) == 0)
            return true;
    return false;
}

const char *wl_experiment_fixed(const char *expanded, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    const char *section = "";
    for (const char *s = expanded; *s;) {
        size_t n = strcspn(s, "\n");
        if (*s == '[' && n > 2)
            section = wl_strndup(a, s + 1, n - 2);
        else if (n && !may_change(section, s))
            wl_text_addf(&t, "[%s] %.*s\n", section, (int)n, s);
        s += n + (s[n] == '\n');
    }
    return t.s;
}

static int read_from(struct reader *r, struct wl_err *e)
{
    struct wl_experiment *x = r->x;
    for (const struct wl_section *s = sections; s->name; s++) wl_opts_default(s->rows, section_struct(x, s), r->a);
    int rc = apply_file(r, e);
    for (size_t i = 0; r->sets && i < r->sets->n && rc == 0; i++) rc = apply_set(r, r->sets->v[i], e);
    if (rc == 0) rc = check_name(r, e);
    if (rc == 0) rc = check_axes(r, e);
    if (rc == 0) rc = check_regex(r, e);
    if (rc == 0) rc = complete(r, e);
    if (rc == 0) rc = wl_placeholders_check(x, place_of, r, r->a, e);
    if (rc < 0) return rc;
    x->expanded = expanded_text(x, r->a);
    x->fixed = wl_experiment_fixed(x->expanded, r->a);
    return 0;
}

int wl_experiment_parse(const char *path, const char *text, const struct wl_strs *sets, struct wl_experiment *out,
                        struct wl_arena *a, struct wl_err *e)
{
    struct wl_ini ini = { 0 };
    int rc = wl_ini_parse(path, text, &ini, a, e);
    if (rc < 0) return rc;
    *out = (struct wl_experiment) { .path = wl_strdup(a, path) };
    return read_from(&(struct reader) { out, &ini, sets, 0, a }, e);
}

int wl_experiment_read(const char *path, const struct wl_strs *sets, struct wl_experiment *out, struct wl_arena *a,
                       struct wl_err *e)
{
    struct wl_ini ini = { 0 };
    int rc = wl_ini_read(path, &ini, a, e);
    if (rc < 0) return rc;
    *out = (struct wl_experiment) { .path = wl_strdup(a, path) };
    return read_from(&(struct reader) { out, &ini, sets, 0, a }, e);
}
