/* Texts with {placeholders}: how they are filled, and which names there are. */
#ifndef WL_CAMPAIGN_TEMPLATE_H
#define WL_CAMPAIGN_TEMPLATE_H

#include "campaign/campaign.h"

/* ---- template.c: texts with {placeholders} ------------------------------------------------------------------ */

/* Gives the value of a placeholder; fails with `where` in front of the message where there is none. */
typedef int wl_template_value(void *ctx, const char *name, const char *where, const char **value, struct wl_arena *a,
                              struct wl_err *e);

/* Replaces each {name} by its value; {{ and }} are plain braces. */
int wl_template_expand(const char *text, wl_template_value *value, void *ctx, const char *where, const char **out,
                       struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The words as a NULL-terminated vector. */
char **wl_strs_argv(const struct wl_strs *words, struct wl_arena *a);

/* Splits a template into words as sh does; refuses words that only a shell understands. */
int wl_template_words(const char *text, const char *where, struct wl_strs *out, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

/* ---- placeholder.c: which names there are, and their values -------------------------------------------------- */

/* What gives the placeholders their values. */
struct wl_placeholder_values {
    const struct wl_experiment *x;
    const struct wl_trial *trial; /* NULL in [data] prepare, which belongs to no trial */
    int64_t repeat;
    const char *run_dir; /* NULL: a plan */
    const char *data;
    bool checking;        /* at reading: programs need not be there yet */
    bool cap_dry_run;     /* {measure} tells what would be set, and runs nothing */
    struct wl_strs *used; /* collects the names, may be NULL */
};
wl_template_value wl_placeholder_value; /* ctx is a struct wl_placeholder_values */

/* Appends the filled words of a template. Words of their own become several: {mpirun} "mpirun -np N", and nothing for
 * one worker; {measure} "wattlaw measure --node-of RUN_DIR ... --". */
int wl_placeholder_words(struct wl_placeholder_values *f, const char *text, const char *where, struct wl_strs *out,
                         struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* on_node.c: the words of {measure}; the fill has a trial. */
void wl_placeholder_measure(const struct wl_placeholder_values *f, struct wl_strs *to, struct wl_arena *a);

/* [launch] command with args; [launch] env as NAME=value words. */
int wl_placeholder_command(struct wl_placeholder_values *f, const char *where, struct wl_strs *argv, struct wl_arena *a,
                           struct wl_err *e) WL_MUST_CHECK;
int wl_placeholder_env(struct wl_placeholder_values *f, const char *where, struct wl_strs *env, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* Gives the place of a key for messages: "exp.ini:12". */
typedef const char *wl_key_location(void *ctx, const char *section, const char *key);

/* Every template of the experiment uses names that exist and have a value, and every axis with several values acts
 * somewhere. */
int wl_placeholder_check(const struct wl_experiment *x, wl_key_location *place, void *ctx, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* Does the placeholder stand in the command, its arguments, environment or folder? */
bool wl_placeholder_used(const struct wl_experiment *x, const char *name);

/* Is the name an axis or a placeholder with a meaning of its own? */
bool wl_placeholder_reserved(const char *name);

/* WL_ENOENT where `program`, written as `given` under the key `where`, is not there. */
int wl_program_check(const char *where, const char *program, const char *given, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

#endif
