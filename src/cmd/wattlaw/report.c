/* wattlaw report: the page, figures and tables of a store. */
#include "cmd/wattlaw/report.h"

#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/store.h"
#include "planner/planner.h"
#include "report/forms/forms.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct report_options {
    const char *out, *campaign, *plan, *work, *form;
    bool open;
    struct wl_strs formats, map, fields;
    int64_t run, drop_epochs;
    struct wl_reals at;
    struct wl_footprint footprint;
    bool json;
};

static const struct wl_opt report_rows[] = {
    { .name = "out",
      .letter = 'o',
      .type = WL_STR,
      .offset = offsetof(struct report_options, out),
      .unit = "FOLDER",
      .help = "folder to write to (default: report next to a store, NAME-report next to NAME.csv)" },
    { .name = "formats",
      .type = WL_STRS,
      .offset = offsetof(struct report_options, formats),
      .def = "html,svg,csv",
      .help = "formats to write: html, svg, pdf, csv, md, tex" },
    { .name = "campaign",
      .type = WL_STR,
      .offset = offsetof(struct report_options, campaign),
      .unit = "NAME",
      .help = "name of the campaign of the store (default: all campaigns)" },
    { .name = "run",
      .type = WL_INT,
      .offset = offsetof(struct report_options, run),
      .def = "0",
      .min = 0,
      .max = WL_NO_MAX,
      .help = "number of the run whose power is plotted over time; 0: a representative run" },
    { .name = "at",
      .type = WL_REALS,
      .offset = offsetof(struct report_options, at),
      .min = 1,
      .max = WL_NO_MAX,
      .unit = "N,N",
      .help = "one or two worker counts at which figures compare caps and utilisation (default: the smallest and the "
              "largest)" },
    { .name = "map",
      .type = WL_LINES,
      .offset = offsetof(struct report_options, map),
      .unit = "CANONICAL=COLUMN",
      .help = "read a canonical column from a column of another name of a CSV file (default: none)" },
    WL_WORK_OPT_ROW(struct report_options),
    { .name = "drop-epochs",
      .type = WL_INT,
      .offset = offsetof(struct report_options, drop_epochs),
      .def = "1",
      .min = 0,
      .max = 1000000,
      .help = "number of first epochs of each run to exclude from means and laws (one is always kept)" },
    { .name = "plan",
      .type = WL_STR,
      .offset = offsetof(struct report_options, plan),
      .unit = "FILE.ini",
      .help = "plan file whose times and powers are shown next to the measured ones, before and after a fit (default: "
              "none)" },
    WL_FOOTPRINT_OPT_ROWS(struct report_options, footprint),
    { .name = "form",
      .type = WL_CHOICE,
      .offset = offsetof(struct report_options, form),
      .choices = WL_REPORT_FORMS,
      .help =
          "print a form to hand in instead of writing the page: scaling evidence, a model card's emissions, the energy "
          "part of the EU AI Act's Annex XI, an artifact description (default: none)" },
    { .name = "field",
      .type = WL_LINES,
      .offset = offsetof(struct report_options, fields),
      .unit = "NAME=VALUE",
      .help = "fact that a form asks for and no measurement holds (default: none)" },
    { .name = "open",
      .type = WL_FLAG,
      .offset = offsetof(struct report_options, open),
      .help = "open the written page in the browser" },
    { .name = "json",
      .type = WL_FLAG,
      .offset = offsetof(struct report_options, json),
      .help = "print paths of all files, findings and tables as JSON (docs/formats.md)" },
    WL_OPT_END,
};

/* "10 figures (30 files) in lab1/report/figures"; nothing if no file was written there. */
static void print_count(const struct wl_document_files *w, const char *dir, size_t n, const char *what,
                        struct wl_arena *a)
{
    const char *folder = wl_path_join(a, dir, what);
    size_t files = 0;
    for (size_t i = 0; i < w->paths.n; i++) files += wl_str_eq(wl_path_dir(a, w->paths.v[i]), folder);
    if (files) wl_print("%zu %s (%zu files) in %s\n", n, what, files, folder);
}

