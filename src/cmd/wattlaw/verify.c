/* wattlaw verify: is a bundle what its checksums say? */
#include "cmd/cmd.h"
#include "exchange/exchange.h"

struct verify_options {
    bool json;
};

static const struct wl_opt verify_rows[] = {
    { .name = "json",
      .type = WL_FLAG,
      .offset = offsetof(struct verify_options, json),
      .help = "print the result as JSON (docs/reference/exporting.md)" },
    WL_OPT_END,
};

static void print_json(const char *path, const struct wl_bundle_check *c, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_str(root, "bundle", path);
    wl_json_add_bool(root, "sound", c->problems.n == 0);
    wl_json_add_str(root, "name", c->name);
    wl_json_add_str(root, "published", c->published);
    wl_json_add_int(root, "files", (int64_t)c->files);
    wl_json_add_number(root, "bytes", c->bytes);
    struct wl_json *problems = wl_json_add_array(root, "problems");
    for (size_t i = 0; i < c->problems.n; i++) wl_json_add_str(problems, NULL, c->problems.v[i]);
    wl_json_print(root);
}

static void print_text(const char *path, const struct wl_bundle_check *c, struct wl_arena *a)
{
    if (c->problems.n)
        wl_print("%s: NOT what its checksums say\n", path);
    else
        wl_print("%s: sound: %zu files, %s, each as its SHA-256 says\n", path, c->files, wl_human_bytes(a, c->bytes));
    if (c->name) wl_print("  name       %s\n", c->name);
    if (c->published) wl_print("  published  %s\n", c->published);
    for (size_t i = 0; i < c->problems.n; i++) wl_print("  problem    %s\n", c->problems.v[i]);
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct verify_options *o = options;
    struct wl_bundle_check c;
    if (rest->args.n != 1)
        return wl_fail(e, WL_EUSAGE, "expected one BUNDLE, a file that export --format bundle wrote");
    int rc = wl_bundle_verify(rest->args.v[0], &c, a, e);
    if (rc) return rc;
    (o->json ? print_json : print_text)(rest->args.v[0], &c, a);
    return c.problems.n ? WL_EXIT_FAILED : WL_EXIT_OK;
}

const struct wl_cmd wl_cmd_verify = {
    .name = "verify",
    .usage = "[options] BUNDLE",
    .help = "check every file of a bundle against its checksum",
    .more = "BUNDLE is a file that `wattlaw export --format bundle` wrote. Nothing is extracted. The exit status is 1 "
            "if a file\n"
            "was changed, added or removed, or if the archive holds what no bundle holds.\n"
            "\n"
            "    wattlaw verify lab1.zip",
    .options = verify_rows,
    .options_size = sizeof(struct verify_options),
    .run = run,
};
