#include "helper.h"

#include <ftw.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int set_up(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct fixture *f = wl_new(a, struct fixture);
    const char *tmp = getenv("TMPDIR");
    f->arena = a;
    f->dir = wl_path_join(a, tmp ? tmp : "/tmp", "wattlaw-store-XXXXXX");
    if (!mkdtemp(f->dir)) return -1;
    f->store = wl_path_join(a, f->dir, "test.db");
    *state = f;
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

int tear_down(void **state)
{
    struct fixture *f = *state;
    char *dir = strdup(f->dir);
    wl_arena_free(f->arena);
    int rc = nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(dir);
    return rc;
}

struct wl_store *create_store(struct fixture *f)
{
    struct wl_store *s = NULL;
    OK(wl_store_open(&s, f->store, WL_STORE_CREATE, f->arena, &f->e));
    return s;
}

int64_t add_trial(struct fixture *f, struct wl_store *s, double workers)
{
    int64_t campaign, trial;
    struct wl_settings set = wl_settings_none;
    set.workload = "resnet50";
    set.workers = workers;
    set.local_batch = 16;
    OK(wl_store_add_campaign(s, "test", "[campaign]\nname = test\n", "0.1.0", &campaign, &f->e));
    OK(wl_store_add_trial(s, campaign, &set, NULL, &trial, &f->e));
    return trial;
}

int64_t begin_run(struct fixture *f, struct wl_store *s, int64_t trial, int64_t repeat)
{
    int64_t run;
    struct wl_run_plan plan = { .trial = trial, .repeat = repeat, .seed = 7, .position = repeat };
    struct wl_run_begin begin = { .folder = "runs/1", .command = "train", .version = "0.1.0", .at = { 1000, 2000 } };
    OK(wl_store_plan_run(s, &plan, &run, &f->e));
    OK(wl_store_run_begin(s, run, &begin, &f->e));
    return run;
}

int64_t add_channel(struct fixture *f, struct wl_store *s, int64_t run, const char *uuid)
{
    struct wl_device_row device = { .host = "node1", .uuid = uuid, .sensor = "nvml", .number = NAN, .name = "V100" };
    struct wl_channel_row channel = {
        .run = run, .quantity = "power_w", .unit = "W", .scope = "gpu", .variant = "instant"
    };
    int64_t id;
    OK(wl_store_add_device(s, &device, &channel.device, &f->e));
    OK(wl_store_add_channel(s, &channel, &id, &f->e));
    return id;
}

void end_run(struct fixture *f, struct wl_store *s, int64_t run, int64_t epochs, double time_s)
{
    struct wl_device_row device = { .host = "node1", .uuid = "GPU-0", .sensor = "nvml", .number = 0, .name = "V100" };
    int64_t id;
    OK(wl_store_add_device(s, &device, &id, &f->e));
    struct wl_epoch_row *epoch = wl_new_array(f->arena, struct wl_epoch_row, (size_t)epochs);
    struct wl_energy_row *energy = wl_new_array(f->arena, struct wl_energy_row, (size_t)epochs + 1);
    for (int64_t i = 0; i <= epochs; i++) {
        energy[i] = (struct wl_energy_row) { .epoch = i ? (double)i : NAN,
                                             .device = id,
                                             .scope = "gpu",
                                             .method = "counter",
                                             .energy_j = 100,
                                             .mean_power_w = 100 / time_s,
                                             .coverage = 1,
                                             .chosen = true };
        if (i < epochs)
            epoch[i] = (struct wl_epoch_row) { .epoch = i + 1,
                                               .begin_ns = WL_NO_NS,
                                               .end_ns = WL_NO_NS,
                                               .time_s = time_s,
                                               .samples = 640,
                                               .updates = 20 };
    }
    struct wl_derived derived = { .actual = wl_settings_none,
                                  .epochs = epoch,
                                  .n_epochs = (size_t)epochs,
                                  .energies = energy,
                                  .n_energies = (size_t)epochs + 1 };
    struct wl_run_end end = wl_run_end_none;
    end.exit_status = 0;
    end.at = (struct wl_anchor) { 1000 + 5 * WL_NS_PER_S, 2000 + 5 * WL_NS_PER_S };
    OK(wl_store_run_end(s, run, &end, &derived, &f->e));
}

void kill_worker(struct fixture *f, void (*work)(struct fixture *f, int progress_fd), bool begun, long us,
                 void *progress_seen, size_t size)
{
    char next[64];
    int fd[2];
    assert_true(size <= sizeof next && pipe(fd) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(fd[0]);
        work(f, fd[1]);
        _exit(0);
    }
    close(fd[1]);
    if (begun && read(fd[0], progress_seen, size) != (ssize_t)size) fail_msg("the worker reported nothing");
    nanosleep(&(struct timespec) { .tv_nsec = us * 1000 }, NULL);
    kill(pid, SIGKILL);
    while (read(fd[0], next, size) == (ssize_t)size) memcpy(progress_seen, next, size);
    close(fd[0]);
    waitpid(pid, NULL, 0);
}
