/* What readers of formats share: whole lines, texts that stand for "no value", units, times by counting. */
#ifndef WL_EXCHANGE_IMPORT_READER_H
#define WL_EXCHANGE_IMPORT_READER_H

#include "exchange/import/import.h"
#include "exchange/import/times.h"

/* The next line of im->in that can be read: 1, 0 at the end. Empty lines are skipped; one with a NUL byte is rejected,
 * and so is a last line without its end, which may be cut inside a number. */
int wl_import_line(struct wl_import *im, struct wl_slice *line, struct wl_err *e) WL_MUST_CHECK;

/* Reads a table whose first line is its header: `header` gets its fields, `row` those of each line below, of which
 * there are as many (a line with another number, or more than `most` of them, is rejected). The first error ends it. */
typedef int wl_import_fields(void *reader, const struct wl_slice *v, int n, struct wl_err *e);
int wl_import_rows(struct wl_import *im, char separator, int most, wl_import_fields *header, wl_import_fields *row,
                   void *reader, struct wl_err *e) WL_MUST_CHECK;

/* Why the text is not a value: "", "-", "N/A", "nan", "[Not Supported]" ...; NULL: it may be one. Static. */
const char *wl_import_no_value(struct wl_slice text);

/* What a value in this unit is multiplied by to get one in `to`, of the same dimension ("mW" to "W": 1e-3); NAN: it is
 * not. Without a unit: 1. */
double wl_import_unit(struct wl_slice unit, const char *to);

/* The time of a reading of a file without times: --start, and one --period more whenever `first` is true (a device that
 * has been read since the last step). WL_EINVAL where they are not given. */
struct wl_import_ticks {
    int64_t n; /* of steps; 0: none yet */
};
int wl_import_tick(struct wl_import *im, struct wl_import_ticks *t, bool step, int64_t *t_ns,
                   struct wl_err *e) WL_MUST_CHECK;

/* Without the name of the format that brought a device into a store, which exports have: "nvidia-smi:gpu0" is gpu0. */
const char *wl_import_plain_uuid(const char *uuid);

/* At most 60 characters of a slice for a message: "%.*s" takes both. */
#define WL_QUOTE(slice) ((int)((slice).n < 60 ? (slice).n : 60)), (slice).s

#endif
