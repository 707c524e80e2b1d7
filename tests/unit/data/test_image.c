/* Decoding, cropping and resizing of one image. */
#include "data/images/folders.h"
#include "data/images/resize.h"
#include "data/rng.h"
#include "temp_dir.h"

#include <math.h>

/* An image of a file, ready to be decoded; one at a time. */
static int open_file(struct wl_jpeg *j, const char *path, int *width, int *height, struct wl_err *e)
{
    static struct wl_encoded_image sample;
    free(sample.bytes.p);
    sample = (struct wl_encoded_image) { 0 };
    snprintf(sample.name, sizeof sample.name, "%s", path);
    int rc = wl_encoded_image_read_file(&sample, e);
    return rc ? rc : wl_jpeg_open(j, &sample, width, height, e);
}

/* The image that the values below were made from. */
static void pattern(uint8_t *rgb)
{
    for (int y = 0; y < 10; y++)
        for (int x = 0; x < 12; x++) {
            uint8_t *p = rgb + 3 * (y * 12 + x);
            p[0] = (uint8_t)(x * x * 7 + y * 13);
            p[1] = (uint8_t)(x * 31 + y * y * 5);
            p[2] = (uint8_t)((x ^ y) * 19);
        }
}

/* Pillow 13: image.crop(box).resize((4, 4), Image.BILINEAR). Pillow rounds between its two passes: off by one. */
static void resize_matches_pillow(void **state)
{
    static const struct {
        struct wl_crop crop;
        uint8_t want[3][16];
    } cases[] = {
        { { .x = 1, .y = 2, .width = 9, .height = 7 },
          { { 60, 137, 110, 153, 80, 157, 125, 142, 104, 170, 124, 87, 124, 148, 102, 107 },
            { 91, 152, 168, 58, 143, 184, 88, 83, 156, 105, 114, 156, 92, 145, 170, 103 },
            { 28, 82, 101, 178, 92, 56, 62, 195, 102, 57, 28, 69, 145, 143, 47, 15 } } },
        { { .x = 3, .y = 1, .width = 3, .height = 2 },
          { { 76, 107, 149, 188, 79, 110, 152, 191, 86, 117, 159, 198, 89, 120, 162, 201 },
            { 98, 117, 141, 160, 102, 121, 145, 164, 109, 128, 152, 171, 113, 132, 156, 175 },
            { 38, 74, 88, 76, 33, 75, 96, 90, 24, 77, 113, 119, 19, 78, 121, 133 } } },
    };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_resize *r = wl_resize_new(4, a);
    uint8_t rgb[3 * 12 * 10], out[3][16], flipped[3][16];
    struct wl_decoded_image from = { .rgb = rgb, .width = 12, .height = 10, .scale_denominator = 1 };
    struct wl_err e;
    (void)state;
    pattern(rgb);
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct wl_crop crop = cases[i].crop;
        assert_int_equal(wl_resize(r, &from, &crop, out[0], &e), 0);
        crop.flip = true;
        assert_int_equal(wl_resize(r, &from, &crop, flipped[0], &e), 0);
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 16; k++) {
                assert_in_range(out[c][k] + 1, cases[i].want[c][k], cases[i].want[c][k] + 2);
                assert_int_equal(flipped[c][k], out[c][k / 4 * 4 + 3 - k % 4]);
            }
    }
    wl_arena_free(a);
}

static void random_crop_is_inside_with_its_area_and_aspect(void **state)
{
    double areas = 0;
    int flips = 0, n = 2000;
    (void)state;
    for (int i = 0; i < n; i++) {
        struct wl_rng d = wl_rng(1, "test", 0, (uint64_t)i);
        struct wl_crop c = wl_crop_random(500, 375, &d);
        double ratio = c.width / c.height, area = c.width * c.height / (500. * 375);
        assert_true(c.x >= 0 && c.y >= 0 && c.x + c.width <= 500 && c.y + c.height <= 375);
        assert_true(ratio > 0.74 && ratio < 1.35);
        assert_true(area > 0.079 && area <= 1);
        areas += area;
        flips += c.flip;
    }
    assert_true(flips > n / 2 - 100 && flips < n / 2 + 100);
    assert_true(areas / n > 0.4 && areas / n < 0.56); /* .54 less what does not fit */
}

static void narrow_image_gets_the_centre_crop(void **state)
{
    struct wl_rng d = wl_rng(1, "test", 0, 0);
    struct wl_crop c = wl_crop_random(1000, 10, &d); /* no attempt can fit: the centre, aspect 4/3 */
    (void)state;
    assert_true(fabs(c.width - 13) < 1e-9 && fabs(c.height - 10) < 1e-9 && fabs(c.x - 493) < 1e-9);
    c = wl_crop_centre(1, 1);
    assert_true(c.width > 0 && c.x >= 0);
}

