/* The rows of the table of formats, each defined by its reader. */
#ifndef WL_EXCHANGE_IMPORT_FORMATS_H
#define WL_EXCHANGE_IMPORT_FORMATS_H

#include "exchange/import/format.h"

/* series/ */
extern const struct wl_import_format wl_import_nvidia_smi;

/* tables/ */

#endif
