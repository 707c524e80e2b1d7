/* Files that other users may have written or replaced. docs/adr/094 */
#ifndef WL_CAP_SAFE_FILE_H
#define WL_CAP_SAFE_FILE_H

#include "base/base.h"

#include <sys/types.h>

struct stat;

/* Opens a regular file with one hard link that only its owner can write to, without following a link or blocking. `st`:
 * of the opened file. WL_EINVAL: it is something else. */
int wl_safe_file_open(const char *path, int flags, struct stat *st, struct wl_err *e);

/* Writes such a file in a folder of this user; file and folder are synced to disk before this returns. */
int wl_safe_file_write(const char *path, const char *text, struct wl_err *e);

/* Its text and its owner. */
int wl_safe_file_read(const char *path, size_t max, char **text, uid_t *owner, struct wl_arena *a, struct wl_err *e);

/* Removes a file of this owner, safe against replacement meanwhile, and truncates it for those who have it open. */
int wl_safe_file_remove(const char *path, uid_t owner, struct wl_err *e);

/* Is it printable ASCII only? And the same text with '?' for all other bytes, for terminals. */
bool wl_is_printable_ascii(const char *s);
char *wl_printable_ascii(const char *s, struct wl_arena *a);

#endif
