/* fake-load [key=value]...: a training job on the GPUs of a simulated machine.
 *
 * It loads as many GPUs of the world ($WATTLAW_FAKE_NVML, "world=FILE") as it has workers, runs as fast as their clocks
 * allow and writes marks like a real job. Its steps follow a timetable that depends on the model only, and the marks
 * have the times of that timetable: however busy the machine is, a run is what the model says.
 *
 *     workers=2           GPUs 0 to 1
 *     epochs=3            passes over the data
 *     updates=4           updates per epoch
 *     step_ms=200         compute time of one update at full clock on one worker, divided among the workers
 *     overhead_ms=20      constant part of an update (communication)
 *     load=0.9            load while computing; 0.1 in the overhead
 *     samples=1024        per epoch
 *     pause_ms=0          idle time after each epoch's end (validation)
 *     rate=0              the metric "accuracy" after epoch n is n x rate (0: it is not reported)
 *     workload=simulated
 *     steps=1             each update is marked as a step, and follows the clocks as they are when it begins (0: those
 *                         at the begin of the epoch hold for all of it)
 *     ms=200              no training: a constant load for this time, then the end
 *     barrier=FOLDER      makes this folder and begins once `nodes` processes have come there, as ranks connect first
 *     nodes=1
 *
 * Update time = step_ms / workers / speed(clock) + overhead_ms, the speed being that of the slowest worker's GPU. */
#include "world.h"

#include <wattlaw/mark.h>

#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>

struct job {
    struct fake_world *world;
    int workers, epochs, updates, steps;
    double step_ms, overhead_ms, load, pause_ms, rate, ms;
    long samples;
    const char *workload;
};

static const char *text(int argc, char **argv, const char *key, const char *fallback)
{
    size_t n = strlen(key);
    for (int i = argc - 1; i > 0; i--) /* the last one counts */
        if (strncmp(argv[i], key, n) == 0 && argv[i][n] == '=') return argv[i] + n + 1;
    return fallback;
}

static double number(int argc, char **argv, const char *key, double fallback)
{
    const char *value = text(argc, argv, key, NULL);
    return value ? atof(value) : fallback;
}

static void sleep_until(int64_t t_ns)
{
    struct timespec at = { t_ns / 1000000000, t_ns % 1000000000 };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) continue;
}

/* The last to come into the folder makes "all". */
static int wait_for_others(const char *folder, int nodes)
{
    char mine[4096], all[4096];
    int fd = -1, n = 0;
    snprintf(mine, sizeof mine, "%s/node-XXXXXX", folder);
    snprintf(all, sizeof all, "%s/all", folder);
    if ((mkdir(folder, 0777) < 0 && errno != EEXIST) || (fd = mkstemp(mine)) < 0) return -1;
    close(fd);
    DIR *d = opendir(folder);
    if (!d) return -1;
    for (const struct dirent *e; (e = readdir(d));) n += strncmp(e->d_name, "node-", 5) == 0;
    closedir(d);
    if (n >= nodes && (fd = open(all, O_CREAT | O_WRONLY | O_CLOEXEC, 0666)) >= 0) close(fd);
    while (access(all, F_OK) < 0) nanosleep(&(struct timespec) { .tv_nsec = 20000000 }, NULL);
    return 0;
}

static int64_t ns_of_ms(double ms) { return (int64_t)(ms * 1e6 + 0.5); }

/* A mark at an instant of the timetable. */
static void mark_at(int64_t t_ns, const char *format, ...)
{
    const char *path = getenv("WATTLAW_MARKS");
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
    char line[WATTLAW_MARK_MAX];
    if (fd < 0) return;
    va_list args;
    va_start(args, format);
    int n = snprintf(line, sizeof line, "%lld 0 ", (long long)t_ns);
    n += vsnprintf(line + n, sizeof line - (size_t)n, format, args);
    va_end(args);
    line[n++] = '\n';
    if (write(fd, line, (size_t)n) != n) perror(path);
    close(fd);
}

/* Keeps the limits, sets the other inputs. */
static void set_pattern(struct fake_input *in, const void *to)
{
    const struct fake_input *pattern = to;
    struct fake_input next = *pattern;
    next.limit_w = in->limit_w;
    next.clock_mhz = in->clock_mhz;
    next.mem_mhz = in->mem_mhz;
    *in = next;
}

static void put_load(const struct job *j, int64_t t_ns, const struct fake_input *pattern)
{
    for (int i = 0; i < j->workers; i++) fake_world_change(j->world, i, t_ns, set_pattern, pattern);
}

/* Of the slowest GPU, with its present limits. */
static double speed_now(const struct job *j)
{
    double slowest = 1;
    for (int i = 0; i < j->workers; i++) {
        struct fake_gpu gpu;
        fake_world_gpu(j->world, i, &gpu);
        double speed = fake_speed(&gpu.profile, fake_input_at(&gpu, fake_now_ns()), j->load);
        if (speed < slowest) slowest = speed;
    }
    return slowest;
}

