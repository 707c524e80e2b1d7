/* Readings between two transactions: PATH-spool-RUN. docs/adr/054
 *
 * A transaction costs much more than its rows, so the readings of a running run are stored every few seconds and
 * appended to this file meanwhile. What write(2) has accepted survives the death of the process. The file is a sequence
 * of blocks; each transaction starts it over, so that it ends at the first block that does not continue the one before:
 * a torn block, or one of an earlier round.
 *
 * A writer that opens the store and finds the file of a run whose wattlaw is dead stores its readings and removes it,
 * with the run's lock held, so that nobody begins a new file of that name meanwhile. The key of the table keeps each
 * reading once, however often and however far this was done before. A reader sees these readings next to the stored
 * ones and leaves both files as they are.
 */
#include "store/spool.h"

#include "store/connection.h"
#include "store/facts.h"
#include "store/files.h"
#include "store/lock.h"
#include "store/read.h"
#include "store/sql.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the byte order of the machine. Rows follow. */
struct block {
    char magic[8];
    uint32_t check;  /* CRC-32C of what follows, rows included */
    uint32_t serial; /* one more than that of the block before */
    int64_t run;
    uint64_t n;
};
static const char magic[8] = "wlspool1";
enum { CHECKED = offsetof(struct block, serial) };
_Static_assert(sizeof(struct block) == 32 && sizeof(struct wl_sample_row) == 24, "without gaps");

struct wl_spool {
    int fd;
    int64_t run;
    uint32_t serial;
    off_t end;
    char *path;
    char *text; /* a block and its rows */
    size_t cap;
};

static char *spool_path(const struct wl_store *s, int64_t run, struct wl_arena *a)
{
    return wl_strf(a, "%s-spool-%" PRId64, s->file, run);
}

/* ---- append readings ---- */

void wl_spool_detach(struct wl_store *s)
{
    if (s->spool) close(s->spool->fd);
    s->spool = NULL;
}

