#include "cmd/wattlaw/store.h"

#include <math.h>
#include <string.h>

int wl_cmd_store_open(const struct wl_opts_args *rest, struct wl_store **out, struct wl_arena *a, struct wl_err *e)
{
    char *path;
    const char *given = rest->args.n ? rest->args.v[0] : WL_STORE_FILE;
    if (rest->args.n > 1) return wl_fail(e, WL_EUSAGE, "expected one STORE, not %zu", rest->args.n);
    if (rest->args.n == 0 && !wl_is_file(given))
        return wl_fail(e, WL_EUSAGE, "expected a STORE: a .db file or the folder of a campaign (no %s here)", given);
    int rc = wl_store_find(given, &path, a, e);
    return rc ? rc : wl_store_open(out, path, WL_STORE_READ, a, e);
}

int wl_cmd_campaign_find(struct wl_store *s, const char *name, int64_t *id, struct wl_arena *a, struct wl_err *e)
{
    struct wl_campaign_rows rows;
    *id = 0;
    if (!name) return 0;
    int rc = wl_store_campaigns(s, &rows, a, e);
    if (rc) return rc;
    const char **names = wl_new_array(a, const char *, rows.n);
    for (size_t i = 0; i < rows.n; i++) {
        names[i] = rows.v[i].name;
        if (strcmp(names[i], name) == 0) *id = rows.v[i].id;
    }
    if (*id) return 0;
    const char *near = wl_str_closest(name, names, rows.n);
    return wl_fail(e, WL_ENOENT, "%s: no campaign \"%s\"%s%s%s", wl_store_path(s), name,
                   near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

/* ---- settings ---- */

void wl_cmd_settings_json(const struct wl_settings *set, struct wl_json *object)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_settings_values list = wl_settings_values(set, a);
    for (size_t i = 0; i < list.n; i++) {
        double value;
        if (list.v[i].number && wl_str_to_real(list.v[i].value, &value) == 0)
            wl_json_add_number(object, list.v[i].name, value);
        else
            wl_json_add_str(object, list.v[i].name, list.v[i].value);
    }
    wl_arena_free(a);
}

/* ---- a run ---- */

void wl_cmd_cooldown_json(const struct wl_cooldown *c, struct wl_json *object)
{
    if (isnan(c->asked_c)) return;
    struct wl_json *o = wl_json_add_object(object, "cooldown");
    wl_json_add_real(o, "asked_c", c->asked_c);
    wl_json_add_real(o, "waited_s", c->waited_s);
    wl_json_add_real(o, "begin_c", c->begin_c);
    wl_json_add_str(o, "why", c->why);
}

void wl_cmd_slurm_json(const struct wl_slurm_energy *s, struct wl_json *object)
{
    if (!s->plugin && !s->why) return;
    struct wl_json *o = wl_json_add_object(object, "slurm");
    wl_json_add_str(o, "plugin", s->plugin);
    wl_json_add_str(o, "scope", "node");
    wl_json_add_str(o, "steps", s->steps);
    wl_json_add_real(o, "energy_j", s->energy_j);
    wl_json_add_real(o, "period_s", s->period_s);
    wl_json_add_str(o, "why", s->why);
}

void wl_cmd_load_json(const struct wl_load_row *l, double other_run, struct wl_json *object)
{
    struct wl_json *o = wl_json_add_object(object, "load");
    wl_json_add_str(o, "busy", l->busy);
    wl_json_add_str(o, "why", l->why);
    wl_json_add_real(o, "busy_cpu_s", l->busy_cpu_s);
    wl_json_add_real(o, "job_cpu_s", l->job_cpu_s);
    wl_json_add_real(o, "other_cpu_s", l->other_cpu_s);
    wl_json_add_number(o, "cpus", l->cpus);
    wl_json_add_number(o, "job_cpus", l->job_cpus);
    wl_json_add_real(o, "runnable", l->runnable);
    wl_json_add_real(o, "idle_other_cpus", l->idle_other_cpus);
    wl_json_add_number(o, "gpu_processes", l->gpu_processes);
    wl_json_add_number(o, "other_run", other_run);
}

struct wl_amount wl_cmd_run_energy(const struct wl_run_row *r)
{
    return wl_amount_between(r->energy_j, r->energy_lo_j, r->energy_hi_j, "J", wl_run_provenance(r));
}

struct wl_amount wl_cmd_run_power(const struct wl_run_row *r)
{
    return wl_amount_of(r->mean_power_w, "W", wl_run_provenance(r));
}

char *wl_cmd_run_end(const struct wl_run_row *r, struct wl_arena *a)
{
    if (r->error) return wl_strdup(a, r->error);
    if (!isnan(r->signal)) return wl_strf(a, "killed by signal %d (%s)", (int)r->signal, strsignal((int)r->signal));
    if (!isnan(r->exit_status) && r->exit_status != 0) return wl_strf(a, "exit status %d", (int)r->exit_status);
    return wl_strdup(a, "");
}
