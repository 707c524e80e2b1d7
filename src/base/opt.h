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

/* No maximum: help and messages say "at least" the minimum. Whole numbers up to this are exact in a double. */
#define WL_NO_MAX 9007199254740992.0

/* A named set of values. If a WL_CHOICE with presets is chosen, they replace the defaults; values on the command line,
 * before or after the choice, override them. */
struct wl_opt_preset {
    const char *name;   /* one of `choices`; NULL ends the list */
    const char *values; /* "epochs=10 lr=1e-5": values of other rows of the table */
};

struct wl_opt {
    const char *name; /* words joined by dashes */
    enum wl_opt_type type;
    size_t offset;       /* of the field */
    const char *def;     /* default as text; NULL: 0/false, NAN, NULL or the empty list */
    double min, max;     /* of numbers and of each list element, unless both are 0; WL_NO_MAX: any above min */
    const char *unit;    /* "W", "s", "Hz" ..., for help and messages; NULL: none */
    const char *choices; /* WL_CHOICE: "f32|bf16" */
    const char *help;    /* one phrase, understood alone (tools/check-help) */
    bool required;
    char letter; /* also -o; 0: none */
    const struct wl_opt_preset
        *presets; /* WL_CHOICE: values of other options implied on the command line; NULL: none */
};
#define WL_OPT_END   \
    {                \
        .name = NULL \
    }

/* The rows of the first table, then those of the second, both over one struct. */
const struct wl_opt *wl_opts_join(const struct wl_opt *first, const struct wl_opt *second, struct wl_arena *a);

/* Sets every field from its default. The table's defaults are ours, so one that does not parse aborts. */
void wl_opts_default(const struct wl_opt *rows, void *out, struct wl_arena *a);

/* Sets one option from text. Messages begin with `where`: "exp.ini:12" or "--set". An unknown name gets "did you mean".
 * WL_EINVAL names the value, what was expected, the range and the unit. */
int wl_opts_set(const struct wl_opt *rows, void *out, const char *name, const char *value, const char *where,
                struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* A command line to parse. */
struct wl_opts_line {
    const struct wl_opt *rows;
    int argc; /* without the names of program and command */
    char **argv;
    bool stop_at_word; /* the first plain argument starts the command (as after "--") */
};

/* What is not an option. */
struct wl_opts_args {
    struct wl_strs args;  /* plain arguments, in order */
    char **command;       /* after "--", NULL-terminated; NULL: there was no "--" */
    struct wl_strs given; /* names of the options that were given, in the order of the table */
    bool help;            /* --help was read; what follows it was not */
};

/* Sets defaults, then options, then chosen presets, then checks `required`. WL_EUSAGE with a message. "--" is never the
 * value of an option, except as --name=--. */
int wl_opts_parse(const struct wl_opts_line *line, void *out, struct wl_opts_args *rest, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;

/* Adds the aligned lines of --help, with default, range and unit, folded to `width` columns. */
void wl_opts_help(const struct wl_opt *rows, struct wl_text *to, size_t width);

/* Their parts: what stands for the value ("N", "FILE", "f32|bf16", "" of a flag), and the help with default and range.
 */
const char *wl_opt_value_word(const struct wl_opt *o, struct wl_arena *a);
const char *wl_opt_description(const struct wl_opt *o, struct wl_arena *a);
bool wl_opt_is_on(const struct wl_opt *o); /* a flag whose useful form is --no-NAME */

/* The values in *in as JSON members of `object`, and as INI lines "key = value" (without unset ones). */
void wl_opts_json(const struct wl_opt *rows, const void *in, struct wl_json *object);
void wl_opts_ini(const struct wl_opt *rows, const void *in, struct wl_text *to);

/* The values that differ from their defaults as words of a command line, "--name" "value", as wl_opts_parse reads. */
void wl_opts_argv(const struct wl_opt *rows, const void *in, struct wl_strs *to, struct wl_arena *a);

/* The row of this name (either spelling), or NULL. */
const struct wl_opt *wl_opts_find(const struct wl_opt *rows, const char *name);
bool wl_opt_has_choice(const char *choices, const char *s); /* is s one of "f32|bf16"? */

#endif
