/* Journals: what a process sets and what it found, on disk before anything is set. One JSON file per holder, in the
 * folder of its user. */
#include "cap/journal.h"

#include "base/trust.h"
#include "cap/control.h"
#include "cap/safe_file.h"
#include "cap/state_dir.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FORMAT = 1, JOURNAL_MAX = 1 << 18, MAX_CAPS = 2048 };

char *wl_journal_path(const char *folder, const struct wl_holder *h, struct wl_arena *a)
{
    return wl_strf(a, "%s/%s-%lld-%lld" WL_JOURNAL_SUFFIX, folder, h->host, (long long)h->pid, (long long)h->started);
}

/* ---- writing ---- */

static struct wl_json *journal_json(const struct wl_journal *j, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_int(root, "wattlaw_caps", FORMAT);
    wl_holder_write(&j->holder, wl_json_add_object(root, "holder"));
    struct wl_json *o = wl_json_add_object(root, "options");
    wl_json_add_str(o, "command", j->opts.command);
    wl_json_add_str(o, "restore", j->opts.restore);
    wl_json_add_str(o, "clock_command", j->opts.clock_command);
    wl_json_add_str(o, "clock_restore", j->opts.clock_restore);
    wl_json_add_real(o, "wait_s", wl_cap_wait_s(&j->opts));
    wl_json_add_str(o, "nvml_library", j->power.nvml_library ? j->power.nvml_library : getenv("NVML_LIBRARY"));
    wl_json_add_str(o, "root", j->power.root);
    if (j->opts.client) {
        o = wl_json_add_object(root, "client");
        wl_json_add_int(o, "pid", j->opts.client->pid);
        wl_json_add_int(o, "user", j->opts.client->user);
    }
    struct wl_json *caps = wl_json_add_array(root, "caps");
    for (size_t i = 0; i < j->n; i++) {
        o = wl_json_add_object(caps, NULL);
        wl_json_add_str(o, "kind", wl_cap_kind_name(j->v[i].kind));
        wl_json_add_str(o, "setter", j->v[i].setter);
        wl_json_add_str(o, "device", j->v[i].device);
        wl_json_add_real(o, "found", j->v[i].found);
        wl_json_add_real(o, "set", j->v[i].set);
    }
    return root;
}

char *wl_journal_text(const struct wl_journal *j, struct wl_arena *a)
{
    return wl_strf(a, "%s\n", wl_json_text(journal_json(j, a), 1, a));
}

int wl_journal_write(const struct wl_journal *j, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *text = wl_journal_text(j, a);
    int rc = wl_safe_file_write(j->path, text, e);
    wl_arena_free(a);
    return rc;
}

/* The file is truncated too: a guard that has it open can distinguish this from a removal by somebody else. */
int wl_journal_remove(const struct wl_journal *j, struct wl_err *e)
{
    struct wl_err why;
    int rc = wl_safe_file_remove(j->path, j->owner, &why);
    return rc < 0 && rc != WL_ENOENT ? wl_fail(e, rc, "%s", why.msg) : 0;
}

/* ---- reading ---- */

static int kind_from(const char *name)
{
    for (int k = 0; k < WL_CAP_KINDS; k++)
        if (wl_str_eq(wl_cap_kind_name(k), name)) return k;
    return -1;
}

static const char *text_of(const struct wl_json *o, const char *key) { return wl_json_str(wl_json_get(o, key)); }

/* One whose setter leaves it to another process to restore is in that process's journal. */
static bool sets(const char *setter)
{
    const struct wl_setter_ops *ops = wl_setter_find(setter);
    return ops && ops->set;
}

static int read_entry(const struct wl_json *o, const char *path, struct wl_journal_entry *out, struct wl_err *e)
{
    int kind = kind_from(text_of(o, "kind"));
    *out = (struct wl_journal_entry) { .setter = text_of(o, "setter"),
                                       .device = text_of(o, "device"),
                                       .kind = kind < 0 ? 0 : (enum wl_cap_kind)kind,
                                       .found = wl_json_real(wl_json_get(o, "found")),
                                       .set = wl_json_real(wl_json_get(o, "set")) };
    if (kind < 0 || !out->device || !wl_is_printable_ascii(out->device) || !out->setter || !sets(out->setter))
        return wl_fail(e, WL_EINVAL, "%s: a cap has no known kind, setter or device", path);
    /* found is NAN if a clock was not locked; a power limit always has a value */
    bool found = out->found > 0 || (isnan(out->found) && !wl_cap_is_power(out->kind));
    if (found && out->set > 0 && isfinite(out->set)) return 0;
    return wl_fail(e, WL_EINVAL, "%s: %s of %s: expected the value found and the value set, both above 0", path,
                   wl_cap_kind_name(out->kind), out->device);
}

