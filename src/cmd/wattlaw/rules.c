#include "cmd/wattlaw/rules.h"

#include "cmd/wattlaw/format.h"
#include "power/power.h"

#include <math.h>

static const double MAX_READING_GAP_S = 1, MIN_READINGS = 60, MIN_RUN_TIME_S = 60, ACCURACY_PCT = 5;

/* The run and the readings of its power. */
struct power_readings {
    const struct wl_run_row *run;
    struct wl_channel_rows channels;
    struct wl_device_rows devices;
    bool whole_nodes; /* some channel covers a whole node; then only such channels count */
    double worst_s;   /* the longest time between good readings, edges included */
    double readings;  /* of the device with the fewest */
    double energy_j;
    double nodes; /* hosts whose total power was read */
    bool simulated, estimated;
};

static bool is_power(const struct wl_channel_row *c) { return wl_quantity_from(c->quantity) == WL_POWER; }

static bool is_node(const struct wl_channel_row *c) { return wl_scope_from(c->scope) == WL_SCOPE_NODE; }

static bool counts(const struct power_readings *m, const struct wl_channel_row *c)
{
    return is_power(c) && (!m->whole_nodes || is_node(c));
}

/* Adds each reading x the time since the previous one (right rectangles), and counts readings and gaps. */
static void add_series(struct power_readings *m, const struct wl_readings *r, int64_t t0_ns, int64_t t1_ns)
{
    double readings = 0;
    int64_t before = t0_ns;
    for (size_t i = 0; i < r->n && r->t_ns[i] <= t1_ns; i++) {
        if (r->t_ns[i] < t0_ns || isnan(r->value[i])) continue;
        double dt_s = (double)(r->t_ns[i] - before) / WL_NS_PER_S;
        m->worst_s = fmax(m->worst_s, dt_s);
        m->energy_j += r->value[i] * dt_s;
        before = r->t_ns[i];
        readings++;
    }
    m->worst_s = fmax(m->worst_s, (double)(t1_ns - before) / WL_NS_PER_S);
    m->readings = isnan(m->readings) ? readings : fmin(m->readings, readings);
}

static const char *host_of(const struct power_readings *m, int64_t device)
{
    for (size_t i = 0; i < m->devices.n; i++)
        if (m->devices.v[i].id == device) return m->devices.v[i].host;
    return "";
}

/* Hosts with a channel of the whole node. */
static double count_nodes(const struct power_readings *m)
{
    double n = 0;
    for (size_t i = 0; i < m->channels.n; i++) {
        const struct wl_channel_row *c = &m->channels.v[i];
        bool first = is_power(c) && is_node(c);
        for (size_t k = 0; k < i && first; k++)
            first = !(is_power(&m->channels.v[k]) && is_node(&m->channels.v[k]) &&
                      wl_str_eq(host_of(m, m->channels.v[k].device), host_of(m, c->device)));
        n += first;
    }
    return n;
}

static int read_measured(struct wl_store *s, int64_t run, struct power_readings *m, struct wl_arena *a,
                         struct wl_err *e)
{
    struct wl_run_rows runs;
    int rc = wl_store_runs(s, &(struct wl_run_filter) { .run = run }, &runs, a, e);
    if (rc == 0 && runs.n == 0) return wl_fail(e, WL_ENOENT, "%s: no run %lld", wl_store_path(s), (long long)run);
    if (rc == 0) rc = wl_store_channels(s, run, &m->channels, a, e);
    if (rc == 0) rc = wl_store_devices(s, run, &m->devices, a, e);
    if (rc < 0) return rc;
    m->run = runs.v;
    for (size_t i = 0; i < m->channels.n; i++)
        m->whole_nodes |= is_power(&m->channels.v[i]) && is_node(&m->channels.v[i]);
    for (size_t i = 0; i < m->channels.n && rc == 0; i++) {
        const struct wl_channel_row *c = &m->channels.v[i];
        if (!counts(m, c)) continue;
        struct wl_readings r;
        rc = wl_store_readings(s, c->id, INT64_MIN, INT64_MAX, &r, a, e);
        if (rc == 0) add_series(m, &r, m->run->start.mono_ns, m->run->stop.mono_ns);
        m->simulated |= c->simulated;
        m->estimated |= c->estimated;
    }
    m->nodes = count_nodes(m);
    return rc;
}

static void add_state(struct wl_rule_checks *out, enum wl_rule_state state, const char *rule, const char *found,
                      struct wl_arena *a)
{
    WL_GROW(a, out->v, out->n, out->cap);
    out->v[out->n++] = (struct wl_rule_check) { rule, found, state };
    out->kept = out->kept && state != WL_RULE_BROKEN;
}

static void add(struct wl_rule_checks *out, bool kept, const char *rule, const char *found, struct wl_arena *a)
{
    add_state(out, kept ? WL_RULE_KEPT : WL_RULE_BROKEN, rule, found, a);
}

