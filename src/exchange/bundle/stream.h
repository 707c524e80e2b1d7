/* Open streams for minizip, which would open paths by itself. */
#ifndef WL_EXCHANGE_BUNDLE_STREAM_H
#define WL_EXCHANGE_BUNDLE_STREAM_H

#include <minizip/ioapi.h>
#include <stdint.h>
#include <stdio.h>

/* Functions by which minizip reads or writes `f`, and leaves it open. */
void wl_bundle_stream(zlib_filefunc64_def *functions, FILE *f);

/* The same for reading a file as if it ended after `bytes`. `cut` outlives the functions. */
struct wl_bundle_cut {
    FILE *f;
    uint64_t bytes;
};
void wl_bundle_stream_cut(zlib_filefunc64_def *functions, struct wl_bundle_cut *cut);

#endif
