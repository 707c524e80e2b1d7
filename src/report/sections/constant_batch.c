/* Where both batch sizes vary, the law holds one of them fixed while workers change; this section holds the other one
 * fixed (the series of Huber et al. 2025). */
#include "report/groups.h"
#include "report/sections/sections.h"

/* Does a group of the series have runs at two worker counts? */
static bool scales(const struct wl_report_data *g)
{
    for (size_t i = 0; i < g->n_groups; i++) {
        if (g->groups[i].law->n_configs > 1) return true;
    }
    return false;
}

int wl_report_add_constant_batch(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e)
{
    struct wl_report_data series;
    if (g->n_groups == 0) return 0;
    bool local = wl_report_groups_have_column(g, "local_batch");
    if (local == wl_report_groups_have_column(g, "global_batch"))
        return 0; /* one batch size, or a grid in which both are named */
    int rc = wl_report_data_load_series(&series, g, local ? "global_batch" : "local_batch", e);
    if (rc || !scales(&series)) return rc;
    char *title = wl_strdup(g->arena, series.series);
    title[0] = (char)(title[0] - 'a' + 'A');
    struct wl_section *s = wl_document_section(d, wl_slug(series.series, g->arena), title);
    wl_report_add_scaling_figures(&series, d, s);
    wl_report_add_energy_figures(&series, d, &s);
    wl_report_add_quality_figures(&series, d, &s);
    return 0;
}
