/* Operations on sequences: tokens [N,S], values [N,S,D]. */
#include "nn/graph/builder.h"
#include "nn/graph/input_checks.h"
#include "nn/graph/shapes.h"

static bool check_rank(struct wl_graph *g, const struct wl_node *n, const struct wl_tensor *t, int rank,
                       const char *shape)
{
    if (t->dims.n == rank) return true;
    wl_graph_fail(g, "%s: %s needs an input %s, %s is %s", n->name, wl_op_name(n->op), shape, t->name,
                  wl_dims_text(g->arena, &t->dims));
    return false;
}

static const struct wl_init zero = { WL_INIT_CONSTANT, 0 }, one = { WL_INIT_CONSTANT, 1 };

static struct wl_init normal(double deviation) { return (struct wl_init) { WL_INIT_NORMAL, deviation }; }

/* Each of n indices of a batch is in [0, limit): "token 30600 of sample 2 is not among the 30522 rows of the table". */
static int check_samples(const char *what, const char *of, const int32_t *index, int64_t n, int64_t samples,
                         int64_t limit, struct wl_err *e)
{
    for (int64_t i = 0; i < n; i++)
        if (index[i] < 0 || index[i] >= limit)
            return wl_fail(e, WL_EINVAL, "%s %d of sample %lld is not among the %lld %s", what, (int)index[i],
                           (long long)(i / (n / samples)), (long long)limit, of);
    return 0;
}

int wl_check_tokens(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e)
{
    const int64_t *y = n->out->dims.d;
    return check_samples("token", "rows of the table", wl_input_values_of(n, v, 0), y[0] * y[1], y[0],
                         n->u.tables.vocabulary, e);
}

struct wl_tensor *wl_embed_tokens(struct wl_graph *g, const char *name, struct wl_tensor *tokens,
                                  struct wl_token_tables opts)
{
    struct wl_node *n = wl_node_new(g, WL_OP_EMBED_TOKENS, name, tokens, NULL);
    if (!check_rank(g, n, tokens, 2, "[N,S]") || !wl_check_i32(g, n, tokens, tokens->dims)) return wl_node_failed(g, n);
    int64_t s = tokens->dims.d[1];
    if (s > opts.positions) {
        wl_graph_fail(g, "%s: sequences of %lld tokens, but there are %lld positions", n->name, (long long)s,
                      (long long)opts.positions);
        return wl_node_failed(g, n);
    }
    const struct wl_init init = normal(opts.deviation);
    n->u.tables = opts;
    n->par[0] = wl_node_param(g, n, "word_embeddings.weight", WL_DIMS(opts.vocabulary, opts.features), init, true);
    n->par[1] = wl_node_param(g, n, "position_embeddings.weight", WL_DIMS(opts.positions, opts.features), init, true);
    n->par[2] = wl_node_param(g, n, "token_type_embeddings.weight", WL_DIMS(opts.segments, opts.features), init, true);
    return wl_node_out(g, n, &WL_DIMS(tokens->dims.d[0], s, opts.features));
}

struct wl_tensor *wl_layer_norm(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_tensor *branch,
                                struct wl_layer_norm opts)
{
    struct wl_node *n = wl_node_new(g, WL_OP_LAYER_NORM, name, x, branch);
    if (!wl_check_f32(g, n, x) || !wl_check_drop(g, n, opts.drop)) return wl_node_failed(g, n);
    if (branch && wl_check_f32(g, n, branch) && !wl_dims_equal(&x->dims, &branch->dims))
        wl_graph_fail(g, "%s: layer_norm of %s %s and %s %s", n->name, x->name, wl_dims_text(g->arena, &x->dims),
                      branch->name, wl_dims_text(g->arena, &branch->dims));
    if (opts.eps == 0) opts.eps = 1e-5;
    n->u.layer_norm = opts;
    struct wl_dims features = WL_DIMS(wl_vectors_of(x).f);
    n->par[0] = wl_node_param(g, n, "weight", features, one, false);
    n->par[1] = wl_node_param(g, n, "bias", features, zero, false);
    return wl_node_out(g, n, &x->dims);
}

static void name_parts(struct wl_graph *g, const struct wl_node *n, struct wl_tensor *t, const char *suffix)
{
    if (t->parts) return; /* of an earlier operation, whose parameter is shared */
    const char **names = wl_new_array(g->arena, const char *, WL_MAX_PARTS);
    for (; t->n_parts < WL_MAX_PARTS && n->u.project.parts[t->n_parts]; t->n_parts++)
        names[t->n_parts] = wl_strf(g->arena, "%s.%s.%s", n->name, n->u.project.parts[t->n_parts], suffix);
    t->parts = names;
    if (t->n_parts && t->dims.d[0] % t->n_parts)
        wl_graph_fail(g, "%s: %lld features cannot be cut into %d parts", n->name, (long long)t->dims.d[0], t->n_parts);
}

