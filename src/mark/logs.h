/* What training frameworks print about their steps: the presets of --log. */
#ifndef WL_MARK_LOGS_H
#define WL_MARK_LOGS_H

#include "base/base.h"

#define WL_MARK_LOG_CHOICES "megatron|torchtitan|nemo|hf|deepspeed|lightning"

/* A line about a step; NAN: it does not say. */
struct wl_mark_log_step {
    double step, total;
    double consumed_samples; /* since the start of the training */
    char loss[32];           /* "": it does not say */
    double ended_epoch;      /* steps of the epoch that ends with this one; NAN: none does */
};

/* What a framework says about its work before the first step; NAN: it does not. */
struct wl_mark_log_facts {
    double total, samples_per_step, tokens_per_sample;
};

struct wl_mark_log;

/* `name` is one of the choices. */
struct wl_mark_log *wl_mark_log_new(const char *name, struct wl_arena *a);

/* Regular expression of its lines about a checkpoint; NULL: it prints none. Group 1 is the step, if it has one. */
const char *wl_mark_log_checkpoint_regex(const struct wl_mark_log *l);

/* Do these lines come while it is being saved? It is whole when the training goes on. */
bool wl_mark_log_checkpoint_is_early(const struct wl_mark_log *l);

/* Does a line about a step have the loss of the step before, until it is repeated? */
bool wl_mark_log_loss_is_late(const struct wl_mark_log *l);

/* What may be the reason if no line is about a step, for people. */
const char *wl_mark_log_without_steps(const struct wl_mark_log *l);

/* The same of lines that report an epoch while it runs; NULL: steps are its only work. Group 1 is the epoch. */
const char *wl_mark_log_epoch_regex(const struct wl_mark_log *l);

/* Takes what the line says of the work as a whole. */
void wl_mark_log_read_facts(const struct wl_mark_log *l, const char *line, struct wl_mark_log_facts *f);

/* Is the line about a step? */
bool wl_mark_log_read_step(struct wl_mark_log *l, const char *line, struct wl_mark_log_step *out);

/* Tokens since the start of the training that the framework prints without the step; NAN: the line has none. */
double wl_mark_log_read_tokens(const struct wl_mark_log *l, const char *line);

/* A loss that the framework prints without its step, as text in buf; false: the line has none. */
bool wl_mark_log_read_loss(const struct wl_mark_log *l, const char *line, char buf[32]);

/* Is the line a bar below another one, such as that of an evaluation? Ask before the colours are removed: tqdm moves
 * the cursor back up after it. */
bool wl_mark_log_is_lower_bar(const char *line);

/* Removes the escape sequences of colours, in place. */
void wl_mark_log_strip_colours(char *line);

#endif
