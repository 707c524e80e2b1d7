#include "exchange/bundle/bundle.h"
#include "exchange/bundle/stream.h"

#include "base/sha256.h"

#include <minizip/zip.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CHUNK = 1 << 16 };

/* Of every file: so that the same content gives the same archive. 1980-01-01 00:00, the first day that a zip file
 * knows, and -rw-r--r--. */
static const zip_fileinfo info = { .dosDate = 1 << 21 | 1 << 16, .external_fa = (uLong)(S_IFREG | 0644) << 16 };
enum { MADE_BY_UNIX = 3 << 8 | 20, UTF8_NAMES = 1 << 11 };

struct writing {
    zipFile zip;
    struct wl_bundle_sums sums;
    struct wl_arena *arena;
    char buffer[CHUNK];
};

static int add_chunk(struct writing *w, struct wl_sha256 *sum, const void *data, size_t n, struct wl_err *e)
{
    wl_sha256_add(sum, data, n);
    if (zipWriteInFileInZip(w->zip, data, (unsigned)n) != ZIP_OK)
        return wl_fail(e, WL_EIO, "cannot write to the archive: is the disk full?");
    return 0;
}

static int add_stream(struct writing *w, struct wl_sha256 *sum, const char *path, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    FILE *f;
    int rc = wl_file_stream(path, &f, a, e);
    for (size_t n; rc == 0 && (n = fread(w->buffer, 1, CHUNK, f)) > 0;) rc = add_chunk(w, sum, w->buffer, n, e);
    if (rc == 0 && ferror(f)) rc = wl_fail_errno(e, "%s: cannot read", path);
    wl_arena_free(a);
    return rc;
}

static int add_text(struct writing *w, struct wl_sha256 *sum, const char *text, size_t n, struct wl_err *e)
{
    int rc = 0;
    for (size_t take; rc == 0 && n; text += take, n -= take) {
        take = n < CHUNK ? n : CHUNK;
        rc = add_chunk(w, sum, text, take, e);
    }
    return rc;
}

/* Readers of minizip 1.1, Debian's among them, take the sizes of larger files for 4 GiB - 1 (verify.c). */
static int check_sizes(const struct wl_bundle *b, struct wl_err *e)
{
    uint64_t total = 0;
    for (size_t i = 0; i < b->n; i++) {
        struct stat st;
        const char *path = b->files[i].path;
        if (path && stat(path, &st)) return wl_fail_errno(e, "%s: cannot read", path);
        total += path ? (uint64_t)st.st_size : b->files[i].n;
        if (total > WL_BUNDLE_BYTES_MAX)
            return wl_fail(e, WL_EINVAL, "%s: the files of a bundle have at most 4 GB together", b->files[i].name);
    }
    return 0;
}

static int add_file(struct writing *w, const struct wl_bundle_file *f, struct wl_err *e)
{
    struct wl_sha256 sum;
    char text[WL_SHA256_TEXT];
    WL_CHECK(wl_bundle_name_is_safe(f->name));
    wl_sha256_init(&sum);
    if (zipOpenNewFileInZip4_64(w->zip, f->name, &info, NULL, 0, NULL, 0, NULL, Z_DEFLATED, Z_BEST_COMPRESSION, 0,
                                -MAX_WBITS, DEF_MEM_LEVEL, Z_DEFAULT_STRATEGY, NULL, 0, MADE_BY_UNIX, UTF8_NAMES,
                                0) != ZIP_OK)
        return wl_fail(e, WL_EIO, "cannot write to the archive: is the disk full?");
    int rc = f->path ? add_stream(w, &sum, f->path, e) : add_text(w, &sum, f->text, f->n, e);
    if (zipCloseFileInZip(w->zip) != ZIP_OK && rc == 0)
        rc = wl_fail(e, WL_EIO, "cannot write to the archive: is the disk full?");
    wl_sha256_text(&sum, text);
    WL_GROW(w->arena, w->sums.v, w->sums.n, w->sums.cap);
    w->sums.v[w->sums.n++] = (struct wl_bundle_sum) { f->name, wl_strdup(w->arena, text) };
    return rc;
}

static int by_name(const void *x, const void *y)
{
    return strcmp(((const struct wl_bundle_file *)x)->name, ((const struct wl_bundle_file *)y)->name);
}

static int sum_by_name(const void *x, const void *y)
{
    return strcmp(((const struct wl_bundle_sum *)x)->name, ((const struct wl_bundle_sum *)y)->name);
}

/* The manifest, of all files that were added. */
static char *manifest(struct writing *w)
{
    struct wl_text t = WL_TEXT(w->arena);
    qsort(w->sums.v, w->sums.n, sizeof *w->sums.v, sum_by_name);
    for (size_t i = 0; i < w->sums.n; i++) wl_text_addf(&t, "%s  %s\n", w->sums.v[i].sha256, w->sums.v[i].name);
    return t.s;
}

static int add_all(struct writing *w, const struct wl_bundle *b, struct wl_err *e)
{
    struct wl_bundle sorted = *b;
    struct wl_bundle_file *files = wl_new_array(w->arena, struct wl_bundle_file, b->n);
    int rc = 0;
    memcpy(files, b->files, b->n * sizeof *files);
    qsort(files, b->n, sizeof *files, by_name);
    sorted.files = files;
    for (size_t i = 0; rc == 0 && i < b->n; i++) rc = add_file(w, &files[i], e);
    const char *crate = wl_bundle_crate(&sorted, w->arena);
    if (rc == 0)
        rc = add_file(w, &(struct wl_bundle_file) { .name = WL_BUNDLE_CRATE, .text = crate, .n = strlen(crate) }, e);
    const char *sums = manifest(w);
    if (rc == 0)
        rc = add_file(w, &(struct wl_bundle_file) { .name = WL_BUNDLE_MANIFEST, .text = sums, .n = strlen(sums) }, e);
    return rc;
}

int wl_bundle_write(const struct wl_bundle *b, FILE *to, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct writing *w = wl_new(a, struct writing);
    zlib_filefunc64_def functions;
    struct stat st;
    wl_bundle_stream(&functions, to);
    w->arena = a;
    int rc = 0;
    if (fstat(fileno(to), &st) || !S_ISREG(st.st_mode))
        rc = wl_fail(e, WL_EINVAL, "a bundle is written to a regular file, which --out names");
    if (rc == 0) rc = check_sizes(b, e);
    if (rc == 0 && !(w->zip = zipOpen2_64("bundle", APPEND_STATUS_CREATE, NULL, &functions)))
        rc = wl_fail(e, WL_EIO, "cannot begin an archive");
    if (rc == 0) {
        rc = add_all(w, b, e);
        if (zipClose(w->zip, NULL) != ZIP_OK && rc == 0)
            rc = wl_fail(e, WL_EIO, "cannot write to the archive: is the disk full?");
    }
    wl_arena_free(a);
    return rc;
}