static void check_rules(const struct power_readings *m, struct wl_rule_checks *out, struct wl_arena *a)
{
    bool any = m->readings > 0;
    double nodes = isnan(m->run->set.nodes) ? 1 : m->run->set.nodes;
    add(out, m->run->status == WL_RUN_DONE && !m->run->flag, "the run is done and not flagged",
        m->run->flag ? m->run->flag : wl_run_status_names[m->run->status], a);
    add(out, any && m->worst_s <= MAX_READING_GAP_S, wl_strf(a, "one reading every %g s", MAX_READING_GAP_S),
        any ? wl_strf(a, "at most %.3g s apart", m->worst_s) : "no power was read", a);
    add(out, any && m->readings >= MIN_READINGS, wl_strf(a, "at least %g readings", MIN_READINGS),
        wl_strf(a, "%.0f", any ? m->readings : 0), a);
    add(out, m->run->time_s >= MIN_RUN_TIME_S, wl_strf(a, "at least %g s", MIN_RUN_TIME_S),
        wl_strf(a, "%.3g s", m->run->time_s), a);
    bool meter = any && !m->simulated && !m->estimated;
    add_state(out, meter ? WL_RULE_UNKNOWN : WL_RULE_BROKEN, wl_strf(a, "a meter accurate to %g %%", ACCURACY_PCT),
              meter          ? "unknown to the sensors: state it with the result"
              : m->simulated ? "simulated, not metered"
              : any          ? "estimated, not metered"
                             : "none",
              a);
    add(out, m->whole_nodes, "power of whole nodes", m->whole_nodes ? "read for nodes" : "read for parts of nodes only",
        a);
    add(out, m->nodes >= nodes, nodes > 1 ? wl_strf(a, "all %g nodes of the job", nodes) : "the node of the job",
        wl_strf(a, "%g", m->nodes), a);
    out->energy_j = any ? m->energy_j : NAN;
    const struct wl_amount energy = wl_amount_of(m->energy_j, "J", wl_provenance_of(m->estimated, m->simulated));
    add(out, any, "energy as the sum of power x time since the previous reading",
        any ? wl_amount_text(&energy, a) : "none", a);
}

int wl_rules_mlperf(struct wl_store *s, int64_t run, struct wl_rule_checks *out, struct wl_arena *a, struct wl_err *e)
{
    struct power_readings m = { .readings = NAN };
    *out = (struct wl_rule_checks) { .kept = true, .energy_j = NAN };
    int rc = read_measured(s, run, &m, a, e);
    if (rc == 0) check_rules(&m, out, a);
    return rc;
}

static int rules_in(const char *experiment, const char **rules, struct wl_arena *a, struct wl_err *e)
{
    struct wl_ini ini = { 0 };
    int rc = wl_ini_parse("the stored experiment", experiment, &ini, a, e);
    const struct wl_ini_section *s = rc == 0 ? wl_ini_section(&ini, "measure") : NULL;
    for (size_t i = 0; s && i < s->n; i++)
        if (wl_str_eq(s->v[i].key, "rules")) *rules = s->v[i].value;
    return rc;
}

int wl_rules_of_campaign(struct wl_store *s, int64_t campaign, const char **rules, struct wl_arena *a, struct wl_err *e)
{
    struct wl_campaign_rows rows;
    *rules = NULL;
    int rc = wl_store_campaigns(s, &rows, a, e);
    for (size_t i = 0; i < rows.n && rc == 0; i++)
        if (rows.v[i].id == campaign && rows.v[i].experiment) rc = rules_in(rows.v[i].experiment, rules, a, e);
    return rc;
}

static const char *const state_names[] = { "kept", "BROKEN", "unknown" };

const char *wl_rules_brief(const struct wl_rule_checks *c, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (size_t i = 0; i < c->n; i++)
        if (c->v[i].state == WL_RULE_BROKEN)
            wl_text_addf(&t, "%s%s (%s)", t.n ? "; " : "MLPerf's rules broken: ", c->v[i].rule, c->v[i].found);
    return c->kept ? "MLPerf's rules are met" : t.s;
}

void wl_rules_print(const struct wl_rule_checks *c, enum wl_out to, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, "", false);
    wl_table_column(&t, "MLPerf rule", false);
    wl_table_column(&t, "this run", false);
    for (size_t i = 0; i < c->n; i++) {
        wl_table_cell(&t, state_names[c->v[i].state]);
        wl_table_cell(&t, c->v[i].rule);
        wl_table_cell(&t, c->v[i].found);
        wl_table_row(&t);
    }
    wl_table_print(&t, to, wl_out_width(to));
}

void wl_rules_json(const struct wl_rule_checks *c, struct wl_json *o)
{
    wl_json_add_bool(o, "kept", c->kept);
    wl_json_add_real(o, "energy_j", c->energy_j);
    struct wl_json *list = wl_json_add_array(o, "checks");
    for (size_t i = 0; i < c->n; i++) {
        struct wl_json *check = wl_json_add_object(list, NULL);
        wl_json_add_str(check, "rule", c->v[i].rule);
        wl_json_add_str(check, "found", c->v[i].found);
        wl_json_add_str(check, "state", state_names[c->v[i].state]);
    }
}
