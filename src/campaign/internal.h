/* What the files of this folder share. */
#ifndef WL_CAMPAIGN_INTERNAL_H
#define WL_CAMPAIGN_INTERNAL_H

#include "campaign/campaign.h"

/* ---- axis.c: the axes that have a meaning of their own -------------------------------------------------------- */

struct wl_axis {
    const char *key;
    enum wl_opt_type type; /* WL_STRS, WL_INTS or WL_REALS */
    size_t list_offset;    /* of the list in struct wl_sweep_keys */
    size_t field_offset;   /* of the value in struct wl_trial */
};

const struct wl_axis *wl_axes(void); /* ends with a NULL key */
const struct wl_axis *wl_axis_find(const char *key);
size_t wl_axis_count(const struct wl_axis *axis, const struct wl_sweep_keys *sweep);
void wl_axis_take(const struct wl_axis *axis, const struct wl_sweep_keys *sweep, size_t i, struct wl_trial *t);

/* The trial's value as text, NULL where it has none. */
const char *wl_axis_text(const struct wl_axis *axis, const struct wl_trial *t, struct wl_arena *a);

/* ---- grid.c -------------------------------------------------------------------------------------------------- */

/* A trial with no value at all. */
struct wl_trial wl_trial_empty(const struct wl_experiment *x, struct wl_arena *a);

/* ---- template.c: texts with {placeholders} ------------------------------------------------------------------ */

/* Gives the value of a placeholder; fails with `where` in front of the message where there is none. */
typedef int wl_template_value(void *ctx, const char *name, const char *where, const char **value, struct wl_arena *a,
                              struct wl_err *e);

/* Replaces each {name} by its value; {{ and }} are plain braces. */
int wl_template_expand(const char *text, wl_template_value *value, void *ctx, const char *where, const char **out,
                       struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Splits a template into words as sh does; refuses words that only a shell understands. */
int wl_template_words(const char *text, const char *where, struct wl_strs *out, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

/* ---- placeholder.c: which names there are, and their values -------------------------------------------------- */

/* What gives the placeholders their values. */
struct wl_fill {
    const struct wl_experiment *x;
    const struct wl_trial *trial; /* NULL in [data] prepare, which belongs to no trial */
    int64_t repeat;
    const char *run_dir; /* NULL: a plan */
    const char *data;
    bool checking;        /* at reading: programs need not be there yet */
    struct wl_strs *used; /* collects the names, may be NULL */
};
wl_template_value wl_placeholder_value; /* ctx is a struct wl_fill */

/* Appends the filled words of a template. {mpirun} as a word of its own becomes "mpirun -np N", and nothing for one
 * worker. */
int wl_fill_words(struct wl_fill *f, const char *text, const char *where, struct wl_strs *out, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;

/* [launch] command with args; [launch] env as NAME=value words. */
int wl_fill_command(struct wl_fill *f, const char *where, struct wl_strs *argv, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;
int wl_fill_env(struct wl_fill *f, const char *where, struct wl_strs *env, struct wl_arena *a,
                struct wl_err *e) WL_MUST_CHECK;

/* Gives the place of a key for messages: "exp.ini:12". */
typedef const char *wl_key_place(void *ctx, const char *section, const char *key);

/* Every template of the experiment uses names that exist and have a value, and every axis with several values acts
 * somewhere. */
int wl_placeholders_check(const struct wl_experiment *x, wl_key_place *place, void *ctx, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

/* Is the name an axis or a placeholder with a meaning of its own? */
bool wl_placeholder_reserved(const char *name);

#endif
