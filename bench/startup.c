/* The time that a worker takes to open a data set of the size of ImageNet: TFRecord shards without and with their index
 * file, and class folders. Records and files are minimal and in the page cache: on a disk a scan also waits for each
 * header. Rounds alternate; medians of 5, and their ratio. startup [SHARDS RECORDS FILES] default:
 * 1024 shards, 1281167 records; 200000 files in 1000 folders */
#include "data/images/source.h"
#include "data/tfrecord/tfrecord.h"

#include "bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROUNDS = 5, CLASSES = 1000 };

/* Shards of records without data, an hour old. */
static void write_shards(const char *dir, int64_t shards, int64_t records, struct wl_arena *a)
{
    struct wl_err e;
    for (int64_t i = 0; i < shards; i++) {
        const char *path = wl_strf(a, "%s/train-%05lld-of-%05lld", dir, (long long)i, (long long)shards);
        const struct timespec old[2] = { { wl_wall_ns() / WL_NS_PER_S - 3600, 0 },
                                         { wl_wall_ns() / WL_NS_PER_S - 3600, 0 } };
        FILE *f = fopen(path, "we");
        if (!f) must(wl_fail_errno(&e, "%s", path), &e);
        for (int64_t k = records * i / shards; k < records * (i + 1) / shards; k++)
            must(wl_tfrecord_write(f, path, (const uint8_t *)"", 0, &e), &e);
        if (fclose(f) || utimensat(AT_FDCWD, path, old, 0)) must(wl_fail_errno(&e, "%s", path), &e);
    }
}

static void write_files(const char *dir, int64_t files, struct wl_arena *a)
{
    struct wl_err e;
    for (int64_t k = 0; k < CLASSES; k++) must(wl_mkdirs(wl_strf(a, "%s/train/n%08lld", dir, (long long)k), &e), &e);
    for (int64_t i = 0; i < files; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/train/n%08lld/n%08lld_%lld.JPEG", dir, (long long)(i % CLASSES),
                 (long long)(i % CLASSES), (long long)i);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0) must(wl_fail_errno(&e, "%s", path), &e);
        close(fd);
    }
}

/* Seconds to list the samples. */
static double open_set(const char *dir, int64_t expected)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_image_source s;
    struct wl_err e;
    int64_t start = wl_now_ns();
    must(wl_image_source_open(&s, dir, true, CLASSES, a, &e), &e);
    double seconds = (double)(wl_now_ns() - start) / WL_NS_PER_S;
    WL_CHECK(s.n == expected);
    wl_arena_free(a);
    return seconds;
}

static void bench_shards(const char *dir, int64_t shards, int64_t records, struct wl_arena *a)
{
    const char *index = wl_path_join(a, dir, "train.wattlaw-index");
    double without[ROUNDS], with[ROUNDS];
    struct stat st = { 0 };
    struct wl_err e;
    must(wl_mkdirs(dir, &e), &e);
    write_shards(dir, shards, records, a);
    for (int i = 0; i < ROUNDS; i++) {
        (void)unlink(index);
        without[i] = open_set(dir, records);
        if (stat(index, &st)) must(wl_fail_errno(&e, "%s", index), &e);
        with[i] = open_set(dir, records);
    }
    double scan = median(without, ROUNDS), read = median(with, ROUNDS);
    printf("%lld shards, %lld records: %.0f ms without the index, which is written then; %.1f ms with it, ratio %.1f; "
           "the index has %lld bytes, %.2f a record\n",
           (long long)shards, (long long)records, 1e3 * scan, 1e3 * read, scan / read, (long long)st.st_size,
           (double)st.st_size / (double)records);
}

static void bench_files(const char *dir, int64_t files, struct wl_arena *a)
{
    double seconds[ROUNDS];
    write_files(dir, files, a);
    for (int i = 0; i < ROUNDS; i++) seconds[i] = open_set(dir, files);
    double t = median(seconds, ROUNDS);
    printf("%lld files in %d class folders: %.0f ms, %.2f us a file\n", (long long)files, CLASSES, 1e3 * t,
           1e6 * t / (double)files);
}

int main(int argc, char **argv)
{
    static const char *const all[] = { "1024", "1281167", "200000" };
    int64_t n[WL_COUNT(all)];
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    char root[] = "/tmp/wattlaw-bench-XXXXXX";
    for (int i = 0; i < (int)WL_COUNT(all); i++)
        if (wl_str_to_int(argc == 1 + (int)WL_COUNT(all) ? argv[i + 1] : all[i], &n[i]) || n[i] < 1)
            must(wl_fail(&e, WL_EUSAGE, "usage: startup [SHARDS RECORDS FILES]"), &e);
    if (!mkdtemp(root)) return 1;
    wl_log_init(WL_ERROR, -1);
    bench_shards(wl_path_join(a, root, "shards"), n[0], n[1], a);
    bench_files(wl_path_join(a, root, "folders"), n[2], a);
    char *rm[] = { (char *)"rm", (char *)"-r", root, NULL };
    struct wl_process_result end;
    must(wl_process_run(&(struct wl_process_run) { .argv = rm, .merge_stderr = true }, NULL, &end, a, &e), &e);
    wl_arena_free(a);
    return end.status;
}
