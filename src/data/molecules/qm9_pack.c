/* The packed file: a header of 64 bytes, then arrays, each aligned to 8 bytes. Numbers are little-endian, so that they
 * can be mapped. docs/formats.md has the layout. */
#include "base/base.h"
#include "data/molecules/qm9_archive.h"
#include "data/molecules/qm9_xyz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 64, VERSION = 1, WORD = 8, BODY_CRC_AT = 40, HEAD_CRC_AT = HEAD - 4, MAX_LIST = 64 << 20 };
static const char word[] = "WLMOLEC\n";

/* Offsets of the arrays. */
struct layout {
    size_t start, id, property, position, atomic_number, end;
};

static size_t after(size_t at, int64_t n, size_t each) { return (at + (size_t)n * each + 7) / 8 * 8; }

static struct layout layout_of(int64_t molecules, int64_t atoms)
{
    struct layout l = { .start = HEAD };
    l.id = after(l.start, molecules + 1, sizeof(uint32_t));
    l.property = after(l.id, molecules, sizeof(uint32_t));
    l.position = after(l.property, molecules * WL_QM9_PROPERTIES, sizeof(double));
    l.atomic_number = after(l.position, 3 * atoms, sizeof(float));
    l.end = after(l.atomic_number, atoms, 1);
    return l;
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

struct collection {
    struct wl_arena *arena;
    struct wl_qm9_record *v;
    size_t n, cap;
    uint32_t *excluded; /* sorted */
    size_t n_excluded, cap_excluded;
    int64_t skipped;
    struct wl_progress *bar; /* NULL: none */
};

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Lines that begin with a number name a molecule; others are ignored. */
static int read_excluded(struct collection *c, const char *path, struct wl_err *e)
{
    char *text;
    int rc = wl_file_read(path, MAX_LIST, &text, NULL, c->arena, e);
    if (rc) return rc;
    for (char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        char *end;
        const unsigned long long id = strtoull(line, &end, 10);
        if (end == line || (*end && !strchr(" \t\r\n", *end)) || id == 0 || id > UINT32_MAX) continue;
        WL_GROW(c->arena, c->excluded, c->n_excluded, c->cap_excluded);
        c->excluded[c->n_excluded++] = (uint32_t)id;
    }
    if (!c->n_excluded) return wl_fail(e, WL_EINVAL, "%s: no line begins with the number of a molecule", path);
    qsort(c->excluded, c->n_excluded, sizeof *c->excluded, by_number);
    return 0;
}

static int add(void *data, double done, const char *name, const char *text, size_t n, struct wl_err *e)
{
    struct collection *c = data;
    if (c->bar) wl_progress_update(c->bar, done, 1, -1, NULL);
    struct wl_qm9_record r = { 0 };
    int rc = wl_qm9_parse(text, n, name, &r, e);
    if (rc) return rc;
    if (c->n_excluded && bsearch(&r.id, c->excluded, c->n_excluded, sizeof r.id, by_number)) {
        c->skipped++;
        return 0;
    }
    WL_GROW(c->arena, c->v, c->n, c->cap);
    c->v[c->n++] = r;
    return 0;
}

static int by_id(const void *a, const void *b)
{
    return by_number(&((const struct wl_qm9_record *)a)->id, &((const struct wl_qm9_record *)b)->id);
}

static int sort(struct collection *c, const char *from, struct wl_err *e)
{
    if (c->n == 0)
        return wl_fail(e, WL_EINVAL, "%s: no molecule %s", from,
                       c->skipped ? "is left after excluding those of the list" : "(NAME.xyz) was found");
    qsort(c->v, c->n, sizeof *c->v, by_id);
    for (size_t i = 1; i < c->n; i++)
        if (c->v[i].id == c->v[i - 1].id)
            return wl_fail(e, WL_EINVAL, "%s: two files have molecule %lu", from, (unsigned long)c->v[i].id);
    return 0;
}

static void encode(const struct collection *c, int64_t atoms, const struct layout *l, uint8_t *p)
{
    uint32_t at = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct wl_qm9_record *r = &c->v[i];
        const size_t n = (size_t)r->molecule.atoms;
        memcpy(p + l->start + 4 * i, &at, sizeof at);
        memcpy(p + l->id + 4 * i, &r->id, sizeof r->id);
        memcpy(p + l->property + i * sizeof r->property, r->property, sizeof r->property);
        memcpy(p + l->position + at * sizeof r->molecule.position[0], r->molecule.position,
               n * sizeof r->molecule.position[0]);
        memcpy(p + l->atomic_number + at, r->molecule.atomic_number, n);
        at += (uint32_t)n;
    }
    memcpy(p + l->start + 4 * c->n, &at, sizeof at);
    memcpy(p, word, WORD);
    wl_le_write(p + 8, 4, VERSION);
    wl_le_write(p + 12, 4, WL_QM9_PROPERTIES);
    wl_le_write(p + 16, 8, c->n);
    wl_le_write(p + 24, 8, (uint64_t)atoms);
    wl_le_write(p + BODY_CRC_AT, 4, wl_crc32c(0, p + HEAD, l->end - HEAD));
    wl_le_write(p + HEAD_CRC_AT, 4, wl_crc32c(0, p, HEAD_CRC_AT));
}

