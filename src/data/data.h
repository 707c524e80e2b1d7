/* Data sets of the reference workloads, which feeds bring into the training step's buffers, and generators that write
 * small data in the real formats. A header a kind of data; docs/formats.md has the formats. */
#ifndef WL_DATA_DATA_H
#define WL_DATA_DATA_H

#include "data/era5/era5.h"
#include "data/images/images.h"
#include "data/loader/loader.h"
#include "data/molecules/qm9.h"
#include "data/text/text.h"

#endif
