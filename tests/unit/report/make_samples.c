/* Writes samples to look at: make_samples DIR makes DIR/synthetic (a page of made-up figures in all
 * formats) and the stores DIR/small, DIR/large, DIR/capped, DIR/failures, DIR/empty, DIR/hand and DIR/measured. */
#include "known_answer_store.h"
#include "synthetic.h"
#include "synthetic_store.h"

#include <stdio.h>

static int write_page(const char *dir, struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs formats = wl_str_split(a, "html,svg,pdf,csv,md,tex", ',');
    struct wl_document_files written;
    return wl_document_write(synthetic_document(a), dir, &formats, NULL, &written, a, e);
}

static int write_store(const char *dir, const char *name, const struct made *m, struct wl_arena *a, struct wl_err *e)
{
    char *folder = wl_path_join(a, dir, name);
    return synthetic_store(wl_path_join(a, folder, WL_STORE_FILE), m, a, e);
}

static int write_hand(const char *dir, const char *name, bool estimated, struct wl_arena *a, struct wl_err *e)
{
    const struct hand h = { .runs = known_answer_runs, .n = KNOWN_ANSWER_RUNS, .estimated = estimated };
    return known_answer_store(wl_path_join(a, wl_path_join(a, dir, name), WL_STORE_FILE), &h, a, e);
}

int main(int argc, char **argv)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct made failures = synthetic_small, empty = synthetic_small;
    failures.only_failures = empty.no_runs = true;
    int rc = argc == 2 ? 0 : wl_fail(&e, WL_EUSAGE, "usage: make_samples DIR");
    if (rc == 0) rc = write_page(wl_path_join(a, argv[1], "synthetic"), a, &e);
    if (rc == 0) rc = write_store(argv[1], "small", &synthetic_small, a, &e);
    if (rc == 0) rc = write_store(argv[1], "large", &synthetic_large, a, &e);
    if (rc == 0) rc = write_store(argv[1], "capped", &synthetic_capped, a, &e);
    if (rc == 0) rc = write_store(argv[1], "failures", &failures, a, &e);
    if (rc == 0) rc = write_store(argv[1], "empty", &empty, a, &e);
    if (rc == 0) rc = write_hand(argv[1], "hand", true, a, &e);
    if (rc == 0) rc = write_hand(argv[1], "measured", false, a, &e);
    if (rc) fprintf(stderr, "%s\n", e.msg);
    wl_arena_free(a);
    return rc != 0;
}
