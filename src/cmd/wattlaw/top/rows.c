#include "cmd/wattlaw/top/top.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const wl_top_sort_names[] = { "cpu", "gpu", "gpu-memory", "memory", "pid", NULL };

static const char *shown(const char *text, struct wl_arena *a)
{
    return text ? wl_printable(a, text, WL_PRINTABLE_LINE) : "-";
}

static const char *number(double v, const char *fmt, struct wl_arena *a)
{
    if (isnan(v)) return NULL;
    return wl_str_eq(fmt, "%") ? wl_strf(a, "%.0f %%", v) : wl_strf(a, "%.0f %s", v, fmt);
}

/* Of a column whose rows have a column that says what was not measured. */
static const char *amount(double v, const char *unit, struct wl_arena *a)
{
    const struct wl_amount q = wl_amount_of(v, unit, WL_MEASURED);
    return isnan(v) ? NULL : wl_amount_text(&q, a);
}

static enum wl_style load_style(double pct) { return pct >= 90 ? WL_GOOD : pct >= 50 ? WL_CAUTION : WL_PLAIN; }

/* ---- head ---- */

static void put_head(struct wl_top_screen *s, const struct wl_live_view *v, const struct wl_top_state *state)
{
    const char *iso = wl_clock_iso(s->a, v->wall_ns);
    wl_top_row(s);
    wl_top_put(s, WL_ANSWER, "wattlaw top");
    wl_top_put(s, WL_PLAIN, "  %s  watched %s", shown(v->host, s->a), wl_human_time(s->a, v->watched_s));
    if (state->keys) wl_top_put(s, WL_PLAIN, ", every %s", wl_human_time(s->a, state->period_s));
    if (s->width >= 60) wl_top_put_at(s, s->width - 9, WL_PLAIN, "%.9s", iso + 11); /* "12:00:00Z" */
}

static void put_energy(struct wl_top_screen *s, const struct wl_live_view *v)
{
    const struct wl_amount power = wl_live_power(v), energy = wl_live_energy_total(v);
    wl_top_row(s);
    if (!v->energy_scope) {
        wl_top_put(s, WL_CAUTION, "power    not measured (wattlaw doctor says why)");
        return;
    }
    wl_top_put(s, WL_PLAIN, "power    ");
    wl_top_put(s, WL_ANSWER, "%s", wl_amount_text(&power, s->a));
    wl_top_put(s, WL_PLAIN, "  (%s)", v->energy_scope);
    wl_top_row(s);
    wl_top_put(s, WL_PLAIN, "energy   ");
    wl_top_put(s, WL_ANSWER, "%s", wl_amount_text(&energy, s->a));
    wl_top_put(s, WL_PLAIN, "  since the start");
}

static int node_device(const struct wl_live_view *v)
{
    for (size_t i = 0; i < v->sensors->n_devices; i++)
        if (wl_str_eq(v->sensors->devices[i].uuid, "proc:node")) return (int)i;
    return -1;
}

static double value_of(const struct wl_live_view *v, int device, enum wl_quantity q)
{
    const struct wl_live_reading *r = wl_live_reading_of(v, device, q, NULL);
    return r ? r->value : NAN;
}

static void put_node(struct wl_top_screen *s, const struct wl_live_view *v)
{
    const int node = node_device(v);
    if (node < 0) return;
    const double busy = value_of(v, node, WL_CPU_UTIL), cpus = value_of(v, node, WL_CPUS),
                 memory = value_of(v, node, WL_MEM_USED), tasks = value_of(v, node, WL_RUNNABLE);
    wl_top_row(s);
    wl_top_put(s, WL_PLAIN, "CPUs     ");
    wl_top_bar(s, s->width >= 100 ? 42 : s->width >= 70 ? 22 : 12, busy / 100, load_style(busy));
    wl_top_put(s, WL_PLAIN, " %s", shown(number(busy, "%", s->a), s->a));
    if (!isnan(cpus)) wl_top_put(s, WL_PLAIN, " of %.0f", cpus);
    if (!isnan(memory)) wl_top_put(s, WL_PLAIN, "  memory %s", wl_human_bytes(s->a, memory));
    if (!isnan(tasks)) wl_top_put(s, WL_PLAIN, "  runnable %.0f", tasks);
}

/* ---- devices ---- */

