#include "exchange/import/import.h"

#include "exchange/import/formats.h"
#include "exchange/import/series_state.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void wl_import_add_run(struct wl_import *im, const struct wl_import_run *run)
{
    WL_GROW(im->a, im->runs, im->n_runs, im->runs_cap);
    im->runs[im->n_runs++] = *run;
}

/* ---- identity of a file ---- */

const char *wl_import_selection(const struct wl_import *im, struct wl_arena *a)
{
    const struct wl_import_opts *o = im->opts;
    struct wl_text t = WL_TEXT(a);
    if (o->from_ns != WL_NO_NS) wl_text_addf(&t, " from=%lld", (long long)o->from_ns);
    if (o->to_ns != WL_NO_NS) wl_text_addf(&t, " to=%lld", (long long)o->to_ns);
    for (size_t i = 0; o->gpus && i < o->gpus->n; i++) wl_text_addf(&t, " gpu=%s", o->gpus->v[i]);
    return t.s;
}

static uint32_t with_selection(const struct wl_import *im, uint32_t crc, struct wl_arena *a)
{
    const char *selection = wl_import_selection(im, a);
    return wl_crc32c(crc, selection, strlen(selection));
}

static int crc_of_file(const char *path, uint32_t *crc, struct wl_arena *a, struct wl_err *e)
{
    struct wl_lines in;
    struct wl_slice all;
    int rc = wl_lines_open(&in, path, a, e);
    while (rc == 0) { /* block by block */
        in.from = in.to;
        rc = wl_lines_peek(&in, 1, &all, e);
        if (all.n == 0) break;
    }
    *crc = in.crc;
    return rc;
}

/* 1: the content is one of this call's files, or in the store as *run; 0: it is new. Its CRC is only computed where
 * there is a file of the same size. */
static int is_known(struct wl_import *im, const char *path, int64_t *run, struct wl_arena *a, struct wl_err *e)
{
    struct stat st;
    uint32_t crc;
    *run = 0;
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode)) return 0;
    bool candidate = false;
    for (size_t i = 0; i < im->n_sources; i++) candidate = candidate || im->sources[i].bytes == st.st_size;
    int rc = im->store_path && wl_is_file(im->store_path) ? wl_import_open_store(im, e) : 0;
    if (rc < 0) return rc;
    rc = candidate || !im->store ? candidate : wl_store_has_source_of_size(im->store, st.st_size, e);
    if (rc <= 0) return rc;
    rc = crc_of_file(path, &crc, a, e);
    if (rc < 0) return rc;
    crc = with_selection(im, crc, a);
    for (size_t i = 0; i < im->n_sources; i++)
        if (im->sources[i].bytes == st.st_size && im->sources[i].crc == crc) return 1;
    return im->store ? wl_store_find_source(im->store, st.st_size, crc, run, e) : 0;
}

/* ---- a file ---- */

/* A file that was named has to be read; of a folder those are taken that can be. */
enum named { NAMED, IN_FOLDER };

static int find_format(struct wl_import *im, const struct wl_import_head *head, enum named named,
                       const struct wl_import_format **format, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_import_format *as = im->as;
    if (as && named == NAMED) {
        *format = as;
        return 0;
    }
    if (!as) return wl_import_recognise(head, format, a, e);
    *format = as;
    return as->recognise(head, a) ? 0 : wl_fail(e, WL_EINVAL, "%s: not %s", head->path, as->name);
}

static const char *without_path(const char *message, const char *path)
{
    size_t n = strlen(path);
    return strncmp(message, path, n) == 0 && message[n] == ':' ? message + n + 1 + strspn(message + n + 1, " ")
                                                               : message;
}

/* Nothing of a file was taken: why, by its first line that could have been. */
static int fail_empty(const struct wl_import *im, size_t rejected, struct wl_err *e)
{
    const struct wl_import_report *r = &im->report;
    if (r->n_rejected > rejected && r->rejected.n > rejected)
        return wl_fail(e, WL_EINVAL, "nothing could be read as %s (%s); the first of %zu lines: %s", im->format->name,
                       im->format->looks_for, r->n_rejected - rejected, r->rejected.v[rejected]);
    return wl_fail(e, WL_EINVAL, "%s: nothing could be read as %s: it has no %s", im->in->path, im->format->name,
                   im->format->looks_for);
}

/* Leaves out a file of a folder, with a note. */
static int leave_out(struct wl_import *im, const char *path, struct wl_err *e)
{
    enum { MESSAGES = 10 };
    if (im->n_left_out++ < MESSAGES) wl_import_note(im, "%s: left out: %.200s", path, without_path(e->msg, path));
    *e = (struct wl_err) { 0 };
    return 0;
}

