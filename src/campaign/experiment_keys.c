/* The keys of an experiment file: type, default, range and unit of each. */
#include "campaign/internal.h"

#include <stddef.h>
#include <string.h>

#define KEY(type_, field_) .type = type_, .offset = offsetof(struct SECTION, field_)

#define SECTION wl_campaign_keys
static const struct wl_opt campaign_rows[] = {
    { .name = "name", KEY(WL_STR, name), .required = true, .help = "name of the campaign: letters, digits, . _ -" },
    { .name = "repeats",
      KEY(WL_INT, repeats),
      .def = "3",
      .min = 1,
      .max = 10000,
      .help = "number of runs of each trial" },
    { .name = "order",
      KEY(WL_CHOICE, order),
      .def = "random",
      .choices = "random|sequential",
      .help = "order of the runs within each repeat" },
    { .name = "seed",
      KEY(WL_INT, seed),
      .def = "1",
      .min = 0,
      .max = 1e9,
      .help = "seed of the order; repeat r of a trial gets {seed} = seed + r - 1" },
    { .name = "store",
      KEY(WL_STR, store),
      .help = "folder of the results, or a file NAME.db in a folder (default: the campaign's name)" },
    { .name = "scaling",
      KEY(WL_CHOICE, scaling),
      .def = "strong",
      .choices = "strong|weak",
      .help =
          "scaling of the data: strong keeps the samples fixed, weak makes the samples proportional to the workers" },
    WL_OPT_END,
};
#undef SECTION

#define SECTION wl_sweep_keys
static const struct wl_opt sweep_rows[] = {
#define SETTING_TEXT(member, option, grid, help_, ...) { .name = option, KEY(WL_STRS, member), .help = help_ },
#define SETTING_COUNT(member, option, unit_, max_, grid, help_, ...) \
    { .name = option, KEY(WL_INTS, member), .min = 1, .max = max_, .unit = unit_, .help = help_ },
#define SETTING_CAP(member, option, unit_, kind, grid, help_, ...) \
    { .name = option,                                              \
      KEY(WL_REALS, cap[kind]),                                    \
      .min = WL_SETTING_CAP_MIN,                                   \
      .max = WL_SETTING_CAP_MAX,                                   \
      .unit = unit_,                                               \
      .help = help_ },
#include "settings/settings.def"
    WL_OPT_END,
};
#undef SECTION

#define SECTION wl_data_keys
static const struct wl_opt data_rows[] = {
    { .name = "path", KEY(WL_STR, path), .help = "folder or file to substitute for {data} (default: none)" },
    { .name = "prepare",
      KEY(WL_STR, prepare),
      .help = "command that writes {data}, run once before the first run if the path does not exist (default: none)" },
    { .name = "samples",
      KEY(WL_INT, samples),
      .min = 0,
      .max = 1e12,
      .unit = "samples",
      .help = "samples per epoch (weak scaling: per worker) to substitute for {samples}; 0: decided by the workload "
              "(default 0)" },
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
      .help = "duration of the idle measurement before and after each run; 0: none" },
    WL_COOLDOWN_OPT_ROWS(struct wl_measure_keys, cooldown),
    WL_NODE_WAIT_ROW(struct wl_measure_keys, node_wait_s),
    WL_FOOTPRINT_OPT_ROWS(struct wl_measure_keys, footprint),
    { .name = "rules",
      KEY(WL_CHOICE, rules),
      .choices = "mlperf",
      .help = "check each run against the power rules of a benchmark (default: none)" },
    WL_OPT_END,
};
#undef SECTION

static const struct wl_opt cap_rows[] = {
    WL_CAP_OPT_ROWS(struct wl_cap_keys, opts, ""),
    WL_OPT_END,
};

#define SECTION wl_launch_keys
static const struct wl_opt launch_rows[] = {
    { .name = "launcher",
      KEY(WL_STR, launcher),
      .def = "local",
      .help =
          "launcher that starts the runs: local; slurm or command, each run a job of a batch system; allocation, each "
          "run on nodes of its own in an allocation of Slurm; or null, which starts nothing" },
    { .name = "command",
      KEY(WL_STR, command),
      .help = "command to run, with {placeholders} (default: wattlaw-train for the reference workloads)" },
    { .name = "args",
      KEY(WL_STR, args),
      .help = "arguments appended to the command, with {placeholders} (default: none)" },
    { .name = "env",
      KEY(WL_STR, env),
      .help = "environment variables of the command as NAME=VALUE, with {placeholders} (default: none)" },
    { .name = "cwd", KEY(WL_STR, cwd), .help = "working folder of the command (default: the current folder)" },
    { .name = "timeout",
      KEY(WL_DURATION, timeout_s),
      .def = "0",
      .min = 0,
      .max = 1e9,
      .unit = "s",
      .help = "time limit of a run; longer runs are stopped and count as failed; 0: none" },
    { .name = "grace",
      KEY(WL_DURATION, grace_s),
      .def = "5",
      .min = 0,
      .max = 3600,
      .unit = "s",
      .help = "time between SIGTERM and SIGKILL for a job that must stop" },
    { .name = "oversubscribe",
      KEY(WL_FLAG, oversubscribe),
      .def = "no",
      .help = "allow more workers x threads than cores" },
    { .name = "stop-after-failures",
      KEY(WL_INT, stop_after_failures),
      .def = "3",
      .min = 0,
      .max = 1e5,
      .help = "number of runs after which a campaign stops if all fail alike in different settings and none succeeds; "
              "0: never" },
    WL_BATCH_OPT_ROWS(struct wl_launch_keys, batch),
    WL_OPT_END,
};
#undef SECTION

