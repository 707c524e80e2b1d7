/* The back-end on oneDNN, nn/simd and kernels of this folder. Values keep the layouts that the kernels choose. */
#include "nn/cpu/cpu.h"

#include "nn/cpu/conv.h"

#ifdef __aarch64__
#include <sys/auxv.h>
#endif

static void close_cpu(void *cpu)
{
    struct wl_cpu *c = cpu;
    dnnl_stream_destroy(c->stream);
    dnnl_engine_destroy(c->engine);
}

static int open_cpu(struct wl_program *p, int threads, struct wl_err *e)
{
    struct wl_cpu *c = wl_new(p->arena, struct wl_cpu);
    wl_host_init(&c->host, threads);
    c->arena = p->arena;
    p->device = c;
    int rc = wl_dnnl_check(dnnl_engine_create(&c->engine, dnnl_cpu, 0), "engine", e);
    if (rc) return rc;
    wl_defer(p->arena, close_cpu, c);
    return wl_dnnl_check(dnnl_stream_create(&c->stream, c->engine, dnnl_stream_in_order), "stream", e);
}

/* Copies between plain memory and a layout, now. */
static int copy(struct wl_cpu *c, wl_md from, void *from_at, wl_md to, void *to_at, struct wl_err *e)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_t primitive = NULL;
    dnnl_memory_t a = NULL, b = NULL;
    int rc = wl_cpu_check_room("copy", e);
    if (rc) return rc;
    dnnl_status_t s = dnnl_reorder_primitive_desc_create(&pd, from, c->engine, to, c->engine, NULL);
    if (!s) s = dnnl_primitive_create(&primitive, pd);
    if (!s) s = dnnl_memory_create(&a, from, c->engine, from_at);
    if (!s) s = dnnl_memory_create(&b, to, c->engine, to_at);
    const dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, a }, { DNNL_ARG_TO, b } };
    if (!s) s = dnnl_primitive_execute(primitive, c->stream, WL_COUNT(args), args);
    if (!s) s = dnnl_stream_wait(c->stream);
    dnnl_memory_destroy(b);
    dnnl_memory_destroy(a);
    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(pd);
    return wl_dnnl_check(s, "copy", e);
}

static int read_plain(void *device, const struct wl_buf *b, float *to, struct wl_err *e)
{
    struct wl_cpu c = *(struct wl_cpu *)device;
    wl_md plain, from = b->layout;
    c.arena = wl_arena_new(NULL);
    int rc = wl_md_plain(&c, &plain, WL_F32, &b->dims, e);
    if (!rc && !from) rc = wl_md_plain(&c, &from, b->dtype, &b->dims, e);
    if (!rc) rc = copy(&c, from, b->at, plain, to, e);
    wl_arena_free(c.arena);
    return rc;
}

static int write_plain(void *device, const struct wl_buf *b, const float *from, struct wl_err *e)
{
    struct wl_cpu c = *(struct wl_cpu *)device;
    wl_md plain;
    c.arena = wl_arena_new(NULL);
    int rc = wl_md_plain(&c, &plain, b->dtype, &b->dims, e);
    if (!rc) rc = copy(&c, plain, (void *)from, b->layout, b->at, e); /* read only */
    wl_arena_free(c.arena);
    return rc;
}

static const struct wl_op_rules *const rules[WL_OP_COUNT] = {
#define RULES(op, name, ...) [WL_OP_##op] = &wl_cpu_op_##name,
    WL_OPS(RULES)
#undef RULES
};

/* What oneDNN makes of bf16 on this processor. */
enum bf16 { BF16_NONE, BF16_IMITATED, BF16_FAST };

#ifdef __aarch64__
/* Its kernels for SVE compute f32; in bf16 it has plain loops, for processors with the extension. */
static enum bf16 bf16_here(void)
{
    const unsigned long extension = 1 << 14; /* HWCAP2_BF16 of asm/hwcap.h */
    return getauxval(AT_HWCAP2) & extension ? BF16_IMITATED : BF16_NONE;
}
#else
/* Below AVX512_BF16 it widens, multiplies in f32 and rounds by itself, with AVX-512 alone. */
static enum bf16 bf16_here(void)
{
    const unsigned isa = dnnl_get_effective_cpu_isa(); /* bits: each set contains those before it */
    if ((isa & dnnl_cpu_isa_avx512_core) != dnnl_cpu_isa_avx512_core) return BF16_NONE;
    return (isa & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16 ? BF16_FAST : BF16_IMITATED;
}
#endif

static int check_precision(enum wl_dtype precision, bool slow_bf16, struct wl_err *e)
{
    const enum bf16 support = precision == WL_F32 ? BF16_FAST : bf16_here();
    if (support == BF16_NONE)
        return wl_fail(e, WL_EUNAVAIL,
                       "bf16: oneDNN needs AVX-512 or Arm's BF16 for it, which this processor does not have");
    if (support == BF16_FAST || slow_bf16) return 0;
    return wl_fail(e, WL_EUNAVAIL,
                   "bf16: oneDNN has no kernels for it here (they need AVX512_BF16 or AMX); imitated it is slower than "
                   "f32");
}

static const char *layout_name(const void *layout, struct wl_arena *a) { return wl_md_name(layout, a); }

static const char *library(struct wl_arena *a)
{
    const dnnl_version_t *v = dnnl_version();
    return wl_strf(a, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
}

const struct wl_backend wl_backend_cpu = {
    .row = { .name = "cpu", .help = "oneDNN and kernels of this project" },
    .library = library,
    .device = &wl_host_device,
    .open = open_cpu,
    .choose = wl_cpu_autotune,
    .rules = rules,
    .precision = check_precision,
    .sum = wl_cpu_sum,
    .reorder = wl_cpu_reorder,
    .layout_name = layout_name,
    .read = read_plain,
    .write = write_plain,
};
