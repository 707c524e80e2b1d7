/* Files: whole reads, folders, tails. Writing: atomic_file.h. */
#ifndef WL_BASE_FILE_H
#define WL_BASE_FILE_H

#include "base/str.h"

#include <stdio.h>

/* A descriptor of the file, pipe or device, open for reading and closed on exec. A folder is refused: the message says
 * that a file was expected. */
int wl_file_open(const char *path, struct wl_err *e) WL_MUST_CHECK;

/* The same as a stream, which is closed when the arena dies. */
int wl_file_stream(const char *path, FILE **f, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The whole file, terminated by a NUL that is not counted in *n (n may be NULL). Works on /proc and /sys, whose
 * sizes read 0. Larger than `max` bytes is WL_EINVAL. */
int wl_file_read(const char *path, size_t max, char **text, size_t *n, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

/* Maps a file read-only until the arena dies. Anything but a regular file counts as empty: p NULL, n 0. If the file
 * cannot be opened, `what` ("the tokens", or "") precedes the path in the message. */
struct wl_file_mapping {
    const uint8_t *p;
    size_t n;
};
int wl_file_map(const char *path, const char *what, struct wl_file_mapping *out, struct wl_arena *a,
                struct wl_err *e) WL_MUST_CHECK;

/* The last lines of a file, at most `max` bytes, starting at a whole line; "" where it cannot be read. */
char *wl_file_tail(const char *path, size_t max, struct wl_arena *a);

/* mkdir -p. An existing folder is fine. */
int wl_mkdirs(const char *path, struct wl_err *e) WL_MUST_CHECK;

/* The same, and *made is the length of the part of `path` that is the topmost folder of those that this call made, with
 * nothing but folders that it made below; 0: the last one was there. On failure too. wl_rmdirs removes these folders
 * again, from the last one on, up to the first that is not empty or not a folder. */
int wl_mkdirs_made(const char *path, size_t *made, struct wl_err *e) WL_MUST_CHECK;
void wl_rmdirs(const char *path, size_t made);

bool wl_is_file(const char *path);
bool wl_is_dir(const char *path);
char *wl_path_absolute(struct wl_arena *a,
                       const char *path); /* from the current folder; unchanged if that was removed */
char *wl_path_join(struct wl_arena *a, const char *dir, const char *name); /* an absolute name wins */
const char *wl_path_base(const char *path);                                /* after the last slash */
char *wl_path_dir(struct wl_arena *a, const char *path);                   /* "." where there is no slash */

/* The names in a folder, sorted, without . and .. */
int wl_dir_list(const char *path, struct wl_strs *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
