/* Rows of tables: embed_tokens and gather. Tables and their gradients are f32; y, dy, x, dx of the kernel's type. A
 * warp takes a row, or a part of one. */
#ifndef WL_NN_GPU_KERNELS_TOKENS_H
#define WL_NN_GPU_KERNELS_TOKENS_H

#include <stdint.h>

enum {
    WL_GPU_TOKEN_THREADS = 256,
    WL_GPU_TOKEN_WARPS = 8,
    WL_GPU_TOKEN_COLUMNS = 256, /* of a warp at a time */
    WL_GPU_TOKEN_CHUNK = 32     /* sorted tokens of a warp */
};

/* y[i] = word[tokens[i]] + position[i mod s] + segment[0] for n tokens of sequences of s. Kernels embed_tokens_f32,
 * _bf16, _f16: 8 bytes read (the tables) and an element written. */
struct wl_gpu_embed_tokens {
    const int32_t *tokens;
    const float *word, *position, *segment;
    void *y;
    int64_t n;
    int32_t s, f;
};

/* order: the numbers of n tokens, sorted by token, equal ones by number; sorted: their tokens. Kernel token_order: a
 * warp counts for one token how many come before it. n^2 comparisons of which a warp makes 32 at once: 16.8 million for
 * the 4,096 tokens of a micro-batch of 8 x 512, a third of a per cent of that step's work; a radix sort pays from about
 * 10^5 on. */
struct wl_gpu_token_order {
    const int32_t *tokens;
    int32_t *order, *sorted;
    int64_t n;
};

/* dword[v] = the sum of dy[i] over tokens[i] = v, in order; with `add` to what is there, else rows that no token names
 * are left alone. Kernels token_sums_...: a warp takes WL_GPU_TOKEN_CHUNK sorted tokens and 256 columns; tokens whose
 * rows it has all are done. Of those that begin in a chunk before it leaves the sum in parts[chunk,0], of those that go
 * on in the next one in parts[chunk,1]; kernel token_runs adds those. parts [chunks,2,f]. However often a token occurs,
 * and a text's most frequent one is every twentieth, its rows are spread over warps. */
struct wl_gpu_token_sums {
    const int32_t *order, *sorted;
    const void *dy;
    float *dword, *parts;
    int64_t n;
    int32_t f, add;
};

/* to[i] = 0, n floats. Kernel zero_floats. */
struct wl_gpu_zero {
    float *to;
    int64_t n;
};

/* y[i] = x[i/p s + positions[i]] for n rows y, p of each sample of s rows x. Kernels gather_... */
struct wl_gpu_gather {
    const void *x;
    const int32_t *positions;
    void *y;
    int64_t n;
    int32_t p, s, f;
};

/* dx[i], n rows: the sum of dy[k] over positions[k] = i mod s of its sample, in order; 0 where there is none. Kernels
 * gather_backward_... */
struct wl_gpu_gather_backward {
    const void *dy;
    const int32_t *positions;
    void *dx;
    int64_t n;
    int32_t p, s, f;
};

#endif
