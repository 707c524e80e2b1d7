/* What to say of a file of no known format: what was seen of it, and which format is nearest. */
#include "exchange/import/format.h"
#include "exchange/import/lines.h"

#include <string.h>
#include <strings.h>

enum { COLUMNS = 256, LISTED = 8, QUOTED = 60 };

/* The fields of the first line. */
struct header {
    struct wl_slice v[COLUMNS];
    int n;     /* in v */
    int total; /* of the line */
};

static struct header header_of(const char *line)
{
    struct header h;
    h.total = wl_slice_split(wl_slice_of(line), wl_import_separator(line), h.v, COLUMNS);
    h.n = h.total < COLUMNS ? h.total : COLUMNS;
    return h;
}

/* "power.draw [W]" is the column power.draw. */
static bool is_column(struct wl_slice field, const char *name)
{
    const size_t n = strlen(name);
    return field.n >= n && strncasecmp(field.s, name, n) == 0 &&
           (field.n == n || field.s[n] == ' ' || field.s[n] == '[');
}

static bool has_column(const struct header *h, const char *name)
{
    for (int i = 0; i < h->n; i++)
        if (is_column(h->v[i], name)) return true;
    return false;
}

/* The format of whose columns the header has the largest share, and at least a half; NULL: there is none. */
static const struct wl_import_format *nearest(const struct header *h)
{
    const struct wl_import_format *best = NULL;
    double most = 0;
    for (size_t i = 0; wl_import_formats[i]; i++) {
        const char *const *columns = wl_import_formats[i]->columns;
        int all = 0, found = 0;
        for (; columns && columns[all]; all++) found += has_column(h, columns[all]);
        const double share = all ? (double)found / all : 0;
        if (share < 0.5 || found < 2 || share <= most) continue;
        most = share;
        best = wl_import_formats[i];
    }
    return best;
}

static void add_nearest(struct wl_text *t, const struct header *h)
{
    const struct wl_import_format *f = nearest(h);
    const char *before = "";
    if (!f) return;
    wl_text_addf(t, "; did you mean %s (%s)? Its file also has ", f->name, f->title);
    for (size_t i = 0; f->columns[i]; i++) {
        if (has_column(h, f->columns[i])) continue;
        wl_text_addf(t, "%s\"%s\"", before, f->columns[i]);
        before = ", ";
    }
}

/* whole: the line ends in what was read of the file. */
static void add_columns(struct wl_text *t, const struct header *h, bool whole, struct wl_arena *a)
{
    wl_text_add(t, "its columns are ");
    for (int i = 0; i < h->n && i < LISTED; i++) {
        const size_t n = h->v[i].n < QUOTED ? h->v[i].n : QUOTED;
        wl_text_addf(t, "%s\"%s\"", i ? ", " : "", wl_strndup(a, h->v[i].s, n));
    }
    if (h->total > LISTED) wl_text_addf(t, " and %s%d more", whole ? "" : "at least ", h->total - LISTED);
}

/* A NUL, or another control character but the ends of lines and tabs. */
static bool is_binary(const struct wl_import_head *h)
{
    for (size_t i = 0; i < h->n && i < QUOTED; i++)
        if ((unsigned char)h->text[i] < ' ' && !strchr("\t\r\n", h->text[i])) return true;
    return h->text[0] == '\0';
}

static void add_bytes(struct wl_text *t, const struct wl_import_head *h)
{
    wl_text_add(t, "it begins with the bytes");
    for (size_t i = 0; i < h->n && i < 8; i++) wl_text_addf(t, " %02x", (unsigned char)h->text[i]);
}

int wl_import_fail_unknown(const struct wl_import_head *h, struct wl_arena *a, struct wl_err *e)
{
    const char *line = wl_import_head_line(h, a);
    const struct header header = header_of(line ? line : h->text);
    struct wl_text t = WL_TEXT(a);
    if (is_binary(h))
        add_bytes(&t, h);
    else if (header.total > 1)
        add_columns(&t, &header, h->whole || memchr(h->text, '\n', h->n), a);
    else
        wl_text_addf(&t, "it begins with \"%.*s\"", QUOTED, line ? line : h->text);
    if (!is_binary(h)) add_nearest(&t, &header);
    return wl_fail(e, WL_EINVAL, "%s: not of a known format: %s; wattlaw import --help lists the formats", h->path,
                   t.s);
}
