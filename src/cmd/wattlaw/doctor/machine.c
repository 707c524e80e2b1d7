#include "cmd/wattlaw/doctor/doctor.h"

#include "campaign/campaign.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

void wl_doctor_machine_read(struct wl_doctor_machine *m, struct wl_arena *a)
{
    struct utsname u;
    cpu_set_t usable;
    long pages = sysconf(_SC_PHYS_PAGES);
    uname(&u);
    *m = (struct wl_doctor_machine) {
        .host = wl_strdup(a, u.nodename),
        .kernel = wl_strf(a, "%s %s %s", u.sysname, u.release, u.machine),
        .cpu = wl_host_cpu_name(a),
        .cpus = (int)sysconf(_SC_NPROCESSORS_ONLN),
        .memory_bytes = pages > 0 ? (double)pages * (double)sysconf(_SC_PAGESIZE) : NAN,
    };
    m->job_cgroups = wl_cgroup_parent(&m->no_cgroups, a);
    m->usable_cpus = sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : m->cpus;
}

static const char *in_path(const char *name, struct wl_arena *a)
{
    const char *path = getenv("PATH");
    struct wl_strs folders = wl_str_split(a, path ? path : "", ':');
    for (size_t i = 0; i < folders.n; i++) {
        const char *full = wl_path_join(a, folders.v[i], name);
        if (access(full, X_OK) == 0 && wl_is_file(full)) return full;
    }
    return NULL;
}

static const char *version_of(const char *path, struct wl_arena *a)
{
    char *argv[] = { (char *)path, (char *)"--version", NULL };
    char *text = NULL;
    struct wl_process_result end;
    if (wl_process_run(&(struct wl_process_run) { .argv = argv, .max = 4096, .merge_stderr = true }, &text, &end, a,
                       NULL) < 0 ||
        end.status != 0 || !text)
        return NULL;
    char *line = wl_str_strip(a, wl_strndup(a, text, strcspn(text, "\n")));
    return *line ? line : NULL;
}

size_t wl_doctor_programs_find(const struct wl_doctor_program **list, struct wl_arena *a)
{
    static const struct wl_doctor_program wanted[] = {
        { .name = "mpirun", .purpose = "several workers on one machine", .fix = "sudo apt install openmpi-bin" },
        { .name = "srun", .purpose = "jobs under Slurm" },
        { .name = "gnuplot", .purpose = "figures as SVG and PDF", .fix = "sudo apt install gnuplot-nox" },
        { .name = "python3", .purpose = "workloads in Python", .fix = "sudo apt install python3" },
    };
    struct wl_doctor_program *found = wl_new_array(a, struct wl_doctor_program, WL_COUNT(wanted));
    for (size_t i = 0; i < WL_COUNT(wanted); i++) {
        found[i] = wanted[i];
        found[i].path = in_path(wanted[i].name, a);
        if (found[i].path) found[i].version = version_of(found[i].path, a);
    }
    *list = found;
    return WL_COUNT(wanted);
}