/* For whom the cap service has set them; NULL: for its holder. */
static const struct wl_cap_client *read_client(const struct wl_json *o, struct wl_arena *a)
{
    if (!o) return NULL;
    struct wl_cap_client *c = wl_new(a, struct wl_cap_client);
    c->pid = wl_json_int(wl_json_get(o, "pid"), -1);
    c->user = wl_json_int(wl_json_get(o, "user"), -1);
    return c;
}

static int by_device(const void *x, const void *y)
{
    const struct wl_journal_entry *const *p = x, *const *q = y;
    int order = strcmp((*p)->device, (*q)->device);
    return order ? order : (int)(*p)->kind - (int)(*q)->kind;
}

/* Rejects duplicates: a process sets each limit of a device once, and each entry costs calls to the driver. */
static int check_twice(const struct wl_journal *j, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_journal_entry **v = wl_new_array(a, const struct wl_journal_entry *, j->n);
    for (size_t i = 0; i < j->n; i++) v[i] = &j->v[i];
    if (j->n > 1) qsort(v, j->n, sizeof *v, by_device);
    for (size_t i = 1; i < j->n; i++)
        if (by_device(&v[i - 1], &v[i]) == 0)
            return wl_fail(e, WL_EINVAL, "%s: %s of %s occurs twice", j->path, wl_cap_kind_name(v[i]->kind),
                           v[i]->device);
    return 0;
}

int wl_journal_parse(const char *path, const char *text, struct wl_journal *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_json *root;
    *out = (struct wl_journal) { .path = wl_strdup(a, path) };
    int rc = wl_json_parse(text, path, &root, a, e);
    if (rc < 0) return rc;
    if (wl_json_int(wl_json_get(root, "wattlaw_caps"), -1) != FORMAT)
        return wl_fail(e, WL_EINVAL, "%s: not a cap journal of format %d", path, FORMAT);
    rc = wl_holder_read(wl_json_get(root, "holder"), path, &out->holder, e);
    if (rc < 0) return rc;
    const struct wl_json *o = wl_json_get(root, "options");
    double wait_s = wl_json_real(wl_json_get(o, "wait_s"));
    out->opts = (struct wl_cap_opts) { .setter = "auto",
                                       .command = text_of(o, "command"),
                                       .restore = text_of(o, "restore"),
                                       .clock_command = text_of(o, "clock_command"),
                                       .clock_restore = text_of(o, "clock_restore"),
                                       .wait_s = wait_s > 0 && wait_s <= WL_CAP_WAIT_MAX_S ? wait_s : 0 };
    out->power = (struct wl_power_opts) { .nvml_library = text_of(o, "nvml_library"),
                                          .root = text_of(o, "root") ? text_of(o, "root") : "" };
    out->opts.client = read_client(wl_json_get(root, "client"), a);
    const struct wl_json *caps = wl_json_get(root, "caps");
    out->n = wl_json_size(caps);
    if (out->n > MAX_CAPS) return wl_fail(e, WL_EINVAL, "%s: %zu caps, expected at most %d", path, out->n, MAX_CAPS);
    out->v = wl_new_array(a, struct wl_journal_entry, out->n);
    for (size_t i = 0; i < out->n && rc == 0; i++) rc = read_entry(wl_json_at(caps, i), path, &out->v[i], e);
    return rc < 0 ? rc : check_twice(out, a, e);
}

int wl_journal_read(const char *path, struct wl_journal *out, struct wl_arena *a, struct wl_err *e)
{
    char *text;
    uid_t owner;
    int rc = wl_safe_file_read(path, JOURNAL_MAX, &text, &owner, a, e);
    if (rc == 0) rc = wl_journal_parse(wl_printable_ascii(path, a), text, out, a, e);
    out->path = wl_strdup(a, path);
    out->owner = owner;
    out->trusted = rc == 0 && owner == geteuid() && (owner != 0 || wl_path_is_ours(path));
    return rc;
}
