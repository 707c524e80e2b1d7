/* The files of the page, which the build puts into the program (tools/embed-files). */
#ifndef WL_SERVE_ASSETS_H
#define WL_SERVE_ASSETS_H

#include <stddef.h>

struct wl_asset {
    const char *name; /* "serve.js" */
    const char *type; /* Content-Type */
    const unsigned char *bytes;
    size_t n;
    const char *etag; /* with its quotes: a hash of the content */
};
extern const struct wl_asset wl_serve_assets[]; /* ends with a NULL name */

#endif
