/* The file between runs. */
#include "nn/choices/internal.h"

#include <string.h>
#include <unistd.h>

enum { MAX_BYTES = 16 << 20 }; /* some hundred bytes a shape */

int wl_choices_load(struct wl_choices *c, const char *path, struct wl_err *e)
{
    if (access(path, F_OK)) return 0;
    if (!wl_is_file(path) && !wl_is_dir(path))
        return wl_fail(e, WL_EINVAL, "%s: expected a file, but this is a pipe or a device", path);
    struct wl_arena *once = wl_arena_new(c->arena);
    char *text;
    size_t n;
    int rc = wl_file_read(path, MAX_BYTES, &text, &n, once, e);
    if (!rc && strlen(text) != n) rc = wl_fail(e, WL_EINVAL, "%s: not a text file", path);
    if (!rc) rc = wl_choices_parse(c, text, path, e);
    wl_arena_free(once);
    return rc;
}

int wl_choices_save(struct wl_choices *c, const char *path, struct wl_err *e)
{
    struct wl_arena *once = wl_arena_new(c->arena);
    struct wl_choices *all = wl_choices_new(once);
    for (size_t i = 0; i < c->n; i++) wl_choices_append(all, &c->v[i]);
    const int unread = wl_choices_load(all, path, NULL);
    (void)unread; /* what is not one of ours is replaced */
    const char *text = wl_choices_text(all, once);
    int rc = wl_mkdirs(wl_path_dir(once, path), e);
    if (!rc) rc = wl_file_write(path, text, strlen(text), e);
    if (!rc) c->added = 0;
    wl_arena_free(once);
    return rc;
}