static void scale_denominator_keeps_enough_pixels(void **state)
{
    struct wl_crop c = { .width = 900, .height = 448 };
    (void)state;
    assert_int_equal(wl_crop_scale_denominator(&c, 224), 2);
    assert_int_equal(wl_crop_scale_denominator(&c, 225), 1);
    assert_int_equal(wl_crop_scale_denominator(&c, 56), 8);
    assert_int_equal(wl_crop_scale_denominator(&c, 1000), 1);
}

static struct wl_jpeg *decoder(struct wl_arena *a)
{
    struct wl_jpeg *j;
    struct wl_err e;
    assert_int_equal(wl_jpeg_new(&j, a, &e), 0);
    return j;
}

static void expect_colour(const char *file, int width, int height, int r, int g, int b)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_jpeg *j = decoder(a);
    const char *fixtures = getenv("WL_FIXTURES");
    struct wl_decoded_image p;
    struct wl_err e = { 0 };
    int w, h;
    assert_non_null(fixtures);
    assert_int_equal(open_file(j, wl_path_join(a, fixtures, file), &w, &h, &e), 0);
    assert_int_equal(w, width);
    assert_int_equal(h, height);
    for (int reduce = 1; reduce <= 8; reduce *= 2) {
        assert_int_equal(wl_jpeg_decode(j, reduce, &p, &e), 0);
        assert_int_equal(p.width, (width + reduce - 1) / reduce);
        assert_in_range(p.rgb[0] + 2, r, r + 4);
        assert_in_range(p.rgb[1] + 2, g, g + 4);
        assert_in_range(p.rgb[2] + 2, b, b + 4);
    }
    wl_arena_free(a);
}

static void grey_and_cmyk_are_decoded(void **state)
{
    (void)state;
    expect_colour("cmyk.JPEG", 32, 32, 207, 69, 51);
    expect_colour("grey.JPEG", 32, 24, 77, 77, 77);
}

static void near(const struct wl_decoded_image *p, int x, int y, const int *rgb)
{
    for (int c = 0; c < 3; c++) {
        int found = p->rgb[3 * (y * p->width + x) + c];
        if (abs(found - rgb[c]) > 2)
            fail_msg("channel %d at (%d, %d) of %d x %d is %d, another decoder has %d", c, x, y, p->width, p->height,
                     found, rgb[c]);
    }
}

/* Channel by channel as another decoder has them: FFmpeg's (libavcodec 62.28, PyAV 18.1), its planes converted as JFIF
 * 1.02 says. Decoders may round each step for themselves: off by 2. */
static void pixels_match_another_decoder(void **state)
{
    static const struct {
        int x, y, rgb[3];
    } pixels[] = {
        { 3, 3, { 221, 40, 31 } },     { 12, 4, { 30, 189, 60 } },   { 20, 2, { 40, 60, 209 } },
        { 28, 5, { 230, 200, 40 } },   { 1, 12, { 8, 128, 250 } },   { 10, 12, { 80, 128, 176 } },
        { 16, 10, { 128, 128, 126 } }, { 24, 13, { 192, 128, 64 } }, { 31, 15, { 248, 128, 6 } },
        { 0, 8, { 0, 128, 255 } },
    };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_jpeg *j = decoder(a);
    struct wl_decoded_image p;
    struct wl_err e = { 0 };
    int w, h;
    (void)state;
    if (open_file(j, wl_path_join(a, getenv("WL_FIXTURES"), "colours.JPEG"), &w, &h, &e)) fail_msg("%s", e.msg);
    assert_true(w == 32 && h == 16);
    assert_int_equal(wl_jpeg_decode(j, 1, &p, &e), 0);
    for (size_t i = 0; i < WL_COUNT(pixels); i++) near(&p, pixels[i].x, pixels[i].y, pixels[i].rgb);
    for (int reduce = 2; reduce <= 8; reduce *= 2) { /* the four squares */
        assert_int_equal(wl_jpeg_decode(j, reduce, &p, &e), 0);
        for (int i = 0; i < 4; i++) near(&p, (8 * i + 4) / reduce, 4 / reduce, pixels[i].rgb);
    }
    wl_arena_free(a);
}

