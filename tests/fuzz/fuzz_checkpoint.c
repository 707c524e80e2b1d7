/* Any bytes as a checkpoint, with a checksum that fits them: taken or refused with a message. */
#include "fuzz.h"

#include "nn/checkpoint/checkpoint.h"

#include <sys/mman.h>
#include <unistd.h>

/* y = softmax(W x + b) with two features: the network of the seed. */
static struct wl_plan *network(struct wl_arena *a, struct wl_comm *c)
{
    struct wl_err e = { 0 };
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(1, 2)), *y = wl_input(g, "y", WL_I32, WL_DIMS(1));
    wl_cross_entropy(g, "loss", wl_linear(g, "fc", x, 2), y, (struct wl_loss) { .weight = 1 });
    struct wl_plan_opts how = { .backend = "ref", .threads = 1, .seed = 1, .optim = { .momentum = 0.9 } };
    struct wl_plan *p;
    WL_CHECK(wl_plan_new(&p, g, &how, c, a, &e) == 0);
    return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct wl_comm *alone;
    struct wl_checkpoint c;
    WL_CHECK(wl_comm_open(&alone, &(struct wl_comm_opts) { .backend = "null" }, a, &e) == 0);
    int fd = memfd_create("checkpoint", 0);
    uint32_t crc = wl_crc32c(0, data, n);
    WL_CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n && write(fd, &crc, sizeof crc) == sizeof crc);
    int rc = wl_checkpoint_open(wl_strf(a, "/proc/self/fd/%d", fd), &c, a, &e);
    if (rc == 0) rc = wl_checkpoint_restore(&c, network(a, alone), alone, a, &e);
    WL_CHECK(rc == 0 || (rc < 0 && e.code == rc && e.msg[0]));
    close(fd);
    wl_arena_free(a);
    return 0;
}
