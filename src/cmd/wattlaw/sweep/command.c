#include "cmd/wattlaw/sweep/command.h"

#include "job/job.h"

#include <ctype.h>
#include <string.h>

/* A valid name of a campaign: "train-sweep" for train.py. Not the script's own name, which the results' folder would
 * have to share with the script. */
static const char *campaign_name(char *const *command, struct wl_arena *a)
{
    char *name = wl_strdup(a, wl_command_name(command, a));
    char *end = strrchr(name, '.');
    if (end && end != name) *end = '\0';
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c)) *c = '-';
    name += strspn(name, ".-");
    return wl_strf(a, "%s-sweep", *name ? name : "command");
}

/* An option of the script, as batch-size, is not a key: the message has the key. */
static int check_key(const char *axis, size_t n, struct wl_arena *a, struct wl_err *e)
{
    char *key = wl_strndup(a, axis, n);
    if (!memchr(key, '-', n) || *key == '-') return 0; /* the reader of [sweep] checks the rest */
    for (char *c = key; *c; c++)
        if (*c == '-') *c = '_';
    return wl_fail(e, WL_EUSAGE, "--axis %s: a key has letters, digits and _: --axis %s%s, and {%s} in COMMAND", axis,
                   key, axis + n, key);
}

int wl_sweep_command_experiment(const struct wl_strs *axes, const char *epoch_regex, char *const *command,
                                const struct wl_strs *sets, struct wl_experiment *out, struct wl_arena *a,
                                struct wl_err *e)
{
    struct wl_strs all = { 0 };
    wl_strs_add(a, &all, wl_strf(a, "campaign.name=%s", campaign_name(command, a)));
    wl_strs_add(a, &all, wl_strf(a, "launch.command=%s", wl_shell_quote(a, command)));
    if (epoch_regex) wl_strs_add(a, &all, wl_strf(a, "measure.epoch_regex=%s", epoch_regex));
    for (size_t i = 0; i < axes->n; i++) {
        const char *equals = strchr(axes->v[i], '=');
        if (!equals || equals == axes->v[i] || !equals[1])
            return wl_fail(e, WL_EUSAGE, "--axis %s: expected KEY=VALUES, such as workers=1,2,4", axes->v[i]);
        int rc = check_key(axes->v[i], (size_t)(equals - axes->v[i]), a, e);
        if (rc) return rc;
        wl_strs_add(a, &all, wl_strf(a, "sweep.%s", axes->v[i]));
    }
    for (size_t i = 0; i < sets->n; i++) wl_strs_add(a, &all, sets->v[i]);
    return wl_experiment_parse("command line", "", &all, out, a, e);
}
