/* Reads a bundle without extracting it. */
#include "exchange/bundle/bundle.h"
#include "exchange/bundle/layout.h"
#include "exchange/bundle/stream.h"

#include "base/sha256.h"

#include <ctype.h>
#include <minizip/unzip.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum {
    CHUNK = 1 << 16,
    NAME_MAX_BYTES = 1024,
    ENTRIES_MAX = 100000,
    TEXT_MAX = 64 << 20,  /* of the crate and of the manifest */
    DEFLATE_RATIO = 1032, /* RFC 1951: a match of 258 bytes takes at least two bits */
    PROBLEMS_MAX = 20,    /* that are listed */
};

struct entry {
    const char *name;
    uint64_t size;
    unz64_file_pos at;
};

struct reading {
    const char *path;
    unzFile zip;
    struct wl_bundle_archive archive;
    uint64_t packed, unpacked; /* bytes of the entries so far */
    struct entry *v;           /* in the order of names, once they are all read */
    size_t n, cap;
    struct wl_arena *arena;
    char buffer[CHUNK];
};

/* ---- the list of entries ---- */

static int refuse(const struct reading *r, const char *name, const char *why, struct wl_err *e)
{
    const char *shown = strlen(name) > 200 ? wl_strf(r->arena, "%.200s...", name) : name;
    return wl_fail(e, WL_EINVAL, "%s: refused: \"%s\" %s", r->path, wl_printable(r->arena, shown, WL_PRINTABLE_LINE),
                   why);
}

/* The upper half of external_fa is a mode, or 0. Which systems write one, programs that unpack do not agree about. */
static bool is_plain_file(const unz_file_info64 *info)
{
    const unsigned mode = (unsigned)(info->external_fa >> 16), type = mode & S_IFMT;
    return !(info->external_fa & 0x10) && (type == 0 || type == S_IFREG);
}

static const char *why_refused(struct reading *r, const char *name, const unz_file_info64 *info)
{
    if (info->size_filename >= NAME_MAX_BYTES) return "has a name that is too long";
    if (strlen(name) != info->size_filename) return "has a NUL in its name";
    if (!wl_bundle_name_is_safe(name)) return "is not the name of a file inside of a folder";
    if (!is_plain_file(info)) return "is not a plain file: links, folders and devices are refused";
    if (info->flag & 1) return "is encrypted";
    if (info->compression_method != 0 && info->compression_method != Z_DEFLATED) return "has an unknown compression";
    if (info->uncompressed_size >= UINT32_MAX || info->compressed_size >= UINT32_MAX)
        return "is larger than 4 GiB, the limit of a bundle";
    if (info->uncompressed_size > (uint64_t)info->compressed_size * DEFLATE_RATIO)
        return "expands to more than compression can give";
    r->unpacked += info->uncompressed_size;
    if (r->unpacked > WL_BUNDLE_BYTES_MAX) return "and the files before it have more than 4 GB, the limit of a bundle";
    r->packed += info->compressed_size;
    if (r->packed > r->archive.bytes) return "overlaps with another file: a zip bomb";
    return NULL;
}

static int add_entry(struct reading *r, struct wl_err *e)
{
    char name[NAME_MAX_BYTES + 1] = "";
    unz_file_info64 info;
    struct entry entry;
    if (unzGetCurrentFileInfo64(r->zip, &info, name, NAME_MAX_BYTES, NULL, 0, NULL, 0) != UNZ_OK ||
        unzGetFilePos64(r->zip, &entry.at) != UNZ_OK)
        return wl_fail(e, WL_EINVAL, "%s: a damaged archive: entry %zu cannot be read", r->path, r->n + 1);
    const char *why = why_refused(r, name, &info);
    if (why) return refuse(r, name, why, e);
    if (r->n == ENTRIES_MAX) return wl_fail(e, WL_EINVAL, "%s: refused: more than %d files", r->path, ENTRIES_MAX);
    entry.name = wl_strdup(r->arena, name);
    entry.size = info.uncompressed_size;
    WL_GROW(r->arena, r->v, r->n, r->cap);
    r->v[r->n++] = entry;
    return 0;
}

static int by_name(const void *x, const void *y)
{
    return strcmp(((const struct entry *)x)->name, ((const struct entry *)y)->name);
}

/* Names that differ in case alone, and a file of a folder's name, are one and the same on some systems. */
static int by_name_on_any_system(const void *x, const void *y)
{
    const struct wl_bundle_place *a = x, *b = y;
    const unsigned char *p = (const unsigned char *)a->name, *q = (const unsigned char *)b->name;
    for (; *p && tolower(*p) == tolower(*q); p++) q++;
    const int c = *p == '/' ? 1 : tolower(*p), d = *q == '/' ? 1 : tolower(*q);
    return c - d;
}

static bool is_hidden_by(const char *name, const char *before)
{
    const size_t n = strlen(before);
    return strncasecmp(before, name, n) == 0 && (name[n] == 0 || name[n] == '/');
}

