#include "accuracy.h"

#include <stdarg.h>
#include <string.h>

static double allowance(const struct promise *p)
{
    return 3 * sqrt(p->limit * (100 - p->limit) / (double)p->campaigns);
}

void promise_add(struct promise *p, double share, const char *where)
{
    const double sign = p->at_most ? 1 : -1;
    p->beyond += sign * share > sign * p->limit;
    if (p->n++ && !(sign * share > sign * p->worst)) return;
    p->worst = share;
    snprintf(p->where, sizeof p->where, "%s", where);
}

int promise_report(const struct promise *p)
{
    const double sign = p->at_most ? 1 : -1;
    if (!p->n) return 0;
    const bool holds = sign * p->worst <= sign * p->limit + allowance(p);
    printf("%s: %s: %s %.2f %%, promised at %s %g %% (%.1f, three standard errors, is allowed for chance)",
           holds ? "PASS" : "FAIL", p->what,
           p->n == 1    ? "is"
           : p->at_most ? "largest"
                        : "smallest",
           p->worst, p->at_most ? "most" : "least", p->limit, allowance(p));
    if (p->n > 1) printf("; %zu of %zu beyond it; %s", p->beyond, p->n, p->where);
    putchar('\n');
    return !holds;
}

int promises_report(const struct promise *p, size_t n)
{
    int failed = 0;
    putchar('\n');
    for (size_t i = 0; i < n; i++) failed += promise_report(&p[i]);
    return failed;
}

void progress(size_t done, size_t total)
{
    static int64_t began;
    const int64_t now = wl_now_ns();
    if (!began || done == 0) began = now;
    if (!done) return;
    const double s = (double)(now - began) * 1e-9;
    fprintf(stderr, "%zu of %zu cells, %.0f s, %.0f s to go\n", done, total, s,
            s / (double)done * (double)(total - done));
}
