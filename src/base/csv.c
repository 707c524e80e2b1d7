#include "base/csv.h"

#include "base/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char digits[] = "0123456789";

enum { MAX_ROW = 1 << 20 }; /* bytes */

/* One buffer holds the fields of the current row and is reused for each. */
struct wl_csv_reader {
    FILE *file;
    char separator;
    int line; /* of the next byte */
    struct wl_arena *arena;
    char *buf; /* the fields of the row, each terminated */
    size_t n, cap;
    size_t *starts;
    size_t n_fields, fields_cap;
};

/* ---- texts that a spreadsheet would take for formulas ---- */

/* True for a formula, with or without apostrophes before it. */
static bool is_formula(const char *s)
{
    s += strspn(s, "'");
    return *s && strchr("=+-@\t\r", *s);
}

static bool needs_formula_guard(const char *s)
{
    double number;
    return is_formula(s) && wl_str_to_real(s, &number) != 0;
}

/* Guarding is one to one: a text that already begins with apostrophes gets one more. */
static bool is_guarded(const char *s) { return *s == '\'' && is_formula(s); }

static void put(struct wl_csv_reader *r, char c)
{
    WL_GROW(r->arena, r->buf, r->n, r->cap);
    r->buf[r->n++] = c;
}

/* Checks whether byte c may be added to the row that starts at `line`. */
static int check_byte(const struct wl_csv_reader *r, int c, const char *path, int line, struct wl_err *e)
{
    if (r->n > MAX_ROW) return wl_fail(e, WL_EINVAL, "%s:%d: a row is longer than 1 MiB", path, line);
    if (c == '\0') return wl_fail(e, WL_EINVAL, "%s:%d: not a text file (NUL byte)", path, line);
    return 0;
}

static void begin_field(struct wl_csv_reader *r)
{
    WL_GROW(r->arena, r->starts, r->n_fields, r->fields_cap);
    r->starts[r->n_fields++] = r->n;
}

/* The rest of a quoted field, after the opening quote. */
static int read_quoted(struct wl_csv_reader *r, const char *path, struct wl_err *e)
{
    int opened = r->line;
    for (;;) {
        int c = getc_unlocked(r->file);
        if (c == EOF) return wl_fail(e, WL_EINVAL, "%s:%d: unterminated quote", path, opened);
        if (c == '\n') r->line++;
        if (c == '"') {
            int next = getc_unlocked(r->file);
            if (next != '"') {
                if (next != EOF) ungetc(next, r->file);
                return 0;
            }
        }
        int rc = check_byte(r, c, path, opened, e);
        if (rc) return rc;
        put(r, (char)c);
    }
}

/* Removes a byte-order mark before the first name, which may be quoted; true: there was one. */
static bool drop_byte_order_mark(struct wl_csv_reader *r)
{
    if (r->line != 1 || r->n != 3 || memcmp(r->buf, "\xef\xbb\xbf", 3) != 0) return false;
    r->n = 0;
    return true;
}

/* Reads one record: 1, 0 at the end of the file, negative on error. */
static int read_record(struct wl_csv_reader *r, const char *path, struct wl_err *e)
{
    r->n = r->n_fields = 0;
    int c = getc_unlocked(r->file);
    if (c == EOF) return ferror(r->file) ? wl_fail_errno(e, "%s:%d: cannot read", path, r->line) : 0;
    begin_field(r);
    bool field_empty = true;
    for (;; c = getc_unlocked(r->file)) {
        if (c == '\r') {
            int next = getc_unlocked(r->file);
            if (next != '\n' && next != EOF) ungetc(next, r->file);
            c = '\n';
        }
        if (c == EOF || c == '\n') break;
        int rc = check_byte(r, c, path, r->line, e);
        if (rc) return rc;
        if (c == '"' && field_empty) {
            rc = read_quoted(r, path, e);
            if (rc) return rc;
            field_empty = false;
        } else if (c == r->separator) {
            put(r, '\0');
            begin_field(r);
            field_empty = true;
        } else {
            put(r, (char)c);
            field_empty = drop_byte_order_mark(r);
        }
    }
    put(r, '\0');
    if (c == '\n') r->line++;
    return 1;
}

static bool blank(const struct wl_csv_reader *r) { return r->n_fields == 1 && r->buf[0] == '\0'; }

