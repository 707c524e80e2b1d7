/* Other processes on a GPU, whose power is that of all of them. Processes are the job's if they descend from its root
 * process or, if this process is one rank of several, from our launcher. */
#include "power/nvml/sensor.h"
#include "power/procfs.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PROCESSES = 256 };

/* No process may have used the GPU yet; a driver that does not tell says so. */
static void probe_util(struct wl_sensor *s, struct wl_nvml_device *u)
{
    const struct wl_nvml *lib = &((struct wl_nvml_sensor *)s->state)->lib;
    struct wl_nvml_processes *c = &u->processes;
    nvmlProcessUtilizationSample_t *room = wl_new_array(s->arena, nvmlProcessUtilizationSample_t, MAX_PROCESSES);
    unsigned count = MAX_PROCESSES;
    c->util = c->job_util = -1;
    if (!lib->DeviceGetProcessUtilization || c->mig) return;
    nvmlReturn_t rc = lib->DeviceGetProcessUtilization(u->handle, room, &count, 0);
    if (rc != NVML_SUCCESS && rc != NVML_ERROR_NOT_FOUND) return;
    c->utils = room;
    c->util = wl_nvml_add_channel(s, u, WL_PROCESS_UTIL, WL_SCOPE_GPU, WL_VARIANT_NONE);
    c->job_util = wl_nvml_add_channel(s, u, WL_PROCESS_UTIL, WL_SCOPE_JOB, WL_VARIANT_NONE);
}

void wl_nvml_processes_probe(struct wl_sensor *s, struct wl_nvml_device *u)
{
    const struct wl_nvml *lib = &((struct wl_nvml_sensor *)s->state)->lib;
    unsigned mode = 0, after_reset;
    if (lib->DeviceGetMigMode && lib->DeviceGetMigMode(u->handle, &mode, &after_reset) == NVML_SUCCESS)
        u->processes.mig = mode != 0;
    u->processes.channel = -1;
    probe_util(s, u);
    if (!lib->DeviceGetComputeRunningProcesses) return;
    u->processes.channel = wl_nvml_add_channel(s, u, WL_OTHER_PROCESSES, WL_SCOPE_GPU, WL_VARIANT_NONE);
    u->processes.processes = wl_new_array(s->arena, nvmlProcessInfo_t, MAX_PROCESSES);
    u->processes.max_processes = MAX_PROCESSES;
}

static bool is_rank(void)
{
    return getenv("OMPI_COMM_WORLD_RANK") || getenv("PMI_RANK") || getenv("PMIX_RANK") || getenv("SLURM_PROCID");
}

enum whose { OURS, OTHERS, UNSEEN };

static enum whose classify_process(const struct wl_nvml_sensor *n, pid_t pid, char *name, size_t size)
{
    enum { DEEPEST = 64 };
    struct wl_process_stat stat;
    pid_t job = atomic_load(&n->job), self = getpid(), launcher = is_rank() ? getppid() : 0;
    for (int depth = 0; depth < DEEPEST && pid > 0; depth++, pid = stat.parent) {
        if (pid == job || pid == self || (launcher > 1 && pid == launcher)) return OURS;
        if (!wl_process_stat_read(n->proc_fd, pid, &stat)) return depth == 0 ? UNSEEN : OTHERS;
        if (depth == 0) snprintf(name, size, "%s", stat.name);
    }
    return OTHERS;
}

static void remember(struct wl_nvml_processes *c, unsigned pid, const char *name)
{
    size_t kept = c->n_others < WL_NVML_MAX_OTHERS ? c->n_others : WL_NVML_MAX_OTHERS;
    for (size_t i = 0; i < kept; i++) {
        if (c->others[i].pid == pid) return;
    }
    if (kept < WL_NVML_MAX_OTHERS) {
        c->others[kept].pid = pid;
        snprintf(c->others[kept].name, sizeof c->others[kept].name, "%s", name);
    }
    c->n_others = kept + 1; /* MAX_OTHERS + 1: more than are kept */
}

