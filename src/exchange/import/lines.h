/* A file, line by line and in constant memory; fields of a line; numbers. None of it depends on the locale, and none
 * allocates for a line. */
#ifndef WL_EXCHANGE_IMPORT_LINES_H
#define WL_EXCHANGE_IMPORT_LINES_H

#include "base/base.h"

/* A part of a line; not terminated. */
struct wl_slice {
    const char *s;
    size_t n;
};

enum { WL_LINE_MAX = 1 << 20 }; /* bytes; a longer line is an error */

/* A file that is read. Ends of lines are LF or CRLF; a byte-order mark of UTF-8 is skipped. */
struct wl_lines {
    const char *path;
    int64_t line;  /* number of the latest line, from 1 */
    int64_t bytes; /* read so far */
    uint32_t crc;  /* CRC-32C of these */
    bool whole;    /* the latest line had its end: the last one of a file that was cut has none */
    bool nul;      /* the latest line holds a NUL byte */
    void (*on_block)(void *ctx, size_t bytes); /* (optional) called for each block that was read */
    void *ctx;
    int fd;
    char *buf; /* [cap] of which [from, to) is not returned yet */
    size_t cap, from, to;
    bool eof;
};

/* Opens a file, pipe or device until the arena dies. */
int wl_lines_open(struct wl_lines *r, const char *path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The same of a descriptor that is open and stays the caller's; `name` is for messages. */
void wl_lines_of_fd(struct wl_lines *r, const char *name, int fd, struct wl_arena *a);

/* The beginning, which stays to be read: at least n bytes if the file has them. */
int wl_lines_peek(struct wl_lines *r, size_t n, struct wl_slice *head, struct wl_err *e) WL_MUST_CHECK;

/* 1: the next line, without its end, valid until the next call; 0: the end; WL_EINVAL: longer than WL_LINE_MAX. */
int wl_lines_next(struct wl_lines *r, struct wl_slice *line, struct wl_err *e) WL_MUST_CHECK;

/* All that is left, terminated; for JSON. WL_EINVAL: more than `max` bytes. */
int wl_lines_rest(struct wl_lines *r, size_t max, struct wl_slice *text, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;

struct wl_slice wl_slice_of(const char *text);
struct wl_slice wl_slice_trim(struct wl_slice s); /* without blanks and tabs at both ends */
bool wl_slice_eq(struct wl_slice s, const char *text);
bool wl_slice_starts(struct wl_slice s, const char *prefix);
char *wl_slice_text(struct wl_slice s, struct wl_arena *a);

/* The fields of a line: at most `max` into v, trimmed. Quotes as of RFC 4180 ("" inside of them is not turned into one
 * quote). Returns how many the line has, which may be more than max; -1: a quote is not closed. */
int wl_slice_split(struct wl_slice line, char separator, struct wl_slice *v, int max);
/* The same at blanks and tabs, however many. */
int wl_slice_words(struct wl_slice line, struct wl_slice *v, int max);

/* A decimal number, all of the slice: "251.31", "-1", "1e-3"; not nan, inf or hexadecimal. */
bool wl_slice_real(struct wl_slice s, double *out);
/* The number that the slice begins with; *rest is what follows it, without blanks before: "251.31 W". */
bool wl_slice_real_then(struct wl_slice s, double *out, struct wl_slice *rest);
bool wl_slice_uint(struct wl_slice s, uint64_t *out);

#endif
