/* Reading DCGM data: shared by the three formats. */
#ifndef WL_EXCHANGE_DCGM_INTERNAL_H
#define WL_EXCHANGE_DCGM_INTERNAL_H

#include "exchange/dcgm/dcgm.h"

/* A quantity by its names: in the Prometheus text of dcgm-exporter (DCGM's own until 4, and from 5 on) and in the
 * header of `dcgmi dmon`. Source: dcgm_fields.h and dcgm_fields.cpp of github.com/NVIDIA/DCGM. */
struct wl_dcgm_field {
    const char *name, *newer, *column;
    const char *quantity, *unit, *variant; /* as those of src/power */
    double scale;                          /* from DCGM's unit to ours */
    bool counter, pct;
    bool per_instance; /* each MIG instance has its own value, which is not the GPU's */
};

/* NULL: not one of those that are read. */
const struct wl_dcgm_field *wl_dcgm_field_named(const char *metric);
const struct wl_dcgm_field *wl_dcgm_field_of_column(const char *column);

/* What a line says about its GPU; NULL: nothing. */
struct wl_dcgm_labels {
    const char *uuid, *host, *model, *driver, *gpu, *instance;
};

/* State of reading a file. */
struct wl_dcgm_reader {
    const struct wl_dcgm_opts *opts;
    struct wl_dcgm *out;
    const char *path;
    int line;
    int64_t now_ns; /* of the lines that follow; WL_NO_NS: unknown */
    int64_t scrape; /* number of scrapes so far, for files without times */
    size_t known;   /* readings of fields that are read */
    struct wl_arena *a;
    struct wl_arena *scratch; /* of some lines */
};

/* Adds a reading. `key` identifies a line in a scrape; own_ns: the line's own time, WL_NO_NS: none. Unusable values are
 * counted with their reason; WL_EINVAL if the time is unknown. */
int wl_dcgm_add(struct wl_dcgm_reader *r, const struct wl_dcgm_field *field, const struct wl_dcgm_labels *labels,
                const char *key, const char *value, int64_t own_ns, struct wl_err *e) WL_MUST_CHECK;

/* Counts an invalid line; the messages of the first ones ("FILE:12: ...") are kept for the user. */
void wl_dcgm_malformed(struct wl_dcgm_reader *r, const char *fmt, ...) WL_PRINTF(2, 3);

int wl_dcgm_read_text(struct wl_dcgm_reader *r, FILE *f, struct wl_err *e) WL_MUST_CHECK;
int wl_dcgm_read_json(struct wl_dcgm_reader *r, const char *text, struct wl_err *e) WL_MUST_CHECK;

#endif
