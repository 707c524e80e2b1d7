/* A temporary folder for each test, and a small campaign in a store. */
#ifndef WL_TESTS_STORE_HELPER_H
#define WL_TESTS_STORE_HELPER_H

#include "store/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* What a test works in; made by set_up, removed by tear_down. */
struct fixture {
    struct wl_arena *arena;
    char *dir, *store; /* store: a path in dir that does not exist yet */
    struct wl_err e;
};

int set_up(void **state);
int tear_down(void **state);

/* Succeeds or fails the test with the message. */
#define OK(call)                                               \
    do {                                                       \
        int rc_ = (call);                                      \
        if (rc_) fail_msg("%s: %d: %s", #call, rc_, f->e.msg); \
    } while (0)

/* Fails with this code and a message that holds the text. */
#define FAILS(code_, text, call)                                                          \
    do {                                                                                  \
        f->e = (struct wl_err) { 0 };                                                     \
        int rc_ = (call);                                                                 \
        if (rc_ != (code_)) fail_msg("%s: %d, not %d: %s", #call, rc_, code_, f->e.msg);  \
        if (!strstr(f->e.msg, text)) fail_msg("\"%s\" is not in \"%s\"", text, f->e.msg); \
    } while (0)

struct wl_store *create_store(struct fixture *f);

/* resnet50 with these workers and local batch 16, as a trial of the campaign "test". */
int64_t add_trial(struct fixture *f, struct wl_store *s, double workers);

/* Plans and begins a repeat. */
int64_t begin_run(struct fixture *f, struct wl_store *s, int64_t trial, int64_t repeat);

/* A GPU's power channel of a run. */
int64_t add_channel(struct fixture *f, struct wl_store *s, int64_t run, const char *uuid);

/* Runs `work` in a child, which writes its progress, `size` bytes, to `progress_fd` again and again, and kills it `us`
 * microseconds after its start, or with `begun` after its first report. *progress_seen: the last report; unchanged if
 * there was none. */
void kill_worker(struct fixture *f, void (*work)(struct fixture *f, int progress_fd), bool begun, long us,
                 void *progress_seen, size_t size);

/* Ends a run as done with `epochs` epochs of `time_s` seconds and 100 J on one GPU. */
void end_run(struct fixture *f, struct wl_store *s, int64_t run, int64_t epochs, double time_s);

#endif
