/* The tables, columns, views and triggers that a store has, and which of them a file has. */
#ifndef WL_STORE_SCHEMA_H
#define WL_STORE_SCHEMA_H

#include "base/base.h"

struct wl_store;

extern const unsigned char wl_schema_sql[], wl_views_sql[]; /* the .sql files, as texts */

struct wl_schema_object {
    enum { WL_SCHEMA_TABLE, WL_SCHEMA_VIEW, WL_SCHEMA_TRIGGER } kind;
    const char *name, *sql;
    struct wl_schema_column {
        const char *name, *fallback; /* fallback: the default, as SQL; NULL: none */
        bool there;
    } * columns; /* of a table */
    size_t n_columns;
    bool there, lacks_columns; /* in the file */
};
struct wl_schema {
    struct wl_schema_object *v;
    size_t n;
};

/* Those of the newest version. */
int wl_schema_expected(struct wl_schema *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Which tables and columns the file has. Only real tables count. WL_EINVAL: a column is computed. */
int wl_schema_inspect(struct wl_store *s, struct wl_schema *shapes, struct wl_err *e) WL_MUST_CHECK;

/* After that: WL_EINVAL names a table or column that is missing. */
int wl_schema_check_complete(const struct wl_store *s, const struct wl_schema *shapes, struct wl_err *e) WL_MUST_CHECK;

/* Are the views and triggers ours? *remake: one of ours is missing or differs. WL_EINVAL: there is a foreign trigger.
 */
int wl_schema_check_code(struct wl_store *s, struct wl_schema *shapes, bool *remake, struct wl_err *e) WL_MUST_CHECK;

#endif
