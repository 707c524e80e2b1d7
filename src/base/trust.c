#include "base/trust.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool wl_is_open_to_others(const struct stat *st)
{
    return st->st_mode & (S_IWGRP | S_IWOTH) && !(S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX);
}

bool wl_is_others_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && st.st_uid != 0 && st.st_uid != geteuid();
}

bool wl_is_planted_link(const char *path)
{
    char folder[PATH_MAX] = ".";
    struct stat parent;
    if (!wl_is_others_link(path)) return false;
    const char *slash = strrchr(path, '/');
    const size_t n = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
    if (n >= sizeof folder) return true;
    if (n) memcpy(folder, path, n), folder[n] = '\0';
    return stat(folder, &parent) || parent.st_mode & S_IWOTH;
}

static bool each_part_is_ours(const char *path)
{
    char part[PATH_MAX];
    for (size_t n = 1; n < sizeof part; n++) {
        struct stat st;
        if (path[n] && path[n] != '/') continue;
        memcpy(part, path, n);
        part[n] = '\0';
        if (lstat(part, &st) || (st.st_uid != 0 && st.st_uid != geteuid())) return false;
        if (!S_ISLNK(st.st_mode) && wl_is_open_to_others(&st)) return false;
        if (!path[n]) break;
    }
    struct stat root;
    return stat("/", &root) == 0 && (root.st_uid == 0 || root.st_uid == geteuid()) && !wl_is_open_to_others(&root);
}

bool wl_path_is_ours(const char *path)
{
    char real[PATH_MAX];
    return path[0] == '/' && strlen(path) < PATH_MAX && realpath(path, real) && each_part_is_ours(path) &&
           each_part_is_ours(real);
}
