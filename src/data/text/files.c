#include "data/text/files.h"

#include <string.h>
#include <sys/stat.h>

static void add_file(struct wl_text_files *t, const char *path, bool found, const struct stat *st, struct wl_arena *a)
{
    wl_strs_add(a, &t->path, path);
    wl_strs_add(a, &t->in_folder, found ? "found" : "");
    if (S_ISREG(st->st_mode)) t->bytes += (double)st->st_size;
}

static int add_folder(struct wl_text_files *t, const char *dir, struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs names;
    struct stat st;
    int rc = wl_dir_list(dir, &names, a, e);
    for (size_t i = 0; !rc && i < names.n; i++) {
        const char *path = wl_path_join(a, dir, names.v[i]);
        if (names.v[i][0] == '.' || lstat(path, &st)) continue;
        if (S_ISDIR(st.st_mode)) rc = add_folder(t, path, a, e);
        if (S_ISREG(st.st_mode)) add_file(t, path, true, &st, a);
    }
    return rc;
}

int wl_text_files_list(struct wl_text_files *t, const struct wl_strs *names, struct wl_arena *a, struct wl_err *e)
{
    *t = (struct wl_text_files) { 0 };
    for (size_t i = 0; i < names->n; i++) {
        struct stat st;
        size_t before = t->path.n;
        int rc = stat(names->v[i], &st) ? wl_fail_errno(e, "the text %s", names->v[i]) : 0;
        if (!rc && S_ISDIR(st.st_mode))
            rc = add_folder(t, names->v[i], a, e);
        else if (!rc)
            add_file(t, names->v[i], false, &st, a);
        if (!rc && t->path.n == before) rc = wl_fail(e, WL_EINVAL, "%s: the folder has no files", names->v[i]);
        if (rc) return rc;
    }
    return 0;
}

/* ---- WikiText -----------------------------------------------------------------------------------------------------
 */

/* The file of a part in a folder, or NULL. */
static const char *wiki_part(const char *dir, const char *part, struct wl_arena *a)
{
    static const char *const ends[] = { "raw", "tokens" };
    for (size_t i = 0; i < WL_COUNT(ends); i++) {
        const char *path = wl_path_join(a, dir, wl_strf(a, "wiki.%s.%s", part, ends[i]));
        if (wl_is_file(path)) return path;
    }
    return NULL;
}

int wl_text_files_split(const struct wl_corpus_opts *o, struct wl_strs *train, struct wl_strs *val, struct wl_arena *a,
                        struct wl_err *e)
{
    *train = *val = (struct wl_strs) { 0 };
    for (size_t i = 0; i < o->text.n; i++) {
        const char *name = o->text.v[i], *own = wiki_part(name, "train", a), *valid = wiki_part(name, "valid", a);
        wl_strs_add(a, train, own ? own : name);
        if (own && valid && o->val_text.n == 0) wl_strs_add(a, val, valid);
    }
    for (size_t i = 0; i < o->val_text.n; i++) wl_strs_add(a, val, o->val_text.v[i]);
    return train->n ? 0 : wl_fail(e, WL_EINVAL, "no text given; expected files or folders (--text)");
}

/* ---- units ------------------------------------------------------------------------------------------------------ */

static size_t line_length(const char *p, size_t n)
{
    const char *end = memchr(p, '\n', n);
    return end ? (size_t)(end - p) + 1 : n;
}

static bool is_blank(const char *line, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strchr(" \t\r\n", line[i]) || !line[i]) return false;
    return true;
}

size_t wl_text_unit_length(enum wl_text_unit unit, const char *p, size_t n)
{
    if (unit == WL_TEXT_UNIT_FILE) return n;
    size_t length = line_length(p, n);
    while (unit == WL_TEXT_UNIT_PARAGRAPH && length < n) {
        size_t line = line_length(p + length, n - length);
        length += line;
        if (is_blank(p + length - line, line)) break;
    }
    return length;
}