enum device_column { DEVICE, POWER, CAP, BUSY, CLOCK, MEMORY, HEAT, ENERGY, FROM, DEVICE_COLUMNS };

static const struct wl_top_column device_columns[] = {
    [DEVICE] = { "DEVICE", 0, 14, false, 0 }, [POWER] = { "POWER", 7, 0, true, 0 },
    [CAP] = { "CAP", 7, 0, true, 3 },         [BUSY] = { "BUSY", 5, 0, true, 1 },
    [CLOCK] = { "CLOCK", 8, 0, true, 5 },     [MEMORY] = { "MEMORY", 8, 0, true, 6 },
    [HEAT] = { "TEMP", 5, 0, true, 4 },       [ENERGY] = { "ENERGY", 7, 0, true, 2 },
    [FROM] = { "", 9, 0, false, 0 },
};

/* The node's own line has what `proc` reads. */
static bool is_listed(const struct wl_live_view *v, size_t device)
{
    return !wl_str_eq(v->sensors->devices[device].sensor, "proc");
}

/* "rapl:package-0/long_term" is a limit of "rapl:package-0"; the lowest one holds. */
static double cap_of(const struct wl_live_view *v, const char *device)
{
    const size_t n = strlen(device);
    double lowest = NAN;
    for (size_t i = 0; i < v->n_caps; i++) {
        const char *name = v->caps[i].device;
        if (strncmp(name, device, n) != 0 || (name[n] && name[n] != '/')) continue;
        lowest = fmin(lowest, fmin(v->caps[i].set, v->caps[i].enforced)); /* fmin leaves out NAN */
    }
    return lowest;
}

static double energy_of(const struct wl_live_view *v, int device)
{
    double counted = NAN, other = NAN;
    for (size_t i = 0; i < v->n_energies; i++) {
        const struct wl_live_energy *x = &v->energies[i];
        if (v->sensors->channels[x->channel].device != device) continue;
        if (x->counted) counted = x->since_start_j;
        if (isnan(other)) other = x->since_start_j;
    }
    return isnan(counted) ? other : counted;
}

static enum wl_provenance provenance_of(const struct wl_live_view *v, int device)
{
    enum wl_provenance from = WL_MEASURED;
    for (size_t i = 0; i < v->sensors->n_channels; i++) {
        const struct wl_channel *c = &v->sensors->channels[i];
        if (c->device == device) from |= wl_provenance_of(c->estimated, c->simulated);
    }
    return from;
}

/* What only GPUs have is missing in the row of a GPU, and not to be expected in that of a CPU. */
static bool is_gpu(const struct wl_live_view *v, int device)
{
    for (size_t i = 0; i < v->sensors->n_channels; i++) {
        const struct wl_channel *c = &v->sensors->channels[i];
        if (c->device == device && (c->scope == WL_SCOPE_GPU || c->scope == WL_SCOPE_MODULE)) return true;
    }
    return false;
}

static void put_device(struct wl_top_screen *s, const struct wl_top_table *t, const struct wl_live_view *v, size_t i)
{
    const struct wl_device *d = &v->sensors->devices[i];
    const double busy = value_of(v, (int)i, WL_SM_UTIL);
    const char *cells[DEVICE_COLUMNS] = {
        [DEVICE] = wl_strf(s->a, "%d %s", d->index, d->name),
        [POWER] = amount(value_of(v, (int)i, WL_POWER), "W", s->a),
        [CAP] = amount(cap_of(v, d->uuid), "W", s->a),
        [BUSY] = number(busy, "%", s->a),
        [CLOCK] = number(value_of(v, (int)i, WL_SM_CLOCK), "MHz", s->a),
        [HEAT] = number(value_of(v, (int)i, WL_TEMPERATURE), "°C", s->a),
        [ENERGY] = amount(energy_of(v, (int)i), "J", s->a),
        [FROM] = wl_provenance_word(provenance_of(v, (int)i)),
    };
    const double memory = value_of(v, (int)i, WL_MEM_USED);
    if (!isnan(memory)) cells[MEMORY] = wl_human_bytes(s->a, memory);
    for (enum device_column k = BUSY; k <= HEAT; k++)
        if (!cells[k] && !is_gpu(v, (int)i)) cells[k] = "";
    if (!*cells[FROM]) cells[FROM] = "measured";
    enum wl_style styles[DEVICE_COLUMNS] = { 0 };
    styles[POWER] = WL_ANSWER;
    styles[BUSY] = load_style(busy);
    if (provenance_of(v, (int)i)) styles[FROM] = WL_CAUTION;
    wl_top_cells(s, t, cells, styles);
}

