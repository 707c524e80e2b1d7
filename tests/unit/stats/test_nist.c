/* Least squares against NIST's certified values: how many digits each problem keeps. */
#include "check.h"
#include "nist.h"

struct certified {
    const char *name;
    double digits; /* wanted */
    size_t k;
    const double *b, *se; /* [k]; se NULL: an exact polynomial, errors are rounding */
    double sigma, r2;
};

static void hold(const struct certified *c, const struct wl_ols_data *data)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct wl_ols o;
    if (wl_ols_fit(&o, data, a, &e)) fail_msg("%s: %s", c->name, e.msg);
    double worst = 16;
    for (size_t j = 0; j < c->k; j++) {
        worst = fmin(worst, digits(o.b[j], c->b[j]));
        if (c->se) worst = fmin(worst, digits(o.se[j], c->se[j]));
    }
    if (c->se) worst = fmin(worst, digits(o.sigma, c->sigma));
    worst = fmin(worst, digits(o.r2, c->r2));
    print_message("%-10s %4.1f digits, condition %.2g\n", c->name, worst, o.condition);
    agree(c->name, worst < c->digits ? worst : c->digits, c->digits, 15);
    wl_arena_free(a);
}

/* Columns x, x^2 ... x^degree. */
static void powers(const double *x, size_t n, size_t degree, double *out)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < degree; j++) out[i + j * n] = j ? out[i + (j - 1) * n] * x[i] : x[i];
}

static void norris_matches_nist(void **state)
{
    (void)state;
    enum { N = WL_COUNT(norris) };
    double y[N], x[N];
    for (size_t i = 0; i < N; i++) y[i] = norris[i][0], x[i] = norris[i][1];
    const double b[] = { -0.262323073774029, 1.00211681802045 }, se[] = { 0.232818234301152, 0.429796848199937e-3 };
    hold(&(struct certified) { "Norris", 12, 2, b, se, 0.884796396144373, 0.999993745883712 },
         &(struct wl_ols_data) { N, 1, y, x, NULL, true });
}

static void pontius_matches_nist(void **state)
{
    (void)state;
    enum { N = WL_COUNT(pontius_y) };
    double x[N], columns[2 * N];
    for (size_t i = 0; i < N; i++) x[i] = 150000.0 * (double)(i % 20 + 1);
    powers(x, N, 2, columns);
    const double b[] = { 0.673565789473684e-3, 0.732059160401003e-6, -0.316081871345029e-14 };
    const double se[] = { 0.107938612033077e-3, 0.157817399981659e-9, 0.486652849992036e-16 };
    hold(&(struct certified) { "Pontius", 11, 3, b, se, 0.205177424076185e-3, 0.999999900178537 },
         &(struct wl_ols_data) { N, 2, pontius_y, columns, NULL, true });
}

static void line_through_origin_matches_nist(void **state)
{
    (void)state;
    double y1[11], x1[11];
    for (int i = 0; i < 11; i++) y1[i] = 130 + i, x1[i] = 60 + i;
    const double b1[] = { 2.07438016528926 }, se1[] = { 0.165289256198347e-1 };
    hold(&(struct certified) { "NoInt1", 12, 1, b1, se1, 3.56753034006338, 0.999365492298663 },
         &(struct wl_ols_data) { 11, 1, y1, x1, NULL, false });
    const double y2[] = { 3, 4, 4 }, x2[] = { 4, 5, 6 };
    const double b2[] = { 0.727272727272727 }, se2[] = { 0.420827318078432e-1 };
    hold(&(struct certified) { "NoInt2", 12, 1, b2, se2, 0.369274472937998, 0.993348115299335 },
         &(struct wl_ols_data) { 3, 1, y2, x2, NULL, false });
}

