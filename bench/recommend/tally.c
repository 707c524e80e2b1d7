#include "recommend/tally.h"

#include <math.h>

const double tally_edges[BINS + 1] = { 0, 0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 1.01 };
const char *const tally_kinds[KINDS] = { "slowdown is kept",         "slowdown, limits next to settings",
                                         "budget is kept",           "budget, limits next to settings",
                                         "within 1 % of the best",   "within 3 %",
                                         "trade-off, effects 1-3 %", "trade-off, no effects" };

void tally_count(struct bin bins[BINS], double p, bool kept)
{
    size_t b = 0;
    while (b + 1 < BINS && p >= tally_edges[b + 1]) b++;
    bins[b].stated += p;
    bins[b].kept += kept;
    bins[b].n++;
}

void tally_add(struct tally *to, const struct tally *from)
{
    for (size_t k = 0; k < KINDS; k++)
        for (size_t b = 0; b < BINS; b++) {
            to->bins[k][b].stated += from->bins[k][b].stated;
            to->bins[k][b].kept += from->bins[k][b].kept;
            to->bins[k][b].n += from->bins[k][b].n;
        }
    to->campaigns += from->campaigns;
    to->bias += from->bias;
    to->raw_bias += from->raw_bias;
    to->covered += from->covered;
    to->broken += from->broken;
    to->raw_broken += from->raw_broken;
}

/* ---- counts that are kept in files ---- */

struct total {
    const char *what;
    size_t offset;
};
static const struct total totals[] = { { "campaigns", offsetof(struct tally, campaigns) },
                                       { "saving less the truth (ln)", offsetof(struct tally, bias) },
                                       { "the same of raw means (ln)", offsetof(struct tally, raw_bias) },
                                       { "interval of the saving holds", offsetof(struct tally, covered) },
                                       { "limit broken", offsetof(struct tally, broken) },
                                       { "limit broken by raw means", offsetof(struct tally, raw_broken) } };

bool tally_read(const char *path, struct tally *t)
{
    FILE *f = fopen(path, "r");
    if (!f) return false;
    bool whole = fscanf(f, "%*[^\n]") != EOF;
    for (size_t i = 0; i < KINDS * BINS; i++) {
        struct bin *v = &t->bins[i / BINS][i % BINS];
        whole = whole && fscanf(f, " \"%*[^\"]\",%*d,%lf,%lf,%zu", &v->stated, &v->kept, &v->n) == 3;
    }
    for (size_t i = 0; i < WL_COUNT(totals); i++)
        whole = whole && fscanf(f, " \"%*[^\"]\",,%lf,,", (double *)((char *)t + totals[i].offset)) == 1;
    fclose(f);
    if (!whole) *t = (struct tally) { 0 };
    return whole;
}

void tally_write(const char *path, const struct tally *t, struct wl_arena *a)
{
    const char *part = wl_strf(a, "%s.part", path);
    FILE *f = fopen(part, "w");
    if (!f) {
        perror(part);
        exit(2);
    }
    fprintf(f, "what,bin,stated,kept,cases\n");
    for (size_t i = 0; i < KINDS * BINS; i++) {
        const struct bin *v = &t->bins[i / BINS][i % BINS];
        fprintf(f, "\"%s\",%zu,%.9g,%.0f,%zu\n", tally_kinds[i / BINS], i % BINS, v->stated, v->kept, v->n);
    }
    for (size_t i = 0; i < WL_COUNT(totals); i++)
        fprintf(f, "\"%s\",,%.9g,,\n", totals[i].what, *(const double *)((const char *)t + totals[i].offset));
    if (fclose(f) || rename(part, path)) {
        perror(path);
        exit(2);
    }
}

void tally_print(const struct tally *t, const char *name)
{
    printf("\n%s, %.0f campaigns (stated:kept, cases)\n\n| |", name, t->campaigns);
    for (size_t b = 0; b < BINS; b++) printf(" %g-%g |", tally_edges[b], fmin(1, tally_edges[b + 1]));
    printf("\n|---|---|---|---|---|---|---|---|\n");
    for (size_t k = 0; k < KINDS; k++) {
        printf("| %s |", tally_kinds[k]);
        for (size_t b = 0; b < BINS; b++) {
            const struct bin *v = &t->bins[k][b];
            if (v->n < 100)
                printf(" - |");
            else
                printf(" .%03.0f:.%03.0f (%zu) |", fmin(999, 1000 * v->stated / (double)v->n),
                       fmin(999, 1000 * v->kept / (double)v->n), v->n);
        }
        printf("\n");
    }
}
