/* Metrics as text, for what scrapes them: OpenMetrics 1.0 (prometheus.io/docs/specs/om/open_metrics_spec) or
 * Prometheus' text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats). They differ in the names that
 * the lines of a counter have, in the lines # UNIT and # EOF, and in the media type.
 *
 *     struct wl_metrics m;
 *     wl_metrics_open(&m, &text, WL_METRICS_OPENMETRICS, a);
 *     wl_metrics_begin(&m, &(struct wl_metrics_family) { "power_watts", "watts", "Power of a device.", WL_METRICS_GAUGE
 * }); wl_metrics_label(&m, "device", "GPU-5f0a"); wl_metrics_sample(&m, 250); wl_metrics_close(&m);
 *
 * Every name begins with "wattlaw_" and ends with its base unit (prometheus.io/docs/practices/naming). What is missing
 * has no sample. */
#ifndef WL_BASE_OPENMETRICS_H
#define WL_BASE_OPENMETRICS_H

#include "base/str.h"

enum wl_metrics_format { WL_METRICS_OPENMETRICS, WL_METRICS_TEXT };
enum wl_metrics_type { WL_METRICS_GAUGE, WL_METRICS_COUNTER };

struct wl_metrics_family {
    const char *name; /* without "wattlaw_" and, of a counter, without "_total" */
    const char *unit; /* the end of the name; NULL: none */
    const char *help; /* a sentence of one line */
    enum wl_metrics_type type;
};

struct wl_metrics {
    struct wl_text *to;
    enum wl_metrics_format format;
    struct wl_arena *a;
    const struct wl_metrics_family *family;
    /* private: of the next sample, which ends it */
    struct wl_arena *sample;
    struct wl_text labels;
    struct wl_strs names;
};

/* Appends to a text. */
void wl_metrics_open(struct wl_metrics *m, struct wl_text *to, enum wl_metrics_format format, struct wl_arena *a);

/* The lines before the samples of a family, which outlives them. Families have different names. */
void wl_metrics_begin(struct wl_metrics *m, const struct wl_metrics_family *f);

/* A label of the next sample. Its name becomes one of Prometheus, with a number where the sample has that name already.
 * A value that is NULL or "" is left out; one that is not UTF-8 is made so. */
void wl_metrics_label(struct wl_metrics *m, const char *name, const char *value);

/* A sample with the labels since the last one; none if the value is not finite. */
void wl_metrics_sample(struct wl_metrics *m, double value);

void wl_metrics_close(struct wl_metrics *m); /* nothing may follow */

/* Which format an HTTP client gets that sends this header Accept (RFC 9110, 12.5.1; NULL: none): OpenMetrics where it
 * prefers that, else the old one, which every client reads. */
enum wl_metrics_format wl_metrics_accepted(const char *accept);

/* The value of Content-Type. */
const char *wl_metrics_media_type(enum wl_metrics_format format);

#endif