/* Reads the file that is the last of im->sources. */
static int read_content(struct wl_import *im, struct wl_arena *a, struct wl_err *e)
{
    const size_t taken = im->report.taken, rejected = im->report.n_rejected,
                 passed = im->series->n_unwanted + im->series->n_outside + im->report.duplicates + im->n_known_rows;
    struct wl_slice rest;
    int rc = im->format->read(im, e);
    while (rc == 0 && !im->in->eof) { /* the checksum is of all of it */
        im->in->from = im->in->to;
        rc = wl_lines_peek(im->in, 1, &rest, e);
    }
    if (rc < 0) return rc;
    struct wl_import_source *source = &im->sources[im->n_sources - 1];
    source->bytes = im->in->bytes;
    source->crc = with_selection(im, im->in->crc, a);
    if (im->report.taken > taken) return 0;
    if (im->series->n_unwanted + im->series->n_outside + im->report.duplicates + im->n_known_rows > passed) return 0;
    return fail_empty(im, rejected, e);
}

/* A file of a folder of which nothing is of use is left out; one that fails when some of it has been taken is an error.
 */
static int read_as(struct wl_import *im, enum named named, struct wl_arena *a, struct wl_err *e)
{
    const size_t taken = im->report.taken;
    int rc = 0;
    if (im->opts->each || im->series->label) rc = wl_series_finish(im, e);
    if (rc < 0) return rc;
    WL_GROW(im->a, im->sources, im->n_sources, im->sources_cap);
    im->sources[im->n_sources++] =
        (struct wl_import_source) { .path = wl_path_absolute(im->a, im->in->path), .format = im->format, .bytes = -1 };
    if (im->opts->each) im->series->label = wl_strdup(im->series->a, wl_path_base(im->in->path));
    rc = read_content(im, a, e);
    if (rc != WL_EINVAL || named == NAMED || im->report.taken > taken) return rc;
    im->n_sources--;
    return leave_out(im, im->in->path, e);
}

static int read_file(struct wl_import *im, const char *path, enum named named, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct wl_lines in = { 0 };
    struct wl_slice head = { 0 };
    int64_t run = 0;
    im->in = &in;
    int known = is_known(im, path, &run, a, e), rc = known < 0 ? known : 0;
    if (known == 1) {
        wl_import_note(im, run ? "%s: already imported, as run %lld" : "%s: the same file twice", path, (long long)run);
        im->known_run = run ? run : im->known_run;
    }
    if (rc == 0 && known == 0) rc = wl_lines_open(&in, path, a, e);
    in.on_block = im->opts->on_block;
    in.ctx = im->opts->ctx;
    if (rc == 0 && known == 0) rc = wl_lines_peek(&in, WL_IMPORT_HEAD, &head, e);
    if (rc == 0 && known == 0) {
        const struct wl_import_head h = {
            .path = path, .text = wl_strndup(a, head.s, head.n), .n = head.n, .whole = in.eof
        };
        rc = find_format(im, &h, named, &im->format, a, e);
        if (rc == WL_EINVAL && named == IN_FOLDER)
            rc = leave_out(im, path, e);
        else if (rc == 0)
            rc = read_as(im, named, a, e);
    }
    im->in = NULL;
    wl_arena_free(a);
    return rc;
}

/* ---- folders ---- */

enum { DEEPEST = 16 };

/* Hidden files and what is linked to are not of a folder's results. */
static int read_folder(struct wl_import *im, const char *path, int depth, struct wl_err *e)
{
    struct wl_strs names = { 0 };
    struct stat st;
    if (depth > DEEPEST) return wl_fail(e, WL_EINVAL, "%s: more than %d folders deep", path, DEEPEST);
    int rc = wl_dir_list(path, &names, im->a, e);
    for (size_t i = 0; i < names.n && rc == 0; i++) {
        const char *at = wl_path_join(im->a, path, names.v[i]);
        if (names.v[i][0] == '.' || lstat(at, &st) < 0) continue;
        if (S_ISDIR(st.st_mode)) rc = read_folder(im, at, depth + 1, e);
        if (S_ISREG(st.st_mode)) rc = read_file(im, at, IN_FOLDER, e);
    }
    return rc;
}

/* ---- all ---- */

