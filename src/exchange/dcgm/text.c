/* Text formats: dcgm-exporter (the exposition format of Prometheus) and `dcgmi dmon`.
 * Sources: prometheus.io/docs/instrumenting/exposition_formats, dcgmi/DeviceMonitor.cpp of github.com/NVIDIA/DCGM. */
#include "exchange/dcgm/internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The columns of the latest header of `dcgmi dmon`. */
struct columns {
    const struct wl_dcgm_field **field; /* [n]; NULL: not read */
    size_t n;
    int uuid;         /* index of the UUID; -1: none */
    const char *head; /* text of the header, which is repeated every 14 rows */
};

static const char TIMES[] = "a time such as 2026-01-31T12:00:00Z or seconds since 1970";

/* ---- Prometheus ---- */

static char *skip_blanks(char *p) { return p + strspn(p, " \t"); }

/* Unquotes text in place and moves *p after the closing quote; NULL: unterminated. */
static char *quoted(char **p)
{
    char *out = *p + 1, *to = out, *from = out;
    for (; *from && *from != '"'; from++) {
        if (*from == '\\' && from[1]) from++;
        *to++ = *from;
    }
    if (!*from) return NULL;
    *to = '\0';
    *p = from + 1;
    return out;
}

static void keep_label(struct wl_dcgm_labels *l, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **to;
    } known[] = { { "UUID", &l->uuid },
                  { "uuid", &l->uuid },
                  { "Hostname", &l->host },
                  { "hostname", &l->host },
                  { "modelName", &l->model },
                  { "DCGM_FI_DRIVER_VERSION", &l->driver },
                  { "driver_version", &l->driver },
                  { "gpu", &l->gpu },
                  { "GPU_I_ID", &l->instance } };
    for (size_t i = 0; i < WL_COUNT(known); i++)
        if (wl_str_eq(name, known[i].name) && *value) *known[i].to = value;
}

/* Parses `{name="value",...}` in place; NULL: error, with its reason in *why. */
static char *read_labels(char *p, struct wl_dcgm_labels *l, const char **why)
{
    for (p = skip_blanks(p + 1); *p != '}'; p = skip_blanks(p)) {
        size_t n = strcspn(p, "=,}\" ");
        char *name = p, *value;
        *why = "expected a label name=\"value\"";
        if (n == 0 || p[n] != '=' || p[n + 1] != '"') return NULL;
        name[n] = '\0';
        p += n + 1;
        *why = "unterminated quote of a label";
        if (!(value = quoted(&p))) return NULL;
        keep_label(l, name, value);
        p = skip_blanks(p);
        if (*p == ',') p++;
    }
    return p + 1;
}

/* ms since 1970; of OpenMetrics s with a point. */
static bool read_stamp(const char *text, int64_t *t_ns)
{
    double ms;
    if (strchr(text, '.')) return wl_clock_parse(text, t_ns);
    if (wl_str_to_real(text, &ms) < 0 || !(ms >= 0) || ms * 1e6 >= 0x1p63) return false;
    *t_ns = (int64_t)ms * (WL_NS_PER_S / 1000);
    return true;
}

static int read_metric(struct wl_dcgm_reader *r, char *line, struct wl_err *e)
{
    struct wl_dcgm_labels labels = { 0 };
    const char *why = NULL;
    size_t name = strcspn(line, "{ \t");
    char *key = wl_strdup(r->scratch, line), *p = line + name, *saved, *head = wl_strndup(r->scratch, line, name);
    const struct wl_dcgm_field *field = wl_dcgm_field_named(head);
    p = skip_blanks(p);
    if (*p == '{') p = read_labels(p, &labels, &why);
    if (!p) {
        wl_dcgm_malformed(r, "%s: %s", head, why);
        return 0;
    }
    key[p - line] = '\0';
    char *value = strtok_r(p, " \t", &saved), *stamp = strtok_r(NULL, " \t", &saved);
    int64_t t_ns = WL_NO_NS;
    if (!value)
        wl_dcgm_malformed(r, "%s: value is missing", head);
    else if (stamp && *stamp != '#' && !read_stamp(stamp, &t_ns))
        wl_dcgm_malformed(r, "%s: \"%s\" is not a time in ms since 1970", head, stamp);
    else if (field)
        return wl_dcgm_add(r, field, &labels, key, value, t_ns, e);
    else
        r->out->ignored++;
    return 0;
}

/* ---- dcgmi dmon ---- */

/* The entity in a row, after a time that another program may have prepended; NULL: not a row. */
static char *entity(char *line)
{
    static const char *const kinds[] = { "GPU", "GPU-I", "GPU-CI", "vGPU", "Switch", "CPU", "Link" };
    for (char *p = line; *p; p += strspn(p, " \t")) {
        size_t n = strcspn(p, " \t");
        for (size_t k = 0; k < WL_COUNT(kinds); k++)
            if (strlen(kinds[k]) == n && strncmp(p, kinds[k], n) == 0 && isdigit((unsigned char)*skip_blanks(p + n)))
                return p;
        p += n;
    }
    return NULL;
}

