/* fake-truth WORLD FROM_NS TO_NS: the energy that each GPU of a simulated machine drew between two instants of
 * CLOCK_MONOTONIC, in joules, from the model: one line "GPU JOULES" per GPU. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 4) return fprintf(stderr, "usage: fake-truth WORLD FROM_NS TO_NS\n"), 2;
    struct fake_world *w = fake_world_find(argv[1]);
    if (!w) return fprintf(stderr, "fake-truth: %s: not a world file\n", argv[1]), 1;
    int64_t from_ns = strtoll(argv[2], NULL, 10), to_ns = strtoll(argv[3], NULL, 10);
    for (int i = 0; i < w->gpus; i++) {
        struct fake_gpu gpu;
        fake_world_gpu(w, i, &gpu);
        double from_j = fake_at(&gpu, from_ns).energy_j;
        printf("%d %.6f\n", i, fake_at(&gpu, to_ns).energy_j - from_j);
    }
    return 0;
}
