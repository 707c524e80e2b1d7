/* The kernels of nn/ref that this back-end runs because it has none of its own: comparing cpu with ref says nothing
 * about them. tests/unit/nn/test_ref_kernels.c compares the list with the sources of this folder. */
#ifndef WL_NN_CPU_REF_KERNELS_H
#define WL_NN_CPU_REF_KERNELS_H

struct wl_cpu_ref_kernel {
    const char *name; /* and those of its backward pass, which begin with it */
    const char *when; /* NULL: always */
};
extern const struct wl_cpu_ref_kernel wl_cpu_ref_kernels[]; /* in the order of names, up to one without a name */

#endif
