/* wattlaw serve: stores in a browser. */
#include "cmd/cmd.h"
#include "cmd/wattlaw/control.h"
#include "cmd/wattlaw/http.h"
#include "cmd/wattlaw/serve/internal.h"
#include "store/read.h"

struct serve_options {
    struct wl_http_opts http;
    struct wl_footprint footprint;
    bool allow_control;
};

static const struct wl_opt rows[] = {
    WL_HTTP_OPT_ROWS(struct serve_options, http, "8087"),
    { .name = "allow-control",
      .type = WL_FLAG,
      .offset = offsetof(struct serve_options, allow_control),
      .help = "let those who have the token pause and resume campaigns, cancel runs and retry failed ones; requires "
              "--token-file" },
    WL_FOOTPRINT_OPT_ROWS(struct serve_options, footprint),
    WL_OPT_END,
};

/* ---- what is served ---- */

/* Every store has to be readable now; later it may be removed and made anew. */
static int find_stores(const struct wl_strs *given, struct wl_strs *paths, struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs list = *given;
    int rc = 0;
    if (!given->n) wl_strs_add(a, &list, WL_STORE_FILE);
    if (!given->n && !wl_is_file(WL_STORE_FILE))
        return wl_fail(e, WL_EUSAGE, "expected RESULTS: a .db file or the folder of a campaign (no %s here)",
                       WL_STORE_FILE);
    for (size_t i = 0; i < list.n && rc == 0; i++) {
        struct wl_store *s;
        char *path;
        rc = wl_store_find(list.v[i], &path, a, e);
        if (rc == 0) rc = wl_store_open(&s, path, WL_STORE_READ, a, e);
        if (rc == 0) wl_store_close(s);
        if (rc == 0) wl_strs_add(a, paths, path);
    }
    return rc;
}

/* Carbon and cost that the command line gives have to be right; what it does not give, the experiments may. */
static int check_footprint(const struct wl_footprint *given, struct wl_arena *a, struct wl_err *e)
{
    struct wl_footprint f = *given;
    if (f.carbon_csv)
        return wl_fail(e, WL_EUSAGE,
                       "--carbon-csv: a page that shows progress needs one carbon intensity: give --carbon or "
                       "--country");
    return wl_cmd_footprint_complete(&f, a, e);
}

static int check_control(bool allow, struct wl_serve_options *what, struct wl_arena *a, struct wl_err *e)
{
    if (allow && !what->token)
        return wl_fail(
            e, WL_EUSAGE,
            "--allow-control: others could pause and cancel: give --token-file FILE too, with a token in its "
            "first line (openssl rand -hex 24 > FILE; chmod 600 FILE)");
    what->allow_control = allow;
    what->user = wl_cmd_user(a);
    return 0;
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct serve_options *o = options;
    struct wl_serve_context context = { &o->footprint };
    struct wl_serve_documents documents = wl_serve_documents;
    struct wl_strs paths = { 0 };
    struct wl_signals *signals;
    struct wl_serve_options what = { .paths = &paths, .documents = &documents };
    documents.ctx = &context;
    int rc = wl_http_options(&o->http, &what, a, e);
    if (rc == 0) rc = check_control(o->allow_control, &what, a, e);
    if (rc == 0) rc = check_footprint(&o->footprint, a, e);
    if (rc == 0) rc = find_stores(&rest->args, &paths, a, e);
    if (rc == 0) rc = wl_signals_open(&signals, false, a, e); /* before threads are started */
    return rc < 0 ? rc : wl_http_serve(&what, "", signals, a, e);
}

const struct wl_cmd wl_cmd_serve = {
    .name = "serve",
    .usage = "[options] [RESULTS...]",
    .help = "show results in a browser, live during a campaign",
    .more =
        "RESULTS are .db files or folders of campaigns (default: wattlaw.db, where measure writes). The first line "
        "printed is\n"
        "the address to open; Ctrl-C ends the server. It reads stores and changes nothing, unless --allow-control lets "
        "those who have the\n"
        "token pause, resume, cancel and retry.\n"
        "\n"
        "    wattlaw serve lab1\n"
        "    wattlaw serve lab1 lab2 --port 8080 --country DE --price 0.30\n"
        "    wattlaw serve lab1 --address 0.0.0.0 --token-file token\n"
        "    wattlaw serve lab1 --token-file token --allow-control",
    .options = rows,
    .options_size = sizeof(struct serve_options),
    .run = run,
};
