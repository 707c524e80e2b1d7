#include "report/metric_info.h"

#include <string.h>

/* The names in use, in the order of the report. */
static const struct known {
    const char *name, *description;
    enum wl_metric_direction direction;
} known[] = {
    { "val_top1", "accuracy on held-out data", WL_DIRECTION_MAXIMISE },
    { "val_accuracy", "accuracy on held-out data", WL_DIRECTION_MAXIMISE },
    { "val_top5", "top-5 accuracy on held-out data", WL_DIRECTION_MAXIMISE },
    { "val_masked_accuracy", "accuracy at masked tokens of held-out text", WL_DIRECTION_MAXIMISE },
    { "val_perplexity", "perplexity of held-out text", WL_DIRECTION_MINIMISE },
    { "val_loss", "loss on held-out data", WL_DIRECTION_MINIMISE },
    { "eval_train_top1", "accuracy on the training set, evaluated", WL_DIRECTION_MAXIMISE },
    { "eval_train_top5", "top-5 accuracy on the training set, evaluated", WL_DIRECTION_MAXIMISE },
    { "eval_train_loss", "loss on the training set, evaluated", WL_DIRECTION_MINIMISE },
    { "train_top1", "accuracy while training", WL_DIRECTION_MAXIMISE },
    { "train_accuracy", "accuracy while training", WL_DIRECTION_MAXIMISE },
    { "train_top5", "top-5 accuracy while training", WL_DIRECTION_MAXIMISE },
    { "train_masked_accuracy", "accuracy at masked tokens while training", WL_DIRECTION_MAXIMISE },
    { "train_perplexity", "perplexity while training", WL_DIRECTION_MINIMISE },
    { "train_loss", "loss while training", WL_DIRECTION_MINIMISE },
    { "loss", "loss", WL_DIRECTION_MINIMISE },
};

/* Order: the main metric, defined metrics in the workload's order, the names in use, other held-out data, the rest. */
enum { MAIN, DEFINED, KNOWN = 100000, HELD_OUT = KNOWN + (int)WL_COUNT(known), OTHER };

bool wl_metric_info_is_quality(const char *name)
{
    size_t n = strlen(name);
    return !wl_str_eq(name, "lr") && !(n > 2 && wl_str_eq(name + n - 2, "_s"));
}

/* Losses and errors are minimised, accuracies maximised. */
static enum wl_metric_direction guess(const char *name)
{
    static const char *const small[] = { "loss", "err", "rmse", "mae", "mse", "perplexity" }, *const large[] = {
        "acc", "top"
    };
    for (size_t i = 0; i < WL_COUNT(small); i++)
        if (strstr(name, small[i])) return WL_DIRECTION_MINIMISE;
    for (size_t i = 0; i < WL_COUNT(large); i++)
        if (strstr(name, large[i])) return WL_DIRECTION_MAXIMISE;
    return WL_DIRECTION_UNKNOWN;
}

static struct wl_metric_info by_name(const char *name)
{
    size_t i = 0;
    while (i < WL_COUNT(known) && !wl_str_eq(known[i].name, name)) i++;
    if (i < WL_COUNT(known))
        return (struct wl_metric_info) {
            .name = name, .description = known[i].description, .direction = known[i].direction, .order = KNOWN + (int)i
        };
    return (struct wl_metric_info) { .name = name,
                                     .description = name,
                                     .direction = guess(name),
                                     .guessed = true,
                                     .order = wl_str_starts(name, "val_") ? HELD_OUT : OTHER };
}

static enum wl_metric_direction direction_of(const struct wl_metric_def_row *def)
{
    return def->larger == 1 ? WL_DIRECTION_MAXIMISE : def->larger == 0 ? WL_DIRECTION_MINIMISE : WL_DIRECTION_UNKNOWN;
}

/* "1" is the unit of a ratio. */
static const char *unit_of(const struct wl_metric_def_row *def)
{
    return def->unit && !wl_str_eq(def->unit, "1") ? def->unit : NULL;
}

static void add_definition(struct wl_metric_info *m, const struct wl_metric_def_row *def)
{
    if (def->label) m->description = def->label;
    m->unit = unit_of(def);
    m->baseline_of = def->baseline_of;
    m->order = def->main ? MAIN : DEFINED + (int)(def->place < KNOWN - DEFINED ? def->place : KNOWN - DEFINED - 1);
    if (direction_of(def) == WL_DIRECTION_UNKNOWN) return;
    m->direction = direction_of(def);
    m->guessed = false;
}

/* The definition of one more workload: fields that differ become unknown. */
static void add_another(struct wl_metric_info *m, const struct wl_metric_def_row *def)
{
    const struct wl_metric_info plain = by_name(m->name);
    if (!wl_str_eq(m->description, def->label ? def->label : plain.description)) m->description = plain.description;
    if (!wl_str_eq(m->unit, unit_of(def))) m->unit = NULL;
    if (m->direction != direction_of(def)) m->direction = WL_DIRECTION_UNKNOWN;
}

struct wl_metric_info wl_metric_info_of(const struct wl_metric_def_rows *defs, const char *workload, const char *name)
{
    struct wl_metric_info m = by_name(name);
    bool defined = false;
    for (size_t i = 0; i < defs->n; i++) {
        const struct wl_metric_def_row *def = &defs->v[i];
        if (!wl_str_eq(def->name, name)) continue;
        if (workload && !wl_str_eq(def->workload ? def->workload : "", workload)) continue;
        if (defined)
            add_another(&m, def);
        else
            add_definition(&m, def);
        defined = true;
    }
    m.guessed = m.guessed && m.direction != WL_DIRECTION_UNKNOWN;
    return m;
}

int wl_metric_info_order(const struct wl_metric_info *a, const struct wl_metric_info *b)
{
    return a->order != b->order ? (a->order > b->order) - (a->order < b->order) : strcmp(a->name, b->name);
}

char *wl_metric_info_title(const struct wl_metric_info *m, struct wl_arena *a)
{
    char *s = wl_strdup(a, m->description);
    if (m->description != m->name && s[0] >= 'a' && s[0] <= 'z') s[0] = (char)(s[0] - 'a' + 'A');
    return s;
}

const char *wl_metric_info_axis(const struct wl_metric_info *m)
{
    enum { ROOM = 36 }; /* characters along a figure's height */
    return strlen(m->description) + (m->unit ? strlen(m->unit) : 0) <= ROOM ? m->description : m->name;
}

const char *wl_metric_info_guess(const struct wl_metric_info *m)
{
    return m->guessed ? " Which way is better was guessed from the name." : "";
}
