/* Starts nothing. */
#include "campaign/internal.h"

/* A run of zero length: what remains is the cost of the harness. */
static int null_run(struct wl_store *s, int64_t run, const struct wl_run_opts *opts, struct wl_run_result *out,
                    struct wl_arena *a, struct wl_err *e)
{
    struct wl_run_begin begin = { .command = wl_shell_quote(a, opts->argv),
                                  .version = WL_VERSION,
                                  .at = wl_anchor_now() };
    int rc = wl_store_run_begin(s, run, &begin, e);
    if (rc < 0) return rc;
    *out = (struct wl_run_result) { .status = WL_RUN_DONE, .derived.actual = wl_settings_none };
    out->derived.actual.hardware = "none";
    out->start_ns = out->end_ns = begin.at.mono_ns;
    struct wl_run_end end = wl_run_end_none;
    end.exit_status = 0;
    end.at = begin.at;
    end.flag = "launcher null: nothing was run";
    return wl_store_run_end(s, run, &end, &out->derived, e);
}

const struct wl_launcher wl_launcher_null = { .name = "null",
                                              .help = "starts nothing, to test an experiment file",
                                              .run = null_run };
