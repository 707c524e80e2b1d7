/* The proc sensor and the estimate of CPU power, on fake trees, and the process tree of a real job. */
#include "fixture.h"

#include "power/node/cpu_stat.h"
#include "power/node/process_tree.h"
#include "power/procfs.h"
#include "power/sensor.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance)) fail_msg("%.12g is not %.12g +- %g", got, want, tolerance);
}

static double tick_s(void) { return 1.0 / (double)sysconf(_SC_CLK_TCK); }

/* ---- The tree ---- */

struct process {
    int pid;
    const char *name;
    int parent, group, utime, cutime, started; /* times in clock ticks */
};

static void put_process(struct fixture *f, struct process p)
{
    put_file(f, wl_strf(f->a, "proc/%d/stat", p.pid),
             "%d (%s) S %d %d %d 0 -1 4194304 90 0 0 0 %d 10 %d 0 20 0 1 0 %d 1000000 50 18446744073709551615\n", p.pid,
             p.name, p.parent, p.group, p.group, p.utime, p.cutime, p.started);
}

static struct wl_process_tree_sum sum_of(struct wl_process_tree *t, int job, int last_pid)
{
    struct wl_process_tree_sum sum;
    wl_process_tree_search(t, job, last_pid);
    wl_process_tree_read(t, &sum);
    return sum;
}

static void the_tree_follows_parents_and_groups(void **state)
{
    struct fixture *f = *state;
    struct wl_process_tree *t;
    put_process(f, (struct process) { 90, "shell", 1, 90, 5000, 0, 1 });
    put_process(f, (struct process) { 100, "job (a) b", 90, 100, 40, 0, 1000 });
    put_process(f, (struct process) { 101, "rank", 100, 101, 90, 0, 1001 });
    put_process(f, (struct process) { 102, "thread pool) R", 101, 101, 190, 0, 1002 });
    put_process(f, (struct process) { 103, "orphan", 1, 100, 290, 0, 1003 });
    put_process(f, (struct process) { 104, "stranger", 90, 90, 7000, 0, 1004 });
    assert_int_equal(wl_process_tree_open(&t, f->dir, f->a, &f->e), 0);
    struct wl_process_tree_sum sum = sum_of(t, 100, 104);
    assert_int_equal(sum.processes, 4);
    assert_near(sum.cpu_s, (50 + 100 + 200 + 300) * tick_s(), 1e-9);
    assert_near(sum.rss_bytes, 4 * 50.0 * (double)sysconf(_SC_PAGESIZE), 1e-9);

    /* A pid from before the job's start is not looked at; a later one is, as soon as loadavg shows it. */
    put_process(f, (struct process) { 105, "child", 102, 101, 10, 0, 1005 });
    assert_int_equal(sum_of(t, 100, 104).processes, 4);
    assert_int_equal(sum_of(t, 100, 105).processes, 5);
}

/* A process may have started us to measure it. */
static void we_and_our_processes_are_no_part_of_a_job(void **state)
{
    struct fixture *f = *state;
    struct wl_process_tree *t;
    const int self = (int)getpid();
    put_process(f, (struct process) { 100, "python", 1, 100, 40, 0, 1000 });
    put_process(f, (struct process) { self, "wattlaw", 100, self, 900, 0, 1001 });
    put_process(f, (struct process) { self + 1, "guard", self, self, 9000, 0, 1002 });
    assert_int_equal(wl_process_tree_open(&t, f->dir, f->a, &f->e), 0);
    const struct wl_process_tree_sum sum = sum_of(t, 100, 0);
    assert_int_equal(sum.processes, 1);
    assert_near(sum.cpu_s, 50 * tick_s(), 1e-9);
    assert_int_equal(wl_process_tree_open(&t, f->dir, f->a, &f->e), 0);
    assert_int_equal(sum_of(t, self, 0).processes, 2); /* what `doctor` asks for */
}

static void cpu_time_of_ended_processes_is_kept(void **state)
{
    struct fixture *f = *state;
    struct wl_process_tree *t;
    put_process(f, (struct process) { 100, "job", 90, 100, 90, 0, 1000 });
    put_process(f, (struct process) { 101, "waited", 100, 100, 190, 0, 1001 });
    put_process(f, (struct process) { 102, "orphan", 1, 100, 290, 0, 1002 });
    assert_int_equal(wl_process_tree_open(&t, f->dir, f->a, &f->e), 0);
    assert_near(sum_of(t, 100, 102).cpu_s, 600 * tick_s(), 1e-9);
    /* 101 ends and is waited for: its time counts for its parent. 102 ends and no process of the job waits for it. */
    assert_int_equal(remove(wl_strf(f->a, "%s/proc/101/stat", f->dir)), 0);
    assert_int_equal(remove(wl_strf(f->a, "%s/proc/102/stat", f->dir)), 0);
    put_process(f, (struct process) { 100, "job", 90, 100, 90, 200, 1000 });
    struct wl_process_tree_sum sum = sum_of(t, 100, 102);
    assert_int_equal(sum.processes, 1);
    assert_near(sum.cpu_s, 600 * tick_s(), 1e-9);
    /* Another process gets the pid 100: it is not the job. */
    put_process(f, (struct process) { 100, "other", 1, 100, 50000, 0, 2000 });
    sum = sum_of(t, 100, 102);
    assert_int_equal(sum.processes, 0);
    assert_near(sum.cpu_s, 600 * tick_s(), 1e-9);
}

