#include "base/fold.h"

#include "base/utf8.h"

#include <string.h>

enum { HANG = 2, LABEL_GAP = 2, LEAST_LINE = 10 };

static void put_blanks(size_t n, wl_fold_put *put, void *to)
{
    while (n--) put(to, " ", 1);
}

/* Columns of the word; its SGR sequences, ESC [ ... m, have none. */
static size_t word_columns(const struct wl_fold *f)
{
    size_t sum = 0, from = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (f->word[i] != '\033') continue;
        sum += wl_utf8_columns(f->word + from, i - from);
        while (i < f->n && f->word[i] != 'm') i++;
        from = i < f->n ? i + 1 : i;
    }
    return sum + wl_utf8_columns(f->word + from, f->n - from);
}

/* The text begins after the last gap, which is in the left half of the line: text in a narrow strip is not read. */
static void note_label(struct wl_fold *f, size_t at, size_t width)
{
    if (!f->started) f->indent = at;
    if (at > width / 2) return;
    if (!f->started && at && at == f->above) f->hang = at;
    if (f->started && f->blanks >= LABEL_GAP) f->hang = at;
    if (f->started && !f->hang && at == f->above && f->blanks && f->indent) f->hang = at;
}

void wl_fold_flush(struct wl_fold *f, size_t width, wl_fold_put *put, void *to)
{
    const size_t columns = word_columns(f);
    if (!columns) { /* the end of a colour, after blanks */
        put(to, f->word, f->n);
        f->blanks += f->after;
        f->after = f->n = 0;
        return;
    }
    note_label(f, f->column + f->blanks, width);
    const size_t hang = f->hang ? f->hang : f->indent + (f->flush_left ? 0 : HANG);
    if (f->started && f->blanks && f->column + f->blanks + columns > width && hang + LEAST_LINE < width) {
        put(to, "\n", 1);
        put_blanks(hang, put, to);
        f->column = hang;
    } else {
        put_blanks(f->blanks, put, to);
        f->column += f->blanks;
    }
    put(to, f->word, f->n);
    f->column += columns;
    f->started = true;
    f->blanks = f->after;
    f->after = f->n = 0;
}

static void end_line(struct wl_fold *f, size_t width, wl_fold_put *put, void *to)
{
    wl_fold_flush(f, width, put, to);
    put(to, "\n", 1);
    const size_t above = f->hang ? f->hang : f->started && f->indent == 0 ? 0 : f->above;
    *f = (struct wl_fold) { .flush_left = f->flush_left, .above = above };
}

/* Bytes of a word are put together; of one longer than the buffer, piece by piece without a blank between. */
static void add_byte(struct wl_fold *f, char c, size_t width, wl_fold_put *put, void *to)
{
    if (f->n == sizeof f->word) wl_fold_flush(f, width, put, to);
    f->word[f->n++] = c;
}

/* The blank between a number and "%" does not end a line. */
static void join(struct wl_fold *f, size_t width, wl_fold_put *put, void *to)
{
    f->after = 0;
    add_byte(f, ' ', width, put, to);
}

void wl_fold_add(struct wl_fold *f, const char *s, size_t n, size_t width, wl_fold_put *put, void *to)
{
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\n') {
            end_line(f, width, put, to);
        } else if (s[i] == ' ') {
            *(f->n ? &f->after : &f->blanks) += 1;
        } else {
            if (f->after == 1 && s[i] == '%')
                join(f, width, put, to);
            else if (f->after)
                wl_fold_flush(f, width, put, to);
            add_byte(f, s[i], width, put, to);
        }
    }
}
