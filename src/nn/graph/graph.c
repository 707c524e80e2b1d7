#include "nn/graph/graph.h"

#include "nn/graph/builder.h"

#include <math.h>
#include <string.h>

int64_t wl_dims_count(const struct wl_dims *d)
{
    int64_t count = 1;
    for (int i = 0; i < d->n; i++) count *= d->d[i];
    return count;
}

bool wl_dims_equal(const struct wl_dims *a, const struct wl_dims *b)
{
    return a->n == b->n && !memcmp(a->d, b->d, (size_t)a->n * sizeof a->d[0]);
}

char *wl_dims_text(struct wl_arena *a, const struct wl_dims *d)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_add(&t, "[");
    for (int i = 0; i < d->n; i++) wl_text_addf(&t, "%s%lld", i ? "," : "", (long long)d->d[i]);
    wl_text_add(&t, "]");
    return t.s;
}

size_t wl_dtype_bytes(enum wl_dtype t)
{
    static const size_t bytes[] = { [WL_F32] = 4, [WL_BF16] = 2, [WL_F16] = 2, [WL_I32] = 4, [WL_U8] = 1 };
    return bytes[t];
}

const char *wl_dtype_name(enum wl_dtype t)
{
    static const char *const names[] = {
        [WL_F32] = "f32", [WL_BF16] = "bf16", [WL_F16] = "f16", [WL_I32] = "i32", [WL_U8] = "u8"
    };
    return names[t];
}

const char *wl_tensor_name(const struct wl_tensor *t) { return t->name; }

const struct wl_dims *wl_tensor_dims(const struct wl_tensor *t) { return &t->dims; }

struct wl_graph *wl_graph_new(struct wl_arena *a)
{
    struct wl_graph *g = wl_new(a, struct wl_graph);
    struct wl_graph_scope *all = wl_new(a, struct wl_graph_scope);
    all->names = "";
    g->arena = a;
    g->scope = all;
    for (int k = 0; k < WL_ROW_KINDS; k++) g->mean_rows[k] = NAN;
    return g;
}

void wl_mean_rows(struct wl_graph *g, const double rows[WL_ROW_KINDS])
{
    for (int k = 0; k < WL_ROW_KINDS; k++) g->mean_rows[k] = rows[k];
}

void wl_graph_fail(struct wl_graph *g, const char *fmt, ...)
{
    if (g->err.code) return;
    va_list ap;
    va_start(ap, fmt);
    wl_failv(&g->err, WL_EINVAL, fmt, ap);
    va_end(ap);
}

/* Can the result be rows in f32? */
static bool makes_f32(const struct wl_node *n)
{
    const struct wl_op_info *op = wl_op_info(n->op);
    return op->makes_f32 && op->makes_f32(n);
}

static bool reads_f32(const struct wl_node *n)
{
    const struct wl_op_info *op = wl_op_info(n->op);
    return op->reads_f32 && op->reads_f32(n);
}

void wl_keep_f32(struct wl_graph *g, struct wl_tensor *t)
{
    t->f32 = t->producer && t->dims.n == 2 && makes_f32(t->producer);
    if (!t->f32) wl_graph_fail(g, "%s: only rows of an add or a position can be kept in f32", t->name);
}

static int check_f32_rows(const struct wl_node *n, struct wl_err *e)
{
    for (int i = 0; i < WL_MAX_INPUTS && n->in[i]; i++) {
        const struct wl_tensor *t = n->in[i];
        if (t->f32 && makes_f32(t->producer) && !reads_f32(n))
            return wl_fail(e, WL_EINVAL, "%s: %s does not read %s, which is kept in f32", n->name, wl_op_name(n->op),
                           t->name);
    }
    return 0;
}

