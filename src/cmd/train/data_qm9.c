/* `wattlaw-train data qm9`: packs the original files, or synthetic ones in their format. */
#include "cmd/train/commands.h"
#include "data/data.h"

#include <stddef.h>

struct options {
    const char *synthetic, *from, *exclude, *to;
    int64_t molecules, seed;
    bool json, quiet;
};

#define AT(field) .offset = offsetof(struct options, field)

static const struct wl_opt rows[] = {
    { "from", WL_STR, AT(from), .unit = "PATH",
      .help = "folder or tar archive with the .xyz files of QM9; required without --synthetic" },
    { "exclude", WL_STR, AT(exclude), .unit = "FILE",
      .help = "list of molecules to exclude, such as QM9's uncharacterized.txt; default: none" },
    { "to", WL_STR, AT(to), .unit = "FILE",
      .help = "file to write; default: qm9.molecules beside the archive or in the folder" },
    { "synthetic", WL_STR, AT(synthetic), .unit = "FOLDER",
      .help = "folder for synthetic .xyz files and for the packed file; default: none" },
    { "molecules", WL_INT, AT(molecules), "2000", 2, 999999, .help = "number of molecules for --synthetic" },
    { "seed", WL_INT, AT(seed), "1", 0, 9e15, .help = "random seed of the molecules for --synthetic" },
    { "json", WL_FLAG, AT(json), .help = "print a summary as JSON" },
    { "quiet", WL_FLAG, AT(quiet), .help = "print no progress on stderr" },
    WL_OPT_END,
};

static int check(const struct options *o, const struct wl_opts_args *rest, struct wl_err *e)
{
    if (rest->args.n) return wl_fail(e, WL_EUSAGE, "unexpected argument '%s'", rest->args.v[0]);
    if (!o->synthetic == !o->from) return wl_fail(e, WL_EUSAGE, "give either --from or --synthetic");
    if (o->synthetic && o->exclude)
        return wl_fail(e, WL_EUSAGE, "--exclude does not go with --synthetic, which writes its own molecules");
    return 0;
}

static void print_done(const struct options *o, const struct wl_qm9_pack_opts *how,
                       const struct wl_qm9_pack_stats *done, struct wl_arena *a)
{
    if (!o->json) {
        wl_print("%s: %lld molecules of %lld atoms", how->to, (long long)done->molecules, (long long)done->atoms);
        wl_print(o->exclude ? ", %lld excluded\n" : "\n", (long long)done->excluded);
        return;
    }
    struct wl_json *j = wl_json_root_object(a);
    wl_json_add_str(j, "data", "qm9");
    wl_json_add_str(j, "file", how->to);
    wl_json_add_int(j, "molecules", done->molecules);
    wl_json_add_int(j, "atoms", done->atoms);
    wl_json_add_int(j, "excluded", done->excluded);
    wl_json_print(j);
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct options *o = options;
    struct wl_qm9_pack_opts how = {
        .from = o->synthetic ? o->synthetic : o->from, .exclude = o->exclude, .to = o->to, .progress = !o->quiet
    };
    struct wl_qm9_pack_stats done;
    int rc = check(o, rest, e);
    if (!rc && o->synthetic) rc = wl_qm9_synth(o->synthetic, o->molecules, (uint64_t)o->seed, !o->quiet, e);
    if (rc) return rc;
    if (!how.to) how.to = wl_path_join(a, wl_is_dir(how.from) ? how.from : wl_path_dir(a, how.from), "qm9.molecules");
    rc = wl_qm9_pack(&how, &done, a, e);
    if (rc) return rc;
    print_done(o, &how, &done, a);
    return WL_EXIT_OK;
}

const struct wl_cmd wl_cmd_data_qm9 = {
    .name = "qm9",
    .usage = "--from PATH | --synthetic FOLDER [options]",
    .help = "packs the .xyz files of QM9 for training, or synthetic molecules",
    .more =
        "QM9 comes as dsgdb9nsd.xyz.tar.bz2, which must be unpacked to a .tar or a folder, and uncharacterized.txt,\n"
        "the list of molecules whose consistency check failed. With --exclude of that list 130,831 remain.\n\n"
        "example\n"
        "  wattlaw-train data qm9 --from dsgdb9nsd.xyz.tar --exclude uncharacterized.txt\n"
        "  wattlaw-train schnet --data qm9.molecules --recipe frey2022",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run,
};
