/* Option rows: one row feeds the command line, --help, INI files, --set and JSON.
 *
 * A table ends with WL_OPT_END. A row names a field of a caller's struct by offset. On the command line the name
 * is --local-batch; in INI files and JSON local_batch; both spellings are read in both places.
 */
#ifndef WL_BASE_OPT_H
#define WL_BASE_OPT_H

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"

enum wl_opt_type {
    WL_FLAG,     /* bool;   --x, --no-x, in INI yes/no/true/false/1/0 */
    WL_INT,      /* int64_t */
    WL_REAL,     /* double, NAN where there is no default */
    WL_DURATION, /* double, seconds; text like 200ms or 3m */
    WL_STR,      /* const char *, NULL where there is no default */
    WL_CHOICE,   /* const char *, one of `choices` */
    WL_INTS,     /* struct wl_ints, comma-separated */
    WL_REALS,    /* struct wl_reals */
    WL_STRS,     /* struct wl_strs; comma-separated, and the option may be repeated on the command line */
    WL_LINES,    /* struct wl_strs; the option may be repeated, commas are part of the text */
};

struct wl_ints {
    int64_t *v;
    size_t n;
};
struct wl_reals {
    double *v;
    size_t n;
};

/* A maximum that is none: help and messages say "at least" the minimum. Whole numbers up to it are exact. */
#define WL_NO_MAX 9007199254740992.0

/* A named set of values. Where a WL_CHOICE with presets is chosen, these take the place of the defaults; what the
 * command line says itself, before or behind it, wins. */
struct wl_opt_preset {
    const char *name;   /* one of `choices`; NULL ends the list */
    const char *values; /* "epochs=10 lr=1e-5": other rows of the table, ours as defaults are */
};

struct wl_opt {
    const char *name; /* words joined by dashes */
    enum wl_opt_type type;
    size_t offset;       /* of the field */
    const char *def;     /* default as text; NULL: 0/false, NAN, NULL or the empty list */
    double min, max;     /* of numbers and of each list element, unless both are 0; WL_NO_MAX: any above min */
    const char *unit;    /* "W", "s", "Hz" ..., for help and messages; NULL: none */
    const char *choices; /* WL_CHOICE: "f32|bf16" */
    const char *help;    /* one line */
    bool required;
    char letter;                         /* also -o; 0: none */
    const struct wl_opt_preset *presets; /* WL_CHOICE: what a choice brings along on the command line; NULL: nothing */
};
#define WL_OPT_END   \
    {                \
        .name = NULL \
    }

/* The rows of one table behind those of another, both over one struct. */
const struct wl_opt *wl_opts_join(const struct wl_opt *first, const struct wl_opt *second, struct wl_arena *a);

/* Sets every field from its default. The table's defaults are ours, so one that does not parse aborts. */
void wl_opts_default(const struct wl_opt *rows, void *out, struct wl_arena *a);

/* Sets one option from text. `where` stands in front of a message: "exp.ini:12" or "--set". An unknown name gets
 * "did you mean". WL_EINVAL names the value, what was expected, the range and the unit. */
int wl_opts_set(const struct wl_opt *rows, void *out, const char *name, const char *value, const char *where,
                struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* What a command line leaves over. */
struct wl_opts_args {
    struct wl_strs args; /* plain arguments, in order */
    char **command;      /* behind "--", NULL-terminated; NULL where there was no "--" */
};

/* Reads argv[0..argc) (without the program's and the command's names): defaults first, then the options, then
 * the presets that they chose, then checks `required`. WL_EUSAGE with a message. `--help` sets *help and stops.
 * `stop_at_word`: the first plain argument starts the command (as after "--"). "--" is not taken for the value of an
 * option; --name=-- gives it. */
int wl_opts_parse(const struct wl_opt *rows, void *out, int argc, char **argv, bool stop_at_word,
                  struct wl_opts_args *rest, bool *help, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The options as lines for --help, aligned, with default, range and unit. */
void wl_opts_help(const struct wl_opt *rows, struct wl_text *to);

/* The values that stand in *in: as JSON members of `object`, and as INI lines "key = value" (unset ones left out). */
void wl_opts_json(const struct wl_opt *rows, const void *in, struct wl_json *object);
void wl_opts_ini(const struct wl_opt *rows, const void *in, struct wl_text *to);

/* The values that differ from their defaults as words of a command line, "--name" "value", which wl_opts_parse reads
 * back. */
void wl_opts_argv(const struct wl_opt *rows, const void *in, struct wl_strs *to, struct wl_arena *a);

/* Is the name (either spelling) in the table? Returns its row or NULL. */
const struct wl_opt *wl_opts_find(const struct wl_opt *rows, const char *name);

#endif
