/* Temporary files and folders, which are renamed when complete, and removed by the next run if their writer was killed.
 * docs/adr/017
 *
 * For a target named NAME: .NAME.wattlaw-RRRRRRRRRRRRRRRRCCCCCCCC next to it, where R is random, so that nobody can
 * create it first, and C is the CRC-32C of host, NAME and R. A name without a matching C is not ours, or is of another
 * machine, whose processes are not visible: it is left alone. The writer holds a lock, which the kernel releases when
 * the writer ends. */
#ifndef WL_BASE_TEMPFILE_H
#define WL_BASE_TEMPFILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { WL_TEMPFILE_PATH = 4096 };

/* Creates (O_EXCL, `mode` less the umask) and locks an empty temporary file for target `path`. Returns its descriptor,
 * open for reading and writing; `name` is its path. */
int wl_tempfile(char name[WL_TEMPFILE_PATH], const char *path, unsigned mode, struct wl_err *e) WL_MUST_CHECK;

struct wl_tempdir {
    char path[WL_TEMPFILE_PATH];
    char inner[WL_TEMPFILE_PATH]; /* path/NAME, not created */
    int lock;
};

/* Creates a folder in which a file or folder for target `path` can be created. */
int wl_tempdir(struct wl_tempdir *f, const char *path, struct wl_err *e) WL_MUST_CHECK;

/* Removes the folder with its content, and releases the lock. */
void wl_tempdir_remove(struct wl_tempdir *f);

/* Removes temporary files and folders of dead writers from a folder: those named as above, of this user, that are not
 * locked. Returns how many. */
int wl_tempfile_clean(const char *folder);

bool wl_tempfile_is_name(const char *name); /* of a file, without folders */

/* Has it the form of such a name, which another host may have made? */
bool wl_tempfile_is_name_of_any_host(const char *name);

#endif
