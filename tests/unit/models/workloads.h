/* Every network at its tiny size, and inputs for it. */
#ifndef WL_TESTS_UNIT_MODELS_WORKLOADS_H
#define WL_TESTS_UNIT_MODELS_WORKLOADS_H

#include "molecules.h"

struct built {
    struct wl_arena *a;
    const struct workload *workload;
    union {
        struct wl_image_model_io images;
        struct wl_bert_io tokens;
        struct wl_molecule_model_io molecules;
        struct wl_fourcastnet_io fields;
    } net;
};

/* A network: `fill` writes shard after shard of its inputs. */
struct workload {
    const char *name;
    int (*build)(struct built *b, struct wl_graph *g, struct wl_err *e);
    void (*fill)(const struct built *b, struct wl_plan *p, uint64_t shard);
    const struct wl_molecule_model *molecules;
    uint64_t seed; /* of the molecules */
    int64_t pixels;
    bool bytes; /* of images: else f32 */
    int steps;
};

/* FourCastNet twice: one step, and two. */
enum { WORKLOADS = 8 };
extern const struct workload workloads[WORKLOADS];

/* Makes cmocka run those of n cases whose names begin with `prefix`. False, with a message: there is none, which cmocka
 * would call a success. */
struct CMUnitTest;
bool select_cases(const struct CMUnitTest *cases, size_t n, const char *prefix);

/* A new folder in TMPDIR, which is removed with the test's world (tests/world.c). False, with a message, where it fails. */
enum { TEMP_DIR_SIZE = 512 };
bool make_temp_dir(char dir[TEMP_DIR_SIZE], const char *stem);

#endif
