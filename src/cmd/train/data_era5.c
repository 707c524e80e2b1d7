/* `wattlaw-train data era5`: synthetic weather, and the statistics of real data. */
#include "cmd/train/commands.h"
#include "data/data.h"

#include <stddef.h>

struct options {
    const char *synthetic, *statistics;
    int64_t height, width, channels, years, times, seed, sample;
    bool json, quiet;
};

#define AT(field) .offset = offsetof(struct options, field)

static const struct wl_opt rows[] = {
    { "synthetic", WL_STR, AT(synthetic), .unit = "FOLDER",
      .help = "folder for synthetic weather, created if missing; default: none" },
    { "height", WL_INT, AT(height), "32", 8, 1024, "points", .help = "height of the grid, from pole to pole" },
    { "width", WL_INT, AT(width), "64", 16, 2048, "points", .help = "width of the grid, around the earth" },
    { "channels", WL_INT, AT(channels), "5", 1, 20,
      .help = "number of fields: wind u and v, height, vorticity and a tracer for each of up to four layers" },
    { "years", WL_INT, AT(years), "2", 1, 100, .help = "number of training years; one more is for validation" },
    { "times", WL_INT, AT(times), "200", 2, 1e5, .help = "number of times per year, six hours apart" },
    { "seed", WL_INT, AT(seed), "1", 0, 9e15, .help = "random seed of the weather" },
    { "statistics", WL_STR, AT(statistics), .unit = "FOLDER",
      .help = "instead of --synthetic: data folder, whose mean, standard deviation and climatology go to its stats/; "
              "default: none" },
    { "sample", WL_INT, AT(sample), "256", 1, 1e9, "times",
      .help = "number of times to compute the statistics from, evenly spaced" },
    { "json", WL_FLAG, AT(json), .help = "print a summary as JSON" },
    { "quiet", WL_FLAG, AT(quiet), .help = "print no progress on stderr" },
    WL_OPT_END,
};

static int make(const struct options *o, int64_t *written, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_era5_synth_opts s = {
        .dir = o->synthetic,
        .height = o->height,
        .width = o->width,
        .channels = o->channels,
        .years = o->years,
        .times = o->times,
        .seed = o->seed,
    };
    *written = 0;
    if (!o->synthetic == !o->statistics)
        return wl_fail(
            e, WL_EUSAGE,
            "give one of --synthetic FOLDER (writes data) and --statistics FOLDER (computes the statistics of data)");
    if (o->statistics) return wl_era5_statistics(o->statistics, o->sample, !o->quiet, a, e);
    return wl_era5_synth(&s, !o->quiet, written, a, e);
}

static void print_result(const struct options *o, int64_t written, struct wl_arena *a)
{
    const char *dir = o->synthetic ? o->synthetic : o->statistics;
    if (o->json) {
        struct wl_json *j = wl_json_root_object(a);
        wl_json_add_str(j, "data", "era5");
        wl_json_add_str(j, "dir", dir);
        wl_json_add_int(j, "written", written);
        wl_json_print(j);
    } else if (o->statistics) {
        wl_print("mean, standard deviation and climatology written to %s/stats\n", dir);
    } else if (written) {
        wl_print("%lld times written to %s\n", (long long)written, dir);
    } else {
        wl_print("%s is already complete\n", dir);
    }
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    int64_t written;
    if (rest->args.n) return wl_fail(e, WL_EUSAGE, "unexpected argument '%s'", rest->args.v[0]);
    int rc = make(options, &written, a, e);
    if (rc) return rc;
    print_result(options, written, a);
    return WL_EXIT_OK;
}

const struct wl_cmd wl_cmd_data_era5 = {
    .name = "era5",
    .usage = "--synthetic FOLDER | --statistics FOLDER [options]",
    .help = "writes synthetic weather in the layout of FourCastNet's ERA5 files; computes the statistics of real data",
    .more =
        "FOLDER gets train/YYYY.h5 and val/YYYY.h5, each with one data set \"fields\" [time, channel, latitude,\n"
        "longitude], stats/*.npy and channels.txt. The weather is rotating shallow water on a sphere: zonal jets and\n"
        "waves. A folder that is complete with the same settings stays unchanged.\n\n"
        "example\n"
        "  wattlaw-train data era5 --synthetic weather\n"
        "  wattlaw-train fourcastnet --size tiny --data weather --epochs 10",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run,
};
