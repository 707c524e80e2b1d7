/* A synthetic image: one to three objects on a striped background. The class is the combination of the objects' shape,
 * their hue and the slope of the stripes; everything else varies: position, size, rotation, brightness, saturation, the
 * background's colour, stripe width and phase, grey distractors of other shapes, a brightness ramp, noise. Slopes are
 * between 0 and 90 degrees, so that a flipped image cannot be mistaken for another class. */
#include "data/images/synth_draw.h"

#include "data/rng.h"

#include <math.h>
#include <string.h>

enum { MAX_HUES = 20, SHAPES = 10, MAX_OBJECTS = 6, SUBPIXELS = 2 };

/* The features of a class. Networks learn hue within an epoch, shape takes longer; slopes differ only with more than
 * MAX_HUES * SHAPES classes. */
struct kind {
    int shape;
    double hue;   /* [0,1) */
    double slope; /* of the stripes, radians */
    double hue_step, slope_step;
};

struct object {
    int shape;
    double x, y, size, cos_turn, sin_turn;
    double rgb[3];
};

struct picture {
    double ground[2][3]; /* colours of the two stripes */
    double wave_x, wave_y, phase;
    double ramp_x, ramp_y;
    struct object object[MAX_OBJECTS];
    int objects;
    double noise;
};

static struct kind kind_of(int64_t class_index, int64_t classes)
{
    int64_t hues = (int64_t)ceil(sqrt(2 * (double)classes));
    if (hues > MAX_HUES) hues = MAX_HUES;
    int64_t others = (classes + hues - 1) / hues, shapes = others < SHAPES ? others : SHAPES;
    int64_t slopes = (others + shapes - 1) / shapes;
    int64_t hue = class_index % hues, shape = class_index / hues % shapes, slope = class_index / (hues * shapes);
    struct kind k = { .shape = (int)shape, .hue_step = 1. / (double)hues, .slope_step = M_PI_2 / (double)slopes };
    k.hue = (double)hue * k.hue_step;
    k.slope = ((double)slope + 0.5) * k.slope_step;
    return k;
}

/* Is the point inside the shape, which fills about [-1,1]^2? */
static bool inside(int shape, double u, double v)
{
    double r = hypot(u, v), angle = atan2(v, u);
    switch (shape) {
    case 0: return r < 0.9;                                                        /* disc */
    case 1: return fmin(fabs(u), fabs(v)) < 0.28 && fmax(fabs(u), fabs(v)) < 0.95; /* cross */
    case 2: return v > -0.6 && v < 0.9 - 1.75 * fabs(u);                           /* triangle */
    case 3: return r < 0.95 && r > 0.55;                                           /* ring */
    case 4: return fabs(u) < 0.3 && fabs(v) < 1;                                   /* bar */
    case 5: return r < 0.6 + 0.4 * cos(5 * angle);                                 /* flower with five petals */
    case 6: return fmax(fabs(u), fabs(v)) < 0.8;                                   /* square */
    case 7: return r < 0.95 && hypot(u - 0.45, v) > 0.75;                          /* crescent */
    case 8: return (u < -0.2 || v < -0.2) && fmax(fabs(u), fabs(v)) < 0.85;        /* angle */
    default: return fmax(fabs(u), fabs(v)) < 0.9 && fmax(fabs(u), fabs(v)) > 0.5;  /* frame */
    }
}

/* Hue, saturation and value, each in [0,1], to red, green and blue. */
static void hsv(double h, double s, double v, double rgb[3])
{
    static const double offset[3] = { 5, 3, 1 };
    for (int c = 0; c < 3; c++) {
        double k = fmod(offset[c] + 6 * (h - floor(h)), 6);
        rgb[c] = v - v * s * fmax(0, fmin(fmin(k, 4 - k), 1));
    }
}

static struct object draw_object(struct wl_rng *d, int shape)
{
    double turn = wl_rng_uniform(d, 0, 2 * M_PI);
    struct object o = { .shape = shape, .cos_turn = cos(turn), .sin_turn = sin(turn) };
    o.size = wl_rng_uniform(d, 0.15, 0.33);
    o.x = wl_rng_uniform(d, 0.15, 0.85);
    o.y = wl_rng_uniform(d, 0.15, 0.85);
    return o;
}