/* A process that ended after NVML listed it is ignored: it was short or the job's. */
void wl_nvml_processes_poll(const struct wl_nvml_sensor *n, struct wl_nvml_device *u, struct wl_reading *out)
{
    struct wl_nvml_processes *c = &u->processes;
    pid_t job = atomic_load(&n->job);
    char name[16] = "";
    if (!c->processes || job == 0 || kill(job, 0) != 0) return;
    int64_t t0 = wl_now_ns();
    unsigned count = c->max_processes;
    if (n->lib.DeviceGetComputeRunningProcesses(u->handle, &count, c->processes) != NVML_SUCCESS) return;
    size_t unseen = 0, others = 0;
    for (unsigned i = 0; i < count && i < c->max_processes; i++) {
        unsigned pid = c->processes[i].pid;
        enum whose whose = classify_process(n, (pid_t)pid, name, sizeof name);
        if (whose == OTHERS) remember(c, pid, name);
        others += whose == OTHERS;
        if (whose == UNSEEN) unseen++;
    }
    if (unseen > c->n_unseen) c->n_unseen = unseen;
    wl_reading_set(&out[c->channel], (double)(others + unseen), t0);
}

/* Time-slicing shares a GPU's busy time, so that the parts add up; under MPS they may overlap. A share above 100 %, and
 * what is not newer than the last reading, are drivers' errors (nvtop issue 110). */
void wl_nvml_processes_util(const struct wl_nvml_sensor *n, struct wl_nvml_device *u, struct wl_reading *out)
{
    struct wl_nvml_processes *c = &u->processes;
    if (c->util < 0 || atomic_load(&n->job) == 0) return;
    char name[16];
    double all = 0, job = 0;
    unsigned count = MAX_PROCESSES;
    unsigned long long since_us = c->newest_us;
    int64_t t0 = wl_now_ns();
    nvmlReturn_t rc = n->lib.DeviceGetProcessUtilization(u->handle, c->utils, &count, since_us);
    if (rc == NVML_ERROR_NOT_FOUND) count = 0; /* none was used since */
    if (rc != NVML_SUCCESS && rc != NVML_ERROR_NOT_FOUND) {
        wl_reading_fail(&out[c->util], wl_nvml_error_text(rc));
        wl_reading_fail(&out[c->job_util], wl_nvml_error_text(rc));
        return;
    }
    for (unsigned i = 0; i < count && i < MAX_PROCESSES; i++) {
        const nvmlProcessUtilizationSample_t *v = &c->utils[i];
        if (v->smUtil > 100 || v->timeStamp <= since_us) continue;
        all += v->smUtil;
        if (classify_process(n, (pid_t)v->pid, name, sizeof name) == OURS) job += v->smUtil;
        if (v->timeStamp > c->newest_us) c->newest_us = v->timeStamp;
    }
    wl_reading_set(&out[c->util], all, t0);
    wl_reading_set(&out[c->job_util], job, t0);
}

void wl_nvml_processes_notes(const struct wl_sensor *s, const struct wl_nvml_device *u, struct wl_strs *out,
                             struct wl_arena *a)
{
    const struct wl_nvml_processes *c = &u->processes;
    const char *uuid = s->devices[u->device].uuid;
    if (c->mig)
        wl_strs_add(a, out,
                    wl_strf(a, "%s is split into MIG instances: energy and power are those of the whole GPU", uuid));
    if (c->n_unseen > 0 && c->n_others == 0)
        wl_strs_add(a, out, wl_strf(a, "%s: used by %zu processes that are not visible here", uuid, c->n_unseen));
    if (c->n_others == 0) return;
    struct wl_text t = WL_TEXT(a);
    bool more = c->n_others > WL_NVML_MAX_OTHERS;
    wl_text_addf(&t, "%s: other processes used the GPU during the job: %s%zu process%s", uuid, more ? "more than " : "",
                 more ? (size_t)WL_NVML_MAX_OTHERS : c->n_others, c->n_others == 1 ? "" : "es");
    for (size_t i = 0; i < c->n_others && i < WL_NVML_MAX_OTHERS; i++)
        wl_text_addf(&t, "%s%u %s", i == 0 ? " (" : ", ", c->others[i].pid, c->others[i].name);
    wl_text_add(&t, more ? ", ...)" : ")");
    wl_strs_add(a, out, t.s);
}
