/* Checks the measurement of a run against the power rules of a benchmark. */
#ifndef WL_CMD_WATTLAW_RULES_H
#define WL_CMD_WATTLAW_RULES_H

#include "store/read.h"

struct wl_rule_check {
    const char *rule;  /* the rule as text */
    const char *found; /* what the run has */
    enum wl_rule_state { WL_RULE_KEPT, WL_RULE_BROKEN, WL_RULE_UNKNOWN } state;
};
struct wl_rule_checks {
    struct wl_rule_check *v;
    size_t n, cap;
    double energy_j; /* sum of power x time since the previous reading, over all counted devices; NAN: unknown */
    bool kept;       /* none is broken */
};

/* MLPerf Training's rules for system power (mlcommons/training_policies, power_measurement.adoc): one reading per
 * second, 60 readings, 60 s, 5 % accuracy, whole nodes and all of them, energy as the sum of power x time. WL_ENOENT:
 * no such run; other codes of the store. */
int wl_rules_mlperf(struct wl_store *s, int64_t run, struct wl_rule_checks *out, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;

/* The key `rules` of the campaign's latest experiment, or NULL. */
int wl_rules_of_campaign(struct wl_store *s, int64_t campaign, const char **rules, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* The row of the option --rules, over a struct `holder` whose field `rules` holds the choice. */
#define WL_RULES_OPT_ROW(holder, text)                                                                           \
    {                                                                                                            \
        .name = "rules", .type = WL_CHOICE, .offset = offsetof(holder, rules), .choices = "mlperf", .help = text \
    }

/* One line: "MLPerf's rules are met", or the broken ones: "MLPerf's rules broken: at least 60 readings (13)". */
const char *wl_rules_brief(const struct wl_rule_checks *c, struct wl_arena *a);

void wl_rules_print(const struct wl_rule_checks *c, enum wl_out to, struct wl_arena *a);
void wl_rules_json(const struct wl_rule_checks *c, struct wl_json *object);

#endif
