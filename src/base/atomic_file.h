/* Files replaced atomically: written to a temporary file next to the target (tempfile.h), synced and renamed over it,
 * so that the target always has the old content or the new one. docs/adr/017 */
#ifndef WL_BASE_ATOMIC_FILE_H
#define WL_BASE_ATOMIC_FILE_H

#include "base/tempfile.h"

#include <stdio.h>

enum wl_atomic_file_kind {
    WL_ATOMIC_FILE_INTERNAL,      /* a name that we chose: refused unless it is a regular file or does not exist */
    WL_ATOMIC_FILE_INTERNAL_MANY, /* the same, for many files: the caller calls wl_tempfile_clean once for the folder */
    WL_ATOMIC_FILE_USER, /* a name that the user gave: a device, a pipe, /dev/stdout and /dev/fd/N are written to as
                        they are */
};

/* A symbolic link to a file is refused in both cases, as nobody named its target. The new file keeps the permissions of
 * the old one. */
struct wl_atomic_file {
    int fd;
    FILE *stream; /* NULL until wl_atomic_file_stream */
    const char *path;
    char temporary[WL_TEMPFILE_PATH]; /* "": the target is written to directly */
    unsigned mode;                    /* of the replaced file; 0: there was none */
};

/* `path` must live as long as the atomic file. */
int wl_atomic_file_open(struct wl_atomic_file *o, const char *path, enum wl_atomic_file_kind kind,
                        struct wl_err *e) WL_MUST_CHECK;
int wl_atomic_file_write(struct wl_atomic_file *o, const void *data, size_t n, struct wl_err *e) WL_MUST_CHECK;
FILE *wl_atomic_file_stream(struct wl_atomic_file *o); /* NULL, errno: no memory */

/* Renames the file to the target and closes it; on failure the target is unchanged. */
int wl_atomic_file_commit(struct wl_atomic_file *o, struct wl_err *e) WL_MUST_CHECK;

/* Leaves the target unchanged. For wl_defer: does nothing after a commit or a failed open. */
void wl_atomic_file_discard(void *atomic_file);

/* All of it at once. */
int wl_file_write(const char *path, const char *data, size_t n, struct wl_err *e) WL_MUST_CHECK;
int wl_file_write_user(const char *path, const char *data, size_t n, struct wl_err *e) WL_MUST_CHECK;

#endif
