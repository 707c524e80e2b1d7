/* What a trial is made of: workload, hardware, workers, batches, caps, clocks. settings.def has one row per setting;
 * the experiment file, the grid, the store, the laws and the report go over its rows. */
#ifndef WL_SETTINGS_SETTINGS_H
#define WL_SETTINGS_SETTINGS_H

#include "base/base.h"

/* What a cap limits, in the order of the table. */
enum wl_cap_kind {
#define SETTING_CAP(member, option, unit, kind, ...) kind,
#include "settings/settings.def"
    WL_CAP_KINDS
};
#define WL_SETTING_CAP_MIN 1 /* W or MHz: the values that an option or an experiment may ask for */
#define WL_SETTING_CAP_MAX 1e5

/* Values. A missing number is NAN, a missing text NULL. */
struct wl_settings {
#define SETTING_OBSERVED(member, ...)                             const char *member;
#define SETTING_TEXT(member, option, grid, help, ...)             const char *member;
#define SETTING_COUNT(member, option, unit, max, grid, help, ...) double member;
#define SETTING_CAP(member, option, unit, kind, grid, help, ...)  double member;
#include "settings/settings.def"
    const char *extra; /* JSON object with sorted names, for settings without a member here */
};
extern const struct wl_settings wl_settings_none; /* everything missing */

/* How many of them can be swept: the places among the loops of the grid are 0 to WL_SETTING_AXES - 1. */
enum {
    WL_SETTING_AXES = 0
#define SETTING_TEXT(...)  +1
#define SETTING_COUNT(...) +1
#define SETTING_CAP(...)   +1
#include "settings/settings.def"
};
enum {
    WL_SETTING_CHOICES = 0
#define SETTING_CHOICE(...) +1
#include "settings/settings.def"
};

enum wl_setting_type { WL_SETTING_TEXT, WL_SETTING_COUNT, WL_SETTING_REAL, WL_SETTING_CHOICE };

/* How a setting separates the runs that one scaling law is fitted to (src/law/partition.c). */
enum wl_setting_group {
    WL_GROUP_NEVER,   /* not: the law's x, or what it averages over */
    WL_GROUP_ALWAYS,  /* names each group */
    WL_GROUP_VARIES,  /* wherever it has several values; of a choice, several known ones */
    WL_GROUP_BATCH,   /* one of the two batches is held fixed */
    WL_GROUP_FOLLOWS, /* where runs with one worker count have several values of it; so does an axis of the user's own
                       */
};

struct wl_setting {
    const char *name; /* "power_cap_w" */
    const char *unit; /* "W"; NULL: a name or a count */
    enum wl_setting_type type;
    size_t offset;                       /* in struct wl_settings; of a choice 0: its value is in `extra` */
    const char *option, *choices, *help; /* of a choice: "precision", "f32|bf16" */
    const char *def;                     /* of a trial that names none; NULL: the workload decides */
    bool observed;                       /* found on the machine: neither swept nor said by a workload */
    bool is_cap;
    enum wl_cap_kind cap; /* of a cap */
    enum wl_setting_group group;
    const char *label;                    /* "power cap": head of a column */
    const char *before, *after, *missing; /* in a title: "cap 250 W", "no power cap" */
    const char *acted;                    /* of a cap: the column with the share of it that limited the device, % */
    const char *quantity;                 /* of a cap: what it limits, a name of power/quantity.c, */
    bool of_module;                       /* and whether of the module that a GPU belongs to */
    const char *domain;                   /* of a clock: "SM", "memory"; NULL: no clock */
    const char *achieved;                 /* of a clock: the column with the one that the GPUs ran at, MHz */
    const char *section;                  /* of a cap: id of its figures in the report */
    int digits;                           /* significant digits in a table; 0: all */
    bool in_runs;                         /* a column of the report's table of runs; of a choice, where a run has it */
};
/* First what is not a cap, then the caps, as in the key of a trial; ends with a NULL name. */
extern const struct wl_setting wl_settings_table[];

const struct wl_setting *wl_setting_find(const char *name);        /* NULL: no such setting */
const struct wl_setting *wl_setting_find_choice(const char *name); /* the same among choices */
bool wl_setting_separates(const char *name);                       /* a setting of a group other than NEVER */
const struct wl_setting *wl_setting_of_cap(enum wl_cap_kind kind);
/* Caps in the order of the table, which is that of enum wl_cap_kind, and those of them with `achieved`. NULL as
 * `after`: the first; NULL: no more. */
const struct wl_setting *wl_setting_next_cap(const struct wl_setting *after);
const struct wl_setting *wl_setting_next_clock(const struct wl_setting *after);
const char *wl_setting_limited(const struct wl_setting *cap, struct wl_arena *a); /* "power cap", "SM clock" */

double wl_setting_real(const struct wl_setting *r, const struct wl_settings *set);        /* NAN for a text */
const char *wl_setting_string(const struct wl_setting *r, const struct wl_settings *set); /* NULL for a number */
char *wl_setting_choice(const struct wl_setting *r, const struct wl_settings *set,
                        struct wl_arena *a); /* NULL: unknown */
void wl_setting_set_real(const struct wl_setting *r, struct wl_settings *set, double value);
void wl_setting_set_string(const struct wl_setting *r, struct wl_settings *set, const char *value);

/* A value of `extra` as SQLite's json_each casts it to text: true is 1, null is missing, NULL. */
char *wl_settings_extra_text(const struct wl_json *value, struct wl_arena *a);

/* The text of `extra` from pairs, which are sorted by name; NULL where there are none. */
struct wl_setting_pair {
    const char *name, *value;
};
char *wl_settings_extra(struct wl_setting_pair *v, size_t n, struct wl_arena *a);

/* The members of two such objects, sorted by name; of one that both have, the value of `first`. Either may be NULL; a
 * text that is not an object adds nothing. */
const char *wl_settings_merge_extra(const char *first, const char *second, struct wl_arena *a);

/* "workload=vgg16 workers=4 ...", those that are known, in the order of the table: the identity of a trial in its
 * campaign. */
char *wl_settings_key(const struct wl_settings *set, struct wl_arena *a);

/* Those that are known as named values for readers, in the order of the observation table, with the members of `extra`.
 * Numbers are texts in "%.15g". */
struct wl_settings_value {
    const char *name, *value;
    bool number;
};
struct wl_settings_values {
    struct wl_settings_value *v;
    size_t n, cap;
};
struct wl_settings_values wl_settings_values(const struct wl_settings *set, struct wl_arena *a);

/* The same as text: "resnet50 workers=2 local_batch=16". */
char *wl_settings_text(const struct wl_settings *set, struct wl_arena *a);

/* One in words: "resnet50", "4 workers", "local batch 16", "cap 250 W"; where the value is "", "no power cap". A name that
 * is not in the table is a member of `extra`. */
char *wl_setting_words(const char *name, const char *value, struct wl_arena *a);

/* Those that are known: "resnet50, 4 workers, local batch 16, cap 250 W". */
char *wl_settings_words(const struct wl_settings *set, struct wl_arena *a);

#endif
