/* Where Slurm put the job that this process is in: nodes, switches, how long it waited, and who else is there.
 * docs/adr/162
 *
 * The controller is asked once at the begin of a run, and once more at its end where nodes are shared: what else runs
 * there changes. The network's topology is asked for once in a campaign, by the first job on several nodes, and kept in
 * jobs/topology. Sources: sbatch(1) (SLURM_TOPOLOGY_ADDR), scontrol(1), squeue(1), topology.conf(5). */
#include "campaign/batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char topology_file[] = "topology";
static const char unknown[] = "where this job runs is not known";

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* ---- nodes ---- */

static struct wl_strs nodes_of(const char *list, struct wl_arena *a)
{
    struct wl_strs names = { 0 };
    if (!strchr(list, '[')) return wl_str_split(a, list, ',');
    char *argv[] = { (char *)"scontrol", (char *)"show", (char *)"hostnames", (char *)list, NULL };
    char *text = wl_batch_answer(argv, unknown, a);
    for (char *line; text && (line = strsep(&text, "\n"));)
        if (*line) wl_strs_add(a, &names, line);
    return names;
}

static void add_name(struct wl_text *t, const char *name) { wl_text_addf(t, "%s%s", t->n ? "," : "", name); }

/* ---- switches ---- */

/* SLURM_TOPOLOGY_ADDR is "core.s1.n3" of the pattern "switch.switch.node": the part before the node. NULL: none. */
static const char *switch_by_environment(struct wl_arena *a)
{
    const char *address = variable("SLURM_TOPOLOGY_ADDR"), *pattern = variable("SLURM_TOPOLOGY_ADDR_PATTERN");
    if (!address || !pattern) return NULL;
    const struct wl_strs parts = wl_str_split(a, address, '.'), kinds = wl_str_split(a, pattern, '.');
    if (kinds.n < 2 || parts.n < kinds.n || !wl_str_eq(kinds.v[kinds.n - 2], "switch")) return NULL;
    return parts.v[kinds.n - 2];
}

/* The value of "Key=value" in a line, up to the next blank; NULL: it has none. */
static const char *field(const char *line, const char *key, struct wl_arena *a)
{
    const size_t n = strlen(key);
    for (const char *at = line; *at; at += strspn(at, " ")) {
        if (strncmp(at, key, n) == 0 && at[n] == '=') return wl_strndup(a, at + n + 1, strcspn(at + n + 1, " "));
        at += strcspn(at, " ");
    }
    return NULL;
}

const char *wl_batch_switches(const char *topology, const struct wl_strs *nodes, struct wl_arena *a)
{
    struct wl_text found = WL_TEXT(a);
    char *text = wl_strdup(a, topology);
    size_t placed = 0;
    for (char *line; (line = strsep(&text, "\n"));) {
        const char *name = field(line, "SwitchName", a), *level = field(line, "Level", a),
                   *members = field(line, "Nodes", a);
        size_t n = 0;
        if (!name || !wl_str_eq(level, "0") || !members) continue;
        for (size_t i = 0; i < nodes->n; i++) n += wl_batch_hosts_have(members, nodes->v[i]);
        if (n) add_name(&found, name);
        placed += n;
    }
    return placed == nodes->n && placed ? found.s : NULL;
}

static const char *switches_of(const char *folder, const struct wl_strs *nodes, struct wl_arena *a)
{
    if (nodes->n == 1) return switch_by_environment(a);
    /* "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-4]" ... */
    char *argv[] = { (char *)"scontrol", (char *)"show", (char *)"topology", NULL };
    const char *text = nodes->n ? wl_batch_answer_once(folder, topology_file, argv, unknown, a) : NULL;
    return text ? wl_batch_switches(text, nodes, a) : NULL;
}

/* ---- the queue ---- */

static double time_of(const char *text)
{
    double s;
    return text && wl_str_to_real(text, &s) == 0 ? s : NAN;
}

static void add_other(struct wl_placement_row *row, const char *job, struct wl_arena *a)
{
    const struct wl_strs known = wl_str_split(a, row->other_jobs, ',');
    for (size_t i = 0; i < known.n; i++)
        if (wl_str_eq(known.v[i], job)) return;
    row->other_jobs = *row->other_jobs ? wl_strf(a, "%s,%s", row->other_jobs, job) : wl_strdup(a, job);
}

void wl_batch_placement_read(const char *listing, const char *job, struct wl_placement_row *row, struct wl_arena *a)
{
    char *text = wl_strdup(a, listing);
    if (!row->other_jobs) row->other_jobs = "";
    for (char *line; (line = strsep(&text, "\n"));) {
        const struct wl_strs part = wl_str_split(a, line, '|');
        if (part.n < 3) continue;
        if (!wl_str_eq(part.v[0], job)) {
            add_other(row, part.v[0], a);
            continue;
        }
        const double waited = time_of(part.v[2]) - time_of(part.v[1]);
        if (waited >= 0) row->queue_wait_s = waited;
    }
}

/* "4711_3|1700000000|1700000009": running jobs with submission and start. With the nodes to itself, a job asks for
 * itself alone. */
static void ask_queue(const char *job, const char *nodes, struct wl_placement_row *row, struct wl_arena *a)
{
    char *argv[] = { (char *)"env",
                     (char *)"SLURM_TIME_FORMAT=%s",
                     (char *)"squeue",
                     (char *)"-h",
                     (char *)"-t",
                     (char *)"running",
                     (char *)(nodes ? "-w" : "-j"),
                     (char *)(nodes ? nodes : job),
                     (char *)"-o",
                     (char *)"%i|%V|%S",
                     NULL };
    const char *text = wl_process_find_program("squeue", a) ? wl_batch_answer(argv, unknown, a) : NULL;
    if (text) wl_batch_placement_read(text, job, row, a);
}

bool wl_batch_slurm_placement(const struct wl_experiment *x, const char *folder, bool at_end,
                              struct wl_placement_row *row, struct wl_arena *a)
{
    const char *job = wl_batch_slurm.environment(x, a), *list = variable("SLURM_JOB_NODELIST");
    const bool alone = x->launch.batch.exclusive;
    if (!job || !list) return false;
    if (at_end) {
        if (!alone) ask_queue(job, list, row, a);
        return true;
    }
    struct wl_text names = WL_TEXT(a);
    const struct wl_strs nodes = nodes_of(list, a);
    for (size_t i = 0; i < nodes.n; i++) add_name(&names, nodes.v[i]);
    *row = (struct wl_placement_row) { .nodes = nodes.n ? names.s : list,
                                       .switches = switches_of(folder, &nodes, a),
                                       .queue_wait_s = NAN };
    ask_queue(job, alone ? NULL : list, row, a);
    return true;
}
