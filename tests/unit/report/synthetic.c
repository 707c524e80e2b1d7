#include "synthetic.h"

#include <math.h>

const char synthetic_hostile[] = "</script><script>alert(1)</script> \"q\" 'a' `touch hacked` $(id) \\end{table} "
                                 "a_b^{c} 50% & #1 ~ | * [x](y) <!-- \xff\n\x01 \xc2\xb5";

static const char *const workloads[] = { "resnet50", "bert", "vgg16", "schnet", "dimenet", "inception3" };
static const double betas[] = { .52, .87, .64, .42, .82, .44 };
static const double workers[] = { 2, 4, 8, 16, 32, 64, 128, 256, 424 };
enum { COUNTS = WL_COUNT(workers), REPEATS = 3, CURVE = 30 };

/* A law of its own for each workload, and runs that scatter around it in a fixed pattern. */
static double law_at(size_t g, double n) { return 900 * (1 + (double)g) * pow(n, -betas[g]); }

static void add_group(struct wl_figure *f, size_t g, int slot)
{
    double *x = wl_new_array(f->arena, double, COUNTS *REPEATS), *y = wl_new_array(f->arena, double, COUNTS *REPEATS);
    for (size_t i = 0; i < COUNTS * REPEATS; i++) {
        x[i] = workers[i / REPEATS];
        y[i] = law_at(g, x[i]) * (1 + .05 * sin(7.0 * (double)i + (double)g));
    }
    double *cx = wl_new_array(f->arena, double, CURVE), *cy = wl_new_array(f->arena, double, CURVE),
           *lo = wl_new_array(f->arena, double, CURVE), *hi = wl_new_array(f->arena, double, CURVE);
    for (size_t i = 0; i < CURVE; i++) {
        cx[i] = 2 * pow(212, (double)i / (CURVE - 1));
        cy[i] = law_at(g, cx[i]);
        lo[i] = cy[i] * .93;
        hi[i] = cy[i] * 1.07;
    }
    wl_figure_add(f, &(struct wl_figure_series) { .label = workloads[g],
                                                  .style = WL_STYLE_POINTS,
                                                  .n = COUNTS * REPEATS,
                                                  .x = x,
                                                  .y = y,
                                                  .colour = slot,
                                                  .marker = slot });
    wl_figure_add(f,
                  &(struct wl_figure_series) { .style = WL_STYLE_LINE, .n = CURVE, .x = cx, .y = cy, .colour = slot });
    wl_figure_add(f, &(struct wl_figure_series) {
                         .style = WL_STYLE_BAND, .n = CURVE, .x = cx, .lo = lo, .hi = hi, .colour = slot });
}

struct wl_figure *synthetic_scaling(struct wl_arena *a)
{
    static const double ends[] = { 2, 424 };
    struct wl_figure *f = wl_figure_new(a, "epoch-time", "Epoch time against workers");
    int slots[WL_COUNT(workloads)];
    f->caption = "Points: runs. Lines: fitted laws, shaded: their 95 % bands. Dashed: ideal scaling.";
    f->source = "Every number here is made up.";
    f->metrics = "epoch-time beta band ideal";
    f->simulated = true;
    f->x = (struct wl_figure_axis) {
        .label = "workers", .log = true, .min = NAN, .max = NAN, .ticks = wl_ticks_counts(workers, COUNTS, true, 12, a)
    };
    f->y = (struct wl_figure_axis) { .label = "epoch time", .unit = "s", .log = true, .min = NAN, .max = NAN };
    wl_colour_slots(workloads, WL_COUNT(workloads), slots);
    for (size_t g = 0; g < WL_COUNT(workloads); g++) add_group(f, g, slots[g]);

    double *ideal = wl_new_array(a, double, 2);
    ideal[0] = law_at(0, 2);
    ideal[1] = law_at(0, 2) * 2 / 424;
    wl_figure_add(f, &(struct wl_figure_series) { .label = "ideal",
                                                  .style = WL_STYLE_LINE,
                                                  .n = 2,
                                                  .x = ends,
                                                  .y = ideal,
                                                  .colour = WL_COLOUR_NEUTRAL,
                                                  .dashed = true });
    wl_figure_finish(f);
    return f;
}

