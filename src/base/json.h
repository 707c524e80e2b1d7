/* JSON, through jansson: values are built under a parent and die with the root's arena.
 *
 * NAN and infinite numbers become null: missing is missing. Texts and keys that are not UTF-8 have their bad bytes
 * replaced by U+FFFD. Keys keep the order in which they were added.
 */
#ifndef WL_BASE_JSON_H
#define WL_BASE_JSON_H

#include "base/arena.h"

struct wl_json; /* one value; the same pointer type for objects, arrays and leaves */

struct wl_json *wl_json_root_object(struct wl_arena *a);
struct wl_json *wl_json_root_array(struct wl_arena *a);

/* Add below a parent: `key` names the member of an object and is NULL in an array. */
struct wl_json *wl_json_add_object(struct wl_json *parent, const char *key);
struct wl_json *wl_json_add_array(struct wl_json *parent, const char *key);
void wl_json_add_str(struct wl_json *parent, const char *key, const char *value); /* NULL -> null */
void wl_json_add_int(struct wl_json *parent, const char *key, int64_t value);
void wl_json_add_real(struct wl_json *parent, const char *key, double value);
void wl_json_add_number(struct wl_json *parent, const char *key, double value); /* 2, not 2.0, where it is whole */
void wl_json_add_bool(struct wl_json *parent, const char *key, bool value);
void wl_json_add_null(struct wl_json *parent, const char *key);
void wl_json_add_value(struct wl_json *parent, const char *key, const struct wl_json *value); /* of any tree: shared */

/* Text: indent 0 gives one line. The reals are printed with as many digits as round-trip. */
char *wl_json_text(const struct wl_json *v, int indent, struct wl_arena *a);

/* As short as possible, numbers with six digits: for pictures. */
char *wl_json_text_to_draw(const struct wl_json *v, struct wl_arena *a);

/* Prints a value, indented, with a final newline, to stdout or a file. Characters that control a terminal (printable.h)
 * are escaped as \uXXXX, which every JSON reader decodes. */
void wl_json_print(const struct wl_json *v);
/* The same in one line, to stdout. */
void wl_json_print_line(const struct wl_json *v);
int wl_json_write(const struct wl_json *v, const char *path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Arrays whose elements are made while they are printed, one at a time: memory does not grow with their number. */
struct wl_json_streams;
struct wl_json_streams *wl_json_streams_new(struct wl_arena *a);
/* An array below a parent. element() makes element i as a root in `a`, which is freed once it is printed; ctx has to
 * live until then. Streams have to be added in the order in which they are printed. Readers see an empty array. */
typedef struct wl_json *wl_json_element(const void *ctx, size_t i, struct wl_arena *a);
void wl_json_add_stream(struct wl_json_streams *s, struct wl_json *parent, const char *key, size_t n,
                        wl_json_element *element, const void *ctx);
/* As wl_json_print, to the letter. */
void wl_json_print_streams(const struct wl_json *v, const struct wl_json_streams *s);

/* The same for a JSON text, of one line or several. */
const char *wl_json_printable(const char *text, struct wl_arena *a);

/* Parses a text; messages begin with `what` (such as a path), line and column. */
int wl_json_parse(const char *text, const char *what, struct wl_json **out, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;

/* Reading: NULL, NAN or the fallback where the value is absent or of another type. */
const struct wl_json *wl_json_get(const struct wl_json *object, const char *key);
size_t wl_json_size(const struct wl_json *array_or_object);
/* The keys of an object in order: the first for after = NULL, then the one after `after`; NULL at the end. */
const char *wl_json_key(const struct wl_json *object, const char *after);
const struct wl_json *wl_json_at(const struct wl_json *array, size_t i);
bool wl_json_is_object(const struct wl_json *v);
const char *wl_json_str(const struct wl_json *v);
double wl_json_real(const struct wl_json *v);
int64_t wl_json_int(const struct wl_json *v, int64_t fallback);
bool wl_json_bool(const struct wl_json *v, bool fallback);

#endif
