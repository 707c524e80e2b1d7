/* The job's processes and the load of the machine, from /proc.
 *
 * Node: busy share and busy time of all CPUs (/proc/stat), memory in use (/proc/meminfo), runnable tasks
 * (/proc/loadavg). Job: CPU time and resident memory of its process tree, see process_tree.h, and how many CPUs it may
 * use. The busy time of the node is read along with the job's CPU time, so that the rest is what others used. On a
 * large machine these files are long: each is read at most as often as its budget of a core allows (proc_open). */
#include "power/node/cpu_stat.h"
#include "power/node/process_tree.h"
#include "power/procfs.h"
#include "power/sensor.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct proc {
    struct wl_cpu_stat *cpu_stat;
    int meminfo_fd, loadavg_fd;
    struct wl_cpu_times last; /* at the latest reading of cpu_util */
    int64_t last_ns;          /* time of that reading */
    struct wl_budget cpu_budget, memory_budget, search_budget, tree_budget;
    int cpu_util, mem_used, runnable, node_cpu_time, node_cpus, cpu_time, rss, cpus; /* channels */
    struct wl_process_tree *tree;
    _Atomic pid_t jobs[WL_PROCESS_TREE_JOBS]; /* from watch() */
    _Atomic int n_jobs;                       /* length of jobs */
    int followed;                             /* how many of them are in the tree */
    int64_t young_ns, job_due_ns;             /* when the newest was added; when they are read next */
};

static int proc_open(struct wl_sensor *s, const struct wl_power_opts *o, struct wl_err *e)
{
    struct proc *p = wl_new(s->arena, struct proc);
    s->state = p;
    p->cpu_stat = s->cpu_stat;
    int rc = wl_cpu_stat_open(p->cpu_stat, o->root, e);
    if (rc < 0) return rc;
    if ((p->meminfo_fd = wl_procfs_open(o->root, "/proc/meminfo", s->arena, e)) < 0) return p->meminfo_fd;
    if ((p->loadavg_fd = wl_procfs_open(o->root, "/proc/loadavg", s->arena, e)) < 0) return p->loadavg_fd;
    if (wl_cpu_stat_read(p->cpu_stat, 0, &p->last, &p->last_ns) < 0)
        return wl_fail(e, WL_EIO, "%s/proc/stat cannot be read", o->root);
    p->cpu_budget.share = 8000;
    p->memory_budget.share = 20000;
    p->search_budget.share = 8000;
    p->tree_budget.share = 8000;
    rc = wl_process_tree_open(&p->tree, o->root, s->arena, e);
    if (rc < 0) return rc;

    int node = wl_sensor_add_device(s, &(struct wl_device) { .name = "node", .uuid = "proc:node" });
    p->cpu_util = wl_sensor_add_channel(s, node, WL_CPU_UTIL, WL_SCOPE_NODE, WL_VARIANT_NONE);
    p->mem_used = wl_sensor_add_channel(s, node, WL_MEM_USED, WL_SCOPE_NODE, WL_VARIANT_NONE);
    p->runnable = wl_sensor_add_channel(s, node, WL_RUNNABLE, WL_SCOPE_NODE, WL_VARIANT_NONE);
    p->node_cpu_time = wl_sensor_add_channel(s, node, WL_CPU_TIME, WL_SCOPE_NODE, WL_VARIANT_NONE);
    p->node_cpus = wl_sensor_add_channel(s, node, WL_CPUS, WL_SCOPE_NODE, WL_VARIANT_NONE);
    int job = wl_sensor_add_device(s, &(struct wl_device) { .name = "job", .uuid = WL_JOB_DEVICE, .index = 1 });
    p->cpu_time = wl_sensor_add_channel(s, job, WL_CPU_TIME, WL_SCOPE_JOB, WL_VARIANT_NONE);
    p->rss = wl_sensor_add_channel(s, job, WL_RSS, WL_SCOPE_JOB, WL_VARIANT_NONE);
    p->cpus = wl_sensor_add_channel(s, job, WL_CPUS, WL_SCOPE_JOB, WL_VARIANT_NONE);
    s->source = wl_strf(s->arena, "%s/proc", o->root);
    return 0;
}

/* Busy share since the previous reading. */
static void read_cpu(struct proc *p, bool all, struct wl_reading *out)
{
    int64_t cpu0 = wl_clock_thread_cpu_ns(), now_ns = wl_now_ns();
    if (!wl_budget_due(&p->cpu_budget, all) || now_ns - p->last_ns < WL_SHARE_SPAN_NS) return;
    struct wl_cpu_times now;
    if (wl_cpu_stat_read(p->cpu_stat, p->last_ns, &now, &now_ns) < 0) {
        wl_reading_fail(out, "/proc/stat cannot be read");
        return;
    }
    double total = now.total_s - p->last.total_s, busy = now.busy_s - p->last.busy_s;
    if (total > 0)
        wl_reading_mean(out, 100 * busy / total, p->last_ns, now_ns);
    else
        wl_reading_fail(out, "the CPU times in /proc/stat do not change");
    p->last = now;
    p->last_ns = now_ns;
    wl_budget_spent(&p->cpu_budget, cpu0);
}

/* The number after "\nName:" in kB; NAN: missing. */
static double meminfo_kb(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtod(at + strlen(name), NULL) : NAN;
}