static void processes_after_a_pid_wrap_are_found(void **state)
{
    struct fixture *f = *state;
    struct wl_process_tree *t;
    put_process(f, (struct process) { 32000, "job", 90, 32000, 90, 0, 1000 });
    assert_int_equal(wl_process_tree_open(&t, f->dir, f->a, &f->e), 0);
    assert_int_equal(sum_of(t, 32000, 32000).processes, 1);
    put_process(f, (struct process) { 301, "child", 32000, 32000, 90, 0, 1001 });
    put_process(f, (struct process) { 900, "grandchild of another", 90, 90, 90, 0, 900 });
    assert_int_equal(sum_of(t, 32000, 305).processes, 2);
}

/* Ranks that were started one by one: the second is older than the pids already searched, and so is its child. */
static void several_root_processes_are_one_job(void **state)
{
    struct fixture *f = *state;
    struct wl_process_tree *t;
    put_process(f, (struct process) { 95, "rank 1", 90, 95, 90, 0, 900 });
    put_process(f, (struct process) { 97, "its child", 95, 97, 90, 0, 950 });
    put_process(f, (struct process) { 100, "rank 0", 90, 100, 90, 0, 1000 });
    put_process(f, (struct process) { 104, "stranger", 90, 90, 7000, 0, 1004 });
    assert_int_equal(wl_process_tree_open(&t, f->dir, f->a, &f->e), 0);
    assert_int_equal(sum_of(t, 100, 104).processes, 1);
    struct wl_process_tree_sum sum = sum_of(t, 95, 104);
    assert_int_equal(sum.processes, 3);
    assert_near(sum.cpu_s, 300 * tick_s(), 1e-9);
    put_process(f, (struct process) { 105, "child", 100, 105, 90, 0, 1005 });
    assert_int_equal(sum_of(t, 95, 105).processes, 4);
}

/* A real shell whose child uses CPU time and is waited for: the sum equals the kernel's final account. */
static void the_cpu_time_of_a_real_job_is_complete(void **state)
{
    struct fixture *f = *state;
    struct wl_process_tree *t;
    int said[2];
    char word[8] = "";
    assert_int_equal(wl_process_tree_open(&t, "", f->a, &f->e), 0);
    assert_int_equal(pipe(said), 0);
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        dup2(said[1], STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", "(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done); echo done; kill -STOP $$",
              NULL);
        _exit(127);
    }
    assert_int_equal(read(said[0], word, 4), 4);
    struct wl_process_tree_sum sum = sum_of(t, pid, 0);
    kill(pid, SIGKILL);
    struct rusage used;
    int status;
    assert_int_equal(wait4(pid, &status, 0, &used), pid);
    close(said[0]);
    close(said[1]);
    double want_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                    (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
    assert_int_equal(sum.processes, 1);
    assert_near(sum.cpu_s, want_s, 4 * tick_s() + 0.02);
    assert_true(sum.cpu_s > 0 && sum.rss_bytes > 100e3);
    assert_near(sum_of(t, pid, 0).cpu_s, sum.cpu_s, 0); /* kept when it has ended */
}

/* ---- The node ---- */

static void put_node(struct fixture *f, long busy, long idle)
{
    put_file(f, "proc/stat", "cpu  %ld 0 0 %ld 0 0 0 0 0 0\ncpu0 1 2 3 4\nintr 5\n", busy, idle);
    put_file(f, "proc/meminfo", "MemTotal:  8000 kB\nMemFree:  1000 kB\nMemAvailable:    5000 kB\n");
    put_file(f, "proc/loadavg", "0.20 0.18 0.12 3/80 104\n");
}

static void let_time_pass(void) { wl_sleep_until(wl_now_ns() + WL_NS_PER_S / 16); }

