/* Audit of a published table of exponents: the standard errors it implies and the claims it cannot support. */
#ifndef WL_LAW_AUDIT_AUDIT_H
#define WL_LAW_AUDIT_AUDIT_H

#include "stats/stats.h"

/* One line of the table. `half` is half a unit of the last printed digit: the number may be any in value -+ half. */
struct wl_audit_rounded {
    double value, half; /* NAN where not printed */
};
struct wl_audit_row {
    int line;            /* of the file, for messages */
    const char *group;   /* slopes of one group are compared with each other */
    const char *level;   /* "1380" */
    const char *setting; /* rows of one setting, in whatever group, should agree; NULL: none given */
    struct wl_audit_rounded beta, r2, se;
    double n;            /* points fitted; NAN where not printed */
    double n_min, n_max; /* range of worker counts; NAN where not printed */
};

/* What a row implies. Standard error from R2: se = |beta| sqrt((1/R2 - 1) / (n - 2)), as in least squares with one
 * slope; lo and hi over all numbers that round to the printed ones. */
struct wl_audit_implied {
    double n;              /* as printed, or assumed */
    double r2;             /* as printed; where 1 rounds to it, the middle of the range that does */
    double se, lo, hi, df; /* NAN where not implied */
    bool from_r2;          /* else as printed */
    bool contradicts;      /* R2 and n rule out the printed standard error */
    double r2_of_se;       /* the R2 that the printed standard error belongs to */
    /* The Amdahl curve W/N + c whose log-log line has this beta: c/W, and R2 and standard error of that line. */
    double share, curve_r2, curve_se;
    const char *curve_reason; /* why there is no such curve, or NULL */
    const char *reason;       /* why there is no standard error, or NULL */
};

/* Welch's test of two slopes of a group: at the printed values, and (_worst) with the nearest slopes and the largest
 * errors that round to them. */
struct wl_audit_pair {
    size_t a, b; /* rows; difference = beta of b - beta of a */
    double difference, t, df, p, p_holm, p_worst, p_worst_holm;
    double lo, hi; /* 95 % */
};

struct wl_audit_group {
    const char *name;
    size_t *rows, n;
    struct wl_audit_pair *pairs;
    size_t n_pairs;
    double q, q_df, q_p, q_p_worst; /* homogeneity: sum of (beta - weighted mean)^2 / se^2, chi-square */
    const char *q_reason;           /* why it is not tested, or NULL */
};

struct wl_audit {
    const struct wl_audit_row *rows;
    struct wl_audit_implied *implied; /* [n] */
    size_t n;
    struct wl_audit_group *groups;
    size_t n_groups;
    struct wl_strs findings; /* sentences: what the table shows */
    struct wl_strs limits;   /* sentences: what it cannot support */
};

/* Rows may be in any order. assumed_n is used where n is not printed (NAN: such rows have no error). WL_EINVAL names
 * the line with impossible numbers. Source: Cochran 1954 (Q), Welch 1947. */
int wl_audit_table(const struct wl_audit_row *rows, size_t n, double assumed_n, struct wl_audit *out,
                   struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
void wl_audit_json(const struct wl_audit *audit, struct wl_json *object);

#endif
