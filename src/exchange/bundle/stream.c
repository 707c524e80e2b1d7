#include "exchange/bundle/stream.h"

static voidpf open_given(voidpf f, const void *name, int mode)
{
    (void)name;
    (void)mode;
    return f;
}

static int leave_open(voidpf opaque, voidpf f)
{
    (void)opaque;
    return fflush(f);
}

void wl_bundle_stream(zlib_filefunc64_def *functions, FILE *f)
{
    fill_fopen64_filefunc(functions);
    functions->zopen64_file = open_given;
    functions->zclose_file = leave_open;
    functions->opaque = f;
}

static voidpf open_cut(voidpf cut, const void *name, int mode)
{
    (void)name;
    (void)mode;
    return ((struct wl_bundle_cut *)cut)->f;
}

static long seek_cut(voidpf opaque, voidpf f, ZPOS64_T offset, int origin)
{
    const struct wl_bundle_cut *cut = opaque;
    if (origin == ZLIB_FILEFUNC_SEEK_END) return fseeko(f, (off_t)(cut->bytes + offset), SEEK_SET);
    return fseeko(f, (off_t)offset, origin == ZLIB_FILEFUNC_SEEK_CUR ? SEEK_CUR : SEEK_SET);
}

void wl_bundle_stream_cut(zlib_filefunc64_def *functions, struct wl_bundle_cut *cut)
{
    wl_bundle_stream(functions, cut->f);
    functions->zopen64_file = open_cut;
    functions->zseek64_file = seek_cut;
    functions->opaque = cut;
}
