#ifndef WL_REPORT_RANK_READINGS_H
#define WL_REPORT_RANK_READINGS_H

#include "law/law.h"
#include "store/read.h"

/* Adds to the readings how long ranks computed, after the warm-up of in->drop_epochs, and sets the rank of each GPU's.
 */
int wl_report_add_rank_readings(struct wl_store *s, struct wl_units_input *in, struct wl_arena *a,
                                struct wl_err *e) WL_MUST_CHECK;

#endif
