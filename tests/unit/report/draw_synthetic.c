/* Draws reports of made-up numbers into a folder, to be looked at: draw_synthetic DIR. */
#include "made_store.h"
#include "synthetic.h"

#include <stdio.h>

static int write_all(const struct wl_document *d, const char *dir, struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs formats = wl_split(a, "html,svg,pdf,csv,md,tex", ',');
    struct wl_written written;
    return wl_document_write(d, dir, &formats, NULL, &written, a, e);
}

static int report_of(const struct made *m, const char *dir, struct wl_arena *a, struct wl_err *e)
{
    char *path = wl_path_join(a, dir, WL_STORE_FILE);
    struct wl_report_options options = { .drop_epochs = 1 };
    struct wl_document *d;
    struct wl_store *store;
    int rc = made_store(path, m, a, e);
    if (rc == 0) rc = wl_store_open(&store, path, WL_STORE_READ, a, e);
    if (rc == 0) rc = wl_report_build(&d, store, &options, a, e);
    return rc ? rc : write_all(d, dir, a, e);
}

int main(int argc, char **argv)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    int rc = argc == 2 ? 0 : wl_fail(&e, WL_EUSAGE, "usage: draw_synthetic DIR");
    if (rc == 0) rc = write_all(synthetic_document(a), wl_path_join(a, argv[1], "synthetic"), a, &e);
    if (rc == 0) rc = report_of(&made_small, wl_path_join(a, argv[1], "small"), a, &e);
    if (rc == 0) rc = report_of(&made_large, wl_path_join(a, argv[1], "large"), a, &e);
    if (rc == 0) rc = report_of(&made_capped, wl_path_join(a, argv[1], "capped"), a, &e);
    if (rc) fprintf(stderr, "%s\n", e.msg);
    wl_arena_free(a);
    return rc != 0;
}
