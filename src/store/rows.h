/* Rows of a table as structs: SELECT and INSERT by a map of columns to members. */
#ifndef WL_STORE_ROWS_H
#define WL_STORE_ROWS_H

#include "store/sql.h"

enum wl_column_type {
    WL_COLUMN_INT,    /* int64_t, NOT NULL */
    WL_COLUMN_TIME,   /* int64_t, WL_NO_NS is NULL */
    WL_COLUMN_BOOL,   /* bool, 0/1; NULL is false */
    WL_COLUMN_REAL,   /* double, NAN is NULL */
    WL_COLUMN_COUNT,  /* double that holds a whole number, at least 0, NAN is NULL */
    WL_COLUMN_WHOLE,  /* the same, negative ones too */
    WL_COLUMN_TEXT,   /* const char *, NULL is NULL */
    WL_COLUMN_NAME,   /* const char *, NOT NULL */
    WL_COLUMN_OBJECT, /* WL_COLUMN_TEXT that is a JSON object */
    WL_COLUMN_STATUS, /* enum wl_run_status as its name */
};

/* One column: its name in the table (when read: any SQL expression) and its member. A map ends with name NULL. */
struct wl_column_map {
    const char *name;
    enum wl_column_type type;
    size_t offset; /* of the member in the struct, bytes */
};

/* "SELECT columns of the map" and then `from`: the rest of the query. */
struct wl_query {
    const struct wl_column_map *map;
    const char *from;
    const struct wl_sql_value *values; /* of ?1, ?2 ...: .values = SQL(...) sets both members */
    size_t n_values;
    size_t size; /* of a struct, bytes */
};

/* Sets *rows, a pointer to structs of the query's size, to an array of *n of them in `a`. A cell may hold anything:
 * WL_EINVAL names one whose type or range is not the member's. Integers are within +-2^62, so that the difference of
 * two of them does not overflow. */
int wl_rows_select(struct wl_store *s, const struct wl_query *q, void *rows, size_t *n, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;

/* The two columns t_ns and value of a row of `sample`. */
int wl_rows_reading(struct wl_store *s, sqlite3_stmt *stmt, int64_t *t_ns, double *value,
                    struct wl_err *e) WL_MUST_CHECK;

/* Where structs are inserted. The texts and the map are static: statements are cached by them. */
struct wl_insert {
    const char *table;
    const struct wl_column_map *map; /* at most WL_MAX_COLUMNS */
    size_t size;                     /* of a struct, bytes */
    int64_t run;                     /* of all rows: the table's column `run`; 0: the map has all columns */
    const char *suffix;              /* follows the values: "ON CONFLICT DO NOTHING"; NULL: nothing */
};
enum { WL_MAX_COLUMNS = 64 };

/* WL_EINVAL names a value that wl_rows_select would not read back. */
int wl_rows_insert(struct wl_store *s, const struct wl_insert *to, const void *rows, size_t n,
                   struct wl_err *e) WL_MUST_CHECK;

#endif