static void compose(struct picture *p, const struct kind *k, struct wl_rng *d)
{
    double hue = wl_rng_uniform(d, 0, 1), slope = k->slope + wl_rng_uniform(d, -0.3, 0.3) * k->slope_step;
    double waves = wl_rng_uniform(d, 5, 9);
    hsv(hue, wl_rng_uniform(d, 0.05, 0.3), wl_rng_uniform(d, 0.25, 0.55), p->ground[0]);
    hsv(hue + wl_rng_uniform(d, -0.1, 0.1), wl_rng_uniform(d, 0.05, 0.3), wl_rng_uniform(d, 0.45, 0.8), p->ground[1]);
    p->wave_x = 2 * M_PI * waves * cos(slope);
    p->wave_y = 2 * M_PI * waves * sin(slope);
    p->phase = wl_rng_uniform(d, 0, 2 * M_PI);
    p->ramp_x = wl_rng_uniform(d, -0.3, 0.3);
    p->ramp_y = wl_rng_uniform(d, -0.3, 0.3);
    p->noise = wl_rng_uniform(d, 0.02, 0.09);

    int distractors = (int)wl_rng_below(d, 3), own = 1 + (int)wl_rng_below(d, 3);
    p->objects = distractors + own;
    for (int i = 0; i < p->objects; i++) {
        bool distractor = i < distractors;
        struct object *o = &p->object[i];
        *o = draw_object(d, distractor ? (int)wl_rng_below(d, SHAPES) : k->shape);
        double jitter = wl_rng_uniform(d, -0.3, 0.3) * k->hue_step;
        if (distractor)
            hsv(hue, 0.1, wl_rng_uniform(d, 0.1, 0.9), o->rgb);
        else
            hsv(k->hue + jitter, wl_rng_uniform(d, 0.45, 0.9), wl_rng_uniform(d, 0.5, 0.95), o->rgb);
    }
}

/* The colour at a point of the unit square: of the topmost object, else of the background. */
static void colour_at(const struct picture *p, double x, double y, double rgb[3])
{
    for (int i = p->objects - 1; i >= 0; i--) {
        const struct object *o = &p->object[i];
        double dx = (x - o->x) / o->size, dy = (y - o->y) / o->size;
        if (dx * dx + dy * dy > 2) continue;
        if (!inside(o->shape, o->cos_turn * dx + o->sin_turn * dy, o->cos_turn * dy - o->sin_turn * dx)) continue;
        memcpy(rgb, o->rgb, sizeof o->rgb);
        return;
    }
    double mix = 0.5 + 0.5 * sin(p->wave_x * x + p->wave_y * y + p->phase);
    for (int c = 0; c < 3; c++) rgb[c] = p->ground[0][c] * (1 - mix) + p->ground[1][c] * mix;
}

static uint8_t byte_of(double v) { return (uint8_t)(fmax(0, fmin(1, v)) * 255 + 0.5); }

void wl_imagenet_synth_draw(uint8_t *rgb, int size, int64_t classes, uint64_t seed, int part, int64_t i)
{
    struct wl_rng d = wl_rng(seed, "picture", (uint64_t)part, (uint64_t)i);
    struct wl_rng noise = wl_rng(seed, "noise", (uint64_t)part, (uint64_t)i);
    struct kind kind = kind_of(i % classes, classes);
    struct picture p;
    compose(&p, &kind, &d);
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            double sum[3] = { 0 }, grain = p.noise * wl_rng_normal(&noise);
            for (int s = 0; s < SUBPIXELS * SUBPIXELS; s++) {
                double at[3];
                colour_at(&p, (x + (s % SUBPIXELS + 0.5) / SUBPIXELS) / size,
                          (y + (s / SUBPIXELS + 0.5) / SUBPIXELS) / size, at);
                for (int c = 0; c < 3; c++) sum[c] += at[c];
            }
            double light = 1 + p.ramp_x * (x + 0.5) / size + p.ramp_y * (y + 0.5) / size;
            for (int c = 0; c < 3; c++)
                rgb[3 * (y * size + x) + c] = byte_of(sum[c] / (SUBPIXELS * SUBPIXELS) * light + grain);
        }
}
