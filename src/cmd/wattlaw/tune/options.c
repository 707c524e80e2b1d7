/* Which options have an effect together. */
#include "cmd/wattlaw/tune/options.h"

#include "cmd/cmd.h"

static bool is_among(const char *name, const char *const *list)
{
    while (*list && !wl_str_eq(name, *list)) list++;
    return *list != NULL;
}

/* Options that say something about another one. */
static int check_pairs(const struct wl_tune_cmd_options *o, const char *name, struct wl_err *e)
{
    const struct {
        const char *name, *needs;
        bool has;
    } pairs[] = { { "eta", "--objective zeus", wl_str_eq(o->objective, "zeus") },
                  { "probability", "--max-slowdown", o->slowdown != NULL },
                  { "map", "--history", o->history != NULL },
                  { "batch-step", "--largest-batch", o->largest } };
    for (size_t i = 0; i < WL_COUNT(pairs); i++)
        if (!pairs[i].has && wl_str_eq(name, pairs[i].name))
            return wl_fail(e, WL_EUSAGE, "--%s requires %s", name, pairs[i].needs);
    return 0;
}

/* An option that says how a command is measured is a key of the file. */
static int check_of_file(const struct wl_tune_cmd_options *o, const char *name, struct wl_err *e)
{
    static const char *const used[] = { "objective", "max-slowdown", "probability",   "max-values", "history",
                                        "map",       "set",          "json",          "quiet",      "target",
                                        "eta",       "batch-step",   "largest-batch", NULL },
                             *const largest[] = { "largest-batch", "batch-step", "set", "json", "quiet", NULL };
    if (!is_among(name, used))
        return wl_fail(e, WL_EUSAGE, "--%s is for a command after --; an experiment file has its own keys (--set)",
                       name);
    if (o->largest && !is_among(name, largest))
        return wl_fail(e, WL_EUSAGE, "--%s says nothing about the largest batch that fits", name);
    return 0;
}

static int check_of_command(const char *name, struct wl_err *e)
{
    static const char *const of_file[] = { "set", "target", "largest-batch", "batch-step", NULL };
    return is_among(name, of_file) ? wl_fail(e, WL_EUSAGE, "--%s is for an experiment file", name) : 0;
}

int wl_tune_cmd_check(const struct wl_tune_cmd_options *o, bool is_file, const struct wl_strs *given, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < given->n && rc == 0; i++) {
        rc = is_file ? check_of_file(o, given->v[i], e) : check_of_command(given->v[i], e);
        if (rc == 0) rc = check_pairs(o, given->v[i], e);
    }
    if (rc == 0 && o->name && !*o->name) rc = wl_fail(e, WL_EUSAGE, "--name: expected a name, not an empty text");
    return rc;
}