static void the_node_is_read(void **state)
{
    struct fixture *f = *state;
    put_node(f, 1000, 1000);
    int64_t t0 = wl_now_ns();
    struct wl_sensors *s = open_sensors(f, "proc");
    int util = channel_of(s, "node", WL_CPU_UTIL);
    const char *failed = read_failure(s, util);
    if (wl_now_ns() - t0 < WL_SHARE_SPAN_NS) assert_null(failed); /* too early for a share: not a failure */
    assert_near(read_channel(s, channel_of(s, "node", WL_MEM_USED)), 3000 * 1024, 0);
    assert_near(read_channel(s, channel_of(s, "node", WL_RUNNABLE)), 3, 0);
    let_time_pass();
    put_node(f, 1030, 1070);
    assert_near(read_channel(s, util), 30, 1e-9);
    assert_true(isnan(read_channel(s, channel_of(s, "job", WL_CPU_TIME)))); /* no job yet */
    s->open[0]->ops->watch(s->open[0], getpid());
    assert_near(read_channel(s, channel_of(s, "node", WL_CPU_TIME)), 1030 * tick_s(), 1e-9);
    assert_true(read_channel(s, channel_of(s, "job", WL_CPUS)) >= 1);
    assert_true(read_channel(s, channel_of(s, "node", WL_CPUS)) >= read_channel(s, channel_of(s, "job", WL_CPUS)));
    let_time_pass();
    put_file(f, "proc/stat", "nonsense\n");
    put_file(f, "proc/meminfo", "%s", "");
    assert_non_null(read_failure(s, util));
    assert_non_null(read_failure(s, channel_of(s, "node", WL_MEM_USED)));
}

/* Two sensors of one tick share a reading; a sensor that already has it gets a new one. */
static void cpu_times_are_read_once_per_tick(void **state)
{
    struct fixture *f = *state;
    struct wl_cpu_times one, same, next;
    int64_t t_one, t_same, t_next;
    put_node(f, 100, 900);
    struct wl_cpu_stat *c = wl_cpu_stat_new(f->a);
    assert_int_equal(wl_cpu_stat_open(c, f->opts.root, &f->e), 0);
    assert_int_equal(wl_cpu_stat_open(c, f->opts.root, &f->e), 0);
    bool shared = false;
    for (int i = 0; i < 100 && !shared; i++) { /* a busy machine may let a tick's time pass in between */
        put_node(f, 100, 900);
        assert_int_equal(wl_cpu_stat_read(c, wl_now_ns(), &one, &t_one), 0);
        put_node(f, 200, 900);
        assert_int_equal(wl_cpu_stat_read(c, 0, &same, &t_same), 0);
        shared = t_same == t_one;
    }
    assert_true(shared && same.busy_s == one.busy_s);
    assert_int_equal(wl_cpu_stat_read(c, t_one, &next, &t_next), 0);
    assert_true(t_next > t_one && next.busy_s > one.busy_s);
}

static void a_broken_tree_names_the_missing_file(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s;
    f->opts.sensors = wl_str_split(f->a, "proc", ',');
    assert_int_equal(wl_sensors_open(&s, &f->opts, f->a, &f->e), WL_ENOENT);
    assert_non_null(strstr(f->e.msg, "/proc/stat"));
    put_node(f, 1, 1);
    put_file(f, "proc/stat", "intr 5\n");
    assert_int_equal(wl_sensors_open(&s, &f->opts, f->a, &f->e), WL_EINVAL);
}

static void cpu_lists_are_parsed(void **state)
{
    (void)state;
    int cpus[4];
    assert_int_equal(wl_cpu_list("0-3,8,10-11\n", cpus, 4), 7);
    assert_true(cpus[0] == 0 && cpus[3] == 3);
    assert_int_equal(wl_cpu_list("5", cpus, 4), 1);
    assert_int_equal(cpus[0], 5);
    assert_int_equal(wl_cpu_list("", cpus, 4), 0);
}

/* ---- The estimate ---- */

static void put_cpu(struct fixture *f, int family, int model)
{
    put_file(f, "proc/cpuinfo",
             "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: %d\nmodel\t\t: %d\n"
             "model name\t: AMD EPYC 7763 64-Core Processor\n",
             family, model);
    put_file(f, "sys/devices/system/cpu/online", "0-255\n");
    put_file(f, "sys/devices/system/cpu/cpu0/topology/core_cpus_list", "0,128\n");
    put_file(f, "sys/devices/system/cpu/cpu0/topology/package_cpus_list", "0-63,128-191\n");
}