int wl_store_spool_open(struct wl_store *s, int64_t run, struct wl_err *e)
{
    /* Without the run's lock, the files of dead and of live runs could not be distinguished. */
    if (s->network || wl_store_locked(s, wl_lock_of_run(run)) != 1) return 0;
    wl_spool_detach(s); /* of an earlier run whose readings could not be stored */
    struct wl_spool *p = wl_new(s->arena, struct wl_spool);
    *p = (struct wl_spool) { .run = run, .path = spool_path(s, run, s->arena) };
    p->fd = open(p->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (p->fd < 0) return wl_fail_errno(e, "%s: cannot make the file of readings to be stored", p->path);
    s->spool = p;
    return 1;
}

static int write_block(struct wl_spool *p, size_t size, struct wl_err *e)
{
    ssize_t n = pwrite(p->fd, p->text, size, p->end);
    if (n == (ssize_t)size) return 0;
    if (n >= 0) errno = ENOSPC;
    return wl_fail_errno(e, "%s: cannot write readings to be stored", p->path);
}

int wl_store_spool_add(struct wl_store *s, const struct wl_sample_row *v, size_t n, struct wl_err *e)
{
    struct wl_spool *p = s->spool;
    size_t size = sizeof(struct block) + n * sizeof *v;
    int rc = n ? wl_store_check_exists(s, e) : 0;
    if (n == 0 || rc < 0) return rc;
    if (size > p->cap) p->text = wl_grow(s->arena, p->text, 0, &p->cap, size, 1);
    struct block b = { .serial = p->serial, .run = p->run, .n = n };
    memcpy(b.magic, magic, sizeof magic);
    memcpy(p->text + sizeof b, v, n * sizeof *v);
    memcpy(p->text, &b, sizeof b);
    b.check = wl_crc32c(0, p->text + CHECKED, size - CHECKED);
    memcpy(p->text, &b, sizeof b);
    rc = write_block(p, size, e);
    if (rc) return rc;
    p->serial++;
    p->end += (off_t)size;
    return 0;
}

/* Serials continue, so that an old block directly after a new one is recognised as old. */
void wl_store_spool_restart(struct wl_store *s)
{
    if (s->spool) s->spool->end = 0; /* closed at the end of a run, whose last window may be stored after that */
}

void wl_store_spool_close(struct wl_store *s)
{
    if (s->spool) unlink(s->spool->path);
    wl_spool_detach(s);
}

/* ---- ingest the files of dead runs ---- */

/* The rows of the block at `at`, with its header in *b; NULL: no block begins there, or a torn one. */
static const struct wl_sample_row *valid_block(const struct wl_file_mapping *m, size_t at, int64_t run, struct block *b)
{
    if (m->n - at < sizeof *b) return NULL;
    memcpy(b, m->p + at, sizeof *b);
    size_t most = (m->n - at - sizeof *b) / sizeof(struct wl_sample_row);
    if (memcmp(b->magic, magic, sizeof magic) != 0 || b->run != run || b->n > most) return NULL;
    size_t bytes = sizeof *b + (size_t)b->n * sizeof(struct wl_sample_row);
    if (b->check != wl_crc32c(0, m->p + at + CHECKED, bytes - CHECKED)) return NULL;
    return (const void *)(m->p + at + sizeof *b); /* a multiple of 8 from the beginning of a page */
}

/* `sql` inserts a reading only into channels of its run: files next to a store that others sent are not trusted. */
static int insert_rows(struct wl_store *s, const char *sql, int64_t run, const struct wl_sample_row *v, size_t n,
                       struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = wl_sql_do(s, sql, SQL(sql_int(v[i].channel), sql_int(v[i].t_ns), sql_real(v[i].value), sql_int(run)), e);
    return rc;
}

static int insert_blocks(struct wl_store *s, const char *sql, int64_t run, const struct wl_file_mapping *m,
                         struct wl_err *e)
{
    struct block b;
    uint32_t serial = 0;
    int rc = 0;
    for (size_t at = 0; rc == 0; at += sizeof b + (size_t)b.n * sizeof(struct wl_sample_row)) {
        const struct wl_sample_row *v = valid_block(m, at, run, &b);
        if (!v || (at > 0 && b.serial != serial + 1)) break;
        serial = b.serial;
        rc = insert_rows(s, sql, run, v, (size_t)b.n, e);
    }
    return rc;
}

static const char into_store[] = "INSERT INTO sample(channel, t_ns, value) SELECT ?1, ?2, ?3 FROM channel "
                                 "WHERE id = ?1 AND run = ?4 ON CONFLICT DO NOTHING";

/* A file that does not begin as one of ours is left alone. Ours may be cut off anywhere, or be empty. */
static bool is_ours(const struct wl_file_mapping *m)
{
    return m->n == 0 || memcmp(m->p, magic, m->n < sizeof magic ? m->n : sizeof magic) == 0;
}

/* A link leads to a file that is not next to the store. */
static bool is_regular(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Durably: the file that is removed then may have reached the disk already. */
static int ingest_file(struct wl_store *s, const char *path, int64_t run, struct wl_arena *a, struct wl_err *e)
{
    struct wl_file_mapping m;
    struct wl_sql_tx tx;
    int rc = wl_file_map(path, "", &m, a, e);
    if (rc < 0 || !is_ours(&m)) return rc;
    if (m.n > 0) {
        rc = wl_sql_begin(s, true, &tx, e);
        if (rc == 0) rc = wl_sql_end(s, &tx, insert_blocks(s, into_store, run, &m, e), e);
    }
    if (rc == 0) unlink(path);
    return rc;
}

int wl_spool_recover_run(struct wl_store *s, int64_t run, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *path = spool_path(s, run, a);
    int rc = is_regular(path) ? ingest_file(s, path, run, a, e) : 0;
    wl_arena_free(a);
    if (rc == 0) return 0;
    return wl_err_prefix(e, "the last readings of run %" PRId64 ", whose wattlaw was killed, cannot be stored", run);
}

static int recover_if_dead(struct wl_store *s, int64_t run, struct wl_err *e)
{
    if (wl_store_locked(s, wl_lock_of_run(run)) != 0 || wl_store_lock(s, wl_lock_of_run(run), NULL) != 1) return 0;
    int rc = wl_spool_recover_run(s, run, e);
    wl_store_unlock(s, wl_lock_of_run(run));
    return rc;
}

/* The runs that have a file next to the store, in no order. */
static size_t find_runs(const struct wl_store *s, int64_t **runs, struct wl_arena *a)
{
    size_t n = 0, cap = 0;
    int64_t run;
    const char *prefix = wl_strf(a, "%s-spool-", wl_path_base(s->file));
    DIR *dir = opendir(wl_path_dir(a, s->file));
    *runs = NULL;
    if (!dir) return 0;
    for (const struct dirent *d; (d = readdir(dir));) {
        if (strncmp(d->d_name, prefix, strlen(prefix)) != 0) continue;
        if (wl_str_to_int(d->d_name + strlen(prefix), &run) < 0) continue;
        WL_GROW(a, *runs, n, cap);
        (*runs)[n++] = run;
    }
    closedir(dir);
    return n;
}

int wl_spool_recover(struct wl_store *s, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    int64_t *runs;
    int rc = 0;
    size_t n = find_runs(s, &runs, a);
    for (size_t i = 0; i < n && rc == 0; i++) rc = recover_if_dead(s, runs[i], e);
    wl_arena_free(a);
    return rc;
}

/* ---- show them to readers ---- */

/* Files of any size may come with a store; our own hold the readings of 30 s. */
enum { MAX_READ_BYTES = 64 << 20 };

static const char into_overlay[] = "INSERT INTO temp.spooled(channel, t_ns, value) SELECT ?1, ?2, ?3 FROM main.channel "
                                   "WHERE id = ?1 AND run = ?4 ON CONFLICT DO NOTHING";

static int read_spool(struct wl_store *s, int64_t run, struct wl_arena *a, struct wl_err *e)
{
    const char *path = spool_path(s, run, a);
    struct wl_file_mapping m;
    struct wl_err why;
    struct stat st;
    if (lstat(path, &st) || !S_ISREG(st.st_mode) || st.st_size > MAX_READ_BYTES) return 0;
    if (wl_file_map(path, "", &m, a, &why)) {
        wl_log(WL_WARN, "store", "%s; the last readings of run %" PRId64 " are not shown", why.msg, run);
        return 0;
    }
    return m.n > 0 && is_ours(&m) ? insert_blocks(s, into_overlay, run, &m, e) : 0;
}

/* A reading that a writer stores meanwhile is seen once. */
static const char overlay_sql[] = "CREATE TEMP VIEW sample AS SELECT channel, t_ns, value FROM main.sample UNION ALL "
                                  "SELECT channel, t_ns, value FROM temp.spooled p WHERE NOT EXISTS "
                                  "(SELECT 1 FROM main.sample m WHERE m.channel = p.channel AND m.t_ns = p.t_ns)";

static int make_overlay(struct wl_store *s, struct wl_err *e)
{
    int rc = wl_sql_script(s,
                           "CREATE TEMP TABLE spooled(channel INTEGER NOT NULL, t_ns INTEGER NOT NULL, "
                           "value REAL, PRIMARY KEY(channel, t_ns)) WITHOUT ROWID",
                           e);
    s->shows_spools = rc == 0;
    return rc;
}

int wl_spool_overlay(struct wl_store *s, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    int64_t *runs;
    int rc = 0;
    size_t n = find_runs(s, &runs, a);
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (wl_store_locked(s, wl_lock_of_run(runs[i])) == 1) continue; /* its wattlaw stores them itself */
        if (!s->shows_spools) rc = make_overlay(s, e);
        if (rc == 0) rc = read_spool(s, runs[i], a, e);
    }
    if (rc == 0 && s->shows_spools) rc = wl_sql_script(s, overlay_sql, e);
    wl_arena_free(a);
    return rc;
}

/* A copy: the writer may start the file over at any moment, and what a mapping shows may change after it was checked.
 */
static int copy_file(const char *path, struct wl_file_mapping *out, struct wl_arena *a, struct wl_err *e)
{
    struct stat st;
    *out = (struct wl_file_mapping) { 0 };
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT || errno == ELOOP ? 0 : wl_fail_errno(e, "%s: cannot be read", path);
    int rc = fstat(fd, &st) ? wl_fail_errno(e, "%s: cannot be read", path) : 0;
    if (rc == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= MAX_READ_BYTES) {
        void *copy = wl_try_alloc(a, (size_t)st.st_size, 16, "readings of a running run", e);
        const ssize_t n = copy ? pread(fd, copy, (size_t)st.st_size, 0) : 0;
        if (n > 0) *out = (struct wl_file_mapping) { copy, (size_t)n };
        if (!copy) rc = WL_ENOMEM;
    }
    close(fd);
    return rc;
}

static int show_copy(struct wl_store *s, int64_t run, const struct wl_file_mapping *m, struct wl_err *e)
{
    static const char drop[] = "DELETE FROM temp.spooled WHERE channel IN (SELECT id FROM main.channel WHERE run = ?1)";
    int rc = s->shows_spools ? 0 : make_overlay(s, e);
    if (rc == 0) rc = wl_sql_script(s, "DROP VIEW IF EXISTS temp.sample", e);
    if (rc == 0) rc = wl_sql_do(s, drop, SQL(sql_int(run)), e);
    if (rc == 0 && m->n > 0 && is_ours(m)) rc = insert_blocks(s, into_overlay, run, m, e);
    return rc ? rc : wl_sql_script(s, overlay_sql, e);
}

int wl_store_show_spool(struct wl_store *s, int64_t run, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_file_mapping m;
    int rc = copy_file(spool_path(s, run, a), &m, a, e);
    if (rc == 0) rc = wl_sql_script(s, "BEGIN", e);
    if (rc == 0) {
        rc = show_copy(s, run, &m, e);
        if (rc == 0) rc = wl_sql_script(s, "COMMIT", e);
        if (rc) wl_store_rollback(s);
    }
    wl_arena_free(a);
    return rc;
}

char *wl_store_spool_path(const struct wl_store *s, int64_t run, struct wl_arena *a) { return spool_path(s, run, a); }