/* Counts and folders of the written files; the path of the page, if requested, is the last line. */
static void print_summary(const struct wl_document *d, const struct wl_document_files *w, const char *dir,
                          struct wl_arena *a)
{
    size_t figures = 0, tables = 0;
    for (size_t i = 0; i < d->n_sections; i++) {
        figures += d->sections[i]->n_figures;
        tables += d->sections[i]->n_tables;
    }
    print_count(w, dir, figures, "figures", a);
    print_count(w, dir, tables, "tables", a);
    for (size_t i = 0; i < w->paths.n; i++)
        if (wl_str_eq(wl_path_base(w->paths.v[i]), "report.html")) wl_print("%s\n", w->paths.v[i]);
}

static void print_json(const struct wl_document *d, const struct wl_document_files *w, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a), *paths = wl_json_add_array(root, "paths"),
                   *notes = wl_json_add_array(root, "notes");
    for (size_t i = 0; i < w->paths.n; i++) wl_json_add_str(paths, NULL, w->paths.v[i]);
    for (size_t i = 0; i < w->notes.n; i++) wl_json_add_str(notes, NULL, w->notes.v[i]);
    wl_document_json(d, root);
    wl_json_print(root);
}

/* A page that cannot be opened is a warning: the report itself is written. */
static void show_page(const struct wl_document_files *w, struct wl_arena *a)
{
    for (size_t i = 0; i < w->paths.n; i++) {
        if (!wl_str_eq(wl_path_base(w->paths.v[i]), "report.html")) continue;
        char *argv[] = { "xdg-open", w->paths.v[i], NULL };
        struct wl_err e = { 0 };
        struct wl_process_result end;
        int rc = wl_process_run(&(struct wl_process_run) { .argv = argv }, NULL, &end, a, &e);
        if (rc || end.status) wl_log(WL_WARN, "report", "cannot open %s: %s", argv[1], rc ? e.msg : "xdg-open failed");
    }
}

/* ---- carbon and cost ---- */

struct footprint_context {
    const struct wl_footprint *footprint;
    struct wl_store *store;
    struct wl_arena *arena;
};

static double intensity_of_run(void *data, int64_t run)
{
    const struct footprint_context *p = data;
    const char *why = NULL;
    double g_per_kwh = p->footprint->carbon;
    struct wl_err e;
    if (!p->footprint->intensity) return g_per_kwh;
    int rc = wl_carbon_intensity_of_run(p->footprint->intensity, p->store, run, &g_per_kwh, &why, p->arena, &e);
    if (rc < 0 || why) wl_log(WL_WARN, "report", "%s", rc < 0 ? e.msg : why);
    return rc < 0 ? NAN : g_per_kwh;
}

static const struct wl_report_footprint *footprint_or_pue(const struct wl_footprint *f, struct wl_store *s,
                                                          struct wl_arena *a)
{
    bool carbon = wl_footprint_has_carbon(f);
    struct footprint_context *p = wl_new(a, struct footprint_context);
    struct wl_report_footprint *out = wl_new(a, struct wl_report_footprint);
    *p = (struct footprint_context) { f, s, a };
    const char *constant = isnan(f->carbon) ? "" : wl_strf(a, "%g g/kWh, ", f->carbon);
    *out =
        (struct wl_report_footprint) { .pue = f->pue,
                                       .carbon = carbon ? wl_strf(a, "%s%s intensity, %s", constant, f->kind, f->source)
                                                        : NULL,
                                       .g_per_kwh = intensity_of_run,
                                       .data = p,
                                       .carbon_lo = f->range.n ? f->range.v[0] : NAN,
                                       .carbon_hi = f->range.n ? f->range.v[1] : NAN,
                                       .price = f->price,
                                       .currency = f->currency };
    return out;
}