static int check_places(struct reading *r, struct wl_err *e)
{
    struct wl_bundle_place *v = wl_new_array(r->arena, struct wl_bundle_place, r->n);
    for (size_t i = 0; i < r->n; i++) {
        v[i].name = r->v[i].name;
        v[i].central = r->v[i].at.pos_in_zip_directory;
    }
    if (r->n) qsort(v, r->n, sizeof *v, by_name_on_any_system);
    for (size_t i = 1; i < r->n; i++)
        if (is_hidden_by(v[i].name, v[i - 1].name))
            return refuse(r, v[i].name, wl_strf(r->arena, "takes the place of \"%s\" on some systems", v[i - 1].name),
                          e);
    return wl_bundle_check_layout(&r->archive, v, r->n, e);
}

static int read_entries(struct reading *r, struct wl_err *e)
{
    unz_global_info64 global;
    int rc = 0, next = unzGoToFirstFile(r->zip);
    for (; rc == 0 && next == UNZ_OK; next = unzGoToNextFile(r->zip)) rc = add_entry(r, e);
    if (rc) return rc;
    if (unzGetGlobalInfo64(r->zip, &global) != UNZ_OK || global.number_entry != r->n)
        return wl_fail(e, WL_EINVAL, "%s: a damaged archive: its list of files is cut off", r->path);
    if (r->n) qsort(r->v, r->n, sizeof *r->v, by_name);
    for (size_t i = 1; i < r->n; i++)
        if (strcmp(r->v[i - 1].name, r->v[i].name) == 0) return refuse(r, r->v[i].name, "is in the archive twice", e);
    return check_places(r, e);
}

static const struct entry *find(const struct reading *r, const char *name)
{
    const struct entry key = { .name = name };
    return r->n ? bsearch(&key, r->v, r->n, sizeof *r->v, by_name) : NULL;
}

/* ---- contents ---- */

/* Reads an entry to its end: adds it to `sum` and to `text` (each may be NULL). *why: why it cannot be read. */
static int read_entry(struct reading *r, const struct entry *f, struct wl_sha256 *sum, struct wl_text *text,
                      const char **why)
{
    uint64_t total = 0;
    int n = -1;
    *why = NULL;
    if (unzGoToFilePos64(r->zip, &f->at) != UNZ_OK || unzOpenCurrentFile(r->zip) != UNZ_OK) {
        *why = "cannot be opened: its header is damaged";
        return -1;
    }
    while ((n = unzReadCurrentFile(r->zip, r->buffer, CHUNK)) > 0) {
        total += (uint64_t)n;
        if (total > f->size) break;
        if (sum) wl_sha256_add(sum, r->buffer, (size_t)n);
        if (text) wl_text_addn(text, r->buffer, (size_t)n);
    }
    const int closed = unzCloseCurrentFile(r->zip);
    if (n < 0)
        *why = "cannot be unpacked: it is damaged";
    else if (total != f->size)
        *why = "has another size than the archive says";
    else if (closed == UNZ_CRCERROR)
        *why = "does not match its CRC: it is damaged";
    return *why ? -1 : 0;
}

static int read_text(struct reading *r, const char *name, struct wl_text *text, struct wl_err *e)
{
    const struct entry *f = find(r, name);
    const char *why;
    if (!f) return wl_fail(e, WL_EINVAL, "%s: not a bundle of wattlaw: no %s", r->path, name);
    if (f->size > TEXT_MAX) return refuse(r, name, "is larger than 64 MiB", e);
    if (read_entry(r, f, NULL, text, &why)) return wl_fail(e, WL_EINVAL, "%s: %s %s", r->path, name, why);
    if (strlen(text->s) != text->n) return wl_fail(e, WL_EINVAL, "%s: %s has a NUL", r->path, name);
    return 0;
}

static void problem(struct wl_bundle_check *out, const char *name, const char *what, struct wl_arena *a)
{
    if (out->problems.n < PROBLEMS_MAX)
        wl_strs_addf(a, &out->problems, "%s %s", name, what);
    else if (out->problems.n == PROBLEMS_MAX)
        wl_strs_add(a, &out->problems, "and more");
}

/* Both lists are in the order of names. */
static void compare(struct reading *r, const struct wl_bundle_sums *sums, struct wl_bundle_check *out,
                    struct wl_arena *a)
{
    size_t k = 0;
    for (size_t i = 0; i < r->n; i++) {
        struct wl_sha256 sum;
        char text[WL_SHA256_TEXT];
        const char *why;
        if (strcmp(r->v[i].name, WL_BUNDLE_MANIFEST) == 0) continue;
        for (; k < sums->n && strcmp(sums->v[k].name, r->v[i].name) < 0; k++)
            problem(out, sums->v[k].name, "is missing", a);
        const bool listed = k < sums->n && strcmp(sums->v[k].name, r->v[i].name) == 0;
        wl_sha256_init(&sum);
        if (!listed)
            problem(out, r->v[i].name, "is not in the manifest", a);
        else if (read_entry(r, &r->v[i], &sum, NULL, &why))
            problem(out, r->v[i].name, why, a);
        else {
            wl_sha256_text(&sum, text);
            if (strcmp(text, sums->v[k].sha256) != 0)
                problem(out, r->v[i].name, "was changed: its SHA-256 is another one", a);
        }
        k += listed;
        out->bytes += (double)r->v[i].size;
        out->files++;
    }
    for (; k < sums->n; k++) problem(out, sums->v[k].name, "is missing", a);
}

