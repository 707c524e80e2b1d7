/* Rows of tables of results as runs of a store. */
#include "exchange/import/import.h"

int wl_table_add(struct wl_import *im, const struct wl_table_row *row, struct wl_err *e)
{
    return wl_fail(e, WL_EUNAVAIL, "%s: %s: tables of results cannot be imported yet", im->in->path, row->part);
}
