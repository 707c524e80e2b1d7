#include "law/fit/formulas.h"

#include <math.h>

static double power(double n, const double *p, double *d)
{
    d[0] = pow(n, -p[1]);
    d[1] = -p[0] * d[0] * log(n);
    return p[0] * d[0];
}

static void power_start(double n0, double t0, double rest, double b, double *p)
{
    (void)rest;
    p[0] = t0 * pow(n0, b);
    p[1] = b;
}

static double amdahl(double n, const double *p, double *d)
{
    d[0] = 1 / n;
    d[1] = 1;
    return p[0] / n + p[1];
}

static void amdahl_start(double n0, double t0, double rest, double b, double *p)
{
    (void)b;
    p[0] = t0 * n0 * (1 - rest);
    p[1] = t0 * rest;
}

static double power_const(double n, const double *p, double *d)
{
    d[0] = pow(n, -p[1]);
    d[1] = -p[0] * d[0] * log(n);
    d[2] = 1;
    return p[0] * d[0] + p[2];
}

static void power_const_start(double n0, double t0, double rest, double b, double *p)
{
    p[0] = t0 * pow(n0, b) * (1 - rest);
    p[1] = b;
    p[2] = t0 * rest;
}

static double amdahl_log(double n, const double *p, double *d)
{
    d[0] = 1 / n;
    d[1] = 1;
    d[2] = log2(n);
    return p[0] / n + p[1] + p[2] * d[2];
}

static double amdahl_linear(double n, const double *p, double *d)
{
    d[0] = 1 / n;
    d[1] = 1;
    d[2] = n;
    return p[0] / n + p[1] + p[2] * n;
}

static void amdahl_plus_start(double n0, double t0, double rest, double b, double *p)
{
    amdahl_start(n0, t0, rest, b, p);
    p[1] /= 2;
    p[2] = p[1] / n0 * (b < 1 ? 0.1 : 0.01);
}

static double weak_log(double n, const double *p, double *d)
{
    d[0] = 1 + p[1] * log2(n);
    d[1] = p[0] * log2(n);
    return p[0] * d[0];
}

static double weak_linear(double n, const double *p, double *d)
{
    d[0] = 1 + p[1] * (n - 1);
    d[1] = p[0] * (n - 1);
    return p[0] * d[0];
}

static void weak_start(double n0, double t0, double rest, double b, double *p)
{
    (void)n0, (void)b;
    p[0] = t0;
    p[1] = rest / 10;
}

/* Leaves d unset: fitted by wl_segmented_fit. */
static double broken(double n, const double *p, double *d)
{
    (void)d;
    double reached = fmin(n, p[3]);
    return p[0] * pow(reached, -p[1]) * pow(n / reached, -p[2]);
}

/* Amdahl 1967; Gunther's universal scalability law is amdahl_linear in other parameters. Weak: Gustafson 1988. */
static const struct wl_law_formula formulas[] = {
    { .name = "power",
      .formula = "a N^-b",
      .k = 2,
      .param = { "a", "b" },
      .any_sign = { false, true },
      .t = power,
      .start = power_start },
    { .name = "amdahl", .formula = "W/N + c", .k = 2, .param = { "W", "c" }, .t = amdahl, .start = amdahl_start },
    { .name = "power_const",
      .formula = "a N^-b + c",
      .k = 3,
      .param = { "a", "b", "c" },
      .t = power_const,
      .start = power_const_start },
    { .name = "amdahl_log",
      .formula = "W/N + c + g log2 N",
      .k = 3,
      .param = { "W", "c", "g" },
      .t = amdahl_log,
      .start = amdahl_plus_start },
    { .name = "amdahl_linear",
      .formula = "W/N + c + g N",
      .k = 3,
      .param = { "W", "c", "g" },
      .t = amdahl_linear,
      .start = amdahl_plus_start },
    { .name = "broken",
      .formula = "a N^-b1 to N = n, then N^-b2",
      .k = 4,
      .param = { "a", "b1", "b2", "n" },
      .any_sign = { true, true, true, true },
      .segmented = true,
      .t = broken },
    { .name = "power",
      .formula = "a N^-b",
      .k = 2,
      .param = { "a", "b" },
      .any_sign = { false, true },
      .weak = true,
      .t = power,
      .start = power_start },
    { .name = "weak_log",
      .formula = "T1 (1 + s log2 N)",
      .k = 2,
      .param = { "T1", "s" },
      .weak = true,
      .t = weak_log,
      .start = weak_start },
    { .name = "weak_linear",
      .formula = "T1 (1 + s (N - 1))",
      .k = 2,
      .param = { "T1", "s" },
      .weak = true,
      .t = weak_linear,
      .start = weak_start },
};

const struct wl_law_formula *wl_law_formulas(size_t *n)
{
    *n = WL_COUNT(formulas);
    return formulas;
}