static void put_devices(struct wl_top_screen *s, const struct wl_live_view *v)
{
    size_t n = 0;
    for (size_t i = 0; i < v->sensors->n_devices; i++) n += is_listed(v, i);
    if (n == 0) return;
    const struct wl_top_table t = wl_top_table_new(s, device_columns, WL_COUNT(device_columns));
    wl_top_row(s);
    wl_top_heads(s, &t);
    for (size_t i = 0; i < v->sensors->n_devices; i++)
        if (is_listed(v, i)) put_device(s, &t, v, i);
}

/* ---- what is missing ---- */

static void put_folded(struct wl_top_screen *s, const char *label, const char *text)
{
    enum { HANG = 9 };
    wl_top_row(s);
    wl_top_put(s, WL_CAUTION, "%s", label);
    size_t column = strlen(label);
    const struct wl_strs words = wl_str_split(s->a, shown(text, s->a), ' ');
    bool first = true;
    for (size_t i = 0; i < words.n; i++) {
        const size_t n = wl_utf8_columns(words.v[i], strlen(words.v[i]));
        if (!first && column + 1 + n > s->width) {
            wl_top_row(s);
            column = 0;
            first = true;
        }
        wl_top_put_at(s, HANG, WL_PLAIN, "%s%s", first ? "" : " ", words.v[i]);
        column = (first ? (column > HANG ? column : HANG) : column + 1) + n;
        first = false;
    }
}

/* What the driver of a GPU does not show at all. */
static void put_not_shown(struct wl_top_screen *s, const struct wl_live_view *v, int device)
{
    static const struct {
        enum wl_quantity q;
        const char *name;
    } expected[] = { { WL_POWER, "power" },
                     { WL_SM_UTIL, "busy time" },
                     { WL_SM_CLOCK, "clock" },
                     { WL_MEM_USED, "memory" },
                     { WL_TEMPERATURE, "temperature" } };
    struct wl_text t = WL_TEXT(s->a);
    for (size_t i = 0; i < WL_COUNT(expected); i++)
        if (!wl_live_reading_of(v, device, expected[i].q, NULL))
            wl_text_addf(&t, "%s%s", t.n ? ", " : "", expected[i].name);
    const struct wl_device *d = &v->sensors->devices[device];
    if (t.n) put_folded(s, "missing", wl_strf(s->a, "%d %s: not shown by its driver: %s", d->index, d->name, t.s));
}

/* The reasons that readings, limits and processes are missing for, each once. */
static void put_missing(struct wl_top_screen *s, const struct wl_live_view *v)
{
    struct wl_strs said = { 0 };
    for (size_t i = 0; i < v->sensors->n_channels; i++) {
        const struct wl_channel *c = &v->sensors->channels[i];
        if (!isnan(v->readings[i].value) || !v->readings[i].why) continue;
        const struct wl_device *d = &v->sensors->devices[c->device];
        const char *text = wl_strf(s->a, "%d %s: %s", d->index, d->name, v->readings[i].why);
        bool before = false;
        for (size_t k = 0; k < said.n; k++) before |= wl_str_eq(said.v[k], text);
        if (before) continue;
        wl_strs_add(s->a, &said, text);
        put_folded(s, "missing", text);
    }
    for (size_t i = 0; i < v->sensors->n_devices; i++)
        if (is_gpu(v, (int)i)) put_not_shown(s, v, (int)i);
    if (v->caps_why) put_folded(s, "no cap", v->caps_why);
    for (size_t i = 0; i < v->n_caps; i++)
        if (v->caps[i].why) put_folded(s, "no cap", v->caps[i].why);
    if (v->processes_why) put_folded(s, "users", v->processes_why);
}

/* ---- campaigns ---- */

