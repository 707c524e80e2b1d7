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

/* Readings of a running run that wait for their transaction (docs/adr/054). What `add` has taken is in the file
 * PATH-spool-RUN and survives the end of this process, however it ends: the next one that opens the store finds it
 * there, stores it and removes the file. `open` makes it, once the run has begun: 1 it is there, 0 this store has none
 * (on a network file system). `restart`: wl_store_add_samples has committed all that was added. `close`: so it has, and
 * no more will come. */
int wl_store_spool_open(struct wl_store *s, int64_t run, struct wl_err *e) WL_MUST_CHECK;
int wl_store_spool_add(struct wl_store *s, const struct wl_sample_row *v, size_t n, struct wl_err *e) WL_MUST_CHECK;
void wl_store_spool_restart(struct wl_store *s);
void wl_store_spool_close(struct wl_store *s);

int wl_store_add_marks(struct wl_store *s, int64_t run, const struct wl_mark_row *v, size_t n,
                       struct wl_err *e) WL_MUST_CHECK;

/* run 0: about the campaign as a whole. */
int wl_store_add_log(struct wl_store *s, int64_t run, const char *level, const char *area, const char *message,
                     struct wl_err *e) WL_MUST_CHECK;

#endif