struct wl_figure *synthetic_bars(struct wl_arena *a)
{
    static const double x[] = { 0, 1, 2 }, cpu[] = { 31, 58.5, NAN }, lo[] = { 29, 55, NAN }, hi[] = { 33, 60, NAN },
                        gpu[] = { 120, 240, 470 };
    struct wl_figure *f = wl_figure_new(a, "mean-power", "Mean power of a configuration");
    f->workload = "resnet50";
    f->estimated = true;
    f->x = (struct wl_figure_axis) {
        .label = "configuration", .min = NAN, .max = NAN, .ticks = { wl_new_array(a, double, 3), 3 }
    };
    for (size_t i = 0; i < 3; i++) f->x.ticks.v[i] = x[i];
    wl_strs_add(a, &f->x.names, "1 worker");
    wl_strs_add(a, &f->x.names, "2 workers");
    wl_strs_add(a, &f->x.names, "4 workers");
    f->y = (struct wl_figure_axis) { .label = "mean power", .unit = "W", .min = NAN, .max = NAN };
    wl_figure_add(
        f, &(struct wl_figure_series) {
               .label = "cpu", .style = WL_STYLE_BARS, .n = 3, .x = x, .y = cpu, .lo = lo, .hi = hi, .colour = 0 });
    wl_figure_add(f, &(struct wl_figure_series) {
                         .label = "gpu", .style = WL_STYLE_BARS, .n = 3, .x = x, .y = gpu, .colour = 1 });
    wl_figure_finish(f);
    return f;
}

struct wl_figure *synthetic_trace(struct wl_arena *a)
{
    enum { N = 200 };
    double *x = wl_new_array(a, double, N), *y = wl_new_array(a, double, N), *lo = wl_new_array(a, double, N),
           *hi = wl_new_array(a, double, N);
    for (size_t i = 0; i < N; i++) {
        bool gap = i >= 60 && i < 70 && i != 65; /* one reading alone */
        x[i] = .5 * (double)i;
        y[i] = gap ? NAN : 300 + 40 * sin((double)i / 9);
        lo[i] = y[i] - 20;
        hi[i] = y[i] + 25;
    }
    struct wl_figure *f = wl_figure_new(a, "power", "Power over time");
    f->x = (struct wl_figure_axis) { .label = "time since the start", .unit = "s", .min = NAN, .max = NAN };
    f->y = (struct wl_figure_axis) { .label = "power", .unit = "W", .zero = true, .min = NAN, .max = NAN };
    wl_figure_add(f, &(struct wl_figure_series) { .label = "gpu", .style = WL_STYLE_LINE, .n = N, .x = x, .y = y });
    wl_figure_add(f, &(struct wl_figure_series) { .style = WL_STYLE_BAND, .n = N, .x = x, .lo = lo, .hi = hi });
    for (int i = 0; i < 4; i++) wl_figure_vline(f, 10 + 25 * i, wl_strf(a, "epoch %d", i + 1));
    wl_figure_finish(f);
    return f;
}

struct wl_figure *synthetic_hostile_figure(struct wl_arena *a)
{
    static const double x[] = { 1, 2, 3 }, y[] = { 1, 2, 3 };
    static const char *const notes[] = { synthetic_hostile, NULL, synthetic_hostile };
    struct wl_figure *f = wl_figure_new(a, "hostile", synthetic_hostile);
    f->workload = synthetic_hostile;
    f->caption = f->source = synthetic_hostile;
    f->x = (struct wl_figure_axis) { .label = synthetic_hostile, .unit = synthetic_hostile, .min = NAN, .max = NAN };
    f->y = f->x;
    wl_figure_add(f,
                  &(struct wl_figure_series) {
                      .label = synthetic_hostile, .style = WL_STYLE_POINTS, .n = 3, .x = x, .y = y, .notes = notes });
    wl_figure_add(f, &(struct wl_figure_series) {
                         .label = "other", .style = WL_STYLE_LINE, .n = 3, .x = x, .y = y, .colour = 1 });
    wl_figure_vline(f, 2, synthetic_hostile);
    wl_figure_finish(f);
    return f;
}

