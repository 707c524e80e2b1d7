/* The table of formats, by priority. A new one is a file in series/ or tables/ and a row here. */
#include "exchange/import/formats.h"

const struct wl_import_format *const wl_import_formats[] = {
    &wl_import_nvidia_smi, NULL,
};
