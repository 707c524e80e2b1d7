/* What a site's Slurm allows. Sources: scontrol(1), slurm.conf(5) (MaxArraySize, SchedulerParameters max_array_tasks),
 * sinfo(1) (%P, %l, %L), sbatch(1) (formats of --time). */
#include "campaign/batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double wl_batch_slurm_time_s(const char *text)
{
    double part[3] = { 0 }, days = 0;
    size_t n = 0;
    const char *dash = strchr(text, '-');
    char *end;
    if (dash) {
        days = strtod(text, &end);
        if (end != dash || end == text) return 0;
        text = dash + 1;
    }
    for (;; text = end + 1) {
        if (n == WL_COUNT(part) || strspn(text, "0123456789") == 0) return 0;
        part[n++] = strtod(text, &end);
        if (*end != ':') break;
    }
    if (*end) return 0;
    if (dash) return days * 86400 + part[0] * 3600 + part[1] * 60 + part[2]; /* from the hours on */
    return n == 3 ? part[0] * 3600 + part[1] * 60 + part[2] : part[0] * 60 + part[1];
}

/* The value in the line "Name   = value"; NULL: there is no such line. */
static const char *config_value(const char *config, const char *name, struct wl_arena *a)
{
    const size_t n = strlen(name);
    for (const char *line = config; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) || !strchr(" =", line[n])) continue;
        const char *value = line + n + strspn(line + n, " =");
        return wl_str_strip(a, wl_strndup(a, value, strcspn(value, "\n")));
    }
    return NULL;
}

void wl_batch_slurm_read_config(const char *config, struct wl_batch_site *out, struct wl_arena *a)
{
    static const char tasks_max[] = "max_array_tasks=";
    const char *size = config_value(config, "MaxArraySize", a);
    const char *scheduler = config_value(config, "SchedulerParameters", a);
    const char *tasks = scheduler ? strstr(scheduler, tasks_max) : NULL;
    int64_t n;
    if (size && wl_str_to_int(size, &n) == 0 && n > 0) out->array_max = n; /* tasks are numbered from 0: below it */
    if (!tasks) return;
    n = strtol(tasks + strlen(tasks_max), NULL, 10);
    if (n > 0 && n < out->array_max) out->array_max = n;
}

static bool is_named(const char *partition, const char *list)
{
    const size_t n = strlen(partition);
    for (const char *at = list; (at = strstr(at, partition)); at += n)
        if ((at == list || at[-1] == ',') && (at[n] == '\0' || at[n] == ',')) return true;
    return false;
}

/* Of several partitions a job starts in any that takes it: the longest limit counts. */
void wl_batch_slurm_read_partitions(char *lines, const char *partition, struct wl_batch_site *out, struct wl_arena *a)
{
    double longest_s = 0, default_s = 0;
    for (char *line; (line = strsep(&lines, "\n"));) {
        char *name = strsep(&line, "|"), *limit = strsep(&line, "|"), *usual = strsep(&line, "|");
        char *star = name ? strchr(name, '*') : NULL;
        if (star) *star = '\0';
        if (!usual || (partition ? !is_named(name, partition) : !star)) continue;
        const double limit_s = wl_batch_slurm_time_s(limit), usual_s = wl_batch_slurm_time_s(usual);
        longest_s = fmax(longest_s, limit_s > 0 ? limit_s : INFINITY);
        default_s = fmax(default_s, usual_s);
        out->partition = partition ? partition : wl_strdup(a, name);
    }
    out->time_limit_s = isfinite(longest_s) ? longest_s : 0;
    out->default_limit_s = default_s;
}

/* Options that name another partition than the keys do. */
static bool names_partition(const char *options)
{
    return options && (wl_str_starts(options, "-p") || strstr(options, " -p") || strstr(options, "--partition"));
}

const char *wl_batch_slurm_config(const char *folder, struct wl_arena *a)
{
    char *argv[] = { (char *)"scontrol", (char *)"show", (char *)"config", NULL };
    return wl_batch_answer_once(folder, WL_BATCH_CONFIG_FILE, argv, "whether Slurm measures energy is not known", a);
}

int wl_batch_slurm_site(const struct wl_experiment *x, struct wl_batch_site *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_batch_keys *k = &x->launch.batch;
    char *config, *partitions;
    char *ask_config[] = { (char *)"scontrol", (char *)"show", (char *)"config", NULL };
    char *ask_partitions[] = { (char *)"sinfo", (char *)"-h", (char *)"-o", (char *)"%P|%l|%L", NULL };
    *out = (struct wl_batch_site) { 0 };
    int rc = wl_batch_program(ask_config, &config, a, e);
    if (rc == 0) rc = wl_batch_program(ask_partitions, &partitions, a, e);
    if (rc < 0) return rc;
    out->config = config;
    wl_batch_slurm_read_config(config, out, a);
    if (!names_partition(k->sbatch_options)) wl_batch_slurm_read_partitions(partitions, k->partition, out, a);
    return 0;
}
