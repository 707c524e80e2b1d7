/* Shallow water on a rotating sphere, in the vector-invariant form on the staggered grid of Arakawa and Lamb (1977,
 * "C"), fourth-order Runge-Kutta in time:
 *     du/dt = (zeta + f) v - d/dx (g h + K),  dv/dt = -(zeta + f) u - d/dy (g h + K),  dh/dt = -div(h u)
 * with relaxation towards zonal jets in geostrophic balance, sources that stir waves of a few lengths, each with its
 * own period, and a tracer advected by the wind. The motion is predictable, so that a forecast beats persistence.
 * Towards the poles, where meridians converge, zonal waves too short for the time step are damped in the tendencies
 * (Arakawa and Lamb 1977, section VI).
 *
 * Cell (j,i) is centred on latitude (j + 1/2) pi/H - pi/2, from south to north; u is on its eastern side, v on its
 * southern one, so v has one more row, and vorticity is in its south-eastern corner. */
#include "data/era5/shallow_water.h"

#include <math.h>
#include <string.h>

static const double radius_m = 6.371e6, rotation = 7.292e-5, gravity = 9.80665;   /* m, rad/s, m/s^2 */
static const double relaxation_s = 6 * 86400.0, filter_from = 1.0471975511965976; /* 60 degrees */
static const double stirring_ms = 800 / 86400.0, mixing = 1 / (200 * 3600.0);     /* m/s; 1/s, to each neighbour */
enum { U, V, HEIGHT, TRACER, STATE, STAGES = 4, WAVES = 10 };

const char *const wl_shallow_water_names[WL_SHALLOW_WATER_FIELDS] = { "u", "v", "height", "vorticity", "tracer" };

struct state {
    double *field[STATE]; /* u, h, tracer [H,W]; v [H + 1,W] with zeros at the poles */
};

struct wl_shallow_water {
    int64_t h, w;
    double dphi, dlambda;
    struct wave {
        double number, frequency, phase, latitude; /* 1/s, radians */
    } waves[WAVES];
    double time_s;
    double *cos_centre, *cos_side; /* [H] [H + 1] */
    double *filter;                /* [H,2W] kernels over longitude, twice; rows without a filter begin with NAN */
    double *jet, *balance;         /* [H] what u and h relax to */
    double *vorticity, *energy;    /* [H + 1,W] absolute, in corners; [H,W] g h + K */
    double *ones, *row;            /* [H,W] [W] */
    double step_s;                 /* longest stable step */
    struct state now, trial, slope, sum;
};

static int64_t east(const struct wl_shallow_water *m, int64_t i) { return i + 1 < m->w ? i + 1 : 0; }
static int64_t west(const struct wl_shallow_water *m, int64_t i) { return i ? i - 1 : m->w - 1; }
static double latitude(const struct wl_shallow_water *m, double j) { return j * m->dphi - M_PI / 2; }

/* ---- tendencies ---- */

/* At a pole: circulation along the nearest row divided by the enclosed area. */
static double polar_vorticity(const struct wl_shallow_water *m, const double *u, bool north)
{
    const int64_t j = north ? m->h - 1 : 0;
    const double cap = 2 * M_PI * (1 - fabs(sin(latitude(m, (double)j + 0.5)))) * radius_m;
    double sum = 0;
    for (int64_t i = 0; i < m->w; i++) sum += u[j * m->w + i] * m->cos_centre[j] * m->dlambda;
    return (north ? 1 : -1) * sum / cap;
}