static void put_run(struct wl_top_screen *s, const struct wl_top_run *r)
{
    wl_top_row(s);
    wl_top_put(s, WL_PLAIN, "  run %lld", (long long)r->id);
    if (r->epoch >= 0) wl_top_put(s, WL_PLAIN, "  epoch %lld", (long long)r->epoch);
    if (r->step >= 0) wl_top_put(s, WL_PLAIN, "  step %lld", (long long)r->step);
    if (r->step >= 0 && r->steps > 0) wl_top_put(s, WL_PLAIN, " of %lld", (long long)r->steps);
    wl_top_put(s, WL_PLAIN, "  %s", wl_human_time(s->a, r->elapsed_s));
    wl_top_put(s, WL_ANSWER, "  %s",
               isnan(r->energy.value) ? "energy not known yet" : wl_amount_text(&r->energy, s->a));
    if (r->age_s >= 2) wl_top_put(s, WL_PLAIN, " %s ago", wl_human_time(s->a, r->age_s));
    if (r->settings) wl_top_put(s, WL_PLAIN, "  %s", shown(r->settings, s->a));
}

static void put_campaign(struct wl_top_screen *s, const struct wl_top_campaign *c)
{
    wl_top_row(s);
    wl_top_put(s, WL_ANSWER, "%s ", shown(c->name, s->a));
    wl_top_bar(s,
               s->width >= 100  ? 42
               : s->width >= 70 ? 22
                                : 12,
               c->all ? (double)c->done / (double)c->all : NAN, WL_GOOD);
    wl_top_put(s, WL_PLAIN, " %zu of %zu runs done", c->done, c->all);
    if (c->failed) wl_top_put(s, WL_BAD, ", %zu failed", c->failed);
    wl_top_put(s, WL_PLAIN, ", %zu running, %zu waiting", c->running, c->waiting);
    wl_top_row(s);
    wl_top_put(s, WL_PLAIN, "  left %s, used %s", c->left, c->used);
}

static void put_campaigns(struct wl_top_screen *s, const struct wl_top_campaigns *c)
{
    if (!c) return;
    wl_top_row(s);
    if (c->why) put_folded(s, "store", c->why);
    if (!c->why && c->n == 0) {
        wl_top_row(s);
        wl_top_put(s, WL_PLAIN, "no campaign yet");
    }
    for (size_t i = 0; i < c->n; i++) put_campaign(s, &c->v[i]);
    for (size_t i = 0; i < c->n_runs; i++) put_run(s, &c->runs[i]);
}

/* ---- processes ---- */

enum process_column { PID, USER, GPUS, GPU_PCT, GPU_MEMORY, CPU_PCT, RSS, NAME, PROCESS_COLUMNS };

static const struct wl_top_column process_columns[] = {
    [PID] = { "PID", 8, 0, true, 0 },
    [USER] = { "USER", 8, 0, false, 5 },
    [GPUS] = { "GPUS", 7, 0, false, 3 },
    [GPU_PCT] = { "GPU %", 5, 0, true, 2 },
    [GPU_MEMORY] = { "GPU MEM", 8, 0, true, 4 },
    [CPU_PCT] = { "CPU %", 6, 0, true, 0 },
    [RSS] = { "MEMORY", 8, 0, true, 6 },
    [NAME] = { "NAME", 0, 8, false, 0 },
};

static double key_of(const struct wl_live_process *p, enum wl_top_sort sort)
{
    const double keys[WL_TOP_SORTS] = { p->cpu_pct, p->gpu_pct, p->gpu_memory_bytes, p->rss_bytes, -(double)p->pid };
    return isnan(keys[sort]) ? -HUGE_VAL : keys[sort];
}

/* A stable insertion: lists are short, and the order of equals must not change from screen to screen. */
static const struct wl_live_process **sorted(const struct wl_live_view *v, enum wl_top_sort sort, struct wl_arena *a)
{
    const struct wl_live_process **order = wl_new_array(a, const struct wl_live_process *, v->n_processes);
    for (size_t i = 0; i < v->n_processes; i++) {
        size_t k = i;
        for (; k > 0 && key_of(order[k - 1], sort) < key_of(&v->processes[i], sort); k--) order[k] = order[k - 1];
        order[k] = &v->processes[i];
    }
    return order;
}

static const char *gpus_text(const struct wl_live_view *v, const struct wl_live_process *p, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (size_t i = 0; i < p->n_gpus; i++)
        wl_text_addf(&t, "%s%d", i ? "," : "", v->sensors->devices[p->gpus[i]].index);
    return t.s;
}

