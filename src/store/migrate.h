/* A new file, a newer version, and our views in it. */
#ifndef WL_STORE_MIGRATE_H
#define WL_STORE_MIGRATE_H

#include "base/base.h"

struct wl_store;

enum { WL_STORE_APPLICATION_ID = 0x774c4157 }; /* "wLAW" at byte 68 of the file */

/* The files migrate_N.sql and fill_N.sql, as texts. */
extern const unsigned char wl_migrate_1_sql[], wl_migrate_2_sql[], wl_migrate_3_sql[], wl_migrate_4_sql[],
    wl_migrate_5_sql[], wl_migrate_6_sql[], wl_migrate_7_sql[], wl_migrate_8_sql[], wl_migrate_9_sql[],
    wl_migrate_10_sql[], wl_migrate_11_sql[], wl_migrate_12_sql[], wl_migrate_13_sql[], wl_migrate_14_sql[],
    wl_migrate_15_sql[], wl_migrate_16_sql[], wl_migrate_17_sql[], wl_migrate_18_sql[], wl_migrate_19_sql[],
    wl_migrate_20_sql[], wl_migrate_21_sql[], wl_fill_5_sql[];

/* Inside a transaction: makes everything in an empty file. */
int wl_store_create(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;

/* From a version to the next. A list of them begins at version 1; sql NULL ends it. */
struct wl_migration {
    const unsigned char *sql;  /* changes tables */
    const unsigned char *fill; /* makes rows of what was there, in tables that `sql` has made; NULL: none */
};

/* Inside a transaction: brings the tables from version `from` to the newest and makes views and triggers anew. */
int wl_store_migrate(struct wl_store *s, int64_t from, struct wl_err *e) WL_MUST_CHECK;
int wl_store_migrate_by(struct wl_store *s, const struct wl_migration *list, int64_t from,
                        struct wl_err *e) WL_MUST_CHECK;

/* Inside a transaction: drops all views and triggers and makes ours. */
int wl_store_remake_views(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;

/* For a reader: the rows that migrations from version `from` on make, without changing tables; and those of `total`,
 * which take the longest (1 to 2 ms a run). */
int wl_store_fill(struct wl_store *s, int64_t from, struct wl_err *e) WL_MUST_CHECK;
int wl_store_fill_totals(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;

#endif