int wl_graph_check(const struct wl_graph *g, struct wl_err *e)
{
    if (g->err.code) return wl_fail(e, g->err.code, "%s", g->err.msg);
    for (size_t i = 0; i < g->n_nodes; i++) {
        int rc = check_f32_rows(g->nodes[i], e);
        if (rc) return rc;
    }
    if (g->scope->outer) return wl_fail(e, WL_EINVAL, "%s: the scope was not closed", g->scope->names);
    return 0;
}

/* Opens a scope inside the one that is open. Its operations read the parameters in `params`; NULL: they make theirs. */
static void open_scope(struct wl_graph *g, const char *name, const char *params)
{
    struct wl_graph_scope *inner = wl_new(g->arena, struct wl_graph_scope);
    *inner = (struct wl_graph_scope) { .names = wl_strf(g->arena, "%s%s.", g->scope->names, name),
                                       .params = params,
                                       .outer = g->scope };
    g->scope = inner;
}

void wl_scope_push(struct wl_graph *g, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *name = wl_strfv(g->arena, fmt, ap);
    va_end(ap);
    const char *params = g->scope->params;
    open_scope(g, name, params ? wl_strf(g->arena, "%s%s.", params, name) : NULL);
}

void wl_scope_reuse(struct wl_graph *g, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *name = wl_strfv(g->arena, fmt, ap);
    va_end(ap);
    open_scope(g, name, g->scope->params ? g->scope->params : g->scope->names);
}

void wl_scope_pop(struct wl_graph *g)
{
    WL_CHECK(g->scope->outer);
    g->scope = g->scope->outer;
}

struct wl_tensor *wl_tensor_new(struct wl_graph *g, const char *name, enum wl_dtype type, enum wl_tensor_role role,
                                const struct wl_dims *dims)
{
    struct wl_tensor *t = wl_new(g->arena, struct wl_tensor);
    t->name = name;
    t->dtype = type;
    t->role = role;
    t->dims = *dims;
    t->gradient = role == WL_ROLE_PARAM;
    t->id = (int)g->n_tensors;
    WL_GROW(g->arena, g->tensors, g->n_tensors, g->cap_tensors);
    g->tensors[g->n_tensors++] = t;
    for (int i = 0; i < dims->n; i++)
        if (dims->d[i] < 1) {
            char *text = wl_dims_text(g->arena, dims);
            wl_graph_fail(g, "%s: dimensions %s: each must be at least 1", name, text);
            t->dims = WL_DIMS(1); /* later shape checks still see numbers they can divide by */
        }
    return t;
}

struct wl_tensor *wl_input(struct wl_graph *g, const char *name, enum wl_dtype type, struct wl_dims dims)
{
    if (type != WL_F32 && type != WL_I32 && type != WL_U8)
        wl_graph_fail(g, "%s: an input is f32, i32 or u8, not %s", name, wl_dtype_name(type));
    return wl_tensor_new(g, wl_strdup(g->arena, name), type, WL_ROLE_INPUT, &dims);
}

void wl_want_gradient(struct wl_graph *g, struct wl_tensor *input)
{
    if (input->role != WL_ROLE_INPUT || input->dtype != WL_F32 || input->readers)
        wl_graph_fail(g, "%s: a gradient can be requested of an f32 input only, before an operation reads it",
                      input->name);
    input->gradient = true;
}

void wl_output(struct wl_graph *g, struct wl_tensor *t)
{
    if (t->role != WL_ROLE_VALUE || wl_op_is_loss(t->producer->op))
        wl_graph_fail(g, "%s: an output must be the result of an operation that is not a loss", t->name);
    t->output = true;
}

static const struct wl_node *find_node(const struct wl_graph *g, const char *name)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        if (!strcmp(g->nodes[i]->name, name)) return g->nodes[i];
    return NULL;
}

