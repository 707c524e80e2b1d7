/* wattlaw audit: what a published table of exponents implies. */
#include "cmd/cmd.h"

#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/format.h"
#include "law/law.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

struct audit_options {
    double n;
    bool json;
};

static const struct wl_opt options[] = { { .name = "n",
                                           .type = WL_REAL,
                                           .offset = offsetof(struct audit_options, n),
                                           .min = 3,
                                           .max = 1e6,
                                           .unit = "points",
                                           .help =
                                               "number of points assumed in rows that do not state n (default: none)" },
                                         { .name = "json",
                                           .type = WL_FLAG,
                                           .offset = offsetof(struct audit_options, json),
                                           .help = "print the results as JSON (docs/formats.md)" },
                                         WL_OPT_END };

/* ---- reading ---- */

enum column { GROUP, LEVEL, SETTING, BETA, R2, N, SE, N_MIN, N_MAX, COLUMNS };
static const char *const names[COLUMNS] = { "group", "level", "setting", "beta", "r2", "n", "se", "n_min", "n_max" };

/* Half a unit of the last printed decimal: "0.82" -> 0.005. Digits of an exponent (1e-5) do not count. */
static double half_unit(const char *text)
{
    const char *point = strchr(text, '.');
    size_t decimals = point ? strspn(point + 1, "0123456789") : 0;
    return 0.5 * pow(10, -(double)decimals);
}

static int read_number(const struct wl_csv *csv, int column, struct wl_audit_rounded *out, struct wl_err *e)
{
    *out = (struct wl_audit_rounded) { NAN, NAN };
    if (column < 0) return 0;
    int rc = wl_csv_real(csv, column, &out->value, e);
    if (rc == 0 && !isnan(out->value)) out->half = half_unit(csv->row[column]);
    return rc;
}

static const char *read_text(const struct wl_csv *csv, int column, struct wl_arena *a)
{
    return column >= 0 && *csv->row[column] ? wl_strdup(a, csv->row[column]) : NULL;
}

static int read_row(const struct wl_csv *csv, const int *at, struct wl_audit_row *row, struct wl_arena *a,
                    struct wl_err *e)
{
    struct wl_audit_rounded n, low, high;
    row->line = csv->line;
    row->group = read_text(csv, at[GROUP], a);
    row->level = read_text(csv, at[LEVEL], a);
    row->setting = read_text(csv, at[SETTING], a);
    if (!row->group) row->group = "the table";
    if (!row->level) return wl_fail(e, WL_EINVAL, "%s:%d: level is empty", csv->path, csv->line);
    int rc = read_number(csv, at[BETA], &row->beta, e);
    if (rc == 0) rc = read_number(csv, at[R2], &row->r2, e);
    if (rc == 0) rc = read_number(csv, at[SE], &row->se, e);
    if (rc == 0) rc = read_number(csv, at[N], &n, e);
    if (rc == 0) rc = read_number(csv, at[N_MIN], &low, e);
    if (rc == 0) rc = read_number(csv, at[N_MAX], &high, e);
    if (rc) return rc;
    row->n = n.value;
    row->n_min = low.value;
    row->n_max = high.value;
    return 0;
}

/* A table prints all R2 with the same number of decimals, but 1.0 for 1.00: each row takes the finest of its group. */
static void share_precision(struct wl_audit_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (wl_str_eq(rows[i].group, rows[j].group) && rows[j].r2.half < rows[i].r2.half)
                rows[i].r2.half = rows[j].r2.half;
}

/* A store has measured runs, not a table of exponents: another command tests them. */
static int refuse_runs(const char *path, struct wl_err *e)
{
    if (!wl_analysis_is_store(path)) return 0;
    return wl_fail(e, WL_EINVAL,
                   "%s: expected a CSV table of published exponents, not a %s; to test the laws of measured runs: "
                   "wattlaw compare %s --factor COLUMN",
                   path, wl_is_dir(path) ? "folder" : "store", path);
}

static int read_table(const char *path, struct wl_audit_row **rows, size_t *n, struct wl_arena *a, struct wl_err *e)
{
    struct wl_csv csv;
    int at[COLUMNS], rc = refuse_runs(path, e);
    size_t cap = 0;
    if (rc == 0) rc = wl_csv_open(&csv, path, ',', a, e);
    if (rc) return rc;
    for (int c = 0; c < COLUMNS; c++) at[c] = wl_csv_column(&csv, names[c]);
    if (at[LEVEL] < 0 || at[BETA] < 0 || (at[R2] < 0 && at[SE] < 0))
        return wl_fail(e, WL_EINVAL,
                       "%s: expected the columns level, beta, n, and r2 or se (optional: group, setting, n_min, n_max)",
                       path);
    while ((rc = wl_csv_next(&csv, e)) > 0) {
        WL_GROW(a, *rows, *n, cap);
        rc = read_row(&csv, at, &(*rows)[(*n)++], a, e);
        if (rc) return rc;
    }
    if (rc == 0 && !*n) return wl_fail(e, WL_EINVAL, "%s: has a header but no rows", path);
    share_precision(*rows, *n);
    return rc;
}

