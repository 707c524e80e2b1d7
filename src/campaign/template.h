/* Texts with {placeholders}: how they are filled, and the names of the placeholders. */
#ifndef WL_CAMPAIGN_TEMPLATE_H
#define WL_CAMPAIGN_TEMPLATE_H

#include "campaign/campaign.h"

/* ---- template.c: texts with {placeholders} ------------------------------------------------------------------ */

/* The value of a placeholder; fails, with `where` at the start of the message, if there is none. */
typedef int wl_template_value(void *ctx, const char *name, const char *where, const char **value, struct wl_arena *a,
                              struct wl_err *e);

/* Replaces each {name} by its value; {{ and }} are plain braces. */
int wl_template_expand(const char *text, wl_template_value *value, void *ctx, const char *where, const char **out,
                       struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The words as a NULL-terminated vector. */
char **wl_strs_argv(const struct wl_strs *words, struct wl_arena *a);

/* Splits a template into words as sh does; WL_EINVAL for words that only a shell understands. */
int wl_template_words(const char *text, const char *where, struct wl_strs *out, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

/* ---- placeholder.c: the names and their values --------------------------------------------------------------- */

struct wl_placeholder_values {
    const struct wl_experiment *x;
    const struct wl_trial *trial; /* NULL in [data] prepare, which does not belong to a trial */
    int64_t repeat;
    const char *run_dir; /* NULL: a plan */
    const char *data;
    bool checking;        /* when the experiment is read: programs need not exist yet */
    bool cap_dry_run;     /* {measure} prints what would be set, and runs nothing */
    struct wl_strs *used; /* collects the names, may be NULL */
};
wl_template_value wl_placeholder_value; /* ctx is a struct wl_placeholder_values */

/* Appends the filled words of a template. {mpirun} expands to "mpirun -np N", for one worker to nothing; {measure} to
 * "wattlaw measure --node-of RUN_DIR ... --". */
int wl_placeholder_words(struct wl_placeholder_values *f, const char *text, const char *where, struct wl_strs *out,
                         struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* placeholder_measure.c: appends the words of {measure}; f has a trial. */
void wl_placeholder_measure(const struct wl_placeholder_values *f, struct wl_strs *to, struct wl_arena *a);

/* [launch] command with args; [launch] env as NAME=value words. */
int wl_placeholder_command(struct wl_placeholder_values *f, const char *where, struct wl_strs *argv, struct wl_arena *a,
                           struct wl_err *e) WL_MUST_CHECK;
int wl_placeholder_env(struct wl_placeholder_values *f, const char *where, struct wl_strs *env, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* The location of a key for messages: "exp.ini:12". */
typedef const char *wl_key_location(void *ctx, const char *section, const char *key);

/* Every template of the experiment uses placeholders that exist and have a value, and every axis with several values
 * affects the run. */
int wl_placeholder_check(const struct wl_experiment *x, wl_key_location *location, void *ctx, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* Does the placeholder occur in the command, its arguments, environment or folder? */
bool wl_placeholder_used(const struct wl_experiment *x, const char *name);

/* Is it the name of an axis or a built-in placeholder? */
bool wl_placeholder_reserved(const char *name);

/* WL_ENOENT if `program`, written as `given` under the key `where`, is not found. */
int wl_program_check(const char *where, const char *program, const char *given, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

#endif