struct wl_tensor *wl_project(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_project opts)
{
    struct wl_node *n = wl_node_new(g, WL_OP_PROJECT, name, x, NULL);
    if (!wl_check_f32(g, n, x)) return wl_node_failed(g, n);
    n->u.project = opts;
    struct wl_dims y = x->dims;
    y.d[y.n - 1] = opts.features;
    n->par[0] = wl_node_param(g, n, "weight", WL_DIMS(opts.features, wl_vectors_of(x).f), normal(opts.deviation), true);
    name_parts(g, n, n->par[0], "weight");
    if (!opts.no_bias) {
        n->par[1] = wl_node_param(g, n, "bias", WL_DIMS(opts.features), zero, false);
        name_parts(g, n, n->par[1], "bias");
    }
    return wl_node_out(g, n, &y);
}

double wl_flops_attention(const struct wl_graph *g, const struct wl_node *n)
{
    (void)g;
    return 4 * (double)wl_dims_count(&n->out->dims) * (double)n->out->dims.d[1];
}

struct wl_tensor *wl_attention(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_tensor *lengths,
                               struct wl_attention opts)
{
    struct wl_node *n = wl_node_new(g, WL_OP_ATTENTION, name, x, lengths);
    const int64_t *d = x->dims.d;
    if (!wl_check_f32(g, n, x) || !check_rank(g, n, x, 3, "[N,S,3D]") || !wl_check_i32(g, n, lengths, WL_DIMS(d[0])) ||
        !wl_check_drop(g, n, opts.drop))
        return wl_node_failed(g, n);
    if (opts.heads < 1 || d[2] % (3 * opts.heads)) {
        wl_graph_fail(g, "%s: %lld features are not queries, keys and values of %lld heads", n->name, (long long)d[2],
                      (long long)opts.heads);
        return wl_node_failed(g, n);
    }
    n->u.attention = opts;
    return wl_node_out(g, n, &WL_DIMS(d[0], d[1], d[2] / 3));
}

struct wl_heads wl_heads_of(const struct wl_node *n)
{
    const int64_t *y = n->out->dims.d, heads = n->u.attention.heads;
    return (struct wl_heads) { .n = y[0], .s = y[1], .heads = heads, .f = y[2] / heads };
}

int wl_check_positions(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e)
{
    const int64_t *x = n->in[0]->dims.d;
    return check_samples("position", "of its sequence", wl_input_values_of(n, v, 1), x[0] * n->in[1]->dims.d[1], x[0],
                         x[1], e);
}

struct wl_tensor *wl_gather(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_tensor *positions)
{
    struct wl_node *n = wl_node_new(g, WL_OP_GATHER, name, x, positions);
    const int64_t *d = x->dims.d;
    if (!wl_check_f32(g, n, x) || !check_rank(g, n, x, 3, "[N,S,D]") || !check_rank(g, n, positions, 2, "[N,P]") ||
        !wl_check_i32(g, n, positions, WL_DIMS(d[0], positions->dims.d[1])))
        return wl_node_failed(g, n);
    return wl_node_out(g, n, &WL_DIMS(d[0] * positions->dims.d[1], d[2]));
}

double wl_flops_decoder(const struct wl_graph *g, const struct wl_node *n)
{
    (void)g;
    return 2 * (double)wl_dims_count(&n->out->dims) * (double)n->tied->dims.d[1];
}

struct wl_tensor *wl_decoder(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_tensor *embedded)
{
    struct wl_node *n = wl_node_new(g, WL_OP_DECODER, name, x, NULL);
    if (!wl_check_f32(g, n, x) || !check_rank(g, n, x, 2, "[R,D]")) return wl_node_failed(g, n);
    const struct wl_node *source = embedded->producer;
    if (!source || source->op != WL_OP_EMBED_TOKENS || source->u.tables.features != x->dims.d[1]) {
        if (!g->err.code)
            wl_graph_fail(
                g, "%s: decoder of %s %s with the table of %s %s, which does not embed tokens in as many features",
                n->name, x->name, wl_dims_text(g->arena, &x->dims), embedded->name,
                wl_dims_text(g->arena, &embedded->dims));
        return wl_node_failed(g, n);
    }
    const int64_t vocabulary = source->u.tables.vocabulary;
    n->tied = source->par[0];
    n->par[0] = wl_node_param(g, n, "bias", WL_DIMS(vocabulary), zero, false);
    return wl_node_out(g, n, &WL_DIMS(x->dims.d[0], vocabulary));
}
