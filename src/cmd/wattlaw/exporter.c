/* wattlaw exporter: this node as metrics, for Prometheus and its like. Nothing is stored. */
#include "cmd/cmd.h"
#include "cmd/wattlaw/http.h"
#include "live/live.h"

struct exporter_options {
    struct wl_http_opts http;
    struct wl_power_opts power;
};

/* The default port: not in Debian's /etc/services, and above Prometheus' list of ports of exporters (9100 to 9999). */
static const struct wl_opt rows[] = {
    WL_HTTP_OPT_ROWS(struct exporter_options, http, "10782"),
    WL_POWER_OPT_ROWS(struct exporter_options, power),
    WL_OPT_END,
};

/* A copy of what was read last: a sensor that hangs holds no scrape up. */
static int metrics(void *ctx, const struct wl_strs *paths, struct wl_metrics *to, struct wl_arena *a, struct wl_err *e)
{
    struct wl_live *live = ctx;
    (void)paths;
    (void)e;
    wl_live_metrics(to, wl_live_look(live, a));
    return 0;
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct exporter_options *o = options;
    const struct wl_strs none = { 0 };
    struct wl_serve_documents documents = { .metrics = metrics };
    struct wl_serve_options what = { .paths = &none, .documents = &documents, .metrics_alone = true };
    struct wl_live_opts watched = { .power = o->power };
    struct wl_signals *signals;
    struct wl_live *live;
    if (rest->args.n > 0) return wl_fail(e, WL_EUSAGE, "unexpected argument '%s'", rest->args.v[0]);
    int rc = wl_http_options(&o->http, &what, a, e);
    if (rc == 0) rc = wl_sampler_cpu_check(&o->power, a, e);
    if (rc == 0) rc = wl_signals_open(&signals, false, a, e); /* before threads are started */
    if (rc == 0) rc = wl_live_start(&live, &watched, a, e);
    if (rc < 0) return rc;
    documents.ctx = live;
    return wl_http_serve(&what, "metrics", signals, a, e);
}

const struct wl_cmd wl_cmd_exporter = {
    .name = "exporter",
    .usage = "[options]",
    .help = "serve power, energy and load of this node as metrics for Prometheus",
    .more = "Answers /metrics in OpenMetrics or Prometheus' text format; the address is the first line printed. "
            "Nothing is\n"
            "stored, no setting is changed, and no right of root is needed but for sensors that only root may read.\n"
            "contrib/ has a unit of systemd and a dashboard for Grafana.\n"
            "\n"
            "  wattlaw exporter\n"
            "  wattlaw exporter --address 0.0.0.0 --token-file token",
    .options = rows,
    .options_size = sizeof(struct exporter_options),
    .run = run,
};
