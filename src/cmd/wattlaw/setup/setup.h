/* What `wattlaw setup --system` puts into a system, and how it finds it again. */
#ifndef WL_CMD_WATTLAW_SETUP_SETUP_H
#define WL_CMD_WATTLAW_SETUP_SETUP_H

#include "base/base.h"

#include <sys/types.h>

/* ---- the list ---- */

enum wl_setup_type { WL_SETUP_FOLDER, WL_SETUP_FILE, WL_SETUP_LINK };

/* What is at the path of an item. */
enum wl_setup_state {
    WL_SETUP_MISSING,
    WL_SETUP_SAME,    /* as it should be */
    WL_SETUP_OLD,     /* made by an earlier setup, and unchanged since */
    WL_SETUP_FOREIGN, /* something else, or changed by others */
};

struct wl_setup_item {
    enum wl_setup_type type;
    const char *path; /* from the root on: "/etc/wattlaw" */
    unsigned mode;    /* of files and folders; owner and group are root */
    const char *text; /* content of a file, target of a link */
    const char *why;
    bool is_editable;     /* a file that administrators change */
    const char *packaged; /* the file of a package that is used, or that this one takes precedence over; NULL: none */
    enum wl_setup_state state;
};
struct wl_setup_items {
    struct wl_setup_item *v;
    size_t n, cap;
};

struct wl_setup_names {
    const char *group, *program; /* path of wattlaw in the system */
    const char *root;            /* "" for the running system */
};

/* The items in the order in which they are made. */
void wl_setup_list(const struct wl_setup_names *names, struct wl_setup_items *out, struct wl_arena *a);

/* ---- the record of what was made ---- */

#define WL_SETUP_RECORD "/etc/wattlaw/setup.json"

struct wl_setup_made {
    enum wl_setup_type type;
    const char *path, *target; /* target: of a link */
    uint32_t crc;              /* of a file's content */
    int64_t size;
};
struct wl_setup_record {
    const char *group; /* NULL: there is no record */
    bool made_group;
    struct wl_setup_made *v;
    size_t n, cap;
};

int wl_setup_record_read(const char *root, struct wl_setup_record *out, struct wl_arena *a, struct wl_err *e);
int wl_setup_record_parse(const char *path, const char *text, struct wl_setup_record *out, struct wl_arena *a,
                          struct wl_err *e);
int wl_setup_record_write(const char *root, const struct wl_setup_record *r, struct wl_err *e);
int wl_setup_record_remove(const char *root, struct wl_err *e);
void wl_setup_record_add(struct wl_setup_record *r, const struct wl_setup_item *item, struct wl_arena *a);

/* ---- in the tree below a root; no link on the path is followed ---- */

/* Fills in the state of each item. */
int wl_setup_inspect(const char *root, struct wl_setup_items *items, const struct wl_setup_record *r, struct wl_err *e);

/* Makes an item that is missing, or replaces one of an earlier setup. */
int wl_setup_make(const char *root, const struct wl_setup_item *item, struct wl_err *e);

/* Removes what was made. *left: why it stays, because others have changed it or use it; NULL: it is gone. */
int wl_setup_remove(const char *root, const struct wl_setup_made *made, const char **left, struct wl_err *e);

/* Energy counters that this group reads become root's alone again. How many. */
size_t wl_setup_close_counters(const char *root, gid_t group, struct wl_arena *a);

#endif
