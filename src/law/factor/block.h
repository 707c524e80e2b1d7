/* Parallelism of the levels of a factor with the worker count as a block. */
#ifndef WL_LAW_FACTOR_BLOCK_H
#define WL_LAW_FACTOR_BLOCK_H

#include "law/factor/factor.h"

/* Tests on the means of the cells (level, worker count), over the worker counts that two compared levels share:
 * y = block of the worker count + offset of the level + slope of the level x (ln N - mean) + error. What all levels
 * have in common at a worker count, such as a bend, is in its block. The error is the interaction between levels and
 * worker counts, never the scatter of runs. g->shared_workers: number of blocks. The common slope is not identified
 * here: NAN. Fills g->over_blocks and, where the response is a time, g->scaled_work.
 */
void wl_factor_blocks(struct wl_factor_group *g, enum wl_law_response response, double margin, struct wl_arena *a);

#endif