static void find_vorticity(const struct wl_shallow_water *m, const struct state *s)
{
    const double *u = s->field[U], *v = s->field[V];
    for (int64_t j = 0; j <= m->h; j++) {
        const double f = 2 * rotation * sin(latitude(m, (double)j));
        const bool pole = j == 0 || j == m->h;
        const double around = pole ? polar_vorticity(m, u, j > 0) : 0;
        for (int64_t i = 0; i < m->w; i++) {
            double *z = &m->vorticity[j * m->w + i];
            *z = f + around;
            if (pole) continue;
            const double across = (v[j * m->w + east(m, i)] - v[j * m->w + i]) / m->dlambda;
            const double along =
                (u[j * m->w + i] * m->cos_centre[j] - u[(j - 1) * m->w + i] * m->cos_centre[j - 1]) / m->dphi;
            *z += (across - along) / (radius_m * m->cos_side[j]);
        }
    }
}

static void find_energy(const struct wl_shallow_water *m, const struct state *s)
{
    const double *u = s->field[U], *v = s->field[V];
    for (int64_t j = 0; j < m->h; j++)
        for (int64_t i = 0; i < m->w; i++) {
            const double ue = u[j * m->w + i], uw = u[j * m->w + west(m, i)];
            const double vs = v[j * m->w + i], vn = v[(j + 1) * m->w + i];
            m->energy[j * m->w + i] =
                gravity * s->field[HEIGHT][j * m->w + i] + 0.25 * (ue * ue + uw * uw + vs * vs + vn * vn);
        }
}

/* Diffusion of x at (j,i): the sum of differences to its neighbours. */
static double roughness(const struct wl_shallow_water *m, const double *x, int64_t rows, int64_t j, int64_t i)
{
    const double *row = x + j * m->w, here = row[i];
    double sum = row[east(m, i)] + row[west(m, i)] - 2 * here;
    if (j > 0) sum += row[i - m->w] - here;
    if (j + 1 < rows) sum += row[i + m->w] - here;
    return sum;
}

static void slope_of_wind(const struct wl_shallow_water *m, const struct state *s, struct state *d)
{
    const double *u = s->field[U], *v = s->field[V], *z = m->vorticity;
    const int64_t w = m->w;
    for (int64_t j = 0; j < m->h; j++)
        for (int64_t i = 0; i < w; i++) {
            const int64_t at = j * w + i, e = east(m, i);
            const double turn = 0.25 * (z[at + w] * (v[at + w] + v[(j + 1) * w + e]) + z[at] * (v[at] + v[j * w + e]));
            const double push = (m->energy[j * w + e] - m->energy[at]) / (radius_m * m->cos_centre[j] * m->dlambda);
            d->field[U][at] = turn - push + (m->jet[j] - u[at]) / relaxation_s + mixing * roughness(m, u, m->h, j, i);
        }
    for (int64_t j = 0; j <= m->h; j++)
        for (int64_t i = 0; i < w; i++) {
            const int64_t at = j * w + i, b = west(m, i);
            d->field[V][at] = 0;
            if (j == 0 || j == m->h) continue;
            const double turn =
                0.25 * (z[at] * (u[at] + u[at - w]) + z[j * w + b] * (u[j * w + b] + u[(j - 1) * w + b]));
            const double push = (m->energy[at] - m->energy[at - w]) / (radius_m * m->dphi);
            d->field[V][at] = -turn - push - v[at] / relaxation_s + mixing * roughness(m, v, m->h + 1, j, i);
        }
}

/* Mean of x on both sides of the southern side of cell (j,i); nothing flows through the poles. */
static double at_south(const struct wl_shallow_water *m, const double *x, int64_t j, int64_t i)
{
    return j == 0 || j == m->h ? 0 : 0.5 * (x[j * m->w + i] + x[(j - 1) * m->w + i]);
}

/* -div(x u) of a field x at centres. */
static double inflow(const struct wl_shallow_water *m, const struct state *s, const double *x, int64_t j, int64_t i)
{
    const double *u = s->field[U] + j * m->w, *v = s->field[V], *row = x + j * m->w;
    const int64_t e = east(m, i), b = west(m, i);
    const double across = (u[i] * (row[i] + row[e]) - u[b] * (row[b] + row[i])) / (2 * m->dlambda);
    const double along = (v[(j + 1) * m->w + i] * m->cos_side[j + 1] * at_south(m, x, j + 1, i) -
                          v[j * m->w + i] * m->cos_side[j] * at_south(m, x, j, i)) /
                         m->dphi;
    return -(across + along) / (radius_m * m->cos_centre[j]);
}

