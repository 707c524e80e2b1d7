/* Any bytes as an observation CSV: read or refused with a message, and what was read is written and read again. */
#include "fuzz.h"

#include "exchange/exchange.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static char *file_of(struct wl_arena *a, int *fd, const void *data, size_t n)
{
    *fd = memfd_create("observations", 0);
    WL_CHECK(*fd >= 0 && write(*fd, data, n) == (ssize_t)n);
    return wl_strf(a, "/proc/self/fd/%d", *fd);
}

static char *as_csv(const struct wl_observations *obs, size_t *n)
{
    char *text;
    FILE *f = open_memstream(&text, n);
    WL_CHECK(f);
    wl_obs_write_csv(obs, f);
    WL_CHECK(fclose(f) == 0);
    return text;
}

static void read_again(const struct wl_observations *obs, struct wl_arena *a)
{
    struct wl_observations again;
    struct wl_err e;
    size_t n;
    int fd;
    char *text = as_csv(obs, &n);
    const char *path = file_of(a, &fd, text, n);
    int rc = wl_obs_read_csv(path, NULL, &again, a, &e);
    /* Not every header that was read can be written: one that starts with # or is empty is a comment or blank then. */
    if (rc == 0) WL_CHECK(again.n <= obs->n);
    close(fd);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_observations obs;
    struct wl_err e = { 0 };
    int fd;
    const char *path = file_of(a, &fd, data, n);
    int rc = wl_obs_read_csv(path, NULL, &obs, a, &e);
    WL_CHECK(rc == 0 || (rc < 0 && e.code == rc && e.msg[0]));
    if (rc == 0) read_again(&obs, a);
    close(fd);
    wl_arena_free(a);
    return 0;
}