/* ---- the crate ---- */

static const struct wl_json *entity(const struct wl_json *graph, const char *id)
{
    for (size_t i = 0; i < wl_json_size(graph); i++) {
        const struct wl_json *o = wl_json_at(graph, i);
        if (wl_str_eq(wl_json_str(wl_json_get(o, "@id")), id)) return o;
    }
    return NULL;
}

static int by_text(const void *x, const void *y) { return strcmp(*(char *const *)x, *(char *const *)y); }

/* Each part of the root is a file of the archive, and each file a part. */
static void compare_parts(const struct reading *r, const struct wl_json *parts, struct wl_bundle_check *out,
                          struct wl_arena *a)
{
    struct wl_strs ids = { 0 };
    for (size_t i = 0; i < wl_json_size(parts); i++) {
        const char *id = wl_json_str(wl_json_get(wl_json_at(parts, i), "@id"));
        if (id) wl_strs_add(a, &ids, id);
    }
    if (ids.n) qsort(ids.v, ids.n, sizeof *ids.v, by_text);
    for (size_t i = 0; i < ids.n; i++)
        if (!find(r, ids.v[i]))
            problem(out, wl_printable(a, ids.v[i], WL_PRINTABLE_LINE), "is in the crate, but not in the archive", a);
    for (size_t i = 0; i < r->n; i++) {
        const char *name = r->v[i].name;
        if (strcmp(name, WL_BUNDLE_CRATE) == 0) continue;
        if (!ids.n || !bsearch(&name, ids.v, ids.n, sizeof *ids.v, by_text))
            problem(out, name, "is not in the crate", a);
    }
}

static int check_crate(struct reading *r, struct wl_bundle_check *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_text text = WL_TEXT(r->arena);
    struct wl_json *crate;
    int rc = read_text(r, WL_BUNDLE_CRATE, &text, e);
    if (rc == 0) rc = wl_json_parse(text.s, wl_strf(a, "%s: %s", r->path, WL_BUNDLE_CRATE), &crate, a, e);
    if (rc) return rc;
    const struct wl_json *root = entity(wl_json_get(crate, "@graph"), "./");
    if (!root) return wl_fail(e, WL_EINVAL, "%s: %s describes no data set (\"./\")", r->path, WL_BUNDLE_CRATE);
    out->name = wl_json_str(wl_json_get(root, "name"));
    out->published = wl_json_str(wl_json_get(root, "datePublished"));
    compare_parts(r, wl_json_get(root, "hasPart"), out, a);
    return 0;
}

static int verify(struct reading *r, struct wl_bundle_check *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_text text = WL_TEXT(r->arena);
    struct wl_bundle_sums sums;
    int rc = read_entries(r, e);
    if (rc == 0) rc = read_text(r, WL_BUNDLE_MANIFEST, &text, e);
    if (rc == 0)
        rc = wl_bundle_sums_read(text.s, wl_strf(r->arena, "%s: %s", r->path, WL_BUNDLE_MANIFEST), &sums, r->arena, e);
    if (rc) return rc;
    compare(r, &sums, out, a);
    return check_crate(r, out, a, e);
}

static int open_archive(struct reading *r, struct wl_bundle_cut *cut, struct wl_err *e)
{
    zlib_filefunc64_def functions;
    wl_bundle_stream(&functions, cut->f);
    r->zip = unzOpen2_64(r->path, &functions);
    if (!r->zip && (cut->bytes = wl_bundle_end_before_comment(&r->archive))) {
        wl_bundle_stream_cut(&functions, cut);
        r->zip = unzOpen2_64(r->path, &functions);
    }
    return r->zip ? 0 : wl_fail(e, WL_EINVAL, "%s: not a zip archive of files, or its end is cut off", r->path);
}

int wl_bundle_verify(const char *path, struct wl_bundle_check *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_arena *own = wl_arena_new(NULL);
    struct reading *r = wl_new(own, struct reading);
    struct wl_bundle_cut cut = { 0 };
    struct stat st;
    *r = (struct reading) { .path = path, .arena = own };
    *out = (struct wl_bundle_check) { 0 };
    int rc = wl_file_stream(path, &cut.f, own, e);
    if (rc == 0 && (fstat(fileno(cut.f), &st) || !S_ISREG(st.st_mode)))
        rc = wl_fail(e, WL_EINVAL, "%s: expected a regular file", path);
    if (rc == 0) {
        r->archive = (struct wl_bundle_archive) { path, fileno(cut.f), (uint64_t)st.st_size };
        rc = open_archive(r, &cut, e);
    }
    if (rc == 0) {
        rc = verify(r, out, a, e);
        unzClose(r->zip);
    }
    wl_arena_free(own);
    return rc;
}
