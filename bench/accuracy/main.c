/* bench_accuracy predict|energy|verdict|compare [REPLICATES [EVERY [FIRST]]]: the tables of docs/accuracy.md and
 * docs/metrics.md. EVERY: of the cells, run each EVERYth, from number FIRST on (predict and energy; default 0).
 * Progress is on stderr. The last lines say PASS or FAIL for each promise; the status is 1 where one fails by more than
 * chance allows (three standard errors of the replicates).
 */
#include "accuracy.h"

#include <string.h>

static const struct {
    const char *name;
    size_t replicates;
    int (*run)(const struct extent *);
} parts[] = { { "predict", 200, bench_predict },
              { "energy", 200, bench_energy },
              { "verdict", 500, bench_verdict },
              { "compare", 1000, bench_compare } };

static size_t number(int argc, char **argv, int i, size_t otherwise)
{
    return i < argc ? strtoul(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < WL_COUNT(parts); i++) {
        if (strcmp(argv[1], parts[i].name) != 0) continue;
        const struct extent x = { number(argc, argv, 2, parts[i].replicates), number(argc, argv, 3, 1),
                                  number(argc, argv, 4, 0) };
        if (x.replicates && x.every) return parts[i].run(&x) > 0;
    }
    fputs("usage: bench_accuracy predict|energy|verdict|compare [REPLICATES [EVERY [FIRST]]]\n", stderr);
    return 2;
}
