/* Synthetic data in ImageNet's folder layout. A manifest beside train/ and val/ says with which settings the folder was
 * begun and whether it was finished, so that a second call is free and a call that was cut off can be repeated. */
#include "data/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <turbojpeg.h>
#include <unistd.h>

enum { QUALITY = 90, RECIPE = 1 /* counts up when draw.c makes other pictures */ };

static const char manifest_name[] = "wattlaw-synthetic.ini";

/* ---- the manifest ---- */

static const char *manifest_text(const struct wl_synth_opts *o, bool complete, struct wl_arena *a)
{
    return wl_strf(a,
                   "# Written by wattlaw-train data imagenet --synthetic; the pictures are drawn, not photographs.\n"
                   "[imagenet]\nrecipe = %d\nclasses = %lld\nimages = %lld\nval_images = %lld\nsize = %lld\n"
                   "seed = %lld\ncomplete = %s\n",
                   RECIPE, (long long)o->classes, (long long)o->images, (long long)o->val_images, (long long)o->size,
                   (long long)o->seed, complete ? "yes" : "no");
}

static int write_manifest(const struct wl_synth_opts *o, bool complete, const char *path, struct wl_arena *a,
                          struct wl_err *e)
{
    const char *text = manifest_text(o, complete, a);
    return wl_file_write(path, text, strlen(text), e);
}

/* Finds out what is in the folder: *complete says that nothing is to do. */
static int look_at_folder(const struct wl_synth_opts *o, const char *manifest, bool *complete, struct wl_arena *a,
                          struct wl_err *e)
{
    struct wl_strs names;
    char *found;
    int rc;
    *complete = false;
    if (!wl_is_dir(o->dir)) return wl_mkdirs(o->dir, e);
    if ((rc = wl_dir_list(o->dir, &names, a, e)) != 0) return rc;
    if (names.n == 0) return 0;
    if (!wl_is_file(manifest))
        return wl_fail(e, WL_EINVAL, "%s: is not empty and has no %s; choose another folder", o->dir, manifest_name);
    if ((rc = wl_file_read(manifest, 1 << 16, &found, NULL, a, e)) != 0) return rc;
    *complete = wl_streq(found, manifest_text(o, true, a));
    if (*complete || wl_streq(found, manifest_text(o, false, a))) return 0;
    return wl_fail(e, WL_EINVAL, "%s: holds data of other settings (see %s there); remove it or choose another folder",
                   o->dir, manifest_name);
}

/* ---- writing ---- */

/* What the threads share. Images 0 ... images-1 are train/, the rest val/. */
struct job {
    const struct wl_synth_opts *o;
    int64_t total;
    atomic_llong next, done;
    pthread_mutex_t lock;
    struct wl_err why; /* the first error, under the lock */
    atomic_bool failed;
};

static int write_new(const char *path, const uint8_t *data, size_t n, struct wl_err *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return wl_fail_errno(e, "%s", path);
    while (n > 0) {
        ssize_t wrote = write(fd, data, n);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) {
            int rc = wl_fail_errno(e, "%s", path);
            close(fd);
            return rc;
        }
        data += wrote;
        n -= (size_t)wrote;
    }
    return close(fd) == 0 ? 0 : wl_fail_errno(e, "%s", path);
}

static int image_path(const struct wl_synth_opts *o, bool val, int64_t i, char *buf, size_t size, struct wl_err *e)
{
    int n = snprintf(buf, size, "%s/%s/class%04lld/%s_%07lld.JPEG", o->dir, val ? "val" : "train",
                     (long long)(i % o->classes), val ? "val" : "train", (long long)i);
    return n < (int)size ? 0 : wl_fail(e, WL_EINVAL, "%s: path too long", o->dir);
}

/* Buffers of one thread. */
struct pen {
    tjhandle jpeg;
    uint8_t *rgb, *file; /* file: room for the largest JPEG of this size */
};

static int write_image(struct job *job, struct pen *pen, int64_t index, struct wl_err *e)
{
    const struct wl_synth_opts *o = job->o;
    bool val = index >= o->images;
    int64_t i = val ? index - o->images : index;
    int size = (int)o->size, rc;
    unsigned long n = tjBufSize(size, size, TJSAMP_420);
    char path[4096];
    if ((rc = image_path(o, val, i, path, sizeof path, e)) != 0) return rc;
    wl_draw_image(pen->rgb, size, o->classes, (uint64_t)o->seed, val, i);
    if (tjCompress2(pen->jpeg, pen->rgb, size, 0, size, TJPF_RGB, &pen->file, &n, TJSAMP_420, QUALITY,
                    TJFLAG_NOREALLOC) != 0)
        return wl_fail(e, WL_ELIB, "%s: libjpeg-turbo: %s", path, tjGetErrorStr2(pen->jpeg));
    return write_new(path, pen->file, n, e);
}

