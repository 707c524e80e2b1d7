/* jpwr's HDF5: a DataFrame that pandas wrote in its format "fixed": columns of one type are a block, with their names
 * in blockN_items and their numbers [rows,columns] in blockN_values. Source: github.com/FZJ-JSC/jpwr, clitool.py, and
 * pandas/io/pytables.py. */
#include "cmd/hdf5/tools.h"

#include <string.h>

enum { MOST_BLOCKS = 16, MOST_COLUMNS = 4096 };

struct block {
    struct wl_hdf5_numbers values;
    struct wl_strs items;
    double *row; /* [WL_HDF5_BLOCK,items.n] */
};

struct frame {
    struct wl_hdf5_file *f;
    FILE *to;
    struct block block[MOST_BLOCKS];
    size_t n_blocks;
    struct column {
        const char *name;
        size_t block, item;
    } * column; /* [n_columns]; the first one has the times */
    size_t n_columns;
    hsize_t rows;
};

static int open_block(struct frame *d, hid_t group, size_t i, struct wl_err *e)
{
    struct block *b = &d->block[i];
    struct wl_arena *a = d->f->a;
    int rc = wl_hdf5_texts(group, wl_strf(a, "block%zu_items", i), &b->items, a, e);
    if (rc == 0) rc = wl_hdf5_numbers_open(d->f, group, wl_strf(a, "block%zu_values", i), &b->values, e);
    if (rc < 0) return rc;
    if (b->values.columns != b->items.n || (i && b->values.rows != d->rows))
        return wl_fail(e, WL_EINVAL, "block%zu_values: [%llu,%llu] numbers of %zu columns and %llu rows", i,
                       (unsigned long long)b->values.rows, (unsigned long long)b->values.columns, b->items.n,
                       (unsigned long long)d->rows);
    d->rows = b->values.rows;
    d->n_columns += b->items.n;
    b->row = wl_new_array(a, double, WL_HDF5_BLOCK * b->items.n);
    return d->n_columns > MOST_COLUMNS ? wl_fail(e, WL_EINVAL, "more than %d columns", MOST_COLUMNS) : 0;
}

static int open_blocks(struct frame *d, hid_t group, struct wl_err *e)
{
    double n = 0;
    int rc = wl_hdf5_attribute_number(group, "nblocks", &n, e);
    if (rc == 0 && !(n >= 1 && n <= MOST_BLOCKS))
        return wl_fail(e, WL_EINVAL, "its attribute nblocks is %g, not 1 to %d", n, MOST_BLOCKS);
    for (; d->n_blocks < (size_t)n && rc == 0; d->n_blocks++) rc = open_block(d, group, d->n_blocks, e);
    return rc;
}

/* The columns in the order of the blocks, the times first. */
static int set_columns(struct frame *d, struct wl_err *e)
{
    size_t n = 1;
    d->column = wl_new_array(d->f->a, struct column, d->n_columns + 1);
    for (size_t b = 0; b < d->n_blocks; b++)
        for (size_t i = 0; i < d->block[b].items.n; i++) {
            const struct column c = { d->block[b].items.v[i], b, i };
            const bool times = !d->column[0].name && strcmp(c.name, "timestamps") == 0;
            d->column[times ? 0 : n] = c;
            n += !times;
        }
    return d->column[0].name ? 0 : wl_fail(e, WL_EINVAL, "no column \"timestamps\"");
}

static int write_lines(const struct frame *d, struct wl_err *e)
{
    char number[WL_NUMBER_MAX];
    int rc = 0;
    for (hsize_t first = 0; first < d->rows && rc == 0; first += WL_HDF5_BLOCK) {
        const hsize_t left = d->rows - first, n = left < WL_HDF5_BLOCK ? left : WL_HDF5_BLOCK;
        for (size_t b = 0; b < d->n_blocks && rc == 0; b++)
            rc = wl_hdf5_numbers_read(&d->block[b].values, first, n, d->block[b].row, e);
        for (hsize_t i = 0; i < n && rc == 0; i++) {
            fprintf(d->to, "%llu", (unsigned long long)(first + i));
            for (size_t c = 0; c < d->n_columns; c++) {
                const struct block *b = &d->block[d->column[c].block];
                fprintf(d->to, ",%s", wl_number_shortest(b->row[i * b->items.n + d->column[c].item], number));
            }
            fputs("\n", d->to);
        }
    }
    return rc;
}

static int write_frame(struct frame *d, hid_t group, struct wl_err *e)
{
    int rc = open_blocks(d, group, e);
    if (rc == 0) rc = set_columns(d, e);
    if (rc < 0) return rc;
    struct wl_text head = WL_TEXT(d->f->a);
    for (size_t c = 0; c < d->n_columns; c++) {
        wl_text_add(&head, ",");
        wl_hdf5_put(&head, d->column[c].name, d->f->a);
    }
    fprintf(d->to, "%s\n", head.s);
    return write_lines(d, e);
}

int wl_hdf5_write_jpwr(struct wl_hdf5_file *f, FILE *to, struct wl_err *e)
{
    struct frame d = { .f = f, .to = to };
    hid_t group;
    int rc = wl_hdf5_group(f->id, "jpwr", &group, e);
    if (rc < 0) return rc;
    if (rc == 0) return wl_fail(e, WL_EINVAL, "an HDF5 file without jpwr's group \"jpwr\"");
    const char *type = wl_hdf5_attribute_text(group, "pandas_type", f->a);
    if (strcmp(type, "series") == 0)
        rc = wl_fail(e, WL_EINVAL, "the totals that jpwr computed, without times: import the power.*.h5 next to it");
    else if (strcmp(type, "frame") != 0)
        rc = wl_fail(e, WL_EINVAL, "its group \"jpwr\" is not a table that pandas wrote (pandas_type is \"%.40s\")",
                     type);
    else
        rc = write_frame(&d, group, e);
    for (size_t b = 0; b < d.n_blocks; b++) wl_hdf5_numbers_close(&d.block[b].values);
    H5Gclose(group);
    return rc;
}
