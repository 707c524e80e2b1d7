/* Data sets of the reference workloads, which feeds bring into the training step's buffers, and generators that write
 * small data in the real formats. A header a kind of data; docs/formats.md has the formats. */
#ifndef WL_DATA_DATA_H
#define WL_DATA_DATA_H

#include "data/era5.h"
#include "data/feed.h"
#include "data/images.h"
#include "data/qm9.h"
#include "data/text.h"

#endif
