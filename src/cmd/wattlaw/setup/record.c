/* The record of what a setup has made: JSON in /etc/wattlaw/setup.json, written before anything is made. */
#include "cmd/wattlaw/setup/setup.h"

#include <string.h>

enum { FORMAT = 1, ENTRIES_MAX = 100 };

static const char *const type_names[] = {
    [WL_SETUP_FOLDER] = "folder", [WL_SETUP_FILE] = "file", [WL_SETUP_LINK] = "link"
};

static bool has(const struct wl_setup_record *r, const char *path, size_t *at)
{
    for (*at = 0; *at < r->n; ++*at)
        if (wl_str_eq(r->v[*at].path, path)) return true;
    return false;
}

void wl_setup_record_add(struct wl_setup_record *r, const struct wl_setup_item *item, struct wl_arena *a)
{
    size_t at;
    if (!has(r, item->path, &at)) {
        WL_GROW(a, r->v, r->n, r->cap);
        r->n++;
    }
    r->v[at] = (struct wl_setup_made) { .type = item->type, .path = item->path };
    if (item->type == WL_SETUP_LINK) r->v[at].target = item->text;
    if (item->type != WL_SETUP_FILE) return;
    r->v[at].size = (int64_t)strlen(item->text);
    r->v[at].crc = wl_crc32c(0, item->text, strlen(item->text));
}

/* ---- reading ---- */

static int read_entry(const struct wl_json *o, const char *path, struct wl_setup_made *out, struct wl_err *e)
{
    const char *type = wl_json_str(wl_json_get(o, "type"));
    *out = (struct wl_setup_made) { .path = wl_json_str(wl_json_get(o, "path")),
                                    .target = wl_json_str(wl_json_get(o, "target")),
                                    .crc = (uint32_t)wl_json_int(wl_json_get(o, "crc32c"), 0),
                                    .size = wl_json_int(wl_json_get(o, "size"), -1) };
    const bool below = out->path && (wl_str_eq(out->path, "/etc") || wl_str_starts(out->path, "/etc/"));
    const bool ok = below && !strstr(out->path, "..");
    for (size_t i = 0; i < WL_COUNT(type_names); i++)
        if (type && wl_str_eq(type, type_names[i])) {
            out->type = i;
            if (ok && (i != WL_SETUP_LINK || out->target)) return 0;
        }
    return wl_fail(e, WL_EINVAL, "%s: expected type, a path below /etc, and the target of a link", path);
}

int wl_setup_record_parse(const char *path, const char *text, struct wl_setup_record *out, struct wl_arena *a,
                          struct wl_err *e)
{
    struct wl_json *root;
    *out = (struct wl_setup_record) { 0 };
    int rc = wl_json_parse(text, path, &root, a, e);
    if (rc < 0) return rc;
    const struct wl_json *made = wl_json_get(root, "made");
    out->group = wl_json_str(wl_json_get(root, "group"));
    out->made_group = wl_json_bool(wl_json_get(root, "made_group"), false);
    out->n = out->cap = wl_json_size(made);
    if (wl_json_int(wl_json_get(root, "wattlaw_setup"), -1) != FORMAT || !out->group || out->n > ENTRIES_MAX)
        return wl_fail(e, WL_EINVAL, "%s: not the record of a setup, format %d", path, FORMAT);
    if (!wl_setup_is_group_name(out->group))
        return wl_fail(e, WL_EINVAL, "%s: group \"%s\" is not the name of a group", path, out->group);
    out->v = wl_new_array(a, struct wl_setup_made, out->n);
    for (size_t i = 0; i < out->n && rc == 0; i++) rc = read_entry(wl_json_at(made, i), path, &out->v[i], e);
    return rc;
}

int wl_setup_record_read(const char *root, struct wl_setup_record *out, struct wl_arena *a, struct wl_err *e)
{
    char *text;
    *out = (struct wl_setup_record) { 0 };
    int rc = wl_setup_read_text(root, WL_SETUP_RECORD, &text, a, e);
    if (rc < 0 || !text) return rc;
    return wl_setup_record_parse(wl_strf(a, "%s%s", root, WL_SETUP_RECORD), text, out, a, e);
}

/* ---- writing ---- */

static char *text_of(const struct wl_setup_record *r, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_int(root, "wattlaw_setup", FORMAT);
    wl_json_add_str(root, "group", r->group);
    wl_json_add_bool(root, "made_group", r->made_group);
    struct wl_json *made = wl_json_add_array(root, "made");
    for (size_t i = 0; i < r->n; i++) {
        struct wl_json *o = wl_json_add_object(made, NULL);
        wl_json_add_str(o, "type", type_names[r->v[i].type]);
        wl_json_add_str(o, "path", r->v[i].path);
        if (r->v[i].type == WL_SETUP_LINK) wl_json_add_str(o, "target", r->v[i].target);
        if (r->v[i].type != WL_SETUP_FILE) continue;
        wl_json_add_int(o, "size", r->v[i].size);
        wl_json_add_int(o, "crc32c", r->v[i].crc);
    }
    return wl_strf(a, "%s\n", wl_json_text(root, 1, a));
}

int wl_setup_record_write(const char *root, const struct wl_setup_record *r, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    int rc = wl_setup_replace_text(root, WL_SETUP_RECORD, text_of(r, a), e);
    wl_arena_free(a);
    return rc;
}

int wl_setup_record_remove(const char *root, struct wl_err *e)
{
    return wl_setup_remove_text(root, WL_SETUP_RECORD, e);
}
