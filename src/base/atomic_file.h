/* Files that are written whole: into a file beside the target (scratch.h), synced and renamed over it, so that there is
 * always the old content or the new one. docs/adr/017 */
#ifndef WL_BASE_ATOMIC_FILE_H
#define WL_BASE_ATOMIC_FILE_H

#include "base/tempfile.h"

#include <stdio.h>

enum wl_atomic_file_kind {
    WL_ATOMIC_FILE_INTERNAL,      /* a name that we chose: a regular file or nothing yet, else it is refused */
    WL_ATOMIC_FILE_INTERNAL_MANY, /* the same, of very many: the caller calls wl_tempfile_clean once for their folder */
    WL_ATOMIC_FILE_USER, /* a name that the user gave: a device, a pipe, /dev/stdout and /dev/fd/N are written to as
                        they are */
};

/* A symbolic link to a file is refused in both cases: what it leads to was named by nobody. A file that is replaced
 * passes on its permissions. */
struct wl_atomic_file {
    int fd;
    FILE *stream; /* NULL until wl_atomic_file_stream */
    const char *path;
    char temporary[WL_TEMPFILE_PATH]; /* "" where the target is written to as it is */
    unsigned mode;                    /* of the file that is replaced; 0: there was none */
};

/* `path` must live as long as the atomic file. */
int wl_atomic_file_open(struct wl_atomic_file *o, const char *path, enum wl_atomic_file_kind kind,
                        struct wl_err *e) WL_MUST_CHECK;
int wl_atomic_file_write(struct wl_atomic_file *o, const void *data, size_t n, struct wl_err *e) WL_MUST_CHECK;
FILE *wl_atomic_file_stream(struct wl_atomic_file *o); /* NULL, errno: no memory */

/* Puts it in place; closes it, also when that fails. Then the target is as it was. */
int wl_atomic_file_commit(struct wl_atomic_file *o, struct wl_err *e) WL_MUST_CHECK;

/* Leaves the target as it was. For wl_defer: does nothing after a commit, or where the opening failed. */
void wl_atomic_file_discard(void *atomic_file);

/* All of it at once. */
int wl_file_write(const char *path, const char *data, size_t n, struct wl_err *e) WL_MUST_CHECK;
int wl_file_write_user(const char *path, const char *data, size_t n, struct wl_err *e) WL_MUST_CHECK;

#endif