/* NULL: neither carbon nor cost was requested. */
static const struct wl_report_footprint *footprint_of(const struct wl_footprint *f, struct wl_store *s,
                                                      struct wl_arena *a)
{
    return wl_footprint_has_carbon(f) || !isnan(f->price) ? footprint_or_pue(f, s, a) : NULL;
}

/* ---- the document ---- */

int wl_cmd_report_of_store(struct wl_footprint *f, struct wl_report_options *what, struct wl_store *store,
                           struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs notes = { 0 };
    int rc = wl_cmd_footprint_of_store(f, store, what->campaign, &notes, a, e);
    if (rc == 0) rc = wl_cmd_footprint_complete(f, a, e);
    if (rc == 0) what->footprint = footprint_of(f, store, a);
    for (size_t i = 0; i < notes.n; i++) wl_log(WL_WARN, "report", "%s", notes.v[i]);
    return rc;
}

/* Opens the store, and fills in its campaign, carbon and cost. */
static int open_store(struct report_options *o, const char *given, struct wl_report_options *what,
                      struct wl_store **store, char **path, struct wl_arena *a, struct wl_err *e)
{
    if (o->map.n) return wl_fail(e, WL_EUSAGE, "--map renames columns of a CSV file; %s is a store", given);
    int rc = wl_store_find(given, path, a, e);
    if (rc == 0) rc = wl_store_open(store, *path, WL_STORE_READ, a, e);
    if (rc == 0) rc = wl_cmd_campaign_find(*store, o->campaign, &what->campaign, a, e);
    return rc ? rc : wl_cmd_report_of_store(&o->footprint, what, *store, a, e);
}

static int build_of_store(struct report_options *o, const char *given, struct wl_report_options *what,
                          struct wl_document **d, char **dir, struct wl_arena *a, struct wl_err *e)
{
    struct wl_store *store;
    char *path;
    int rc = open_store(o, given, what, &store, &path, a, e);
    if (rc == 0) rc = wl_report_build(d, store, what, a, e);
    if (rc == 0) *dir = wl_path_join(a, wl_path_dir(a, path), "report");
    return rc;
}

/* Forms are of a store: a CSV file has no runs to trace numbers to. */
static int print_form(struct report_options *o, const char *given, struct wl_report_options *what, struct wl_arena *a,
                      struct wl_err *e)
{
    struct wl_store *store;
    struct wl_text text = WL_TEXT(a);
    char *path;
    if (o->out || o->json || o->open || o->plan)
        return wl_fail(e, WL_EUSAGE, "--form prints to stdout: leave out --out, --json, --open and --plan");
    if (!wl_analysis_is_store(given) && wl_is_file(given))
        return wl_fail(e, WL_EUSAGE, "--form needs a store: %s is a table without runs", given);
    int rc = open_store(o, given, what, &store, &path, a, e);
    if (rc == 0) what->footprint = footprint_or_pue(&o->footprint, store, a);
    if (rc == 0) rc = wl_report_form(o->form, store, what, &o->fields, &text, a, e);
    if (rc == 0) wl_print_text(WL_STDOUT, text.s);
    return rc ? rc : WL_EXIT_OK;
}

/* lab.csv -> lab-report, next to it. */
static char *folder_of_table(const char *path, struct wl_arena *a)
{
    const char *base = wl_path_base(path), *dot = strrchr(base, '.');
    const int n = dot && dot > base ? (int)(dot - base) : (int)strlen(base);
    return wl_path_join(a, wl_path_dir(a, path), wl_strf(a, "%.*s-report", n, base));
}