static void read_memory(struct proc *p, bool all, struct wl_reading *out)
{
    if (!wl_budget_due(&p->memory_budget, all)) return;
    int64_t t0 = wl_now_ns(), cpu0 = wl_clock_thread_cpu_ns();
    char buf[512]; /* MemTotal, MemFree and MemAvailable come first */
    int n = wl_procfs_read(p->meminfo_fd, buf, sizeof buf);
    double used_kb = n < 0 ? NAN : meminfo_kb(buf, "MemTotal:") - meminfo_kb(buf, "MemAvailable:");
    if (isfinite(used_kb))
        wl_reading_set(out, used_kb * 1024, t0);
    else
        wl_reading_fail(out, "/proc/meminfo has no MemTotal and MemAvailable");
    wl_budget_spent(&p->memory_budget, cpu0);
}

/* "0.20 0.18 0.12 1/80 11206": load averages, runnable/all tasks, the latest pid. Source: proc_loadavg(5). Returns the
 * pid, 0: none. */
static pid_t read_loadavg(struct proc *p, struct wl_reading *out)
{
    int64_t t0 = wl_now_ns();
    char buf[128];
    int n = wl_procfs_read(p->loadavg_fd, buf, sizeof buf);
    char *slash = n < 0 ? NULL : strchr(buf, '/');
    if (!slash) {
        wl_reading_fail(out, "/proc/loadavg cannot be read");
        return 0;
    }
    char *space = slash;
    while (space > buf && space[-1] != ' ') space--;
    wl_reading_set(out, strtod(space, NULL), t0);
    char *last = strchr(slash, ' ');
    return last ? (pid_t)strtol(last, NULL, 10) : 0;
}

/* A job is read each second; a young one each eighth of its age, so that little of a short one is missed after its last
 * reading. */
static bool job_is_due(const struct proc *p, bool all)
{
    int jobs = atomic_load(&p->n_jobs);
    return jobs > 0 && (all || jobs != p->followed || wl_now_ns() >= p->job_due_ns);
}

static void plan_job(struct proc *p, int jobs)
{
    int64_t now_ns = wl_now_ns(),
            interval_ns = (int64_t)(wl_poll_interval_s(wl_quantity_poll_interval(WL_CPU_TIME)) * WL_NS_PER_S);
    if (jobs != p->followed) p->young_ns = now_ns;
    int64_t pause_ns = (now_ns - p->young_ns) / 8;
    p->job_due_ns = now_ns + (pause_ns < interval_ns ? pause_ns : interval_ns);
}

/* The busy time of all CPUs, which includes the job's. */
static void read_node_time(struct proc *p, struct wl_reading *out)
{
    struct wl_cpu_times now;
    int64_t now_ns;
    if (wl_cpu_stat_read(p->cpu_stat, 0, &now, &now_ns) < 0)
        wl_reading_fail(&out[p->node_cpu_time], "/proc/stat cannot be read");
    else
        wl_reading_set(&out[p->node_cpu_time], now.busy_s, now_ns);
}

/* CPUs of the node, and those in the affinity mask of the job's first process, which has what its cgroup allows. */
static void read_cpus(const struct proc *p, struct wl_reading *out)
{
    int64_t now_ns = wl_now_ns();
    cpu_set_t set;
    wl_reading_set(&out[p->node_cpus], (double)sysconf(_SC_NPROCESSORS_ONLN), now_ns);
    if (sched_getaffinity(atomic_load(&p->jobs[0]), sizeof set, &set) == 0) /* it fails once the job has ended */
        wl_reading_set(&out[p->cpus], CPU_COUNT(&set), now_ns);
}

static void read_job(struct proc *p, bool all, pid_t last_pid, struct wl_reading *out)
{
    int jobs = atomic_load(&p->n_jobs);
    int64_t cpu0 = wl_clock_thread_cpu_ns();
    plan_job(p, jobs);
    if (jobs != p->followed || wl_budget_due(&p->search_budget, all)) {
        do wl_process_tree_search(p->tree, p->jobs[p->followed < jobs ? p->followed++ : 0], last_pid);
        while (p->followed < jobs);
        wl_budget_spent(&p->search_budget, cpu0);
    }
    if (!wl_budget_due(&p->tree_budget, all)) return;
    cpu0 = wl_clock_thread_cpu_ns();
    int64_t t0 = wl_now_ns();
    struct wl_process_tree_sum sum;
    wl_process_tree_read(p->tree, &sum);
    if (sum.why) {
        wl_reading_fail(&out[p->cpu_time], sum.why);
        wl_reading_fail(&out[p->rss], sum.why);
    } else if (sum.processes > 0) {
        wl_reading_set(&out[p->cpu_time], sum.cpu_s, t0);
        wl_reading_set(&out[p->rss], sum.rss_bytes, t0);
    }
    read_node_time(p, out);
    read_cpus(p, out);
    wl_budget_spent(&p->tree_budget, cpu0);
}

static void proc_read(struct wl_sensor *s, struct wl_due due, struct wl_reading *out)
{
    struct proc *p = s->state;
    bool job = job_is_due(p, due.all);
    pid_t last_pid = 0;
    if (wl_is_due(due, WL_CPU_UTIL)) read_cpu(p, due.all, &out[p->cpu_util]);
    if (wl_is_due(due, WL_MEM_USED)) read_memory(p, due.all, &out[p->mem_used]);
    if (job || wl_is_due(due, WL_RUNNABLE)) last_pid = read_loadavg(p, &out[p->runnable]);
    if (job) read_job(p, due.all, last_pid, out);
}

static void proc_watch(struct wl_sensor *s, pid_t pid)
{
    struct proc *p = s->state;
    int n = atomic_load(&p->n_jobs);
    if (n == WL_PROCESS_TREE_JOBS) return;
    atomic_store(&p->jobs[n], pid);
    atomic_store(&p->n_jobs, n + 1);
}

const struct wl_sensor_ops wl_sensor_proc = {
    .name = "proc",
    .help = "CPU time and memory of the job's processes, load of the node",
    .open = proc_open,
    .read = proc_read,
    .watch = proc_watch,
};