struct wl_report_table *synthetic_table(struct wl_arena *a, bool hostile)
{
    static const struct wl_report_column columns[] = {
        { .id = "workload", .label = "workload", .text = true },
        { .id = "workers", .label = "workers" },
        { .id = "epoch_time_s", .label = "epoch time", .unit = "s", .metric = "epoch-time", .digits = 4 },
        { .id = "speedup", .label = "speed-up", .metric = "speedup", .digits = 3 },
    };
    struct wl_report_table *t = wl_report_table_new(a, "configurations", hostile ? synthetic_hostile : "Configurations",
                                                    columns, WL_COUNT(columns));
    t->caption = hostile ? synthetic_hostile : "Two worker counts.";
    t->estimated = true;
    for (int i = 0; i < 2; i++) {
        wl_report_table_text(t, hostile ? synthetic_hostile : "resnet50");
        wl_report_table_real(t, i + 1);
        wl_report_table_real(t, i ? 12.3456 : 23.9996);
        wl_report_table_real(t, i ? 1.94398 : NAN);
    }
    return t;
}

struct wl_report_table *synthetic_long_table(struct wl_arena *a, const char *id, size_t n, size_t most, size_t last)
{
    static const struct wl_report_column columns[] = {
        { .id = "group", .label = "group", .text = true },
        { .id = "value", .label = "value", .digits = 3 },
        { .id = "reason", .label = "reason", .text = true, .notable = true },
    };
    struct wl_report_table *t = wl_report_table_new(a, id, id, columns, WL_COUNT(columns));
    for (size_t i = 0; i < n * most + last; i++) {
        const bool is_last = i >= n * most;
        wl_report_table_text(t, is_last ? "resnet50, cap 200 W" : wl_strf(a, "w%zu", i / most));
        wl_report_table_real(t, (double)i);
        wl_report_table_text(t, i == n * most ? "flagged" : NULL);
    }
    return t;
}

struct wl_document *synthetic_document(struct wl_arena *a)
{
    struct wl_document *d = wl_document_new(a, synthetic_hostile);
    d->subtitle = "A page of made-up numbers";
    wl_document_fact(d, "machine", synthetic_hostile);
    wl_document_fact(d, "sampling", "10.0 Hz");
    wl_document_fact(d, "left out", NULL);
    wl_strs_add(a, &d->findings, "resnet50: eight workers are 5.1 times as fast as one.");
    wl_strs_add(a, &d->findings, synthetic_hostile);
    wl_strs_add(a, &d->warnings, "Every number is made up.");
    for (size_t i = 0; i < WL_COUNT(workloads); i++) wl_document_workload(d, workloads[i]);
    wl_document_workload(d, synthetic_hostile);
    struct wl_section *s = wl_document_section(d, "scaling", "Scaling");
    wl_section_figure(d, s, synthetic_scaling(a));
    wl_section_figure(d, s, synthetic_bars(a));
    wl_section_figure(d, s, synthetic_trace(a));
    wl_section_figure(d, s, synthetic_hostile_figure(a));
    wl_section_table(d, s, synthetic_table(a, false));
    wl_section_table(d, s, synthetic_table(a, true));
    return d;
}

struct wl_document *synthetic_crowded_document(struct wl_arena *a)
{
    struct wl_document *d = synthetic_document(a);
    wl_section_table(d, d->sections[0], synthetic_long_table(a, "long", 1, 200, 200));
    wl_section_table(d, d->sections[0], synthetic_long_table(a, "crowd", 300, 1, 5));
    for (size_t i = 0; i < 300; i++) wl_document_workload(d, wl_strf(a, "w%zu", i));
    return d;
}
