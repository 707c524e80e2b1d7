/* Names of our own for what is not finished yet: files and folders that are renamed when they are, and removed by the
 * next run when their writer was killed. docs/adr/017
 *
 * Of PATH's last component NAME: .NAME.wattlaw-RRRRRRRRRRRRRRRRCCCCCCCC beside it, where R is random, so that nobody
 * can put something there first, and C the CRC-32C of host, NAME and R. A name without a matching C is not ours, or is
 * of another machine, whose processes cannot be seen: it is left alone. The writer holds a lock, which the kernel drops
 * with it. */
#ifndef WL_BASE_TEMPFILE_H
#define WL_BASE_TEMPFILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { WL_TEMPFILE_PATH = 4096 };

/* Makes an empty file (O_EXCL, `mode` less the umask) to become `path`, and locks it. Returns its descriptor, open for
 * reading and writing; `name` is its path. */
int wl_tempfile(char name[WL_TEMPFILE_PATH], const char *path, unsigned mode, struct wl_err *e) WL_MUST_CHECK;

struct wl_tempdir {
    char path[WL_TEMPFILE_PATH];
    char inner[WL_TEMPFILE_PATH]; /* path/NAME: not made */
    int lock;
};

/* Makes a folder in which a file or folder may be made that becomes `path`. */
int wl_tempdir(struct wl_tempdir *f, const char *path, struct wl_err *e) WL_MUST_CHECK;

/* Removes the folder with all that is left in it, and releases the lock. */
void wl_tempdir_remove(struct wl_tempdir *f);

/* Removes the files and folders of dead writers from a folder: those with a name of ours, of this user, that nobody
 * holds. Returns how many. */
int wl_tempfile_clean(const char *folder);

bool wl_tempfile_is_name(const char *name); /* of a file, without folders */

#endif