const char *wl_import_command(const struct wl_import *im)
{
    struct wl_text t = WL_TEXT(im->a);
    wl_text_add(&t, "wattlaw import");
    if (im->opts->as) wl_text_addf(&t, " --as %s", im->opts->as);
    for (size_t i = 0; i < im->paths->n; i++) wl_text_addf(&t, " %s", wl_path_absolute(im->a, im->paths->v[i]));
    return t.s;
}

static int store_sources(struct wl_import *im, const struct wl_import_run *run, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < run->n_sources && rc == 0; i++) {
        const struct wl_import_source *s = &im->sources[run->first_source + i];
        struct wl_source_row row = { .run = run->run,
                                     .format = s->format->name,
                                     .tool = im->report.tool,
                                     .path = s->path,
                                     .part = run->label ? run->label : "",
                                     .bytes = s->bytes,
                                     .crc = s->crc,
                                     .version = WL_VERSION };
        rc = wl_store_add_source(im->store, &row, e);
    }
    return rc;
}

static int note(struct wl_import *im, int64_t run, const char *level, const char *text, struct wl_err *e)
{
    return wl_store_add_log(im->store, run, level, "import", text, e);
}

static int store_notes(struct wl_import *im, const struct wl_import_run *run, struct wl_err *e)
{
    const struct wl_import_report *r = &im->report;
    int rc = run->is_log ? 0 : /* it has its own */
                 note(im, run->run, "info",
                      wl_strf(im->a, "measured by %s, imported by wattlaw %s", run->format->title, WL_VERSION), e);
    for (size_t i = 0; i < r->notes.n && rc == 0; i++) rc = note(im, run->run, "warn", r->notes.v[i], e);
    if (run->is_row) return rc; /* what was left out was of other rows */
    for (size_t i = 0; i < r->missing.n && rc == 0; i++)
        rc = note(im, run->run, "warn",
                  wl_strf(im->a, "%s: %zu readings are missing", r->missing.v[i].what, r->missing.v[i].n), e);
    for (size_t i = 0; i < r->rejected.n && rc == 0; i++)
        rc = note(im, run->run, "warn", wl_strf(im->a, "left out: %s", r->rejected.v[i]), e);
    return rc;
}

static int read_all(struct wl_import *im, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < im->paths->n && rc == 0; i++) {
        const char *path = im->paths->v[i];
        rc = wl_is_dir(path) ? read_folder(im, path, 0, e) : read_file(im, path, NAMED, e);
    }
    if (rc == 0) rc = wl_series_finish(im, e);
    if (rc < 0 || im->n_runs) return rc;
    if (im->known_run)
        return wl_fail(e, WL_EINVAL, "%s: already imported, as run %lld; nothing else is new", im->paths->v[0],
                       (long long)im->known_run);
    if (im->series->n_unwanted || im->series->n_outside)
        return wl_fail(e, WL_ENOENT, "no reading is left: %s",
                       im->series->n_unwanted ? "none is of a GPU given by --gpus" : "none is between --from and --to");
    return wl_fail(e, WL_EINVAL, "%s: no file can be imported%s%s", im->paths->v[0], im->report.notes.n ? ": " : "",
                   im->report.notes.n ? im->report.notes.v[0] : "");
}

int wl_import_open_store(struct wl_import *im, struct wl_err *e)
{
    if (!im->store_path || im->store) return 0;
    int rc = wl_store_open(&im->store, im->store_path, im->opts->run ? WL_STORE_WRITE : WL_STORE_CREATE, im->a, e);
    return rc < 0 ? rc : wl_store_begin(im->store, e);
}

int wl_import_files(const struct wl_strs *paths, const struct wl_import_opts *opts, const char *store_path,
                    struct wl_import *out, struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_import) { .opts = opts, .paths = paths, .store_path = store_path, .a = a };
    wl_series_new(out, 0);
    const char *table = wl_import_results.name, *as = opts->as ? opts->as : opts->map && opts->map->n ? table : NULL;
    int rc = as ? wl_import_format_named(as, &out->as, e) : 0;
    if (rc == 0 && opts->map && opts->map->n && out->as != &wl_import_results)
        rc = wl_fail(e, WL_EUSAGE, "--map is for a %s and not for --as %s, whose columns are known", table, as);
    if (rc == 0) rc = read_all(out, e);
    for (size_t i = 0; i < out->n_runs && rc == 0 && out->store; i++) {
        rc = store_sources(out, &out->runs[i], e);
        if (rc == 0) rc = store_notes(out, &out->runs[i], e);
    }
    if (rc == 0 && out->store) rc = wl_store_commit(out->store, e);
    if (rc < 0) {
        wl_store_discard(out->store, NULL);
        out->store = NULL;
    }
    return rc;
}
