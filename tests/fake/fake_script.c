#include "fake_script.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double fake_list_of(const struct fake_list *l, int gpu) { return l->v[gpu < l->n ? gpu : l->n - 1]; }

static void complain(const char *key, const char *value) { fprintf(stderr, "fake nvml: invalid %s=%s\n", key, value); }

/* ---- Parsers of values; false: invalid ---- */

static bool set_list(struct fake_list *l, const char *v)
{
    char *end;
    for (l->n = 0; l->n < FAKE_MOST_GPUS; v = end + 1) {
        l->v[l->n++] = strtod(v, &end);
        if (end == v || (*end && *end != ',')) return false;
        if (!*end) return true;
    }
    return false;
}

static bool set_power(struct fake_script *s, const char *v)
{
    double *to = s->shape_v;
    s->shape = FAKE_POWER_RAMP;
    if (sscanf(v, "ramp:%lf:%lf", &to[0], &to[1]) == 2) return true;
    s->shape = FAKE_POWER_SINE;
    if (sscanf(v, "sine:%lf:%lf:%lf", &to[0], &to[1], &to[2]) == 3) return true;
    s->shape = FAKE_POWER_CONSTANT;
    return set_list(&s->power_w, v);
}

static bool set_models(struct fake_script *s, const char *v)
{
    for (s->n_models = 0; s->n_models < FAKE_MOST_MODELS;) {
        size_t len = strcspn(v, ",");
        snprintf(s->models[s->n_models++], FAKE_NAME_SIZE, "%.*s", (int)len, v);
        if (!v[len]) return true;
        v += len + 1;
    }
    return false;
}

static bool set_pids(struct fake_script *s, const char *v)
{
    struct fake_list pids;
    if (!set_list(&pids, v) || pids.n > FAKE_MOST_PIDS) return false;
    s->n_pids = (unsigned)pids.n;
    for (int i = 0; i < pids.n; i++) s->pids[i] = (unsigned)pids.v[i];
    return true;
}

static bool set_gpm(struct fake_script *s, const char *v)
{
    double *g = s->gpm;
    s->gpm_denied = strcmp(v, "denied") == 0;
    if (!s->gpm_denied) return sscanf(v, "%lf:%lf:%lf:%lf", &g[0], &g[1], &g[2], &g[3]) == 4;
    g[0] = 0;
    return true;
}

static bool read_limits(unsigned mw[3], const char *v)
{
    double w[3];
    if (sscanf(v, "%lf:%lf:%lf", &w[0], &w[1], &w[2]) != 3) return false;
    for (int i = 0; i < 3; i++) mw[i] = (unsigned)lround(w[i] * 1e3);
    return true;
}

static bool set_limits(struct fake_script *s, const char *v) { return read_limits(s->limits_mw, v); }
static bool set_module_limits(struct fake_script *s, const char *v) { return read_limits(s->module_limits_mw, v); }

static bool set_slow(struct fake_script *s, const char *v)
{
    if (sscanf(v, "%lf:%lf", &s->slow_each_s, &s->slow_s) != 2) return false;
    s->slow_next_s = s->slow_each_s;
    return s->slow_each_s > 0;
}

static bool set_stall(struct fake_script *s, const char *v)
{
    return sscanf(v, "%lf:%lf", &s->stall_at_s, &s->stall_s) == 2;
}

/* GPU:CALL, then numbers: a code if `coded`, and the times. */
static bool add_fault(struct fake_script *s, const char *v, bool coded)
{
    struct fake_fault *f = &s->faults[s->n_faults];
    char gpu[16];
    int at = 0;
    if (s->n_faults == FAKE_MOST_FAULTS) return false;
    *f = (struct fake_fault) { .code = FAKE_HANGS, .to_s = HUGE_VAL };
    if (sscanf(v, "%15[^:]:%63[^:]%n", gpu, f->call, &at) != 2) return false;
    if (coded) {
        int len = 0;
        if (sscanf(v + at, ":%d%n", &f->code, &len) != 1) return false;
        at += len;
    }
    if (v[at] && sscanf(v + at, ":%lf:%lf", &f->from_s, &f->to_s) < 1) return false;
    f->gpu = gpu[0] == '*' ? -1 : atoi(gpu);
    s->n_faults++;
    return true;
}

static bool add_fail(struct fake_script *s, const char *v) { return add_fault(s, v, true); }
static bool add_hang(struct fake_script *s, const char *v) { return add_fault(s, v, false); }

static bool set_profile(struct fake_script *s, const char *v)
{
    s->profile = fake_profile_find(v);
    return s->profile;
}

static bool set_load(struct fake_script *s, const char *v) { return fake_pattern_parse(v, &s->load) == 0; }

/* ---- The words ---- */

