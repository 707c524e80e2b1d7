/* A growing file, line by line, and mark by mark. */
#ifndef WL_MARK_TAIL_H
#define WL_MARK_TAIL_H

#include "mark/parse.h"

/* Follows a growing file. The file need not exist yet; if it shrinks or is replaced, reading restarts at its beginning.
 * Only whole lines are returned. What is not a regular file is WL_EIO. */
struct wl_tail;
struct wl_tail *wl_tail_new(const char *path, struct wl_arena *a);

/* Begins a round: until the next one, calls return what the file holds now, however fast its writer continues. Without
 * rounds, all that they find. */
void wl_tail_round(struct wl_tail *t);

/* The next whole line without its end: 1 with *line, *n set (valid until the next call), 0: none at the moment, WL_EIO.
 * Of a line longer than 64 KiB, the first 64 KiB. `cr_too`: '\r' ends a line like '\n' (progress bars in program
 * output).
 */
int wl_tail_line(struct wl_tail *t, bool cr_too, const char **line, size_t *n, struct wl_err *e) WL_MUST_CHECK;

/* The text after the last newline, when the writer has ended: 1 with the text, 0: none. */
int wl_tail_rest(struct wl_tail *t, const char **line, size_t *n, struct wl_err *e) WL_MUST_CHECK;

int64_t wl_tail_line_number(const struct wl_tail *t); /* of the last returned line, from 1 */

/* ---- marks ---- */

/* Follows a file of marks. */
struct wl_mark_tail;
struct wl_mark_tail *wl_mark_tail_new(const char *path, struct wl_arena *a);
void wl_mark_tail_round(struct wl_mark_tail *t); /* as wl_tail_round */

/* The next mark: 1 with *m, 0: none at the moment, WL_EINVAL: invalid line (call again for the next one); another
 * error: the file cannot be read. */
int wl_mark_tail_next(struct wl_mark_tail *t, struct wl_mark *m, struct wl_err *e) WL_MUST_CHECK;

/* "FILE:LINE" of the last line, valid until the next call. */
const char *wl_mark_tail_where(const struct wl_mark_tail *t);

/* As wl_mark_tail_next, when the workload has ended: a last line without its newline is invalid too. */
int wl_mark_tail_last(struct wl_mark_tail *t, struct wl_mark *m, struct wl_err *e) WL_MUST_CHECK;

#endif
