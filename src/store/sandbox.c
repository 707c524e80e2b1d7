/* What a file may make SQLite do: hold rows, and nothing else. docs/adr/056
 *
 * A store may come from anybody. Its schema is a program: views and triggers run when they are met, generated columns
 * when they are read, virtual tables call the code of their module. So every connection is bound before it reads the
 * schema: no views or triggers of the file's own, no modules, a list of functions and pragmas, no second database,
 * small limits. Our own statements need only what the lists below hold.
 */
#include "store/sandbox.h"

#include "store/connection.h"

#include <string.h>

/* ---- limits ---- */

enum { MEGABYTE = 1 << 20 };

static void set_limits(sqlite3 *db)
{
    static const struct {
        int what, most;
    } limits[] = {
        { SQLITE_LIMIT_LENGTH, 64 * MEGABYTE }, /* of a cell or a row; the largest that we write are texts of
                                                   experiments */
        { SQLITE_LIMIT_SQL_LENGTH, MEGABYTE },     { SQLITE_LIMIT_COLUMN, 200 },
        { SQLITE_LIMIT_EXPR_DEPTH, 100 },          { SQLITE_LIMIT_COMPOUND_SELECT, 10 },
        { SQLITE_LIMIT_FUNCTION_ARG, 20 },         { SQLITE_LIMIT_ATTACHED, 0 },
        { SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100 }, { SQLITE_LIMIT_VARIABLE_NUMBER, 100 },
        { SQLITE_LIMIT_TRIGGER_DEPTH, 2 },         { SQLITE_LIMIT_WORKER_THREADS, 0 },
    };
    for (size_t i = 0; i < WL_COUNT(limits); i++) sqlite3_limit(db, limits[i].what, limits[i].most);
}

/* ---- what a statement may do ---- */

static bool listed(const char *name, const char *const *list)
{
    for (; name && *list; list++)
        if (sqlite3_stricmp(name, *list) == 0) return true;
    return false;
}

static bool may_call(const char *function)
{
    static const char *const ours[] = { "avg", "coalesce", "count", "ifnull", "instr", "max",
                                        "min", "nullif",   "raise", "substr", "sum",   NULL };
    static const char *const of_alter_table[] = {
        "glob",   "length", "like", "printf", "sqlite_drop_column", "sqlite_rename_quotefix", "sqlite_rename_test",
        "substr", NULL
    }; /* which migrations use; glob since SQLite 3.46 at the latest, like before */
    return listed(function, ours) || listed(function, of_alter_table);
}

static bool may_set(const char *pragma)
{
    static const char *const pragmas[] = { "application_id",    "cache_size",         "cell_size_check",
                                           "foreign_key_check", "foreign_keys",       "integrity_check",
                                           "journal_mode",      "mmap_size",          "quick_check",
                                           "synchronous",       "table_xinfo",        "temp_store",
                                           "user_version",      "wal_autocheckpoint", NULL };
    return listed(pragma, pragmas);
}

/* Reading, and writing into the connection's own temporary database. */
static bool reader_may(int action, const char *database)
{
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_TRANSACTION: return true;
    default: return database && strcmp(database, "temp") == 0;
    }
}

static int authorize(void *store, int action, const char *a, const char *b, const char *database, const char *inside)
{
    struct wl_store *s = store;
    bool may;
    s->asks_totals |= action == SQLITE_READ && strcmp(a, "total") == 0;
    (void)inside;
    switch (action) {
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
    case SQLITE_CREATE_VTABLE:
    case SQLITE_DROP_VTABLE:
    case SQLITE_RECURSIVE: may = false; break;
    case SQLITE_FUNCTION: may = may_call(b); break;
    case SQLITE_PRAGMA: may = may_set(a); break;
    default: may = s->mode != WL_STORE_READ || reader_may(action, database); break;
    }
    return may ? SQLITE_OK : SQLITE_DENY;
}

/* ---- files ---- */

/* A rollback journal may name a super-journal, of a transaction over several databases, which SQLite removes when it
 * has rolled back. A journal that came with a store could so name any file of ours. No statement here writes to two
 * databases. */
static int open_no_super_journal(sqlite3_vfs *self, const char *name, sqlite3_file *file, int flags, int *out)
{
    (void)self;
    sqlite3_vfs *system = sqlite3_vfs_find(NULL);
    if (!(flags & SQLITE_OPEN_SUPER_JOURNAL)) return system->xOpen(system, name, file, flags, out);
    file->pMethods = NULL; /* nothing to close */
    return SQLITE_CANTOPEN;
}

void wl_sandbox_register_vfs(void)
{
    static sqlite3_vfs files; /* SQLite keeps it */
    const sqlite3_vfs *system = sqlite3_vfs_find(NULL);
    if (!system) return;
    files = *system;
    files.pNext = NULL;
    files.zName = WL_SANDBOX_VFS;
    files.xOpen = open_no_super_journal;
    sqlite3_vfs_register(&files, 0);
}

/* ---- the connection ---- */

static void allow_schema_code(struct wl_store *s, int on)
{
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_VIEW, on, NULL); /* TEMP views work all the same */
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, on, NULL);
}

void wl_sandbox_connection(struct wl_store *s)
{
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    allow_schema_code(s, 0);
    sqlite3_drop_modules(s->db, NULL);
    set_limits(s->db);
    sqlite3_set_authorizer(s->db, authorize, s);
}

void wl_sandbox_trust_schema(struct wl_store *s) { allow_schema_code(s, 1); }