static void put_process(struct wl_top_screen *s, const struct wl_top_table *t, const struct wl_live_view *v,
                        const struct wl_live_process *p)
{
    const char *cells[PROCESS_COLUMNS] = {
        [PID] = wl_strf(s->a, "%lld", (long long)p->pid),
        [USER] = p->user,
        [GPUS] = gpus_text(v, p, s->a),
        [GPU_PCT] = p->n_gpus == 0      ? ""
                    : isnan(p->gpu_pct) ? NULL
                                        : wl_strf(s->a, "%.0f", p->gpu_pct),
        [GPU_MEMORY] = p->n_gpus == 0               ? ""
                       : isnan(p->gpu_memory_bytes) ? NULL
                                                    : wl_human_bytes(s->a, p->gpu_memory_bytes),
        [CPU_PCT] = isnan(p->cpu_pct) ? NULL : wl_strf(s->a, "%.1f", p->cpu_pct),
        [RSS] = isnan(p->rss_bytes) ? NULL : wl_human_bytes(s->a, p->rss_bytes),
        [NAME] = p->name ? p->name : "(not visible here)",
    };
    wl_top_cells(s, t, cells, NULL);
}

static void put_processes(struct wl_top_screen *s, const struct wl_live_view *v, const struct wl_top_state *state,
                          size_t rows)
{
    if (v->n_processes == 0 || rows < 3) return;
    const struct wl_top_table t = wl_top_table_new(s, process_columns, WL_COUNT(process_columns));
    const struct wl_live_process **order = sorted(v, state->sort, s->a);
    wl_top_row(s);
    wl_top_heads(s, &t);
    size_t first = state->first < v->n_processes ? state->first : v->n_processes - 1;
    for (size_t i = first; i < v->n_processes && i - first < rows - 2; i++) put_process(s, &t, v, order[i]);
}

/* ---- all of it ---- */

static void put_help(struct wl_top_screen *s)
{
    static const char *const lines[] = {
        "q        end",
        "h        this help",
        "s        order of the processes: CPU, GPU, GPU memory, memory, PID",
        "+ -      longer, shorter time between two screens",
        "arrows   scroll the processes; Home, End: to the first, the last",
        "",
        "power    of the devices whose energy counts",
        "CAP      lowest power limit of the device",
        "BUSY     share of time with any kernel on the GPU",
        "ENERGY   since the start of wattlaw top",
        "CPU %    of one CPU",
        "-        not known; lines below the devices say why",
    };
    wl_top_row(s);
    for (size_t i = 0; i < WL_COUNT(lines); i++) {
        wl_top_row(s);
        wl_top_put(s, WL_PLAIN, "%s", lines[i]);
    }
}

static void put_keys(struct wl_top_screen *s, const struct wl_top_state *state, size_t height)
{
    while (s->n + 1 < height) wl_top_row(s);
    if (s->n >= height) s->n = height - 1;
    wl_top_row(s);
    wl_top_put(s, WL_ANSWER, "q");
    wl_top_put(s, WL_PLAIN, " quit  ");
    wl_top_put(s, WL_ANSWER, "h");
    wl_top_put(s, WL_PLAIN, " help  ");
    wl_top_put(s, WL_ANSWER, "s");
    wl_top_put(s, WL_PLAIN, " by %s  ", wl_top_sort_names[state->sort]);
    wl_top_put(s, WL_ANSWER, "+ -");
    wl_top_put(s, WL_PLAIN, " %s", wl_human_time(s->a, state->period_s));
}

struct wl_top_screen wl_top_rows(const struct wl_live_view *v, const struct wl_top_campaigns *c,
                                 const struct wl_top_state *state, size_t width, size_t height, struct wl_arena *a)
{
    struct wl_top_screen s = wl_top_screen_new(width, a);
    put_head(&s, v, state);
    put_energy(&s, v);
    put_node(&s, v);
    if (state->help) {
        put_help(&s);
    } else {
        put_devices(&s, v);
        put_missing(&s, v);
        put_campaigns(&s, c);
        const size_t footer = state->keys ? 1 : 0, left = s.n + footer < height ? height - s.n - footer : 0;
        put_processes(&s, v, state, height ? left : WL_TOP_PROCESSES + 2);
    }
    if (state->keys && height) put_keys(&s, state, height);
    return s;
}