/* "#Entity   POWER   TOTEC" (older ones "# Entity") */
static bool read_header(struct wl_dcgm_reader *r, const char *line, struct columns *c)
{
    const char *at = strstr(line, "Entity "), *hash = at;
    char *saved, *word;
    while (hash && hash > line && strchr(" #", hash[-1])) hash--;
    if (!at || !memchr(hash, '#', (size_t)(at - hash))) return false;
    if (wl_str_eq(c->head, at)) return true;
    size_t cap = 0;
    *c = (struct columns) { .uuid = -1, .head = wl_strdup(r->a, at) };
    for (word = strtok_r(wl_strdup(r->a, at + strlen("Entity")), " \t", &saved); word;
         word = strtok_r(NULL, " \t", &saved)) {
        if (wl_str_eq(word, "UUID#")) c->uuid = (int)c->n;
        WL_GROW(r->a, c->field, c->n, cap);
        c->field[c->n++] = wl_dcgm_field_of_column(word);
    }
    return true;
}

/* The second line of a header: "ID   W   mJ". */
static bool is_units(char *line)
{
    char *saved, *last = NULL;
    for (char *word = strtok_r(line, " \t", &saved); word; word = strtok_r(NULL, " \t", &saved)) {
        last = word;
        if (wl_str_eq(word, "ID") || wl_str_eq(word, "Id")) return true;
    }
    return !last;
}

static int read_row(struct wl_dcgm_reader *r, char *line, char *at, const struct columns *c, struct wl_err *e)
{
    struct wl_dcgm_labels labels = { 0 };
    struct wl_strs values = { 0 };
    int64_t t_ns = WL_NO_NS;
    char *saved, *kind = strtok_r(at, " \t", &saved), *word;
    const char *before = wl_str_strip(r->scratch, wl_strndup(r->scratch, line, (size_t)(at - line)));
    labels.gpu = strtok_r(NULL, " \t", &saved);
    while ((word = strtok_r(NULL, " \t", &saved))) wl_strs_add(r->scratch, &values, word);
    if (values.n != c->n) {
        wl_dcgm_malformed(r, "%zu values under %zu columns", values.n, c->n);
        return 0;
    }
    if (*before && !wl_clock_parse(before, &t_ns)) {
        wl_dcgm_malformed(r, "\"%s\" before the row: expected %s", before, TIMES);
        return 0;
    }
    if (!wl_str_eq(kind, "GPU")) { /* instances and switches */
        r->out->ignored += c->n;
        return 0;
    }
    if (c->uuid >= 0) labels.uuid = values.v[c->uuid];
    for (size_t i = 0; i < c->n; i++) {
        int rc = c->field[i] ? wl_dcgm_add(r, c->field[i], &labels, labels.gpu, values.v[i], t_ns, e) : 0;
        if (rc < 0) return rc;
        r->out->ignored += !c->field[i];
    }
    return 0;
}

/* ---- lines ---- */

/* A comment; a time in it is that of the lines below, as written by a loop of `date` and `curl`. */
static void read_comment(struct wl_dcgm_reader *r, const char *line)
{
    int64_t t_ns;
    if (wl_clock_parse(wl_str_strip(r->scratch, line + 1), &t_ns)) r->now_ns = t_ns;
}

static int read_line(struct wl_dcgm_reader *r, char *line, struct columns *c, struct wl_err *e)
{
    int64_t t_ns;
    char *at;
    if (read_header(r, line, c)) return 0;
    if (*line == '#') {
        read_comment(r, line);
        return 0;
    }
    if (wl_clock_parse(line, &t_ns)) {
        r->now_ns = t_ns;
        return 0;
    }
    if (wl_str_starts(line, "DCGM_")) return read_metric(r, line, e);
    if (c->n && (at = entity(line))) return read_row(r, line, at, c, e);
    if (c->n && is_units(wl_strdup(r->scratch, line))) return 0;
    if (c->n && strstr(line, "dmon was stopped")) return 0;
    if (isalpha((unsigned char)*line) && strpbrk(line, "{ ") && !c->n) { /* other metrics */
        r->out->ignored++;
        return 0;
    }
    wl_dcgm_malformed(r, "not a metric and not a row of dcgmi dmon: \"%.40s\"", line);
    return 0;
}

static void free_line(void *line) { free(*(char **)line); }

/* A last line without its newline may be truncated inside a number. */
static int read_whole_line(struct wl_dcgm_reader *r, char *line, size_t n, struct columns *c, struct wl_err *e)
{
    bool whole = line[n - 1] == '\n';
    line[strcspn(line, "\r\n")] = '\0';
    char *text = skip_blanks(line);
    if (!*text) return 0;
    if (whole) return read_line(r, text, c, e);
    wl_dcgm_malformed(r, "last line without newline: may be truncated");
    return 0;
}

int wl_dcgm_read_text(struct wl_dcgm_reader *r, FILE *f, struct wl_err *e)
{
    enum { LINES_A_SCRATCH = 1024 };
    struct columns columns = { .uuid = -1 };
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    int rc = 0;
    struct wl_arena *own = wl_arena_new(r->a), *outer = r->scratch;
    wl_defer(own, free_line, &line);
    r->scratch = wl_arena_new(own);
    for (; rc == 0 && (n = getline(&line, &cap, f)) > 0; r->line++) {
        rc = read_whole_line(r, line, (size_t)n, &columns, e);
        if (r->line % LINES_A_SCRATCH) continue;
        wl_arena_free(r->scratch);
        r->scratch = wl_arena_new(own);
    }
    r->scratch = outer;
    wl_arena_free(own);
    return rc;
}