static const struct {
    const char *key;
    bool (*set)(struct fake_script *s, const char *value);
} forms[] = {
    { "power", set_power }, { "models", set_models },   { "pids", set_pids },
    { "gpm", set_gpm },     { "limits", set_limits },   { "stall", set_stall },
    { "slow", set_slow },   { "fail", add_fail },       { "hang", add_hang },
    { "load", set_load },   { "profile", set_profile }, { "module_limits", set_module_limits },
};

static const struct {
    const char *key;
    enum { WHOLE, REAL, LIST, PATH } kind;
    size_t at;
} plain[] = {
#define KEY(key, kind, field)                          \
    {                                                  \
        key, kind, offsetof(struct fake_script, field) \
    }
    KEY("gpus", WHOLE, gpus),
    KEY("board", WHOLE, board),
    KEY("init", WHOLE, init),
    KEY("arch", WHOLE, arch),
    KEY("ecc", WHOLE, ecc),
    KEY("persistence", WHOLE, persistence),
    KEY("mig", WHOLE, mig),
    KEY("update_ms", REAL, update_ms),
    KEY("reset_s", REAL, reset_s),
    KEY("wrap_j", REAL, wrap_j),
    KEY("module_w", REAL, module_w),
    KEY("counter_scale", LIST, counter_scale),
    KEY("busy", LIST, busy_pct),
    KEY("temperature_c", LIST, temperature_c),
    KEY("pid_util", LIST, pid_util),
    KEY("memory_c", REAL, memory_c),
    KEY("links_mib_s", REAL, links_mib_s),
    KEY("stale_s", REAL, stale_s),
    KEY("out_of_band", REAL, out_of_band_w),
    KEY("capped", REAL, capped),
    KEY("thermal", LIST, thermal),
    KEY("clock", LIST, clock_mhz),
    KEY("ignore", WHOLE, ignore),
    KEY("reasons", WHOLE, reasons),
    KEY("state", PATH, state),
    KEY("opened", PATH, opened),
    KEY("latency_us", REAL, latency_us),
    KEY("world", PATH, world),
    KEY("seed", WHOLE, seed),
    KEY("spread", REAL, spread),
    KEY("thermal_s", REAL, thermal_s),
#undef KEY
};

static bool set_plain(struct fake_script *s, size_t i, const char *v)
{
    void *to = (char *)s + plain[i].at;
    switch (plain[i].kind) {
    case WHOLE: *(int *)to = atoi(v); return true;
    case REAL: *(double *)to = atof(v); return true;
    case LIST: return set_list(to, v);
    case PATH: return snprintf(to, sizeof s->world, "%s", v) < (int)sizeof s->world;
    }
    return false;
}

static bool set(struct fake_script *s, const char *key, const char *v)
{
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(key, plain[i].key) == 0) return set_plain(s, i, v);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(key, forms[i].key) == 0) return forms[i].set(s, v);
    return false;
}

static void read_words(struct fake_script *s, char *text)
{
    char *rest = NULL;
    for (char *word = strtok_r(text, "; \t\n", &rest); word; word = strtok_r(NULL, "; \t\n", &rest)) {
        char *equals = strchr(word, '=');
        if (!equals) continue;
        *equals = '\0';
        if (!set(s, word, equals + 1)) complain(word, equals + 1);
    }
}

static void read_file(char *text, size_t size, const char *path)
{
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, size - 1, file) : 0;
    text[n] = '\0';
    if (file) fclose(file);
}

void fake_script_load(struct fake_script *s)
{
    static char text[1 << 16];
    const char *from = getenv("WATTLAW_FAKE_NVML");
    *s = (struct fake_script) {
        .gpus = 1,
        .arch = 7,
        .ecc = 1,
        .persistence = 1,
        .models = { "Fake GPU" },
        .n_models = 1,
        .power_w = { .v = { 100 }, .n = 1 },
        .reset_s = HUGE_VAL,
        .wrap_j = HUGE_VAL,
        .counter_scale = { .v = { 1 }, .n = 1 },
        .busy_pct = { .v = { 50 }, .n = 1 },
        .memory_c = 60,
        .stale_s = HUGE_VAL,
        .gpm = { NAN },
        .limits_mw = { 100000, 400000, 400000 },
        .clock_mhz = { .v = { 1410 }, .n = 1 },
        .thermal = { .v = { 0 }, .n = 1 },
        .reasons = 0x1,
        .seed = 1,
        .spread = 0.02,
    };
    text[0] = '\0';
    if (from && from[0] == '@')
        read_file(text, sizeof text, from + 1);
    else if (from)
        snprintf(text, sizeof text, "%s", from);
    read_words(s, text);
    if (s->gpus > FAKE_MOST_GPUS) s->gpus = FAKE_MOST_GPUS;
}
