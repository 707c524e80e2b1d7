/* Does the measurement of a run keep the rules of a benchmark? */
#ifndef WL_CMD_WATTLAW_RULES_H
#define WL_CMD_WATTLAW_RULES_H

#include "store/store.h"

struct wl_rule_check {
    const char *rule;  /* what is asked, in words */
    const char *found; /* what the run has */
    enum wl_rule_state { WL_RULE_KEPT, WL_RULE_BROKEN, WL_RULE_UNKNOWN } state;
};
struct wl_rule_checks {
    struct wl_rule_check *v;
    size_t n, cap;
    double energy_j; /* sum of power x time since the reading before, of all devices that count; NAN: not known */
    bool kept;       /* none is broken */
};

/* MLPerf Training's rules for the power of a system (mlcommons/training_policies, power_measurement.adoc): a reading a
 * second, 60 readings, 60 s, 5 % accuracy, whole nodes and all of them, energy as the sum of power x time. WL_ENOENT:
 * no such run; other codes of the store. */
int wl_rules_mlperf(struct wl_store *s, int64_t run, struct wl_rule_checks *out, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;

/* The rules that the run's campaign holds its runs against (`rules` of its experiment, as it was given last), or NULL.
 */
int wl_rules_of_campaign(struct wl_store *s, int64_t campaign, const char **rules, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* The row of the option --rules, over a struct `holder` whose field `rules` holds the choice. */
#define WL_RULES_OPT_ROW(holder, text)                                                                           \
    {                                                                                                            \
        .name = "rules", .type = WL_CHOICE, .offset = offsetof(holder, rules), .choices = "mlperf", .help = text \
    }

/* A line: "MLPerf's rules are kept", or which are broken: "broken of MLPerf's rules: at least 60 readings (13)". */
const char *wl_rules_brief(const struct wl_rule_checks *c, struct wl_arena *a);

void wl_rules_print(const struct wl_rule_checks *c, enum wl_out to, struct wl_arena *a);
void wl_rules_json(const struct wl_rule_checks *c, struct wl_json *object);

#endif