static void keep_first(struct job *job, const struct wl_err *why)
{
    pthread_mutex_lock(&job->lock);
    if (!atomic_exchange(&job->failed, true)) job->why = *why;
    pthread_mutex_unlock(&job->lock);
}

static void pen_release(void *what)
{
    struct pen *pen = what;
    tjDestroy(pen->jpeg);
}

static int pen_make(struct pen *pen, int64_t size, struct wl_arena *a, struct wl_err *e)
{
    pen->rgb = wl_try_alloc(a, (size_t)(3 * size * size), 64, "a picture", e);
    pen->file = wl_try_alloc(a, tjBufSize((int)size, (int)size, TJSAMP_420), 64, "a JPEG", e);
    if (!pen->rgb || !pen->file) return WL_ENOMEM;
    pen->jpeg = tjInitCompress();
    if (!pen->jpeg) return wl_fail(e, WL_ELIB, "libjpeg-turbo: %s", tjGetErrorStr2(NULL));
    wl_defer(a, pen_release, pen);
    return 0;
}

static void *write_some(void *arg)
{
    struct job *job = arg;
    struct wl_arena *a = wl_arena_new(NULL);
    struct pen pen = { 0 };
    struct wl_err why = { 0 };
    int rc = pen_make(&pen, job->o->size, a, &why);
    while (rc == 0 && !atomic_load(&job->failed)) {
        int64_t i = atomic_fetch_add(&job->next, 1);
        if (i >= job->total) break;
        rc = write_image(job, &pen, i, &why);
        atomic_fetch_add(&job->done, 1);
    }
    if (rc != 0) keep_first(job, &why);
    wl_arena_free(a);
    return NULL;
}

static int make_folders(const struct wl_synth_opts *o, struct wl_arena *a, struct wl_err *e)
{
    static const char *const parts[] = { "train", "val" };
    for (size_t p = 0; p < WL_COUNT(parts); p++)
        for (int64_t k = 0; k < o->classes; k++) {
            int rc = wl_mkdirs(wl_strf(a, "%s/%s/class%04lld", o->dir, parts[p], (long long)k), e);
            if (rc != 0) return rc;
        }
    return 0;
}

static void show_progress(struct job *job)
{
    struct wl_progress bar;
    wl_progress_start(&bar, "pictures");
    while (atomic_load(&job->done) < job->total && !atomic_load(&job->failed)) {
        wl_progress_at(&bar, (double)atomic_load(&job->done), (double)job->total, -1, NULL);
        (void)wl_sleep_until(wl_now_ns() + WL_NS_PER_S / 20);
    }
    wl_progress_clear(&bar);
}

static int run_threads(struct job *job, int64_t threads, bool progress, struct wl_arena *a, struct wl_err *e)
{
    pthread_t *thread = wl_new_array(a, pthread_t, (size_t)threads);
    int64_t started = 0;
    int rc = 0;
    pthread_mutex_init(&job->lock, NULL);
    while (rc == 0 && started < threads)
        if ((rc = pthread_create(&thread[started], NULL, write_some, job)) == 0) started++;
    if (started == 0) return wl_fail(e, WL_EIO, "cannot start a thread: %s", strerror(rc));
    if (progress) show_progress(job);
    for (int64_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
    pthread_mutex_destroy(&job->lock);
    return job->failed ? wl_fail(e, job->why.code, "%s", job->why.msg) : 0;
}

int wl_synth_imagenet(const struct wl_synth_opts *opts, bool progress, int64_t *written, struct wl_arena *a,
                      struct wl_err *e)
{
    struct wl_synth_opts o = *opts;
    const char *manifest = wl_path_join(a, o.dir, manifest_name);
    bool complete;
    int rc;
    *written = 0;
    if (o.val_images == 0) o.val_images = o.images / 5 > o.classes ? o.images / 5 : o.classes;
    if (o.threads == 0) o.threads = sysconf(_SC_NPROCESSORS_ONLN);
    if (o.classes < 2 || o.classes > 1000)
        return wl_fail(e, WL_EINVAL, "%lld classes; expected 2 to 1000", (long long)o.classes);
    if (o.images < o.classes || o.val_images < o.classes)
        return wl_fail(e, WL_EINVAL,
                       "%lld training and %lld validation images are less than one for each of %lld classes",
                       (long long)o.images, (long long)o.val_images, (long long)o.classes);
    if (o.size < 8 || o.size > 4096) return wl_fail(e, WL_EINVAL, "size %lld; expected 8 to 4096", (long long)o.size);

    if ((rc = look_at_folder(&o, manifest, &complete, a, e)) != 0 || complete) return rc;
    if ((rc = write_manifest(&o, false, manifest, a, e)) != 0) return rc;
    if ((rc = make_folders(&o, a, e)) != 0) return rc;
    struct job job = { .o = &o, .total = o.images + o.val_images };
    if ((rc = run_threads(&job, o.threads, progress, a, e)) != 0) return rc;
    *written = job.total;
    return write_manifest(&o, true, manifest, a, e);
}
