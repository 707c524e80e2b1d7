/* The command line that runs a setting. */
#include "cmd/wattlaw/recommend/recommend.h"

#include "cmd/wattlaw/analysis.h"

#include <math.h>

/* Two words of a shell. Values come from a file that another person may have written. */
static void add_words(struct wl_text *t, const char *first, const char *second, struct wl_arena *a)
{
    char *words[] = { wl_strdup(a, first), wl_strdup(a, second), NULL };
    wl_text_addf(t, " %s", wl_shell_quote(a, words));
}

/* "--set sweep.workers=8 --set sweep.power_cap_w=250": what a campaign would run. A setting that the campaign did not
 * vary is as in its experiment file. A batch that follows from the others is left to the grid. */
static const char *of_sweep(const struct wl_choose_campaign *c, size_t i, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_add(&t, "wattlaw sweep EXPERIMENT.ini");
    for (size_t k = 0; k < c->n_axes; k++)
        if (!c->axes[k].derived && *c->value[i][k] && !(c->axes[k].setting && c->axes[k].setting->observed))
            add_words(&t, "--set", wl_strf(a, "sweep.%s=%s", c->axes[k].column, c->value[i][k]), a);
    return t.s;
}

/* Caps are set by wattlaw itself; the rest is the program's, whose words are known from a run of the setting or not. */
static const char *of_measure(const struct wl_choose_campaign *c, size_t i, const struct wl_strs *command,
                              struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_add(&t, "wattlaw measure");
    for (size_t k = 0; k < c->n_axes; k++) {
        struct wl_text option = WL_TEXT(a);
        if (!c->axes[k].setting || !c->axes[k].setting->is_cap || !*c->value[i][k]) continue;
        for (const char *p = c->axes[k].column; *p; p++) wl_text_addn(&option, *p == '_' ? "-" : p, 1);
        add_words(&t, wl_strf(a, "--%s", option.s), c->value[i][k], a);
    }
    wl_text_add(&t, " --");
    for (size_t k = 0; k < command->n; k++) {
        char *word[] = { command->v[k], NULL };
        wl_text_addf(&t, " %s", wl_shell_quote(a, word));
    }
    if (!command->n) add_words(&t, "COMMAND", wl_strf(a, "with %s", c->settings[i].name), a);
    return t.s;
}

static struct wl_strs words_of(const struct wl_recommendation *r, size_t i, struct wl_arena *a)
{
    return wl_analysis_command(r->source, r->obs.run[r->campaign.row[i]], a);
}

static bool is_equal(const struct wl_strs *x, const struct wl_strs *y)
{
    bool equal = x->n == y->n;
    for (size_t k = 0; k < x->n && equal; k++) equal = wl_str_eq(x->v[k], y->v[k]);
    return equal;
}

/* Do i and j differ in more than caps, which wattlaw sets itself? */
static bool differs_for_program(const struct wl_choose_campaign *c, size_t i, size_t j)
{
    for (size_t k = 0; k < c->n_axes; k++)
        if (!(c->axes[k].setting && c->axes[k].setting->is_cap) && !wl_str_eq(c->value[i][k], c->value[j][k]))
            return true;
    return false;
}

/* The command of a run of setting i; n 0: not known, or another setting has the same, which then is not in it. */
static struct wl_strs command_of(const struct wl_recommendation *r, size_t i, struct wl_arena *a)
{
    struct wl_strs command = { 0 };
    size_t j = 0;
    if (r->is_store) command = words_of(r, i, a);
    while (j < r->campaign.n && !differs_for_program(&r->campaign, i, j)) j++;
    if (!command.n || j == r->campaign.n) return command;
    const struct wl_strs other = words_of(r, j, a);
    if (is_equal(&command, &other)) command.n = 0;
    return command;
}

const char *wl_recommend_command(const struct wl_recommendation *r, size_t i, struct wl_arena *a)
{
    const struct wl_strs command = command_of(r, i, a);
    return r->is_store && !command.n ? of_sweep(&r->campaign, i, a) : of_measure(&r->campaign, i, &command, a);
}
