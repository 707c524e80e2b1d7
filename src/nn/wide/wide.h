/* Loops over arrays of floats, built once for each set of instructions that a processor may have: the widest that
 * this one has runs. The sources in this folder are plain C that compilers turn into vectors; WL_WIDE_LEVEL names the
 * build, and WL_WIDE_NAME makes the symbols of the builds differ. The functions run on the calling thread.
 *
 * A sum is taken in lanes, so its last bits depend on the width; they do not on the number of threads, since callers
 * cut their work at places that do not move with it.
 */
#ifndef WL_NN_WIDE_WIDE_H
#define WL_NN_WIDE_WIDE_H

#include <stddef.h>
#include <stdint.h>

#define WL_WIDE_JOIN(name, level)  name##_##level
#define WL_WIDE_PASTE(name, level) WL_WIDE_JOIN(name, level)
#define WL_WIDE_NAME(name)         WL_WIDE_PASTE(name, WL_WIDE_LEVEL)

/* One step of Adam: with d = scale g + l2 w
 *     m = beta[0] m + rest[0] d;  v = beta[1] v + rest[1] d^2;  w = shrink w - rate m/(root sqrt(v) + eps).
 * rest = 1 - beta, rounded once: 1 - .999 of floats would be 5e-5 off. */
struct wl_adam {
    float scale, l2, beta[2], rest[2], shrink, rate, root, eps;
};

struct wl_wide {
    const char *name; /* "x86-64-v4" */
    void (*adam)(const struct wl_adam *how, float *w, const float *g, float *m, float *v, size_t n);
};

/* The widest build that runs here. */
const struct wl_wide *wl_wide(void);

#endif
