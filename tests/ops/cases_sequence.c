/* Cases of operations on sequences: rows that fill no vector and tiles that are not whole, with padding and dropout. */
#include "cases.h"

static int64_t drawn_length(struct draw *d)
{
    const int64_t v[] = { 1, 3, 16, 33, 64, 128, 130, 200 };
    return one_of(d, v, WL_COUNT(v));
}

static double drawn_drop(struct draw *d) { return below(d, 2) ? 0.3 : 0; }

static int64_t drawn_features(struct draw *d)
{
    const int64_t v[] = { 4, 17, 32, 48, 64, 100, 144, 192 };
    return one_of(d, v, WL_COUNT(v));
}

static void build_embedding(struct twin *t, struct draw *d)
{
    t->vocabulary = 1 + below(d, 50);
    t->s = drawn_length(d);
    struct wl_tensor *tokens = wl_input(t->g, "tokens", WL_I32, WL_DIMS(1 + below(d, 3), t->s));
    t->y = wl_embed_tokens(t->g, "op", tokens,
                           (struct wl_token_tables) { t->vocabulary, t->s + below(d, 9), 2, drawn_features(d), 1 });
}

static void build_norm(struct twin *t, struct draw *d)
{
    const struct wl_dims dims = WL_DIMS(1 + below(d, 3), 1 + below(d, 70), drawn_features(d));
    t->x = case_input(t, "x", dims);
    struct wl_tensor *branch = below(d, 3) ? case_input(t, "branch", dims) : NULL;
    t->y = wl_layer_norm(t->g, "op", t->x, branch, (struct wl_layer_norm) { .eps = 1e-3, .drop = drawn_drop(d) });
}

static void build_project(struct twin *t, struct draw *d)
{
    t->x = case_input(t, "x", WL_DIMS(1 + below(d, 3), 1 + below(d, 70), drawn_features(d)));
    struct wl_project how = { .features = drawn_features(d), .gelu = below(d, 2), .deviation = 0.1 };
    if (below(d, 3) == 0) how = (struct wl_project) { .features = 3 * how.features, .parts = { "a", "b", "c" } };
    t->y = wl_project(t->g, "op", t->x, how);
}

static void build_attention(struct twin *t, struct draw *d)
{
    const int64_t n = 1 + below(d, 3), heads = 1 + below(d, 3), f[] = { 4, 5, 16, 32 };
    t->s = drawn_length(d);
    t->x = case_input(t, "x", WL_DIMS(n, t->s, 3 * heads * one_of(d, f, 4)));
    struct wl_tensor *lengths = wl_input(t->g, "lengths", WL_I32, WL_DIMS(n));
    t->y = wl_attention(t->g, "op", t->x, lengths, (struct wl_attention) { .heads = heads, .drop = drawn_drop(d) });
}

static void build_gather(struct twin *t, struct draw *d)
{
    const int64_t n = 1 + below(d, 3);
    t->s = drawn_length(d);
    t->x = case_input(t, "x", WL_DIMS(n, t->s, drawn_features(d)));
    t->y = wl_gather(t->g, "op", t->x, wl_input(t->g, "positions", WL_I32, WL_DIMS(n, 1 + below(d, 9))));
}

static void build_decoder(struct twin *t, struct draw *d)
{
    const int64_t n = 1 + below(d, 3), f = drawn_features(d);
    t->s = drawn_length(d);
    t->vocabulary = 1 + below(d, 90);
    struct wl_tensor *tokens = wl_input(t->g, "tokens", WL_I32, WL_DIMS(n, t->s));
    struct wl_tensor *embedded =
        wl_embed_tokens(t->g, "table", tokens, (struct wl_token_tables) { t->vocabulary, t->s, 1, f, 1 });
    struct wl_tensor *places = wl_input(t->g, "positions", WL_I32, WL_DIMS(n, 1 + below(d, 9)));
    t->y = wl_decoder(t->g, "op", wl_gather(t->g, "gather", embedded, places), embedded);
}

static void build_dropout(struct twin *t, struct draw *d)
{
    t->x = case_input(t, "x", WL_DIMS(1 + below(d, 3), 1 + below(d, 70), drawn_features(d)));
    t->y = wl_dropout(t->g, "op", t->x, 0.4);
}

/* As cases_image.c says of its tolerances. Attention rounds probabilities to bf16, which the reference does not. */
static const struct op_case ops[] = {
    { "embed_tokens", build_embedding, 1e-13, 1.5e-5 },
    { "layer_norm", build_norm, 1e-11, 2e-5 },
    { "project", build_project, 1e-11, 1.5e-5 },
    { "attention", build_attention, 1e-11, 3e-5 },
    { "gather", build_gather, 0, 0 },
    { "decoder", build_decoder, 1e-11, 1.5e-5 },
    { "dropout_rows", build_dropout, 1e-13, 1.5e-5 },
};

const struct op_family sequence_ops = { ops, WL_COUNT(ops), .cases = 12, .fill = fill_tokens,
                                        .same_on_one_thread = products_on_one_thread };