/* One row of the waves' source of height at a time. */
static void stir(const struct wl_shallow_water *m, double time_s, int64_t j, double *row)
{
    const double phi = latitude(m, (double)j + 0.5);
    memset(row, 0, (size_t)m->w * sizeof *row);
    for (int k = 0; k < WAVES; k++) {
        const struct wave *v = &m->waves[k];
        const double up = (phi - v->latitude) / 0.25, high = stirring_ms * exp(-up * up);
        for (int64_t i = 0; i < m->w && up * up < 20; i++)
            row[i] += high * cos(v->number * (double)i * m->dlambda - v->frequency * time_s + v->phase);
    }
}

static void slope_of_height(const struct wl_shallow_water *m, const struct state *s, double time_s, struct state *d)
{
    const double *h = s->field[HEIGHT], *q = s->field[TRACER];
    for (int64_t j = 0; j < m->h; j++) {
        const double source = sin(latitude(m, (double)j + 0.5));
        stir(m, time_s, j, m->row);
        for (int64_t i = 0; i < m->w; i++) {
            const int64_t at = j * m->w + i;
            d->field[HEIGHT][at] = m->row[i] + inflow(m, s, h, j, i) + (m->balance[j] - h[at]) / relaxation_s +
                                   mixing * roughness(m, h, m->h, j, i);
            /* the tracer is advected, not diluted: u grad q = div(q u) - q div u */
            d->field[TRACER][at] = inflow(m, s, q, j, i) - q[at] * inflow(m, s, m->ones, j, i) +
                                   (source - q[at]) / relaxation_s + 2 * mixing * roughness(m, q, m->h, j, i);
        }
    }
}

/* Damps short waves of a row near a pole. */
static void filter_row(const struct wl_shallow_water *m, int64_t j, double *row)
{
    const double *kernel = m->filter + j * 2 * m->w;
    if (isnan(kernel[0])) return;
    memset(m->row, 0, (size_t)m->w * sizeof *row);
    for (int64_t k = 0; k < m->w; k++)
        for (int64_t i = 0; i < m->w; i++) m->row[i] += kernel[i - k + m->w] * row[k];
    memcpy(row, m->row, (size_t)m->w * sizeof *row);
}

static void find_slope(const struct wl_shallow_water *m, const struct state *s, double time_s, struct state *d)
{
    find_vorticity(m, s);
    find_energy(m, s);
    slope_of_wind(m, s, d);
    slope_of_height(m, s, time_s, d);
    for (int k = U; k <= HEIGHT; k++)
        for (int64_t j = 0; j < m->h; j++) filter_row(m, j, d->field[k] + j * m->w);
}

/* ---- time ---- */

static int64_t size_of(const struct wl_shallow_water *m, int field) { return (m->h + (field == V)) * m->w; }

/* to = a + by * d */
static void add(const struct wl_shallow_water *m, const struct state *a, double by, const struct state *d,
                struct state *to)
{
    for (int k = 0; k < STATE; k++)
        for (int64_t i = 0; i < size_of(m, k); i++) to->field[k][i] = a->field[k][i] + by * d->field[k][i];
}

static void step(struct wl_shallow_water *m, double dt)
{
    static const double at[STAGES] = { 0, 0.5, 0.5, 1 }, weight[STAGES] = { 1. / 6, 1. / 3, 1. / 3, 1. / 6 };
    add(m, &m->now, 0, &m->now, &m->sum);
    for (int k = 0; k < STAGES; k++) {
        add(m, &m->now, k ? at[k] * dt : 0, k ? &m->slope : &m->now, &m->trial);
        find_slope(m, &m->trial, m->time_s + at[k] * dt, &m->slope);
        add(m, &m->sum, weight[k] * dt, &m->slope, &m->sum);
    }
    add(m, &m->sum, 0, &m->sum, &m->now);
    m->time_s += dt;
}

