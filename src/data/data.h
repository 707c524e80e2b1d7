/* Data sets of the reference workloads, the data loader, and generators of small synthetic data in the real formats.
 * docs/formats.md has the formats. */
#ifndef WL_DATA_DATA_H
#define WL_DATA_DATA_H

#include "data/dataset.h"
#include "data/era5/era5.h"
#include "data/images/images.h"
#include "data/images/synth.h"
#include "data/loader/loader.h"
#include "data/molecules/qm9.h"
#include "data/text/corpus.h"
#include "data/text/mlm.h"
#include "data/text/synth.h"
#include "data/text/token_file.h"
#include "data/text/vocab.h"

#endif
