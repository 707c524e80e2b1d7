/* Quantiles: the normal one in closed form, those of t and F by Newton's method on the logarithm of the smaller tail of
 * a beta distribution over the logit of its variable, where both ends are nearly straight. */
#include "stats/distributions.h"
#include "stats/special.h"

#include <float.h>
#include <math.h>

static double polynomial(const double *c, int n, double x)
{
    double sum = 0;
    while (n--) sum = sum * x + c[n];
    return sum;
}

/* Source: Wichura 1988, algorithm AS 241 (PPND16), relative accuracy about 1e-16. */
double wl_normal_quantile(double p)
{
    static const double a[] = { 3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                                1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                                3.3430575583588128105e4, 2.5090809287301226727e3 };
    static const double b[] = { 1.0,
                                4.2313330701600911252e1,
                                6.8718700749205790830e2,
                                5.3941960214247511077e3,
                                2.1213794301586595867e4,
                                3.9307895800092710610e4,
                                2.8729085735721942674e4,
                                5.2264952788528545610e3 };
    static const double c[] = { 1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                2.27238449892691845833e-2, 7.74545014278341407640e-4 };
    static const double d[] = { 1.0,
                                2.05319162663775882187e0,
                                1.67638483018380384940e0,
                                6.89767334985100004550e-1,
                                1.48103976427480074590e-1,
                                1.51986665636164571966e-2,
                                5.47593808499534494600e-4,
                                1.05075007164441684324e-9 };
    static const double e[] = { 6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                2.71155556874348757815e-5, 2.01033439929228813265e-7 };
    static const double f[] = { 1.0,
                                5.99832206555887937690e-1,
                                1.36929880922735805310e-1,
                                1.48753612908506148525e-2,
                                7.86869131145613259100e-4,
                                1.84631831751005468180e-5,
                                1.42151175831644588870e-7,
                                2.04426310338993978564e-15 };
    if (!(p >= 0 && p <= 1)) return NAN;
    if (p == 0 || p == 1) return p == 0 ? -INFINITY : INFINITY;
    double q = p - 0.5;
    if (fabs(q) <= 0.425) {
        double r = 0.180625 - q * q;
        return q * polynomial(a, 8, r) / polynomial(b, 8, r);
    }
    double r = sqrt(-log(q < 0 ? p : 1 - p));
    double z = r <= 5 ? polynomial(c, 8, r - 1.6) / polynomial(d, 8, r - 1.6)
                      : polynomial(e, 8, r - 5) / polynomial(f, 8, r - 5);
    return q < 0 ? -z : z;
}

/* A tail of the beta distribution on the coordinate u = logit x: probability and its derivative by u. */
struct tail {
    double a, b;
    bool upper;
};
struct slope {
    double p, dp;
};

static struct slope tail_at(const struct tail *t, double u)
{
    double x = 1 / (1 + exp(-u)), y = 1 / (1 + exp(u));
    struct wl_tails parts = wl_beta_tails(t->a, t->b, x, y);
    double density = wl_beta_prefix(t->a, t->b, x, y);
    return t->upper ? (struct slope) { parts.upper, -density } : (struct slope) { parts.lower, density };
}

/* The u where the tail is p (0 < p <= 1/2), by Newton on ln p, kept inside a bracket that each step shrinks. */
static double solve(const struct tail *t, double u, double p)
{
    double lo = -200, hi = 200, goal = log(p);
    for (int i = 0; i < 500; i++) {
        struct slope s = tail_at(t, u);
        bool beyond = t->upper ? s.p > p : s.p < p; /* the answer lies above u */
        *(beyond ? &lo : &hi) = u;
        double next = u - (log(s.p) - goal) * s.p / s.dp;
        if (!(next > lo && next < hi)) next = (lo + hi) / 2;
        if (fabs(next - u) <= 2 * DBL_EPSILON * fmax(1, fabs(u))) return next;
        u = next;
    }
    return u;
}

/* Where the leading term of the lower tail is all of it (u far below), that can be inverted by hand:
 * I_x(a, b) = x^a / (a B(a, b)). */
static bool far_below(double a, double ln_constant, double p, double *u)
{
    *u = (log(p) + ln_constant) / a;
    return *u < -100;
}

/* Logit of the beta quantile, from a guess of it. */
static double beta_quantile(double a, double b, double p, bool upper, double guess)
{
    if (p > 0.5) p = 1 - p, upper = !upper;
    double u;
    if (!upper && far_below(a, log(a) + wl_lbeta(a, b), p, &u)) return u;
    if (upper && far_below(b, log(b) + wl_lbeta(a, b), p, &u)) return -u;
    return solve(&(struct tail) { a, b, upper }, guess, p);
}

/* ln(t^2 / df) for a two-sided probability of at most 1/2, to some six digits: a start that saves Newton's method most
 * of its steps. Source: Hill 1970, algorithm 396. */
static double guess_t(double p, double df)
{
    const double plain = -log(df); /* t = 1 */
    if (df < 2) return plain;
    const double a = 1 / (df - 0.5), b = 48 / (a * a);
    double c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
    const double d = ((94.5 / (b + c) - 3) / b + 1) * sqrt(a * M_PI / 2) * df;
    double y = pow(d * p, 2 / df);
    if (y > 0.05 + a) {
        const double x = wl_normal_quantile(p / 2), xx = x * x;
        if (df < 5) c += 0.3 * (df - 4.5) * (x + 0.6);
        c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b;
        y = (((((0.4 * xx + 6.3) * xx + 36) * xx + 94.5) / c - xx - 3) / b + 1) * x;
        y = expm1(a * y * y);
    } else {
        y = ((1 / (((df + 6) / (df * y) - 0.089 * d - 0.822) * (df + 2) * 3) + 0.5 / (df + 4)) * y - 1) * (df + 1) /
                (df + 2) +
            1 / y;
    }
    const double u = log(y);
    return fabs(u) < 100 ? u : plain;
}

static double t_quantile(double p, double df)
{
    if (!(p >= 0 && p <= 1) || !(df > 0)) return NAN;
    if (isinf(df)) return wl_normal_quantile(p);
    if (p == 0 || p == 1) return p == 0 ? -INFINITY : INFINITY;
    if (p == 0.5) return 0;
    double tail = fmin(p, 1 - p); /* t^2 / df is the ratio x / y of a beta(1/2, df/2) variable */
    double u = tail <= 0.25 ? beta_quantile(0.5, df / 2, 2 * tail, true, guess_t(2 * tail, df))
                            : beta_quantile(0.5, df / 2, 1 - 2 * tail, false, -log(df));
    return copysign(exp((u + log(df)) / 2), p - 0.5);
}

/* The intervals of many means in a row have one df. */
double wl_t_quantile(double p, double df)
{
    static _Thread_local struct {
        double p, df, t;
    } last = { .df = NAN };
    if (p == last.p && df == last.df) return last.t;
    const double t = t_quantile(p, df);
    last.p = p, last.df = df, last.t = t;
    return t;
}

double wl_f_quantile(double p, double df1, double df2)
{
    if (!(p >= 0 && p <= 1) || !(df1 > 0) || !(df2 > 0) || isinf(df1) || isinf(df2)) return NAN;
    if (p == 0 || p == 1) return p == 0 ? 0 : INFINITY;
    return exp(beta_quantile(df1 / 2, df2 / 2, p, false, log(df1 / df2))) / df1 * df2;
}
