/* What the ranks of a run said about their own computing: marks that are kept as facts, and are few. */
#include "store/read.h"
#include "store/rows.h"

#define AT(member) offsetof(struct wl_rank_mark_row, member)

/* The value of a field of "key=value key=value"; NULL: it has none. n: bytes of "key=". */
#define FROM(key, n) "instr(' ' || m.fields, ' " key "=') + " #n
#define FIELD(key, n)                         \
    "CASE WHEN instr(' ' || m.fields, ' " key \
    "=') THEN substr(m.fields, " FROM(key, n) ", instr(substr(m.fields, " FROM(key, n) ") || ' ', ' ') - 1) END"

static const struct wl_column_map map[] = {
    { "m.run", WL_COLUMN_INT, AT(run) },
    { "m.rank", WL_COLUMN_INT, AT(rank) },
    { "m.word = 'start'", WL_COLUMN_BOOL, AT(is_start) },
    { FIELD("host", 5), WL_COLUMN_TEXT, AT(host) },
    { FIELD("gpu", 4), WL_COLUMN_TEXT, AT(gpu) },
    { "CAST(" FIELD("epoch", 6) " AS REAL)", WL_COLUMN_REAL, AT(epoch) },
    { "CAST(" FIELD("time_s", 7) " AS REAL)", WL_COLUMN_REAL, AT(compute_s) },
    { NULL },
};

#define COMPUTES(mark) mark ".word = 'phase' AND instr(' ' || " mark ".fields || ' ', ' name=compute ')"

int wl_store_rank_marks(struct wl_store *s, struct wl_rank_mark_rows *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = {
        .map = map,
        .from = "FROM mark m WHERE (m.word = 'start' OR (" COMPUTES(
            "m") ")) AND m.run IN (SELECT c.run FROM mark c JOIN run r "
                 "ON r.id = c.run WHERE " COMPUTES("c") " AND r.status = 'done') ORDER BY m.run, m.id",
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}
