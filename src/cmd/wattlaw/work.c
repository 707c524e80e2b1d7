#include "cmd/wattlaw/work.h"

#include <math.h>

/* Energy per token is small: laws and people count 10^9. */
static const double TOKENS = 1e9;

const struct wl_span_row *wl_work_span(const struct wl_span_row *v, size_t n, const char *kind)
{
    for (size_t i = 0; i < n; i++)
        if (wl_str_eq(v[i].kind, kind)) return &v[i];
    return NULL;
}

struct wl_amount wl_work_energy(const struct wl_span_row *s)
{
    return wl_amount_between(s->energy_j, s->energy_lo_j, s->energy_hi_j, "J",
                             wl_provenance_of(s->estimated, s->simulated));
}

static void add_count(struct wl_text *t, const struct wl_span_row *s, double n, const char *unit, struct wl_arena *a)
{
    if (n > 0)
        wl_text_addf(t, ", %s %s at %s %s/s", wl_number_text(n, a), unit, wl_number_text(n / s->time_s, a), unit);
}

static void add_energy(struct wl_text *t, const struct wl_span_row *s, struct wl_arena *a)
{
    const struct wl_amount energy = wl_work_energy(s);
    if (!isnan(s->energy_j)) wl_text_addf(t, ", %s", wl_amount_text(&energy, a));
    if (s->why) wl_text_addf(t, ", energy unknown: %s", s->why);
}

const char *wl_work_steps_text(const struct wl_span_row *s, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_addf(&t, "%s in %s", wl_number_text(s->steps, a), wl_human_time(a, s->time_s));
    add_count(&t, s, s->samples, "samples", a);
    add_count(&t, s, s->tokens, "tokens", a);
    add_energy(&t, s, a);
    if (s->tokens > 0 && !isnan(s->energy_j)) {
        const struct wl_amount energy = wl_work_energy(s), each = wl_amount_times(&energy, TOKENS / s->tokens, "J");
        wl_text_addf(&t, "; %s per 10^9 tokens", wl_amount_text(&each, a));
    }
    return t.s;
}

const char *wl_work_unsaved_text(const struct wl_span_row *s, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    if (s->steps > 0) wl_text_addf(&t, "%s steps in ", wl_number_text(s->steps, a));
    wl_text_addf(&t, "%s since the last checkpoint", wl_human_time(a, s->time_s));
    add_energy(&t, s, a);
    return t.s;
}

const char *wl_work_slurm_job_text(const struct wl_slurm_job *j, struct wl_arena *a)
{
    const struct {
        const char *name, *value;
    } parts[] = { { "account", j->account }, { "partition", j->partition }, { "cluster", j->cluster } };
    struct wl_text t = WL_TEXT(a);
    if (!j->id) return "";
    wl_text_add(&t, j->id);
    for (size_t i = 0; i < WL_COUNT(parts); i++)
        if (parts[i].value) wl_text_addf(&t, ", %s %s", parts[i].name, parts[i].value);
    return t.s;
}

void wl_work_spans_json(const struct wl_span_row *v, size_t n, struct wl_json *object)
{
    struct wl_json *list = wl_json_add_array(object, "spans");
    for (size_t i = 0; i < n; i++) {
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "kind", v[i].kind);
        wl_json_add_real(o, "time_s", v[i].time_s);
        wl_json_add_number(o, "steps", v[i].steps);
        wl_json_add_number(o, "samples", v[i].samples);
        wl_json_add_number(o, "tokens", v[i].tokens);
        wl_json_add_real(o, "energy_j", v[i].energy_j);
        wl_json_add_real(o, "energy_lo_j", v[i].energy_lo_j);
        wl_json_add_real(o, "energy_hi_j", v[i].energy_hi_j);
        wl_json_add_bool(o, "estimated", v[i].estimated);
        wl_json_add_bool(o, "simulated", v[i].simulated);
        wl_json_add_str(o, "why", v[i].why);
    }
}

void wl_work_slurm_job_json(const struct wl_slurm_job *j, struct wl_json *object)
{
    if (!j->id) return;
    struct wl_json *o = wl_json_add_object(object, "slurm_job");
    wl_json_add_str(o, "id", j->id);
    wl_json_add_str(o, "account", j->account);
    wl_json_add_str(o, "partition", j->partition);
    wl_json_add_str(o, "cluster", j->cluster);
}
