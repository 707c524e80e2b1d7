/* What is written during a run: devices, channels, readings, marks, log lines. */
#ifndef WL_STORE_FACTS_H
#define WL_STORE_FACTS_H

#include "store/open.h"
#include "store/records.h"

/* The device (host, uuid) or channel (run, device, quantity, scope, variant), made when missing. */
int wl_store_add_device(struct wl_store *s, const struct wl_device_row *device, int64_t *id,
                        struct wl_err *e) WL_MUST_CHECK;
int wl_store_add_channel(struct wl_store *s, const struct wl_channel_row *channel, int64_t *id,
                         struct wl_err *e) WL_MUST_CHECK;

/* Adds readings in one transaction (or the open one). Fastest when sorted by channel, then time. A second reading
 * of the same channel and instant is dropped. */
int wl_store_add_samples(struct wl_store *s, const struct wl_sample_row *v, size_t n, struct wl_err *e) WL_MUST_CHECK;

/* The spool: readings of a running run that are not stored yet, in the file PATH-spool-RUN (docs/adr/054). What was
 * added survives the end of this process, however it ends: the next writer that opens the store stores it. */

/* Makes the file of a run that has begun: 1, or 0 if this store has none (on a network file system). */
int wl_store_spool_open(struct wl_store *s, int64_t run, struct wl_err *e) WL_MUST_CHECK;
int wl_store_spool_add(struct wl_store *s, const struct wl_sample_row *v, size_t n, struct wl_err *e) WL_MUST_CHECK;

/* After wl_store_add_samples has committed all that was added: empties the file, or removes it. */
void wl_store_spool_restart(struct wl_store *s);
void wl_store_spool_close(struct wl_store *s);

int wl_store_add_marks(struct wl_store *s, int64_t run, const struct wl_mark_row *v, size_t n,
                       struct wl_err *e) WL_MUST_CHECK;

/* run 0: about the campaign as a whole. */
int wl_store_add_log(struct wl_store *s, int64_t run, const char *level, const char *area, const char *message,
                     struct wl_err *e) WL_MUST_CHECK;

#endif
