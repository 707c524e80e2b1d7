/* Names of our own for what is not finished yet: files and folders that are renamed when they are, and removed by the
 * next run when their writer was killed. docs/adr/017
 *
 * Of PATH's last component NAME: .NAME.wattlaw-RRRRRRRRRRRRRRRRCCCCCCCC beside it, where R is random, so that nobody
 * can put something there first, and C the CRC-32C of host, NAME and R. A name without a matching C is not ours, or is
 * of another machine, whose processes cannot be seen: it is left alone. The writer holds a lock, which the kernel drops
 * with it. */
#ifndef WL_BASE_SCRATCH_H
#define WL_BASE_SCRATCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { WL_SCRATCH_PATH = 4096 };

/* Makes an empty file (O_EXCL, `mode` less the umask) to become `path`, and locks it. Returns its descriptor, open for
 * reading and writing; `name` is its path. */
int wl_scratch_file(char name[WL_SCRATCH_PATH], const char *path, unsigned mode, struct wl_err *e) WL_MUST_CHECK;

struct wl_scratch_folder {
    char path[WL_SCRATCH_PATH];
    char inner[WL_SCRATCH_PATH]; /* path/NAME: not made */
    int lock;
};

/* Makes a folder in which a file or folder may be made that becomes `path`. */
int wl_scratch_folder(struct wl_scratch_folder *f, const char *path, struct wl_err *e) WL_MUST_CHECK;

/* Removes the folder with all that is left in it, and releases the lock. */
void wl_scratch_folder_remove(struct wl_scratch_folder *f);

/* Removes the files and folders of dead writers from a folder: those with a name of ours, of this user, that nobody
 * holds. Returns how many. */
int wl_scratch_clean(const char *folder);

bool wl_scratch_is_name(const char *name); /* of a file, without folders */

#endif
