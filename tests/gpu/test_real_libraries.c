/* The real cublasLt and cuFFT, where they are installed, without a GPU: versions, functions, and attributes of the
 * sizes that we give. */
#include "base/base.h"
#include "nn/gpu/blas/internal.h"
#include "nn/gpu/fft/fft.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct wl_arena *a;
static struct wl_err e;
static size_t skipped;

static int setup(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wl_arena_free(a);
    return 0;
}

/* Only what is not there may be passed over. */
static void need(int rc)
{
    if (!rc) return;
    print_message("SKIP: %s\n", e.msg);
    if (rc != WL_EUNAVAIL) fail_msg("%s", e.msg);
    skipped++;
    skip();
}

static void has_version(const struct wl_gpu_library_facts *f, int least)
{
    print_message("%s: version %d\n", f->path, f->version);
    assert_in_range(f->version, least, 1000000);
}

static void cublaslt_is_of_a_known_version(void **state)
{
    (void)state;
    struct wl_gpu_library_facts f;
    need(wl_gpu_blas_find(0, &f, a, &e));
    has_version(&f, 120000);
}

static void cufft_is_of_a_known_version(void **state)
{
    (void)state;
    struct wl_gpu_library_facts f;
    need(wl_gpu_fft_find(0, &f, a, &e));
    has_version(&f, 110000);
}

static void descriptions_take_our_attributes(void **state)
{
    (void)state;
    struct wl_gpu_blas b;
    need(wl_gpu_blas_load(&b, 0, a, &e));
    cublasLtMatmulDesc_t d;
    assert_int_equal(b.MatmulDescCreate(&d, CUBLAS_COMPUTE_32F, CUDA_R_32F), 0);
    const int32_t op = CUBLAS_OP_T, epilogue = CUBLASLT_EPILOGUE_BIAS, type = CUDA_R_16BF;
    const void *at = NULL;
    assert_int_equal(b.MatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_TRANSA, &op, sizeof op), 0);
    assert_int_equal(b.MatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue), 0);
    assert_int_equal(b.MatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type), 0);
    assert_int_equal(b.MatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &at, sizeof at), 0);
    assert_int_equal(b.MatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_TRANSA, &op, 1), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(b.MatmulDescDestroy(d), 0);
}

static void layouts_and_preferences_take_our_attributes(void **state)
{
    (void)state;
    struct wl_gpu_blas b;
    need(wl_gpu_blas_load(&b, 0, a, &e));
    cublasLtMatrixLayout_t l;
    cublasLtMatmulPreference_t p;
    const int32_t batch = 8;
    const int64_t stride = 192;
    const size_t workspace = 32 << 20;
    const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, bytes = 16;
    assert_int_equal(b.MatrixLayoutCreate(&l, CUDA_R_32F, 192, 8190, 1536), 0);
    assert_int_equal(b.MatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch), 0);
    assert_int_equal(b.MatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
                     0);
    assert_int_equal(b.MatrixLayoutDestroy(l), 0);
    assert_int_equal(b.MatmulPreferenceCreate(&p), 0);
    assert_int_equal(b.MatmulPreferenceSetAttribute(p, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                                    sizeof workspace),
                     0);
    assert_int_equal(b.MatmulPreferenceSetAttribute(p, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions,
                                                    sizeof reductions),
                     0);
    assert_int_equal(b.MatmulPreferenceSetAttribute(p, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &bytes,
                                                    sizeof bytes),
                     0);
    assert_int_equal(b.MatmulPreferenceDestroy(p), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(cublaslt_is_of_a_known_version),
        TEST(cufft_is_of_a_known_version),
        TEST(descriptions_take_our_attributes),
        TEST(layouts_and_preferences_take_our_attributes),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed || skipped < WL_COUNT(tests) ? failed : 77;
}
