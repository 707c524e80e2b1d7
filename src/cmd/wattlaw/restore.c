/* wattlaw restore: restores caps and clocks that crashed runs left set. */
#include "cap/cap.h"
#include "cmd/cmd.h"

#include <math.h>

struct options {
    struct wl_cap_opts cap;
    struct wl_power_opts power;
    const char *guard;
    bool dry_run, force, json;
};

static const struct wl_opt rows[] = {
    { .name = "state-dir",
      .type = WL_STR,
      .offset = offsetof(struct options, cap.state_dir),
      .unit = "FOLDER",
      .help = "folder of the cap journals (default: $WATTLAW_STATE_DIR, /run/wattlaw, else ~/.local/state/wattlaw)" },
    { .name = "wait",
      .type = WL_DURATION,
      .offset = offsetof(struct options, cap.wait_s),
      .def = "10s",
      .min = 0.01,
      .max = 3600,
      .unit = "s",
      .help = "timeout of a driver call; for the lock of the journals, three times as long" },
    { .name = "nvml-library",
      .type = WL_STR,
      .offset = offsetof(struct options, power.nvml_library),
      .unit = "FILE",
      .help = "path of libnvidia-ml.so.1 for GPUs in the journals of other users, root only (default: found by the "
              "loader)" },
    { .name = "sensor-root",
      .type = WL_STR,
      .offset = offsetof(struct options, power.root),
      .def = "",
      .unit = "FOLDER",
      .help =
          "folder that replaces / in the path /sys, for CPUs in the journals of other users, root only (default: /)" },
    { .name = "dry-run",
      .type = WL_FLAG,
      .offset = offsetof(struct options, dry_run),
      .help = "print what would be restored; change nothing" },
    { .name = "force",
      .type = WL_FLAG,
      .offset = offsetof(struct options, force),
      .help = "restore also over values that others have set since, and where a process of another container may still "
              "run" },
    { .name = "guard",
      .type = WL_STR,
      .offset = offsetof(struct options, guard),
      .unit = "FILE",
      .help = "journal to guard until standard input ends, used by wattlaw itself (default: none)" },
    { .name = "json", .type = WL_FLAG, .offset = offsetof(struct options, json), .help = "print the result as JSON" },
    WL_OPT_END,
};

static const char *value_text(double v, enum wl_cap_kind kind, const char *missing, struct wl_arena *a)
{
    return isnan(v) ? missing : wl_strf(a, "%.6g %s", v, wl_cap_kind_unit(kind));
}

static void print_row(const struct wl_restore_result *l, bool dry_run, struct wl_arena *a)
{
    const char *found = value_text(l->found, l->kind, "no lock", a), *set = value_text(l->set, l->kind, "-", a);
    if (l->state == WL_RESTORE_BAD_JOURNAL) {
        wl_print("%s; left unchanged\n", l->why);
        return;
    }
    wl_print("%s %s of process %lld: ", l->device, wl_cap_kind_name(l->kind), (long long)l->pid);
    switch (l->state) {
    case WL_RESTORE_DONE:
        wl_print("%s %s (was set to %s)\n", dry_run ? "would be restored to" : "restored to", found, set);
        break;
    case WL_RESTORE_NOT_NEEDED: wl_print("already has its previous value, %s\n", found); break;
    case WL_RESTORE_CHANGED_BY_OTHER:
        wl_print("left at %s, set by another process since (previous value %s, wattlaw set %s)\n",
                 value_text(l->now, l->kind, "-", a), found, set);
        break;
    case WL_RESTORE_FAILED: wl_print("NOT restored to %s: %s\n", found, l->why); break;
    case WL_RESTORE_HELD:
    case WL_RESTORE_HANDED_OVER: wl_print("left at %s: %s\n", set, l->why); break;
    case WL_RESTORE_BAD_JOURNAL: break;
    }
}

static void print_json(const struct wl_restore_results *lefts, const char *dir, bool dry_run, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_str(root, "state_dir", dir);
    wl_json_add_bool(root, "dry_run", dry_run);
    struct wl_json *list = wl_json_add_array(root, "caps");
    for (size_t i = 0; i < lefts->n; i++) {
        const struct wl_restore_result *l = &lefts->v[i];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "state", wl_restore_state_names[l->state]);
        wl_json_add_str(o, "journal", l->journal);
        wl_json_add_int(o, "pid", l->pid);
        wl_json_add_int(o, "user", l->user);
        wl_json_add_bool(o, "rebooted", l->rebooted);
        wl_json_add_str(o, "device", l->device);
        wl_json_add_str(o, "setter", l->setter);
        wl_json_add_str(o, "kind", l->device ? wl_cap_kind_name(l->kind) : NULL);
        wl_json_add_real(o, "found", l->found);
        wl_json_add_real(o, "set", l->set);
        wl_json_add_real(o, "now", l->now);
        wl_json_add_str(o, "why", l->why);
    }
    wl_json_print(root);
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct options *o = options;
    if (rest->args.n > 0) return wl_fail(e, WL_EUSAGE, "unexpected argument '%s'", rest->args.v[0]);
    if (o->guard) return wl_cap_guard(o->guard, e);
    struct wl_restore_results lefts;
    const char *dir = wl_cap_state_dir(&o->cap, a);
    int rc = wl_cap_restore(&o->cap, &o->power, (struct wl_cap_restore_flags) { o->dry_run, o->force }, &lefts, a, e);
    if (rc < 0) return rc;
    bool failed = false;
    for (size_t i = 0; i < lefts.n; i++)
        failed |= lefts.v[i].state == WL_RESTORE_FAILED || lefts.v[i].state == WL_RESTORE_BAD_JOURNAL;
    if (o->json)
        print_json(&lefts, dir, o->dry_run, a);
    else if (lefts.n == 0)
        wl_print("no caps are left in %s\n", dir);
    else
        for (size_t i = 0; i < lefts.n; i++) print_row(&lefts.v[i], o->dry_run, a);
    return failed ? WL_EXIT_FAILED : WL_EXIT_OK;
}

const struct wl_cmd wl_cmd_restore = {
    .name = "restore",
    .usage = "[options]",
    .help = "restore every power cap and clock lock that a crashed run left set",
    .more =
        "A run that sets caps first writes the previous values to a journal. Journals of live runs are left alone.\n"
        "Root restores for all users: it takes devices and values from their journals, but no commands and no "
        "libraries.\n"
        "Exit status: 0 nothing is left to restore, 1 something could not be restored, or a journal or its folder "
        "could not be read.\n"
        "\n"
        "  wattlaw restore --dry-run\n"
        "  sudo wattlaw restore        in a Slurm epilog: restores what a cancelled job left set",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run,
};
