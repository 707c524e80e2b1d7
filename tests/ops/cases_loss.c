/* Cases of losses. */
#include "cases.h"

#include <math.h>
#include <string.h>

static int64_t drawn_size(struct draw *d)
{
    const int64_t sizes[] = { 1, 2, 3, 7, 15, 16, 17, 40, 100 };
    return one_of(d, sizes, WL_COUNT(sizes));
}

static struct wl_tensor *input(struct twin *t, struct draw *d)
{
    return t->x = case_input(t, "x", WL_DIMS(1 + below(d, 20), drawn_size(d)));
}

static void build_cross_entropy(struct twin *t, struct draw *d)
{
    struct wl_tensor *x = input(t, d);
    const struct wl_dims *size = wl_tensor_dims(x);
    t->vocabulary = size->d[1];
    t->y = wl_cross_entropy(t->g, "op", x, wl_input(t->g, "labels", WL_I32, WL_DIMS(size->d[0])),
                            (struct wl_loss) { .weight = 1.5 });
}

static void build_mean_square(struct twin *t, struct draw *d)
{
    struct wl_tensor *x = input(t, d);
    t->y = wl_mean_square(t->g, "op", x, wl_input(t->g, "of", WL_F32, *wl_tensor_dims(x)),
                          (struct wl_loss) { .weight = 1.5 });
}

static void build_relative_l2(struct twin *t, struct draw *d)
{
    struct wl_tensor *x = input(t, d);
    t->y = wl_relative_l2(t->g, "op", x, wl_input(t->g, "of", WL_F32, *wl_tensor_dims(x)),
                          (struct wl_loss) { .weight = 1.5 });
}

/* Labels, and padding in every fifth row but the first. */
static void fill(struct twin *t, uint64_t seed)
{
    const struct wl_dims *size = wl_tensor_dims(t->x);
    for (size_t i = 0; i < t->g->n_tensors; i++) {
        const struct wl_tensor *in = t->g->tensors[i];
        const bool labels = !strcmp(in->name, "labels");
        if (in->role != WL_ROLE_INPUT || in == t->x) continue;
        void *to = wl_plan_input(t->plan, in);
        for (int64_t k = 0; k < size->d[0]; k++) {
            const bool padding = k % 5 == 4;
            if (labels)
                ((int32_t *)to)[k] =
                    padding ? -1 : (int32_t)wl_random_below(seed, 4, (uint64_t)k, (uint64_t)t->vocabulary);
            else if (padding)
                ((float *)to)[k * size->d[1]] = NAN;
        }
    }
}

static const struct op_case ops[] = {
    { "cross_entropy", build_cross_entropy, 1e-12, 1.5e-5 },
    { "mean_square", build_mean_square, 1e-12, 1.5e-5 },
    { "relative_l2", build_relative_l2, 1e-12, 1.5e-5 },
};

const struct op_family loss_ops = { ops, WL_COUNT(ops), .cases = 12, .fill = fill };