/* The same after crop and resize at the size of the image's upper half: planes of red, green and blue. */
static void planes_are_red_green_blue(void **state)
{
    static const int squares[4][3] = { { 221, 40, 31 }, { 30, 189, 60 }, { 40, 60, 209 }, { 230, 200, 40 } };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_jpeg *j = decoder(a);
    struct wl_resize *r = wl_resize_new(8, a);
    struct wl_decoded_image p;
    struct wl_err e = { 0 };
    uint8_t out[3 * 64];
    int w, h;
    (void)state;
    assert_int_equal(open_file(j, wl_path_join(a, getenv("WL_FIXTURES"), "colours.JPEG"), &w, &h, &e), 0);
    assert_int_equal(wl_jpeg_decode(j, 1, &p, &e), 0);
    for (int i = 0; i < 4; i++) {
        const struct wl_crop crop = { .x = 8 * i, .width = 8, .height = 8 };
        assert_int_equal(wl_resize(r, &p, &crop, out, &e), 0);
        for (int c = 0; c < 3; c++) assert_in_range(out[64 * c + 8 * 3 + 4] + 2, squares[i][c], squares[i][c] + 4);
    }
    wl_arena_free(a);
}

/* Incomplete and foreign files, each with its own message. */
static void bad_files_are_refused(void **state)
{
    struct temp_dir *p = *state;
    struct wl_arena *a = p->arena;
    const char *path = wl_path_join(a, p->root, "x.JPEG");
    const char *good = wl_path_join(a, getenv("WL_FIXTURES"), "cmyk.JPEG");
    char *text;
    size_t n;
    struct wl_err e = { 0 };
    struct wl_jpeg *j = decoder(a);
    struct wl_decoded_image pixels;
    int w, h;
    assert_int_equal(open_file(j, path, &w, &h, &e), WL_ENOENT);
    assert_non_null(strstr(e.msg, "x.JPEG: No such file"));
    assert_true(open_file(j, p->root, &w, &h, &e) < 0);
    assert_non_null(strstr(e.msg, "not a regular file"));
    assert_int_equal(wl_file_write(path, "", 0, &e), 0);
    assert_int_equal(open_file(j, path, &w, &h, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "x.JPEG: the file is empty"));
    assert_int_equal(wl_file_write(path, "\x89PNG", 4, &e), 0);
    assert_int_equal(open_file(j, path, &w, &h, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "not a JPEG (begins with 0x8950, expected 0xffd8)"));

    /* cut at every length: an error in the header or in the data, never an image */
    assert_int_equal(wl_file_read(good, 1 << 20, &text, &n, a, &e), 0);
    for (size_t cut = 2; cut + 2 < n; cut += 7) {
        assert_int_equal(wl_file_write(path, text, cut, &e), 0);
        int rc = open_file(j, path, &w, &h, &e);
        if (rc == 0) rc = wl_jpeg_decode(j, 1, &pixels, &e);
        assert_int_equal(rc, WL_EINVAL);
        assert_non_null(strstr(e.msg, path));
    }
    assert_int_equal(wl_file_write(path, text, n, &e), 0); /* and the decoder still works */
    if (open_file(j, path, &w, &h, &e) != 0) fail_msg("%s", e.msg);
    assert_int_equal(wl_jpeg_decode(j, 1, &pixels, &e), 0);
}

/* A header that claims 65535 x 65535 pixels is refused before any memory is allocated. */
static void huge_header_is_refused_before_allocating(void **state)
{
    struct temp_dir *p = *state;
    struct wl_arena *a = p->arena;
    const char *path = wl_path_join(a, p->root, "x.JPEG");
    char *text;
    size_t n, at = 0;
    struct wl_err e = { 0 };
    int w, h;
    assert_int_equal(wl_file_read(wl_path_join(a, getenv("WL_FIXTURES"), "grey.JPEG"), 1 << 20, &text, &n, a, &e), 0);
    while (at + 9 < n && !((uint8_t)text[at] == 0xff && (uint8_t)text[at + 1] == 0xc0)) at++; /* start of frame */
    memset(text + at + 5, 0xff, 4);                                                           /* height, width */
    assert_int_equal(wl_file_write(path, text, n, &e), 0);
    assert_int_equal(open_file(decoder(a), path, &w, &h, &e), WL_EINVAL);
    assert_true(strstr(e.msg, "65535 x 65535 pixels") || strstr(e.msg, "Maximum supported image dimension"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resize_matches_pillow),
        cmocka_unit_test(random_crop_is_inside_with_its_area_and_aspect),
        cmocka_unit_test(narrow_image_gets_the_centre_crop),
        cmocka_unit_test(scale_denominator_keeps_enough_pixels),
        cmocka_unit_test(grey_and_cmyk_are_decoded),
        cmocka_unit_test(pixels_match_another_decoder),
        cmocka_unit_test(planes_are_red_green_blue),
        cmocka_unit_test_setup_teardown(bad_files_are_refused, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(huge_header_is_refused_before_allocating, temp_dir_setup, temp_dir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
