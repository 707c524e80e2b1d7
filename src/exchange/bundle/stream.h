/* Open streams for minizip, which would open paths by itself. */
#ifndef WL_EXCHANGE_BUNDLE_STREAM_H
#define WL_EXCHANGE_BUNDLE_STREAM_H

#include <minizip/ioapi.h>
#include <stdio.h>

/* Functions by which minizip reads or writes `f`, and leaves it open. */
void wl_bundle_stream(zlib_filefunc64_def *functions, FILE *f);

#endif
