/* Names of jobs and of the files of a campaign that goes through a batch system. */
#include "base/trust.h"
#include "campaign/batch.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

enum { LABEL_MAX = 48, TRIAL_DIGITS = 16, CRC_DIGITS = 8 };

const char *wl_batch_trial_hash(const struct wl_settings *set, struct wl_arena *a)
{
    return wl_strf(a, "%016llx", (unsigned long long)wl_hash_fnv1a(wl_settings_key(set, a)));
}

const char *wl_batch_file_id(const char *job, struct wl_arena *a)
{
    char *id = wl_strdup(a, job);
    for (char *c = id; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_", *c)) *c = '_';
    return id;
}

/* The label is for people: the values of the axes that vary. */
const char *wl_batch_run_name(const struct wl_trial *t, const char *hash, int64_t repeat, struct wl_arena *a)
{
    char *label = wl_strndup(a, t->label, strnlen(t->label, LABEL_MAX));
    for (char *c = label; *c; c++) {
        if (*c == '=') *c = '-';
        if (!isalnum((unsigned char)*c) && *c != '-') *c = '_';
    }
    return hash ? wl_strf(a, "%s.%s.r%lld", label, hash, (long long)repeat)
                : wl_strf(a, "%s.r%lld", label, (long long)repeat);
}

const char *wl_batch_token(struct wl_arena *a)
{
    uint64_t bits;
    struct timespec t;
    if (getrandom(&bits, sizeof bits, 0) == sizeof bits) return wl_strf(a, "%012llx", (unsigned long long)bits >> 16);
    clock_gettime(CLOCK_REALTIME, &t); /* a kernel without getrandom */
    return wl_strf(a, "%012llx", ((unsigned long long)t.tv_sec << 30 | (unsigned long long)t.tv_nsec) & 0xffffffffffff);
}

/* ---- shards ---- */

const char *wl_batch_shard_name(const struct wl_batch_shard_name *n, struct wl_arena *a)
{
    return wl_strf(a, "%s.r%lld.%s.%s.%08x.db", n->trial, (long long)n->repeat, n->job, wl_run_status_names[n->status],
                   (unsigned)n->crc);
}

static bool is_hex(const char *s, size_t n) { return strlen(s) == n && strspn(s, "0123456789abcdef") == n; }

static bool find_closed_status(const char *word, enum wl_run_status *out)
{
    for (int s = WL_RUN_DONE; s <= WL_RUN_INTERRUPTED; s++)
        if (wl_str_eq(word, wl_run_status_names[s])) return *out = (enum wl_run_status)s, true;
    return false;
}

bool wl_batch_shard_parse(const char *name, struct wl_batch_shard_name *out, struct wl_arena *a)
{
    enum { TRIAL, REPEAT, JOB, STATUS, CRC, SUFFIX, PARTS };
    const struct wl_strs part = wl_str_split(a, name, '.');
    if (part.n != PARTS || !wl_str_eq(part.v[SUFFIX], "db") || !is_hex(part.v[TRIAL], TRIAL_DIGITS)) return false;
    if (!is_hex(part.v[CRC], CRC_DIGITS) || part.v[REPEAT][0] != 'r' || !*part.v[JOB]) return false;
    if (wl_str_to_int(part.v[REPEAT] + 1, &out->repeat) < 0 || out->repeat < 1) return false;
    out->trial = part.v[TRIAL];
    out->job = part.v[JOB];
    out->crc = (uint32_t)strtoul(part.v[CRC], NULL, 16);
    return find_closed_status(part.v[STATUS], &out->status);
}

/* ---- folders ---- */

int wl_batch_folders_check(const char *campaign, struct wl_arena *a, struct wl_err *e)
{
    static const char *const names[] = { WL_BATCH_JOBS_FOLDER, WL_BATCH_SHARDS_FOLDER };
    for (size_t i = 0; i < WL_COUNT(names); i++) {
        const char *path = wl_path_join(a, campaign, names[i]);
        if (wl_is_others_link(path))
            return wl_fail(
                e, WL_EPERM,
                "%s: a symbolic link of another user, which is not followed: remove it, or replace it by one "
                "of your own",
                path);
    }
    return 0;
}

/* ---- outputs ---- */

/* Jobs write regular files. A link could lead to a file that its user may not read, but we may. */
static bool is_output(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* "jobs/NAME.TOKEN.%j.out", of task 3 of an array "jobs/NAME.TOKEN.%j_3.out": what is before and after the id. Without
 * "%j" the token alone distinguishes it. */
const char *wl_batch_output_find(const char *folder, const struct wl_submission_row *row, const char **job,
                                 struct wl_arena *a)
{
    struct wl_strs names;
    if (!row->output || !wl_str_starts(row->output, WL_BATCH_JOBS_FOLDER "/") || strstr(row->output, "/.."))
        return NULL; /* not a name of ours: a store from somebody else may name any file */
    if (wl_batch_folders_check(folder, a, NULL) < 0) return NULL;
    const char *id = strstr(row->output, "%j");
    if (!id) {
        const char *path = wl_path_join(a, folder, row->output);
        return is_output(path) ? path : NULL;
    }
    const char *dir = wl_path_join(a, folder, wl_path_dir(a, row->output)), *base = wl_path_base(row->output);
    const size_t before = (size_t)(id - base), after = strlen(id + 2);
    if (wl_dir_list(dir, &names, a, NULL) < 0) return NULL;
    for (size_t i = 0; i < names.n; i++) {
        const size_t n = strlen(names.v[i]);
        if (n <= before + after || strncmp(names.v[i], base, before) != 0) continue;
        if (!wl_str_eq(names.v[i] + n - after, id + 2)) continue;
        const char *number = wl_strndup(a, names.v[i] + before, n - before - after), *task = wl_batch_task(row->token);
        const char *path = wl_path_join(a, dir, names.v[i]);
        if (!is_output(path)) continue;
        if (job) *job = task ? wl_strf(a, "%s_%s", number, task) : number;
        return path;
    }
    return NULL;
}
