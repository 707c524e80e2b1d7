/* A plan for programs, with what of it was done. */
#include "cmd/wattlaw/setup/setup.h"

static const char *const types[] = { [WL_SETUP_FOLDER] = "folder", [WL_SETUP_FILE] = "file", [WL_SETUP_LINK] = "link" };
static const char *const actions[] = {
    [WL_SETUP_KEEP] = "keep",
    [WL_SETUP_CREATE] = "create",
    [WL_SETUP_REPLACE] = "replace",
    [WL_SETUP_REFUSE] = "refuse",
};

static void add_item(struct wl_json *list, const struct wl_setup_item *item, struct wl_arena *a)
{
    struct wl_json *o = wl_json_add_object(list, NULL);
    bool is_link = item->type == WL_SETUP_LINK;
    wl_json_add_str(o, "type", types[item->type]);
    wl_json_add_str(o, "path", item->path);
    wl_json_add_str(o, "action", actions[wl_setup_action(item)]);
    wl_json_add_bool(o, "done", item->done);
    wl_json_add_str(o, "why", item->why);
    wl_json_add_str(o, "package_file", item->packaged);
    if (is_link)
        wl_json_add_str(o, "target", item->text);
    else
        wl_json_add_str(o, "mode", wl_strf(a, "%04o", item->mode));
    if (item->type == WL_SETUP_FILE) wl_json_add_str(o, "content", item->text);
}

static void add_made(struct wl_json *list, const struct wl_setup_made *made, bool dry_run)
{
    struct wl_json *o = wl_json_add_object(list, NULL);
    const char *unsure = dry_run && made->type == WL_SETUP_FOLDER ? "if it is empty then" : NULL;
    wl_json_add_str(o, "type", types[made->type]);
    wl_json_add_str(o, "path", made->path);
    wl_json_add_str(o, "action", made->left || made->missing ? "keep" : "remove");
    wl_json_add_bool(o, "done", made->done);
    wl_json_add_str(o, "why", made->missing ? "it is gone" : made->left ? made->left : unsure);
}

static void add_removal(struct wl_json *list, const struct wl_setup_plan *p)
{
    const struct wl_setup_made record = { .type = WL_SETUP_FILE, .path = WL_SETUP_RECORD, .done = p->record_done };
    for (size_t i = p->record.n; i-- > 0;) add_made(list, &p->record.v[i], p->dry_run);
    add_made(list, &record, p->dry_run);
    for (size_t i = 0; i < p->items.n; i++) {
        const struct wl_setup_made kept = { .type = WL_SETUP_FILE,
                                            .path = p->items.v[i].packaged,
                                            .left = "a package's" };
        if (kept.path) add_made(list, &kept, p->dry_run);
    }
}

static void add_commands(struct wl_json *list, const struct wl_setup_commands *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct wl_json *o = wl_json_add_object(list, NULL), *argv = wl_json_add_array(o, "argv");
        for (size_t k = 0; c->v[i].argv[k]; k++) wl_json_add_str(argv, NULL, c->v[i].argv[k]);
        wl_json_add_str(o, "why_not", c->v[i].why_not);
        wl_json_add_bool(o, "done", c->v[i].done);
        wl_json_add_str(o, "failure", c->v[i].failure);
    }
}

void wl_setup_print_json(const struct wl_setup_plan *p, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_str(root, "action", p->removes ? "remove" : "set_up");
    wl_json_add_bool(root, "dry_run", p->dry_run);
    wl_json_add_str(root, "root", *p->root ? p->root : "/");
    wl_json_add_str(root, "group", p->group);
    if (p->removes && !*p->root) wl_json_add_str(root, "group_stays", p->group_stays);
    struct wl_json *list = wl_json_add_array(root, "items");
    if (p->removes)
        add_removal(list, p);
    else
        for (size_t i = 0; i < p->items.n; i++) add_item(list, &p->items.v[i], a);
    struct wl_json *commands = wl_json_add_array(root, "commands");
    add_commands(commands, &p->before);
    add_commands(commands, &p->after);
    if (p->removes && !*p->root) wl_json_add_int(root, "counters_closed", (int64_t)p->closed);
    wl_json_print(root);
}
