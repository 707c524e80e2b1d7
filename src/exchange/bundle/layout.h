/* How the parts of an archive lie in it. */
#ifndef WL_EXCHANGE_BUNDLE_LAYOUT_H
#define WL_EXCHANGE_BUNDLE_LAYOUT_H

#include "base/base.h"

struct wl_bundle_archive {
    const char *path;
    int fd;
    uint64_t bytes;
};

/* Of a file in it; `name` and `central` are given. */
struct wl_bundle_place {
    const char *name;
    uint64_t central, central_end; /* its entry in the directory at the end, */
    uint64_t begin, end;           /* and its content, with the entry before that */
    bool described;                /* which more may follow, in a data descriptor */
};

/* WL_EINVAL: both entries of a file say something else, two files overlap, or there are bytes that are of no file. */
int wl_bundle_check_layout(const struct wl_bundle_archive *of, struct wl_bundle_place *v, size_t n,
                           struct wl_err *e) WL_MUST_CHECK;

/* Where the archive's end is that minizip 1.2 does not find, because it looks for it in the last 65,535 bytes: before a
 * comment of nearly as many, up to the 65,535 that a comment may have. 0: there is none. */
uint64_t wl_bundle_end_before_comment(const struct wl_bundle_archive *of);

#endif
