/* The journal: what a holder has set, on disk. docs/adr/090 */
#ifndef WL_CAP_JOURNAL_H
#define WL_CAP_JOURNAL_H

#include "cap/cap.h"
#include "cap/holder.h"

#define WL_JOURNAL_SUFFIX ".caps"

struct wl_journal_entry {
    const char *setter, *device;
    enum wl_cap_kind kind;
    double found, set; /* NAN found: was not locked */
    bool set_pending;  /* of this process, not on disk: the call that sets it has not returned */
};

struct wl_journal {
    const char *path;
    uid_t owner;  /* of the file that was read */
    bool trusted; /* `opts` and `power` are ours: commands, library and tree may be used */
    struct wl_holder holder;
    struct wl_cap_opts opts; /* for opening the setters again */
    struct wl_power_opts power;
    struct wl_journal_entry *v;
    size_t n;
};

/* Readable for all; file and folder are synced to disk before this returns. */
int wl_journal_write(const struct wl_journal *j, struct wl_err *e);

/* Text and owner come from the same descriptor. */
int wl_journal_read(const char *path, struct wl_journal *out, struct wl_arena *a, struct wl_err *e);

/* The file's text, and its parser. WL_EINVAL names the path and what is wrong. */
char *wl_journal_text(const struct wl_journal *j, struct wl_arena *a);
int wl_journal_parse(const char *path, const char *text, struct wl_journal *out, struct wl_arena *a, struct wl_err *e);
int wl_journal_remove(const struct wl_journal *j, struct wl_err *e);
char *wl_journal_path(const char *folder, const struct wl_holder *h, struct wl_arena *a);

#endif