/* ---- printing ---- */

static void print_rows(const struct wl_audit *audit, const struct wl_audit_group *g, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    const char *const heads[] = { "level",       "beta",           "R2",     "n", "se printed", "se implied",
                                  "by rounding", "same beta from", "R2 then" };
    for (size_t i = 0; i < WL_COUNT(heads); i++) wl_table_column(&t, heads[i], i > 0);
    for (size_t i = 0; i < g->n; i++) {
        const struct wl_audit_row *row = &audit->rows[g->rows[i]];
        const struct wl_audit_implied *m = &audit->implied[g->rows[i]];
        wl_table_cell(&t, row->level);
        wl_table_real(&t, row->beta.value, 4);
        wl_table_real(&t, row->r2.value, 4);
        wl_table_int(&t, m->n);
        wl_table_real(&t, row->se.value, 3);
        wl_table_cell(&t, m->from_r2 ? wl_strf(a, "%.3f", m->se) : NULL);
        wl_table_cell(&t, m->from_r2 ? wl_format_interval(m->lo, m->hi, 3, a) : NULL);
        wl_table_cell(&t, isnan(m->share) ? NULL : wl_strf(a, "W/N + %.2g W", m->share));
        wl_table_cell(&t, isnan(m->share) ? NULL : wl_strf(a, "%.3f", m->curve_r2));
        wl_table_row(&t);
    }
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
}

static void print_pairs(const struct wl_audit *audit, const struct wl_audit_group *g, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    const char *const heads[] = { "pair", "difference", "95 %", "Welch p", "Holm", "Holm, worst rounding" };
    if (!g->n_pairs) return;
    for (size_t i = 0; i < WL_COUNT(heads); i++) wl_table_column(&t, heads[i], i > 0);
    for (size_t i = 0; i < g->n_pairs; i++) {
        const struct wl_audit_pair *p = &g->pairs[i];
        wl_table_cellf(&t, "%s - %s", audit->rows[p->b].level, audit->rows[p->a].level);
        wl_table_cellf(&t, "%+.3f", p->difference);
        wl_table_cell(&t, wl_format_interval(p->lo, p->hi, 3, a));
        wl_table_cellf(&t, "%.2g", p->p);
        wl_table_cellf(&t, "%.2g", p->p_holm);
        wl_table_cellf(&t, "%.2g", p->p_worst_holm);
        wl_table_row(&t);
    }
    wl_print("\n");
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
    wl_print("  one slope?  Q = %.3g, %g degrees of freedom, %s; with the largest errors %s\n", g->q, g->q_df,
             wl_format_p(g->q_p, a), wl_format_p(g->q_p_worst, a));
}

static void print_sentences(const char *head, const struct wl_strs *list)
{
    if (list->n) wl_print("\n%s\n", head);
    for (size_t i = 0; i < list->n; i++) wl_print("  - %s\n", list->v[i]);
}

static void print_audit(const struct wl_audit *audit, struct wl_arena *a)
{
    for (size_t i = 0; i < audit->n_groups; i++) {
        wl_print(i ? "\n%s\n" : "%s\n", audit->groups[i].name);
        print_rows(audit, &audit->groups[i], a);
        print_pairs(audit, &audit->groups[i], a);
    }
    print_sentences("what the table implies", &audit->findings);
    print_sentences("what the table cannot support", &audit->limits);
}

static int run(void *opts, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct audit_options *o = opts;
    if (rest->args.n != 1 || rest->command) return wl_fail(e, WL_EUSAGE, "expected one CSV file");
    struct wl_audit_row *rows = NULL;
    struct wl_audit audit;
    size_t n = 0;
    int rc = read_table(rest->args.v[0], &rows, &n, a, e);
    if (rc == 0 && (rc = wl_audit_table(rows, n, o->n, &audit, a, e))) return wl_err_prefix(e, "%s", rest->args.v[0]);
    if (rc) return rc;
    if (o->json) {
        struct wl_json *root = wl_analysis_json(rest->args.v[0], a);
        wl_json_add_number(root, "assumed_n", o->n);
        wl_audit_json(&audit, root);
        wl_json_print(root);
    } else {
        print_audit(&audit, a);
    }
    return WL_EXIT_OK;
}

const struct wl_cmd wl_cmd_audit = {
    .name = "audit",
    .usage = "FILE.csv [options]",
    .help = "check what a published table of exponents implies",
    .more = "Columns: level, beta, n, and r2 or se; optional: group, setting, n_min and n_max.\n"
            "\n"
            "  wattlaw audit examples/frey2022/tables.csv --n 8",
    .options = options,
    .options_size = sizeof(struct audit_options),
    .run = run,
};