int wl_csv_open(struct wl_csv *csv, const char *path, char separator, struct wl_arena *a, struct wl_err *e)
{
    FILE *f;
    int rc = wl_file_stream(path, &f, a, e);
    if (rc < 0) return rc;
    struct wl_csv_reader *r = wl_new(a, struct wl_csv_reader);
    *r = (struct wl_csv_reader) { .file = f, .separator = separator, .line = 1, .arena = a };
    *csv = (struct wl_csv) { .path = wl_strdup(a, path), .reader = r };
    do {
        csv->line = r->line;
        rc = read_record(r, csv->path, e);
        if (rc < 0) return rc;
        if (rc == 0) return wl_fail(e, WL_EINVAL, "%s: no header row: the file is empty", path);
    } while (blank(r) || r->buf[r->starts[0]] == '#');
    for (size_t i = 0; i < r->n_fields; i++) {
        const char *name = wl_str_strip(a, r->buf + r->starts[i]);
        wl_strs_add(a, &csv->head, name + is_guarded(name));
    }
    csv->row = wl_new_array(a, char *, csv->head.n);
    return 0;
}

int wl_csv_next(struct wl_csv *csv, struct wl_err *e)
{
    struct wl_csv_reader *r = csv->reader;
    int rc;
    do {
        csv->line = r->line;
        rc = read_record(r, csv->path, e);
        if (rc <= 0) return rc;
    } while (blank(r));
    if (r->n_fields != csv->head.n)
        return wl_fail(e, WL_EINVAL, "%s:%d: %zu fields, the header has %zu", csv->path, csv->line, r->n_fields,
                       csv->head.n);
    for (size_t i = 0; i < r->n_fields; i++) {
        char *field = r->buf + r->starts[i];
        csv->row[i] = field + is_guarded(field);
    }
    return 1;
}

int wl_csv_column(const struct wl_csv *csv, const char *name)
{
    for (size_t i = 0; i < csv->head.n; i++)
        if (strcmp(csv->head.v[i], name) == 0) return (int)i;
    return -1;
}

char *wl_csv_text(const struct wl_csv *csv, int column, struct wl_arena *a)
{
    const char *field = csv->reader->buf + csv->reader->starts[column];
    char *text = is_guarded(field) ? wl_strdup(a, field + 1) : wl_str_strip(a, field);
    return *text ? text : NULL;
}

bool wl_csv_has_decimal_comma(const char *s)
{
    size_t before = 0, after = 0;
    s += strspn(s, " \t");
    s += *s == '-' || *s == '+';
    before = strspn(s, digits);
    if (s[before] != ',') return false;
    s += before + 1;
    after = strspn(s, digits);
    s += after;
    if (*s == 'e' || *s == 'E') {
        s++;
        s += *s == '-' || *s == '+';
        s += strspn(s, digits);
    }
    return before + after > 0 && after > 0 && !s[strspn(s, " \t")];
}

static void comma_to_point(char *number)
{
    if (wl_csv_has_decimal_comma(number)) *strchr(number, ',') = '.';
}

int wl_csv_real(const struct wl_csv *csv, int column, double *out, struct wl_err *e)
{
    const char *s = csv->row[column];
    while (*s == ' ' || *s == '\t') s++;
    size_t n = strlen(s);
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t')) n--;
    *out = NAN;
    if (n == 0) return 0;
    char number[64];
    if (n < sizeof number) {
        memcpy(number, s, n);
        number[n] = '\0';
        if (csv->decimal_comma) comma_to_point(number);
        if (wl_str_to_real(number, out) == 0) return 0;
    }
    return wl_fail(e, WL_EINVAL, "%s:%d: column %s: \"%.60s\" is not a number", csv->path, csv->line,
                   csv->head.v[column], csv->row[column]);
}

void wl_csv_put(struct wl_text *to, const char *field)
{
    const char *guard = needs_formula_guard(field) ? "'" : "";
    if (!field[strcspn(field, ",\"\r\n")]) {
        wl_text_addf(to, "%s%s", guard, field);
        return;
    }
    wl_text_addf(to, "\"%s", guard);
    for (; *field; field++) {
        if (*field == '"') wl_text_add(to, "\"");
        wl_text_addn(to, field, 1);
    }
    wl_text_add(to, "\"");
}

char *wl_csv_plain(struct wl_arena *a, const char *field, size_t n)
{
    char *text = wl_strndup(a, field, n), *to = text;
    for (const char *from = text; *from; from++) {
        *to++ = *from;
        from += from[0] == '"' && from[1] == '"';
    }
    *to = '\0';
    return text + is_guarded(text);
}