static void longley_matches_nist(void **state)
{
    (void)state;
    enum { N = WL_COUNT(longley) };
    double y[N], x[6 * N];
    for (size_t i = 0; i < N; i++) {
        y[i] = longley[i][0];
        for (size_t j = 0; j < 6; j++) x[i + j * N] = longley[i][j + 1];
    }
    const double b[] = { -3482258.63459582, 15.0618722713733,      -0.358191792925910e-1, -2.02022980381683,
                         -1.03322686717359, -0.511041056535807e-1, 1829.15146461355 };
    const double se[] = { 890420.383607373,  84.9149257747669,  0.334910077722432e-1, 0.488399681651699,
                          0.214274163161675, 0.226073200069370, 455.478499142212 };
    hold(&(struct certified) { "Longley", 12, 7, b, se, 304.854073561965, 0.995479004577296 },
         &(struct wl_ols_data) { N, 6, y, x, NULL, true });
}

static void filip_matches_nist(void **state)
{
    (void)state;
    enum { N = WL_COUNT(filip) };
    double y[N], x[N], columns[10 * N];
    for (size_t i = 0; i < N; i++) y[i] = filip[i][0], x[i] = filip[i][1];
    powers(x, N, 10, columns);
    const double b[] = { -1467.48961422980,     -2772.17959193342,     -2316.37108160893,    -1127.97394098372,
                         -354.478233703349,     -75.1242017393757,     -10.8753180355343,    -1.06221498588947,
                         -0.670191154593408e-1, -0.246781078275479e-2, -0.402962525080404e-4 };
    const double se[] = { 298.084530995537,     559.779865474950,     466.477572127796,    227.204274477751,
                          71.6478660875927,     15.2897178747400,     2.23691159816033,    0.221624321934227,
                          0.142363763154724e-1, 0.535617408889821e-3, 0.896632837373868e-5 };
    hold(&(struct certified) { "Filip", 6, 11, b, se, 0.334801051324544e-2, 0.996727416185620 },
         &(struct wl_ols_data) { N, 10, y, columns, NULL, true });
}

/* y = sum of c^j x^j + times * noise, x = 0 .. 20 */
static void wampler(const char *name, double c, double times, const double *se, double sigma, double r2)
{
    enum { N = 21, DEGREE = 5 };
    double x[N], y[N], columns[DEGREE * N], b[DEGREE + 1];
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = 0;
        for (int j = DEGREE; j >= 0; j--) y[i] = y[i] * (c * i) + 1;
        y[i] += times * wampler_noise[i];
    }
    for (int j = 0; j <= DEGREE; j++) b[j] = j ? b[j - 1] * c : 1;
    powers(x, N, DEGREE, columns);
    hold(&(struct certified) { name, 9, DEGREE + 1, b, se, sigma, r2 },
         &(struct wl_ols_data) { N, DEGREE, y, columns, NULL, true });
}

static void wampler_polynomials_match_nist(void **state)
{
    (void)state;
    const double se3[] = { 2152.32624678170, 2363.55173469681, 779.343524331583,
                           101.475507550350, 5.64566512170752, 0.112324854679312 };
    double se4[6], se5[6];
    for (int j = 0; j < 6; j++) se4[j] = 100 * se3[j], se5[j] = 10000 * se3[j];
    wampler("Wampler1", 1, 0, NULL, 0, 1);
    wampler("Wampler2", 0.1, 0, NULL, 0, 1);
    wampler("Wampler3", 1, 1, se3, 2360.14502379268, 0.999995559025820);
    wampler("Wampler4", 1, 100, se4, 236014.502379268, 0.957478440825662);
    wampler("Wampler5", 1, 10000, se5, 23601450.2379268, 0.224668921574940e-2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norris_matches_nist),
        cmocka_unit_test(pontius_matches_nist),
        cmocka_unit_test(line_through_origin_matches_nist),
        cmocka_unit_test(longley_matches_nist),
        cmocka_unit_test(filip_matches_nist),
        cmocka_unit_test(wampler_polynomials_match_nist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