static void the_estimate_follows_cpu_time(void **state)
{
    struct fixture *f = *state;
    put_node(f, 0, 0);
    put_cpu(f, 25, 1);
    struct wl_sensors *s = open_sensors(f, "cpu_model");
    const char *cpu = "AMD EPYC 7763 64-Core Processor";
    int power = channel_of(s, cpu, WL_POWER), energy = channel_of(s, cpu, WL_ENERGY);
    assert_true(power >= 0 && s->channels[power].estimated && s->channels[energy].estimated);
    assert_string_equal(s->devices[0].name, cpu);
    let_time_pass();
    put_node(f, 50, 50); /* two packages of 280 W: 560 W full, 140 W idle, half busy */
    assert_near(read_channel(s, power), 350, 1e-9);
    assert_near(read_channel(s, channel_of(s, cpu, WL_IDLE_POWER)), 140, 1e-9);
    /* The energy counts CPU time: 10 more seconds of it on 256 CPUs. */
    double before = read_channel(s, energy);
    int64_t t0 = wl_now_ns();
    put_node(f, 50 + (long)(10 / tick_s()), 50);
    double joules = read_channel(s, energy) - before;
    double idle_j = 140 * (double)(wl_now_ns() - t0) / WL_NS_PER_S;
    assert_near(joules, 420 * 10 / 256.0 + idle_j, 0.5);
}

static void watts_given_by_the_user_win(void **state)
{
    struct fixture *f = *state;
    put_node(f, 0, 0);
    put_cpu(f, 25, 1);
    f->opts.cpu_tdp_w = 200;
    f->opts.cpu_idle_w = 20;
    struct wl_sensors *s = open_sensors(f, "cpu_model");
    let_time_pass();
    put_node(f, 100, 0);
    assert_near(read_channel(s, channel_of(s, "AMD EPYC 7763 64-Core Processor", WL_POWER)), 400, 1e-9);
    f->opts.cpu_idle_w = 300;
    assert_int_equal(wl_sensors_open(&s, &f->opts, f->a, &f->e), WL_EINVAL);
    assert_non_null(strstr(f->e.msg, "cpu-idle-w"));
}

static void an_unknown_cpu_is_reported(void **state)
{
    struct fixture *f = *state;
    put_node(f, 0, 0);
    put_cpu(f, 99, 1);
    struct wl_sensors *s = open_sensors(f, "auto");
    const struct wl_sensor_info *info = NULL;
    for (size_t i = 0; i < s->n_info; i++) {
        if (wl_str_eq(s->info[i].name, "cpu_model")) info = &s->info[i];
    }
    assert_int_equal(info->state, WL_SENSOR_OPEN); /* nothing else measures power */
    assert_non_null(strstr(info->source, "unknown CPU: 5.00 W per core"));
    assert_non_null(strstr(info->source, "128 cores"));
}

/* The estimate's source on a machine with one Neoverse V2, which depends on its firmware. */
static const char *v2_source(struct fixture *f)
{
    put_file(f, "proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd4f\n");
    struct wl_sensors *s = open_sensors(f, "cpu_model");
    for (size_t i = 0; i < s->n_info; i++)
        if (wl_str_eq(s->info[i].name, "cpu_model")) return s->info[i].source;
    return "";
}

/* Graviton4 and Axion have Grace's core. */
static void other_cpus_with_the_same_core_are_not_grace(void **state)
{
    struct fixture *f = *state;
    put_node(f, 0, 0);
    assert_non_null(strstr(v2_source(f), "unknown CPU: 5.00 W per core"));
    put_file(f, "sys/devices/virtual/dmi/id/product_name", "r8g.2xlarge\n");
    assert_non_null(strstr(v2_source(f), "unknown CPU"));
    put_file(f, "sys/devices/virtual/dmi/id/product_name", "NVIDIA Grace CPU Superchip\n");
    assert_non_null(strstr(v2_source(f), "as NVIDIA Grace, memory included: 3.47 W per core"));
    put_file(f, "sys/devices/soc0/soc_id", "jep106:0a13:0001\n"); /* the SoC id decides */
    assert_non_null(strstr(v2_source(f), "unknown CPU"));
    put_file(f, "sys/devices/soc0/soc_id", "jep106:036b:0241\n");
    put_file(f, "sys/devices/virtual/dmi/id/product_name", "Server 1U\n");
    assert_non_null(strstr(v2_source(f), "as NVIDIA Grace"));
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(the_tree_follows_parents_and_groups),
        WITH_FIXTURE(we_and_our_processes_are_no_part_of_a_job),
        WITH_FIXTURE(cpu_time_of_ended_processes_is_kept),
        WITH_FIXTURE(several_root_processes_are_one_job),
        WITH_FIXTURE(processes_after_a_pid_wrap_are_found),
        WITH_FIXTURE(the_cpu_time_of_a_real_job_is_complete),
        WITH_FIXTURE(the_node_is_read),
        WITH_FIXTURE(cpu_times_are_read_once_per_tick),
        WITH_FIXTURE(a_broken_tree_names_the_missing_file),
        cmocka_unit_test(cpu_lists_are_parsed),
        WITH_FIXTURE(the_estimate_follows_cpu_time),
        WITH_FIXTURE(watts_given_by_the_user_win),
        WITH_FIXTURE(an_unknown_cpu_is_reported),
        WITH_FIXTURE(other_cpus_with_the_same_core_are_not_grace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