struct wl_node *wl_node_new(struct wl_graph *g, enum wl_op op, const char *name, struct wl_tensor *a,
                            struct wl_tensor *b)
{
    struct wl_node *n = wl_new(g->arena, struct wl_node);
    n->op = op;
    n->name = wl_strf(g->arena, "%s%s", g->scope->names, name);
    n->in[0] = a;
    n->in[1] = b;
    if (find_node(g, n->name)) wl_graph_fail(g, "%s: there is already an operation of this name", n->name);
    for (int i = 0; i < 2 && n->in[i]; i++) n->in[i]->readers++;
    WL_GROW(g->arena, g->nodes, g->n_nodes, g->cap_nodes);
    g->nodes[g->n_nodes++] = n;
    return n;
}

void wl_node_read(struct wl_node *n, struct wl_tensor *t)
{
    int i = 0;
    while (i < WL_MAX_INPUTS && n->in[i]) i++;
    WL_CHECK(i < WL_MAX_INPUTS);
    n->in[i] = t;
    t->readers++;
}

/* The node's name in its scope. */
static const char *own_name(const struct wl_graph *g, const struct wl_node *n)
{
    return n->name + strlen(g->scope->names);
}

/* The parameter of this full name that an operation like n has made; NULL with the graph's error. */
static struct wl_tensor *find_param(struct wl_graph *g, const struct wl_node *n, const char *name,
                                    const struct wl_dims *dims)
{
    const char *of = wl_strf(g->arena, "%s%s", g->scope->params, own_name(g, n));
    const struct wl_node *first = find_node(g, of);
    struct wl_tensor *t = NULL;
    for (int i = 0; first && i < WL_MAX_PARAMS && first->par[i]; i++)
        if (!strcmp(first->par[i]->name, name)) t = first->par[i];
    if (!t)
        wl_graph_fail(g, "%s: no operation %s has a parameter %s that could be shared", n->name, of, name);
    else if (first->op != n->op)
        wl_graph_fail(g, "%s: %s cannot read the parameters of %s, which is a %s", n->name, wl_op_name(n->op), of,
                      wl_op_name(first->op));
    else if (!wl_dims_equal(&t->dims, dims))
        wl_graph_fail(g, "%s: reads %s as %s, but it is %s", n->name, name, wl_dims_text(g->arena, dims),
                      wl_dims_text(g->arena, &t->dims));
    return t;
}

struct wl_tensor *wl_param(struct wl_graph *g, const struct wl_node *n, const char *name, struct wl_dims dims,
                           struct wl_init init, bool is_weight)
{
    const struct wl_graph_scope *s = g->scope;
    const char *full = wl_strf(g->arena, "%s%s", s->params ? s->params : s->names, name);
    struct wl_tensor *t = s->params ? find_param(g, n, full, &dims) : NULL;
    if (t) return t;
    t = wl_tensor_new(g, full, WL_F32, WL_ROLE_PARAM, &dims);
    t->init = init;
    t->is_weight = is_weight;
    return t;
}

struct wl_tensor *wl_node_param(struct wl_graph *g, const struct wl_node *n, const char *suffix, struct wl_dims dims,
                                struct wl_init init, bool is_weight)
{
    return wl_param(g, n, wl_strf(g->arena, "%s.%s", own_name(g, n), suffix), dims, init, is_weight);
}

struct wl_tensor *wl_node_out(struct wl_graph *g, struct wl_node *n, const struct wl_dims *dims)
{
    n->out = wl_tensor_new(g, n->name, WL_F32, WL_ROLE_VALUE, dims);
    n->out->producer = n;
    n->out->gradient = n->par[0];
    for (int i = 0; i < WL_MAX_INPUTS && n->in[i]; i++) n->out->gradient |= n->in[i]->gradient;
    return n->out;
}

const struct wl_node *wl_only_reader(const struct wl_graph *g, const struct wl_tensor *t)
{
    for (size_t i = 0; t->readers == 1 && i < g->n_nodes; i++)
        for (int k = 0; k < WL_MAX_INPUTS && g->nodes[i]->in[k]; k++)
            if (g->nodes[i]->in[k] == t) return g->nodes[i];
    return NULL;
}