int wl_qm9_pack(const struct wl_qm9_pack_opts *o, struct wl_qm9_pack_stats *done, struct wl_arena *a, struct wl_err *e)
{
    struct wl_progress bar;
    struct collection c = { .arena = wl_arena_new(a), .bar = o->progress ? &bar : NULL };
    int rc = o->exclude ? read_excluded(&c, o->exclude, e) : 0;
    wl_progress_start(&bar, "reading molecules");
    if (!rc) rc = wl_qm9_for_each_xyz(o->from, add, &c, c.arena, e);
    wl_progress_clear(&bar);
    if (!rc) rc = sort(&c, o->from, e);
    if (!rc) {
        int64_t atoms = 0;
        for (size_t i = 0; i < c.n; i++) atoms += c.v[i].molecule.atoms;
        const struct layout l = layout_of((int64_t)c.n, atoms);
        uint8_t *p = wl_new_array(c.arena, uint8_t, l.end);
        encode(&c, atoms, &l, p);
        rc = wl_file_write_user(o->to, (const char *)p, l.end, e);
        *done = (struct wl_qm9_pack_stats) { (int64_t)c.n, atoms, c.skipped };
    }
    wl_arena_free(c.arena);
    return rc;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int decode_head(struct wl_qm9 *q, const uint8_t *p, size_t bytes, struct wl_err *e)
{
    if (bytes < HEAD || memcmp(p, word, WORD) != 0)
        return wl_fail(e, WL_EINVAL, "%s: not a file of molecules (wattlaw-train data qm9 makes them)", q->path);
    if (wl_le_read(p + 8, 4) != VERSION || wl_le_read(p + 12, 4) != WL_QM9_PROPERTIES)
        return wl_fail(e, WL_EINVAL, "%s: format version %llu; expected version %d", q->path,
                       (unsigned long long)wl_le_read(p + 8, 4), VERSION);
    if (wl_le_read(p + HEAD_CRC_AT, 4) != wl_crc32c(0, p, HEAD_CRC_AT))
        return wl_fail(e, WL_EIO, "%s: the header is damaged (checksum mismatch)", q->path);
    const uint64_t molecules = wl_le_read(p + 16, 8), atoms = wl_le_read(p + 24, 8);
    if (molecules < 1 || molecules > bytes || atoms > bytes ||
        layout_of((int64_t)molecules, (int64_t)atoms).end != bytes)
        return wl_fail(e, WL_EIO, "%s: %zu bytes do not match the header, which gives %llu molecules with %llu atoms",
                       q->path, bytes, (unsigned long long)molecules, (unsigned long long)atoms);
    if (wl_le_read(p + BODY_CRC_AT, 4) != wl_crc32c(0, p + HEAD, bytes - HEAD))
        return wl_fail(e, WL_EIO, "%s: the file is damaged (checksum mismatch)", q->path);
    q->molecules = (int64_t)molecules;
    q->atoms = (int64_t)atoms;
    return 0;
}

/* Kernels rely on this: each molecule has 1 to WL_MOLECULE_MAX_ATOMS known atoms. */
static int check_molecules(const struct wl_qm9 *q, struct wl_err *e)
{
    bool fits = q->start[0] == 0 && q->start[q->molecules] == q->atoms;
    for (int64_t i = 0; i < q->molecules && fits; i++)
        fits = q->start[i + 1] > q->start[i] && q->start[i + 1] - q->start[i] <= WL_MOLECULE_MAX_ATOMS;
    for (int64_t i = 0; i < q->atoms && fits; i++) fits = wl_qm9_symbol(q->atomic_number[i]) != NULL;
    for (int64_t i = 0; i < 3 * q->atoms && fits; i++) fits = isfinite(q->position[i]);
    return fits ? 0
                : wl_fail(e, WL_EINVAL,
                          "%s: invalid molecules: expected 1 to 29 atoms of H, C, N, O and F at finite positions",
                          q->path);
}

int wl_qm9_open(struct wl_qm9 *q, const char *path, struct wl_arena *a, struct wl_err *e)
{
    *q = (struct wl_qm9) { .path = wl_is_dir(path) ? wl_path_join(a, path, "qm9.molecules") : wl_strdup(a, path) };
    struct wl_file_mapping m;
    int rc = wl_file_map(q->path, "the molecules", &m, a, e);
    if (!rc) rc = decode_head(q, m.p, m.n, e);
    if (rc) return rc;
    const uint8_t *p = m.p;
    const struct layout l = layout_of(q->molecules, q->atoms);
    q->start = (const uint32_t *)(p + l.start);
    q->id = (const uint32_t *)(p + l.id);
    q->property = (const double *)(p + l.property);
    q->position = (const float *)(p + l.position);
    q->atomic_number = p + l.atomic_number;
    return check_molecules(q, e);
}

struct wl_molecule wl_qm9_molecule(const struct wl_qm9 *q, int64_t i)
{
    const uint32_t first = q->start[i];
    return (struct wl_molecule) { (int)(q->start[i + 1] - first), q->atomic_number + first,
                                  q->position + 3 * (size_t)first };
}
