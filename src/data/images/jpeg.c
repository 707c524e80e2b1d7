#include "data/images/jpeg.h"

#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

/* Larger than any photograph; a damaged header can claim 65535 x 65535 pixels, which would take 12 GB. */
enum { MAX_PIXELS = 1 << 28 };

struct wl_jpeg {
    tjhandle handle;
    struct wl_byte_buffer rgb, cmyk;
    const struct wl_encoded_image *from; /* of the caller, while it is decoded */
    int width, height, colour_space;
};

static void jpeg_release(void *what)
{
    struct wl_jpeg *j = what;
    if (j->handle) tjDestroy(j->handle);
    free(j->rgb.p);
    free(j->cmyk.p);
}

int wl_jpeg_new(struct wl_jpeg **out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_jpeg *j = wl_new(a, struct wl_jpeg);
    wl_defer(a, jpeg_release, j);
    j->handle = tjInitDecompress();
    if (!j->handle) return wl_fail(e, WL_ELIB, "libjpeg-turbo: %s", tjGetErrorStr2(NULL));
    *out = j;
    return 0;
}

/* Reports a file that libjpeg refused, and replaces the decoder: after some header errors it keeps a half-read marker,
 * with which the next, good file would fail too. */
static int refuse(struct wl_jpeg *j, struct wl_err *e)
{
    int rc = wl_fail(e, WL_EINVAL, "%s: cannot be decoded: %s", j->from->name, tjGetErrorStr2(j->handle));
    tjDestroy(j->handle);
    j->handle = tjInitDecompress();
    return j->handle ? rc : wl_fail(e, WL_ENOMEM, "%s: no memory for a JPEG decoder", j->from->name);
}

int wl_jpeg_open(struct wl_jpeg *j, const struct wl_encoded_image *from, int *width, int *height, struct wl_err *e)
{
    int subsampling;
    j->from = from;
    if (from->jpeg_n == 0) return wl_fail(e, WL_EINVAL, "%s: the file is empty", from->name);
    if (from->jpeg_n < 2 || from->jpeg[0] != 0xff || from->jpeg[1] != 0xd8)
        return wl_fail(e, WL_EINVAL, "%s: not a JPEG (begins with 0x%02x%02x, expected 0xffd8)", from->name,
                       from->jpeg[0], from->jpeg_n > 1 ? from->jpeg[1] : 0);
    if (tjDecompressHeader3(j->handle, from->jpeg, from->jpeg_n, &j->width, &j->height, &subsampling,
                            &j->colour_space) != 0)
        return refuse(j, e);
    if ((int64_t)j->width * j->height > MAX_PIXELS)
        return wl_fail(e, WL_EINVAL, "%s: %d x %d pixels; expected at most %d in total", from->name, j->width,
                       j->height, MAX_PIXELS);
    *width = j->width;
    *height = j->height;
    return 0;
}

/* libjpeg warns about truncated and damaged data and fills the rest with grey. Only with stray bytes between markers,
 * which some files of ImageNet have, is the image complete. */
static bool is_warning_only(struct wl_jpeg *j)
{
    return tjGetErrorCode(j->handle) == TJERR_WARNING && strstr(tjGetErrorStr2(j->handle), "extraneous bytes");
}

static int decompress(struct wl_jpeg *j, struct wl_byte_buffer *to, int width, int height, int format, struct wl_err *e)
{
    int rc = wl_byte_buffer_reserve(to, (size_t)width * (size_t)height * (size_t)tjPixelSize[format], j->from->name, e);
    if (rc != 0) return rc;
    if (tjDecompress2(j->handle, j->from->jpeg, j->from->jpeg_n, to->p, width, 0, height, format, 0) != 0 &&
        !is_warning_only(j))
        return refuse(j, e);
    return 0;
}

/* The CMYK files of ImageNet are Adobe's, which store the complement of each ink. */
static void cmyk_to_rgb(const uint8_t *cmyk, uint8_t *rgb, size_t pixels)
{
    for (size_t i = 0; i < pixels; i++)
        for (size_t c = 0; c < 3; c++) rgb[3 * i + c] = (uint8_t)((cmyk[4 * i + c] * cmyk[4 * i + 3] + 127) / 255);
}

int wl_jpeg_decode(struct wl_jpeg *j, int scale_denominator, struct wl_decoded_image *out, struct wl_err *e)
{
    tjscalingfactor factor = { 1, scale_denominator };
    int width = TJSCALED(j->width, factor), height = TJSCALED(j->height, factor);
    size_t pixels = (size_t)width * (size_t)height;
    bool inks = j->colour_space == TJCS_CMYK || j->colour_space == TJCS_YCCK;
    int rc = decompress(j, inks ? &j->cmyk : &j->rgb, width, height, inks ? TJPF_CMYK : TJPF_RGB, e);
    if (rc == 0 && inks && (rc = wl_byte_buffer_reserve(&j->rgb, 3 * pixels, j->from->name, e)) == 0)
        cmyk_to_rgb(j->cmyk.p, j->rgb.p, pixels);
    *out = (struct wl_decoded_image) {
        .rgb = j->rgb.p, .width = width, .height = height, .scale_denominator = scale_denominator
    };
    return rc;
}