static int build_of_table(struct report_options *o, const char *path, struct wl_report_options *what,
                          struct wl_document **d, char **dir, struct wl_arena *a, struct wl_err *e)
{
    struct wl_observations table;
    if (o->run) return wl_fail(e, WL_EUSAGE, "--run needs a store: %s has no readings over time", path);
    if (o->campaign) return wl_fail(e, WL_EUSAGE, "--campaign needs a store: %s has no campaigns", path);
    int rc = wl_analysis_read(path, &o->map, &table, a, e);
    if (rc == 0) rc = wl_cmd_footprint_complete(&o->footprint, a, e);
    if (rc == 0 && o->footprint.intensity)
        return wl_fail(e, WL_EUSAGE, "--carbon-csv needs a store: the runs in %s have no time of day", path);
    if (rc == 0) what->footprint = footprint_of(&o->footprint, NULL, a);
    if (rc == 0) rc = wl_report_build_table(d, &table, what, a, e);
    if (rc == 0) *dir = folder_of_table(path, a);
    return rc;
}

static int run_report(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    struct report_options *o = options;
    struct wl_progress progress;
    struct wl_report_options what = {
        .run = o->run, .at = o->at, .work = o->work, .drop_epochs = o->drop_epochs, .progress = &progress
    };
    if (rest->args.n != 1)
        return wl_fail(e, WL_EUSAGE, "expected one store (a file or the folder of a campaign) or CSV file");

    if (o->plan && wl_law_work_of(o->work))
        return wl_fail(e, WL_EUSAGE, "--plan compares epochs: leave out --work %s", o->work);
    if (o->at.n > 2) return wl_fail(e, WL_EUSAGE, "--at: expected one or two worker counts, not %zu", o->at.n);

    const char *given = rest->args.v[0];
    if (o->form) return print_form(o, given, &what, a, e);
    if (o->fields.n) return wl_fail(e, WL_EUSAGE, "--field: only with --form");
    struct wl_planner_plan plan;
    struct wl_document *d;
    struct wl_document_files written;
    char *dir;
    const bool table = wl_is_file(given) && !wl_analysis_is_store(given);
    wl_progress_start(&progress, "report");
    int rc = o->plan ? wl_planner_read(o->plan, NULL, &plan, a, e) : 0;
    if (rc == 0 && o->plan) what.plan = &plan;
    if (rc == 0) rc = (table ? build_of_table : build_of_store)(o, given, &what, &d, &dir, a, e);
    wl_progress_clear(&progress);
    if (rc) return rc;

    if (o->out) dir = wl_strdup(a, o->out);
    wl_progress_start(&progress, "report");
    rc = wl_document_write(d, dir, &o->formats, &progress, &written, a, e);
    wl_progress_clear(&progress);
    if ((rc == WL_EPERM || rc == WL_EIO) && !o->out)
        return wl_err_prefix(e, "cannot write the report (choose another folder with --out)");
    if (rc) return rc;
    for (size_t i = 0; i < written.notes.n; i++) wl_log(WL_WARN, "report", "%s", written.notes.v[i]);
    if (o->json)
        print_json(d, &written, a);
    else
        print_summary(d, &written, dir, a);
    if (o->open) show_page(&written, a);
    return WL_EXIT_OK;
}

const struct wl_cmd wl_cmd_report = {
    .name = "report",
    .usage = "[options] STORE|FILE.csv",
    .help = "write a page, figures and tables of a campaign's results",
    .more = "STORE is a .db file or the folder of a campaign; a CSV file is a table of observations (docs/formats.md). "
            "The\n"
            "page is a single file that needs no network; its path is the last line printed.\n"
            "\n"
            "    wattlaw report quickstart-results\n"
            "    wattlaw report quickstart-results --formats html,pdf,tex --out paper\n"
            "    wattlaw report examples/huber2025/resnet50.csv --out huber\n"
            "    wattlaw report lab1 --pue 1.3 --carbon-csv DE_2026_hourly.csv --price 0.25\n"
            "    wattlaw report lab1 --form model-card --run 12 --country DE --pue 1.3",
    .options = report_rows,
    .options_size = sizeof(struct report_options),
    .run = run_report,
};
