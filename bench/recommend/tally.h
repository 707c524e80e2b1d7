/* What bench_recommend counts: probabilities that were stated beside what became true, in bins of what was stated. */
#ifndef WL_BENCH_RECOMMEND_TALLY_H
#define WL_BENCH_RECOMMEND_TALLY_H

#include "bench.h"

enum { BINS = 7 };
extern const double tally_edges[BINS + 1];

struct bin {
    double stated, kept; /* sums */
    size_t n;
};

enum tally_kind { LIMIT, NEAR_LIMIT, BUDGET, NEAR_BUDGET, WITHIN_1, WITHIN_3, FRONT, FRONT_NO_EFFECT, KINDS };
extern const char *const tally_kinds[KINDS];

struct tally {
    struct bin bins[KINDS][BINS];
    /* Sums over campaigns. */
    double campaigns, bias, raw_bias, covered, broken, raw_broken;
};

void tally_count(struct bin bins[BINS], double p, bool kept);
void tally_add(struct tally *to, const struct tally *from);

/* A table of the bins, as docs/accuracy.md has it. */
void tally_print(const struct tally *t, const char *name);

/* The tally of a file; false: there is none. A file is there whole or not at all. */
bool tally_read(const char *path, struct tally *t);
void tally_write(const char *path, const struct tally *t, struct wl_arena *a);

/* Reliability diagrams of these variants as FOLDER/recommend-*.svg; `names` are for legends. */
void tally_draw(const struct tally *variants, const char *const *names, size_t n, const char *folder,
                struct wl_arena *a);

#endif