/* The load of updates at this speed from an instant on; returns the time of one. */
static int64_t load_updates(const struct job *j, double speed, int64_t from_ns)
{
    double compute_ms = j->step_ms / j->workers / speed, update_ms = compute_ms + j->overhead_ms;
    put_load(j, from_ns,
             &(struct fake_input) { .shape = FAKE_SQUARE,
                                    .high = j->load,
                                    .low = 0.1,
                                    .period_s = update_ms * 1e-3,
                                    .duty = compute_ms / update_ms,
                                    .since_ns = from_ns });
    return ns_of_ms(update_ms);
}

/* Update by update; the load of the GPUs changes only with the speed. */
static int64_t run_steps(const struct job *j, int epoch, int64_t t_ns)
{
    double speed = 0;
    int64_t update_ns = 0;
    for (int k = 1; k <= j->updates; k++) {
        double now = speed_now(j);
        if (now != speed) update_ns = load_updates(j, now, t_ns);
        speed = now;
        t_ns += update_ns;
        sleep_until(t_ns);
        mark_at(t_ns, "step step=%d samples=%ld", (epoch - 1) * j->updates + k, j->samples / j->updates);
    }
    return t_ns;
}

static int64_t run_epoch(const struct job *j, int epoch, int64_t begin_ns)
{
    int64_t end_ns;
    mark_at(begin_ns, "epoch-begin epoch=%d", epoch);
    if (j->steps) {
        end_ns = run_steps(j, epoch, begin_ns);
    } else {
        end_ns = begin_ns + j->updates * load_updates(j, speed_now(j), begin_ns);
        sleep_until(end_ns);
    }
    mark_at(end_ns, "epoch-end epoch=%d samples=%ld updates=%d", epoch, j->samples, j->updates);
    if (j->rate > 0) mark_at(end_ns, "metric name=accuracy value=%g epoch=%d", epoch * j->rate, epoch);
    return end_ns;
}

static int64_t train(const struct job *j, int64_t t_ns)
{
    mark_at(t_ns, "start workload=%s workers=%d", j->workload, j->workers);
    for (int epoch = 1; epoch <= j->epochs; epoch++) {
        t_ns = run_epoch(j, epoch, t_ns);
        if (j->pause_ms <= 0) continue;
        put_load(j, t_ns, &(struct fake_input) { .since_ns = t_ns });
        t_ns += ns_of_ms(j->pause_ms);
        sleep_until(t_ns);
    }
    mark_at(t_ns, "stop status=ok");
    return t_ns;
}

int main(int argc, char **argv)
{
    const char *path = fake_world_path(getenv("WATTLAW_FAKE_NVML"));
    struct job j = { .workers = (int)number(argc, argv, "workers", 1),
                     .epochs = (int)number(argc, argv, "epochs", 3),
                     .updates = (int)number(argc, argv, "updates", 4),
                     .steps = (int)number(argc, argv, "steps", 0),
                     .step_ms = number(argc, argv, "step_ms", 200),
                     .overhead_ms = number(argc, argv, "overhead_ms", 20),
                     .load = number(argc, argv, "load", 0.9),
                     .pause_ms = number(argc, argv, "pause_ms", 0),
                     .rate = number(argc, argv, "rate", 0),
                     .ms = number(argc, argv, "ms", 0),
                     .samples = (long)number(argc, argv, "samples", 1024),
                     .workload = text(argc, argv, "workload", "simulated") };
    j.world = path ? fake_world_find(path) : NULL;
    if (!j.world) {
        fprintf(stderr,
                "fake-load: no world; name one in WATTLAW_FAKE_NVML (world=FILE), which the fake NVML creates\n");
        return 2;
    }
    if (j.workers < 1 || j.workers > j.world->gpus) {
        fprintf(stderr, "fake-load: workers=%d: the world has %d GPUs\n", j.workers, j.world->gpus);
        return 2;
    }
    const char *barrier = text(argc, argv, "barrier", NULL);
    if (barrier && wait_for_others(barrier, (int)number(argc, argv, "nodes", 1)) < 0) {
        fprintf(stderr, "fake-load: barrier=%s: %s\n", barrier, strerror(errno));
        return 2;
    }
    int64_t begin_ns = fake_now_ns(), end_ns;
    if (j.ms > 0) {
        end_ns = begin_ns + ns_of_ms(j.ms);
        put_load(&j, begin_ns, &(struct fake_input) { .high = j.load, .since_ns = begin_ns });
        sleep_until(end_ns);
    } else {
        end_ns = train(&j, begin_ns);
    }
    put_load(&j, end_ns, &(struct fake_input) { .since_ns = end_ns });
    return 0;
}