static const struct wl_experiment_section sections[] = {
    { "campaign", campaign_rows, offsetof(struct wl_experiment, campaign), "the campaign as a whole" },
    { "sweep", sweep_rows, offsetof(struct wl_experiment, sweep),
      "axes of the grid, comma-separated; any other key is an axis of your own and must occur as {key} in the "
      "command" },
    { "data", data_rows, offsetof(struct wl_experiment, data), "data of the workload" },
    { "measure", measure_rows, offsetof(struct wl_experiment, measure),
      "sampling, marks, and what the energy means in carbon and money" },
    { "cap", cap_rows, offsetof(struct wl_experiment, cap), "setters of power caps and clock locks" },
    { "launch", launch_rows, offsetof(struct wl_experiment, launch), "how a run is started" },
    { 0 },
};

const struct wl_experiment_section *wl_experiment_sections(void) { return sections; }

char *wl_experiment_key(const char *option, struct wl_arena *a)
{
    char *key = wl_strdup(a, option);
    for (char *c = key; *c; c++)
        if (*c == '-') *c = '_';
    return key;
}

/* The row of an option of `wattlaw measure`: in the section "cap" it may begin with "cap-". */
static const struct wl_opt *row_of_option(const struct wl_experiment_section *s, const char *option)
{
    size_t n = strlen(s->name);
    bool prefixed = strncmp(option, s->name, n) == 0 && option[n] == '-';
    return wl_opts_find(s->rows, prefixed ? option + n + 1 : option);
}

char *wl_experiment_options_as_keys(const char *section, const char *text, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    const struct wl_experiment_section *s = sections;
    while (s->name && !wl_str_eq(s->name, section)) s++;
    for (const char *dashes; s->name && (dashes = strstr(text, "--")) != NULL;) {
        size_t n = strspn(dashes + 2, "abcdefghijklmnopqrstuvwxyz0123456789-");
        const struct wl_opt *row = row_of_option(s, wl_strndup(a, dashes + 2, n));
        wl_text_addn(&t, text, (size_t)(dashes - text));
        if (row)
            wl_text_add(&t, wl_experiment_key(row->name, a));
        else
            wl_text_addn(&t, dashes, n + 2);
        text = dashes + 2 + n;
    }
    wl_text_add(&t, text);
    return t.s;
}

static void add_note(struct wl_text *notes, const char *note)
{
    wl_text_addf(notes, "%s%s", notes->n ? "; " : "", note);
}

static void print_choice(const struct wl_setting *r, enum wl_out to)
{
    if (r->type == WL_SETTING_CHOICE) wl_fprint(to, "  %-20s %s (%s)\n", r->name, r->help, r->choices);
}

/* An axis has no default list, but its setting may have a default value. */
static const char *default_of(const struct wl_opt *o, const char *name)
{
    const struct wl_setting *r = wl_setting_find(name);
    return o->def ? o->def : r ? r->def : NULL;
}

static void print_key(const struct wl_experiment_section *s, const struct wl_opt *o, enum wl_out to)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_text notes = WL_TEXT(a);
    char *name = wl_experiment_key(o->name, a), *help = wl_experiment_options_as_keys(s->name, o->help, a);
    const char *blank = o->unit ? " " : "", *unit = o->unit ? o->unit : "";
    if (o->required) add_note(&notes, "must be given");
    const char *def = default_of(o, name);
    if (def && *def) add_note(&notes, wl_strf(a, "default %s", def));
    if (o->choices) add_note(&notes, o->choices);
    if (o->min != 0 || o->max != 0) add_note(&notes, wl_strf(a, "%.9g to %.9g%s%s", o->min, o->max, blank, unit));
    wl_fprint(to, "  %-20s %s%s%s%s\n", name, help, notes.n ? " (" : "", notes.s, notes.n ? ")" : "");
    wl_arena_free(a);
}

void wl_experiment_print_keys(enum wl_out to)
{
    for (const struct wl_experiment_section *s = sections; s->name; s++) {
        wl_fprint(to, s == sections ? "[%s]  %s\n" : "\n[%s]  %s\n", s->name, s->help);
        for (const struct wl_opt *o = s->rows; o->name; o++) print_key(s, o, to);
        for (const struct wl_setting *r = wl_settings_table; s->rows == sweep_rows && r->name; r++) print_choice(r, to);
    }
}
