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

/* What setup does with an item. */
enum wl_setup_action { WL_SETUP_KEEP, WL_SETUP_CREATE, WL_SETUP_REPLACE, WL_SETUP_REFUSE };

struct wl_setup_item {
    enum wl_setup_type type;
    const char *path; /* from the root on: "/etc/wattlaw" */
    unsigned mode;    /* of files and folders; owner and group are root */
    const char *text; /* content of a file, target of a link */
    const char *why;
    bool is_editable;     /* a file that administrators change */
    const char *packaged; /* the file of a package that is used, or that this one takes precedence over; NULL: none */
    enum wl_setup_state state;
    bool open_to_others; /* a folder that is there, where other users can make and replace files */
    bool done;           /* created or replaced by this call */
};
struct wl_setup_items {
    struct wl_setup_item *v;
    size_t n, cap;
};

struct wl_setup_names {
    const char *group, *program; /* path of wattlaw in the system */
    const char *root;            /* "" for the running system */
};

bool wl_setup_is_group_name(const char *name);

/* The items in the order in which they are made. */
void wl_setup_list(const struct wl_setup_names *names, struct wl_setup_items *out, struct wl_arena *a);

/* By its state: files that administrators edit are kept whatever they say, and a link that others have made is as good.
 */
enum wl_setup_action wl_setup_action(const struct wl_setup_item *item);
bool wl_setup_is_made(const struct wl_setup_item *item); /* created or replaced */

/* ---- the record of what was made ---- */

#define WL_SETUP_RECORD "/etc/wattlaw/setup.json"

struct wl_setup_made {
    enum wl_setup_type type;
    const char *path, *target; /* target: of a link */
    uint32_t crc;              /* of a file's content */
    int64_t size;
    bool missing;     /* it was removed by others */
    bool done;        /* removed by this call */
    const char *left; /* why it stays; NULL: it does not */
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

/* The text of a file; NULL: it is not there. A link is an error. */
int wl_setup_read_text(const char *root, const char *path, char **text, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* Writes it anew, as a whole or not at all, in a folder that is there. */
int wl_setup_replace_text(const char *root, const char *path, const char *text, struct wl_err *e) WL_MUST_CHECK;
int wl_setup_remove_text(const char *root, const char *path, struct wl_err *e) WL_MUST_CHECK;

/* Removes what was made, unless others have changed it or use it; fills in missing, done and left. A dry run does not
 * remove, and does not know whether a folder will be empty. */
int wl_setup_remove(const char *root, struct wl_setup_made *made, bool dry_run, struct wl_err *e);

/* Energy counters that this group reads become root's alone again. How many. */
size_t wl_setup_close_counters(const char *root, gid_t group, struct wl_arena *a);

/* ---- commands of the running system ---- */

struct wl_setup_command {
    const char *argv[5];
    bool of_init;        /* needs a running systemd */
    const char *why_not; /* why it is not run; NULL: it is */
    bool done;           /* has run, and worked */
    const char *failure; /* what it or the system said; NULL: none */
};
struct wl_setup_commands {
    struct wl_setup_command *v;
    size_t n, cap;
};

/* ---- a call ---- */

/* What a call does, and what it has done. */
struct wl_setup_plan {
    const char *root, *group;
    bool removes, dry_run;
    struct wl_setup_items items;            /* that are made; of a removal: for the files of packages, which stay */
    struct wl_setup_record record;          /* of earlier setups: what a removal takes back */
    bool record_done;                       /* it is removed */
    struct wl_setup_commands before, after; /* the files are changed; none in an image */
    const char *group_stays;                /* why a removal leaves the group; NULL: it does not */
    size_t closed;                          /* energy counters that the group cannot read any more */
};

/* Fills in the commands for the running system, which are those of the system's folders, whatever PATH says. */
void wl_setup_plan_commands(struct wl_setup_plan *p, struct wl_arena *a);
bool wl_setup_adds_group(const struct wl_setup_plan *p);
char *wl_setup_command_line(const struct wl_setup_command *c, struct wl_arena *a);

/* Runs those that can be run, also after one that fails, which is reported on stderr. False: one has failed. */
bool wl_setup_commands_run(struct wl_setup_commands *c, struct wl_arena *a);

/* The plan for people; before anything is done. */
void wl_setup_show(const struct wl_setup_plan *p, struct wl_arena *a);

/* The plan for programs: what would be done, or has been done. docs/formats.md */
void wl_setup_print_json(const struct wl_setup_plan *p, struct wl_arena *a);

#endif
