#include "base/openmetrics.h"

#include "base/number.h"
#include "base/utf8.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

static void next_sample(struct wl_metrics *m)
{
    wl_arena_free(m->sample);
    m->sample = wl_arena_new(m->a);
    m->labels = WL_TEXT(m->sample);
    m->names = (struct wl_strs) { 0 };
}

void wl_metrics_open(struct wl_metrics *m, struct wl_text *to, enum wl_metrics_format format, struct wl_arena *a)
{
    *m = (struct wl_metrics) { .to = to, .format = format, .a = a };
    next_sample(m);
}

/* OpenMetrics names a family of counters without the "_total" of its samples, the old format with it. */
static const char *suffix(const struct wl_metrics *m, bool of_sample)
{
    const bool counter = m->family->type == WL_METRICS_COUNTER;
    return counter && (of_sample || m->format == WL_METRICS_TEXT) ? "_total" : "";
}

void wl_metrics_begin(struct wl_metrics *m, const struct wl_metrics_family *f)
{
    m->family = f;
    const char *end = suffix(m, false), *type = f->type == WL_METRICS_COUNTER ? "counter" : "gauge";
    wl_text_addf(m->to, "# HELP wattlaw_%s%s %s\n# TYPE wattlaw_%s%s %s\n", f->name, end, f->help, f->name, end, type);
    if (f->unit && m->format == WL_METRICS_OPENMETRICS) wl_text_addf(m->to, "# UNIT wattlaw_%s %s\n", f->name, f->unit);
}

/* A name of Prometheus: letters, digits and "_", no digit first; "__" at its start is reserved. */
static char *label_name(const char *name, struct wl_arena *a)
{
    char *s = wl_strf(a, "%s%s", isalpha((unsigned char)*name) ? "" : "setting_", name);
    for (char *p = s; *p; p++)
        if (!isalnum((unsigned char)*p) || (unsigned char)*p > 127) *p = '_';
    return s;
}

static bool has_name(const struct wl_metrics *m, const char *name)
{
    for (size_t i = 0; i < m->names.n; i++)
        if (strcmp(m->names.v[i], name) == 0) return true;
    return false;
}

void wl_metrics_label(struct wl_metrics *m, const char *name, const char *value)
{
    if (!value || !*value) return;
    struct wl_arena *a = m->sample;
    char *key = label_name(name, a);
    for (int k = 2; has_name(m, key); k++) key = wl_strf(a, "%s_%d", label_name(name, a), k);
    wl_strs_add(a, &m->names, key);
    wl_text_addf(&m->labels, "%s%s=\"", m->labels.n ? "," : "", key);
    for (const char *p = wl_utf8_sanitize(a, value); *p; p++) {
        if (*p == '\\' || *p == '"') wl_text_add(&m->labels, "\\");
        if (*p == '\n')
            wl_text_add(&m->labels, "\\n");
        else
            wl_text_addn(&m->labels, p, 1);
    }
    wl_text_add(&m->labels, "\"");
}

void wl_metrics_sample(struct wl_metrics *m, double value)
{
    char number[WL_NUMBER_MAX];
    const bool labelled = m->labels.n > 0;
    if (isfinite(value))
        wl_text_addf(m->to, "wattlaw_%s%s%s%s%s %s\n", m->family->name, suffix(m, true), labelled ? "{" : "",
                     m->labels.s, labelled ? "}" : "", wl_number_shortest(value, number));
    next_sample(m);
}

void wl_metrics_close(struct wl_metrics *m)
{
    if (m->format == WL_METRICS_OPENMETRICS) wl_text_add(m->to, "# EOF\n");
    wl_arena_free(m->sample);
    m->sample = NULL;
}

/* ---- which format ---- */

/* The weight of the media range that begins at s, up to the comma or the end at `n`: its parameter q, else 1. */
static double weight(const char *s, size_t n)
{
    const char *end = s + n;
    for (const char *p = s; p < end; p++) {
        if (*p != ';') continue;
        do p++;
        while (p < end && (*p == ' ' || *p == '\t'));
        if (end - p < 2 || (*p != 'q' && *p != 'Q') || p[1] != '=') continue;
        char digits[8] = "";
        size_t k = strspn(p + 2, "0123456789.");
        memcpy(digits, p + 2, k < sizeof digits - 1 ? k : sizeof digits - 1);
        double q;
        return wl_str_to_real(digits, &q) == 0 && q <= 1 ? q : 0;
    }
    return 1;
}

static bool is_type(const char *s, size_t n, const char *type)
{
    const size_t length = strlen(type);
    if (n < length || strncasecmp(s, type, length) != 0) return false;
    return n == length || strchr("; \t", s[length]);
}

enum wl_metrics_format wl_metrics_accepted(const char *accept)
{
    double openmetrics = 0, text = 0;
    for (const char *s = accept; s && *s;) {
        s += strspn(s, " \t,");
        const size_t n = strcspn(s, ",");
        const double q = weight(s, n);
        if (is_type(s, n, "application/openmetrics-text")) openmetrics = fmax(openmetrics, q);
        if (is_type(s, n, "text/plain")) text = fmax(text, q);
        s += n;
    }
    return openmetrics > 0 && openmetrics >= text ? WL_METRICS_OPENMETRICS : WL_METRICS_TEXT;
}

const char *wl_metrics_media_type(enum wl_metrics_format format)
{
    return format == WL_METRICS_OPENMETRICS ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                            : "text/plain; version=0.0.4; charset=utf-8";
}
