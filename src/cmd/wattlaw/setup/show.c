/* A plan for people. */
#include "cmd/wattlaw/setup/setup.h"

#include <string.h>

static const char *word_of(const struct wl_setup_item *item)
{
    switch (wl_setup_action(item)) {
    case WL_SETUP_KEEP: break;
    case WL_SETUP_CREATE: return item->type == WL_SETUP_LINK ? "link" : "create";
    case WL_SETUP_REPLACE: return "replace";
    case WL_SETUP_REFUSE: return "REFUSE";
    }
    return "keep";
}

static void show_commands(const struct wl_setup_commands *c, struct wl_arena *a)
{
    for (size_t i = 0; i < c->n; i++) {
        const char *why = c->v[i].why_not;
        wl_print("  %-8s %s%s%s%s\n", why ? "skip" : "run", wl_setup_command_line(&c->v[i], a), why ? "    (" : "",
                 why ? why : "", why ? ")" : "");
    }
}

static void show_text(const char *text)
{
    for (const char *s = text; *s;) {
        int n = (int)strcspn(s, "\n");
        wl_print("        | %.*s\n", n, s);
        s += n + (s[n] == '\n');
    }
}

static void show_item(const struct wl_setup_item *item, const struct wl_setup_plan *p)
{
    bool folder = item->type == WL_SETUP_FOLDER;
    if (folder && item->state == WL_SETUP_SAME) return;
    if (item->type == WL_SETUP_LINK)
        wl_print("  %-8s %s%s\n%17s-> %s\n", word_of(item), p->root, item->path, "", item->text);
    else
        wl_print("  %-8s %04o  %s%s\n", word_of(item), item->mode, p->root, item->path);
    if (!folder) wl_print("%17s%s%s\n", "", item->why, wl_str_eq(item->packaged, item->path) ? ": the package's" : "");
    if (item->packaged && !wl_str_eq(item->packaged, item->path))
        wl_print("%17sin place of %s%s, which is different\n", "", p->root, item->packaged);
    if (p->dry_run && wl_setup_is_made(item) && item->type == WL_SETUP_FILE) show_text(item->text);
}

static void show_setup(const struct wl_setup_plan *p, struct wl_arena *a)
{
    wl_print("wattlaw setup --system, in %s, as owner root:\n", *p->root ? p->root : "/");
    for (size_t i = 0; i < p->items.n; i++) show_item(&p->items.v[i], p);
    show_commands(&p->after, a);
    wl_print(
        "Members of the group %s can then read the energy counters of CPUs, and set power caps within the rules of\n"
        "/etc/wattlaw/caps.conf. To undo: wattlaw setup --system --remove\n",
        p->group);
}

static void show_removal(const struct wl_setup_plan *p, struct wl_arena *a)
{
    const struct wl_setup_record *r = &p->record;
    wl_print("wattlaw setup --system --remove, in %s:\n", *p->root ? p->root : "/");
    show_commands(&p->before, a);
    for (size_t i = r->n; i-- > 0;)
        wl_print("  remove   %s%s%s\n", p->root, r->v[i].path,
                 r->v[i].type == WL_SETUP_FOLDER ? "    if empty"
                 : r->v[i].type == WL_SETUP_FILE ? "    if unchanged"
                                                 : "");
    wl_print("  remove   %s%s\n", p->root, WL_SETUP_RECORD);
    for (size_t i = 0; i < p->items.n; i++)
        if (p->items.v[i].packaged) wl_print("  keep     %s%s    a package's\n", p->root, p->items.v[i].packaged);
    if (*p->root) return;
    wl_print("  close    /sys/class/powercap/*/energy_uj that group %s reads\n", p->group);
    show_commands(&p->after, a);
    if (p->group_stays) wl_print("  keep     group %s: %s\n", p->group, p->group_stays);
}

void wl_setup_show(const struct wl_setup_plan *p, struct wl_arena *a)
{
    if (p->removes)
        show_removal(p, a);
    else
        show_setup(p, a);
}