void wl_shallow_water_advance(struct wl_shallow_water *m, double seconds)
{
    const int64_t steps = (int64_t)ceil(seconds / m->step_s);
    for (int64_t i = 0; i < steps; i++) step(m, seconds / (double)steps);
}

/* From north to south, as in ERA5; winds and vorticity at cell centres. */
void wl_shallow_water_read(const struct wl_shallow_water *m, int field, float *to)
{
    const double *u = m->now.field[U], *v = m->now.field[V], *z = m->vorticity;
    if (field == 3) find_vorticity(m, &m->now);
    for (int64_t j = 0; j < m->h; j++) {
        const double f = 2 * rotation * sin(latitude(m, (double)j + 0.5));
        for (int64_t i = 0; i < m->w; i++) {
            const int64_t at = j * m->w + i, b = j * m->w + west(m, i);
            const double value[WL_SHALLOW_WATER_FIELDS] = {
                0.5 * (u[at] + u[b]),     0.5 * (v[at] + v[at + m->w]),
                m->now.field[HEIGHT][at], 0.25 * (z[at] + z[b] + z[at + m->w] + z[b + m->w]) - f,
                m->now.field[TRACER][at],
            };
            to[(m->h - 1 - j) * m->w + i] = (float)value[field];
        }
    }
}

/* ---- initial state ---- */

static struct state state_new(const struct wl_shallow_water *m, struct wl_arena *a)
{
    struct state s;
    for (int k = 0; k < STATE; k++) s.field[k] = wl_new_array(a, double, (size_t)size_of(m, k));
    return s;
}

/* Kernels of rows beyond filter_from: wave n is multiplied by min(1, cos(row)/cos(filter_from)/sin(n dlambda/2)). */
static void find_filter(struct wl_shallow_water *m, struct wl_arena *a)
{
    m->filter = wl_new_array(a, double, (size_t)(m->h * 2 * m->w));
    for (int64_t j = 0; j < m->h; j++) {
        double *kernel = m->filter + j * 2 * m->w;
        const double near = m->cos_centre[j] / cos(filter_from);
        kernel[0] = NAN;
        if (near >= 1) continue;
        for (int64_t i = 0; i < m->w; i++) {
            kernel[i] = 0;
            for (int64_t n = 0; n < m->w; n++) {
                const int64_t wave = n <= m->w / 2 ? n : m->w - n;
                const double keep = wave ? fmin(1, near / sin((double)wave * m->dlambda / 2)) : 1;
                kernel[i] += keep * cos((double)(n * i % m->w) * m->dlambda) / (double)m->w;
            }
            kernel[m->w + i] = kernel[i];
        }
    }
}

/* A jet in the middle latitudes of each hemisphere, a weak opposite one at the equator; and the heights whose gradient
 * balances them: g dh/dphi = -(f + u tan(phi)/a) a u, with this mean. */
static void find_balance(struct wl_shallow_water *m, double mean_m, double jet_ms, struct wl_arena *a)
{
    double sum = 0, area = 0;
    m->jet = wl_new_array(a, double, (size_t)m->h);
    m->balance = wl_new_array(a, double, (size_t)m->h);
    for (int64_t j = 0; j < m->h; j++) {
        const double phi = latitude(m, (double)j + 0.5), side = (fabs(phi) - M_PI / 4) / 0.25;
        m->jet[j] = jet_ms * (exp(-side * side) - 0.15 * exp(-phi * phi / 0.09));
    }
    for (int64_t j = 0; j < m->h; j++) {
        if (j > 0) {
            const double phi = latitude(m, (double)j), u = 0.5 * (m->jet[j] + m->jet[j - 1]);
            const double turn = 2 * rotation * sin(phi) + u * tan(phi) / radius_m;
            m->balance[j] = m->balance[j - 1] - turn * u * radius_m * m->dphi / gravity;
        }
        sum += m->balance[j] * m->cos_centre[j];
        area += m->cos_centre[j];
    }
    for (int64_t j = 0; j < m->h; j++) m->balance[j] += mean_m - sum / area;
}

