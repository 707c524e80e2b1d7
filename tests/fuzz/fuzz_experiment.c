/* Any text as an experiment: refused with a message, or a plan whose commands can be filled in. What it expands to is
 * refused with a message or read as an experiment that expands to a text which reads back to itself. */
#include "campaign/campaign.h"
#include "fuzz.h"

#include <math.h>

enum { COMMANDS = 20 };

static void fill_commands(const struct wl_experiment *x, const struct wl_grid *g, struct wl_arena *a)
{
    for (size_t i = 0; i < g->n_runs && i < COMMANDS; i++) {
        struct wl_strs argv;
        struct wl_err e = { 0 };
        int rc = wl_trial_command(x, &g->trials[g->runs[i].trial], g->runs[i].repeat, "/runs/1", &argv, a, &e);
        WL_CHECK(rc == 0 ? argv.n > 0 : *e.msg != 0); /* {train} may not be there */
    }
}

static bool parse(const char *text, struct wl_experiment *x, struct wl_arena *a)
{
    struct wl_err e = { 0 };
    bool ok = wl_experiment_parse("fuzz.ini", text, NULL, x, a, &e) == 0;
    WL_CHECK(ok || *e.msg);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct wl_experiment x, once, twice;
    struct wl_grid g;
    struct wl_machine here = { .cores = 8 };
    for (int k = 0; k < WL_CAP_KINDS; k++) here.cap[k].range = (struct wl_cap_range) { .min = NAN, .max = NAN };
    if (parse(wl_strndup(a, (const char *)data, n), &x, a) && wl_grid_make(&x, &here, &g, a, &e) == 0) {
        fill_commands(&x, &g, a);
        /* joined lines may have made a comment; once it is gone the text is stable */
        if (parse(x.expanded, &once, a) && parse(once.expanded, &twice, a))
            WL_CHECK(wl_str_eq(once.expanded, twice.expanded) && wl_str_eq(once.fixed, twice.fixed));
    }
    wl_arena_free(a);
    return 0;
}
