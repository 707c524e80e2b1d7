/* Who can replace a file. */
#ifndef WL_BASE_TRUST_H
#define WL_BASE_TRUST_H

#include <stdbool.h>

struct stat;

/* Can users other than its owner write to it? In a sticky folder they cannot replace the files of others. */
bool wl_is_open_to_others(const struct stat *st);

/* Is it a symbolic link that another user, not root, has put into a folder where anybody may? Source:
 * protected_symlinks of proc(5), which looks at sticky folders alone. */
bool wl_is_planted_link(const char *path);

/* Is it a symbolic link of another user, not root, in any folder? It leads where that user wants. */
bool wl_is_others_link(const char *path);

/* Can only this user and root replace the file or folder, or one on the path to it? */
bool wl_path_is_ours(const char *path);

#endif