/* Waves of 2 to 6 lengths around the earth and periods of 1.5 to 9 days, in both hemispheres. */
static void find_waves(struct wl_shallow_water *m, uint64_t seed, uint64_t stream)
{
    for (uint64_t k = 0; k < WAVES; k++) {
        const double days = 1.5 + 7.5 * wl_random_uniform(seed, stream, 3 * k);
        m->waves[k] = (struct wave) {
            .number = 2 + (double)(k % 5),
            .frequency = 2 * M_PI / (days * 86400),
            .phase = 2 * M_PI * wl_random_uniform(seed, stream, 3 * k + 1),
            .latitude = (k < WAVES / 2 ? 1 : -1) * (0.5 + 0.5 * wl_random_uniform(seed, stream, 3 * k + 2)),
        };
    }
}

static void set_initial_state(struct wl_shallow_water *m)
{
    for (int64_t j = 0; j < m->h; j++)
        for (int64_t i = 0; i < m->w; i++) {
            m->now.field[U][j * m->w + i] = m->jet[j];
            m->now.field[HEIGHT][j * m->w + i] = m->balance[j];
            m->now.field[TRACER][j * m->w + i] = sin(latitude(m, (double)j + 0.5));
        }
}

/* Runge-Kutta of this order is stable while dt times the frequency of the fastest wave on the grid is below 2.8; a
 * factor of 0.8 is a margin for nonlinear terms. */
static double longest_step(const struct wl_shallow_water *m, double mean_m)
{
    const double speed = sqrt(gravity * mean_m) + 80, dx = radius_m * cos(filter_from) * m->dlambda,
                 dy = radius_m * m->dphi;
    return 0.8 * 2.8 / (2 * speed * sqrt(1 / (dx * dx) + 1 / (dy * dy)));
}

struct wl_shallow_water *wl_shallow_water_new(int64_t height, int64_t width, uint64_t seed, uint64_t layer,
                                              struct wl_arena *a)
{
    static const double depth_m[] = { 10000, 6000, 4000, 2500 };
    const double mean_m = depth_m[layer % WL_COUNT(depth_m)];
    const size_t cells = (size_t)(height * width);
    struct wl_shallow_water *m = wl_new(a, struct wl_shallow_water);
    *m = (struct wl_shallow_water) {
        .h = height, .w = width, .dphi = M_PI / (double)height, .dlambda = 2 * M_PI / (double)width
    };
    m->cos_centre = wl_new_array(a, double, (size_t)height);
    m->cos_side = wl_new_array(a, double, (size_t)height + 1);
    for (int64_t j = 0; j < height; j++) m->cos_centre[j] = cos(latitude(m, (double)j + 0.5));
    for (int64_t j = 1; j < height; j++) m->cos_side[j] = cos(latitude(m, (double)j));
    m->vorticity = wl_new_array(a, double, cells + (size_t)width);
    m->energy = wl_new_array(a, double, cells);
    m->row = wl_new_array(a, double, (size_t)width);
    m->ones = wl_new_array(a, double, cells);
    for (size_t i = 0; i < cells; i++) m->ones[i] = 1;
    m->now = state_new(m, a);
    m->trial = state_new(m, a);
    m->slope = state_new(m, a);
    m->sum = state_new(m, a);
    find_filter(m, a);
    find_balance(m, mean_m, 45 * sqrt(mean_m / depth_m[0]), a);
    find_waves(m, seed, wl_hash_fnv1a("shallow water") + layer);
    set_initial_state(m);
    m->step_s = longest_step(m, mean_m);
    return m;
}
