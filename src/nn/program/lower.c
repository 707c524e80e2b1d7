#include "nn/program/backend.h"

struct wl_buf *wl_buf_new(struct wl_program *p, enum wl_class class, enum wl_dtype type, const struct wl_dims *dims,
                          const void *layout, size_t bytes)
{
    struct wl_buf *b = wl_new(p->arena, struct wl_buf);
    *b = (struct wl_buf) { .class = class,
                           .dtype = type,
                           .dims = *dims,
                           .layout = layout,
                           .bytes = bytes,
                           .id = (int)p->n_bufs,
                           .first = -1,
                           .last = -1 };
    WL_GROW(p->arena, p->bufs, p->n_bufs, p->cap_bufs);
    p->bufs[p->n_bufs++] = b;
    return b;
}

struct wl_buf *wl_buf_plain(struct wl_program *p, enum wl_class class, enum wl_dtype type, const struct wl_dims *dims)
{
    return wl_buf_new(p, class, type, dims, NULL, (size_t)wl_dims_count(dims) * wl_dtype_bytes(type));
}

struct wl_buf *wl_buf_value(struct wl_program *p, const struct wl_dims *dims)
{
    const bool emulated = wl_dtype_bytes(p->precision) == 2 && p->backend->emulates_16_bits;
    struct wl_buf *b = wl_buf_plain(p, WL_MEM_VALUE, emulated ? WL_F32 : p->precision, dims);
    if (emulated) b->holds = p->precision;
    return b;
}

struct wl_buf *wl_buf_result(struct wl_program *p, const struct wl_node *n)
{
    const struct wl_dims *dims = &n->out->dims;
    return n->out->f32 ? wl_buf_plain(p, WL_MEM_VALUE, WL_F32, dims) : wl_buf_value(p, dims);
}

struct wl_buf *wl_buf_like(struct wl_program *p, const struct wl_buf *b)
{
    struct wl_buf *like = wl_buf_new(p, WL_MEM_VALUE, b->dtype, &b->dims, b->layout, b->bytes);
    like->holds = b->holds;
    return like;
}

struct wl_step *wl_step_emit(struct wl_program *p, const struct wl_node *n, const char *pass, unsigned when,
                             wl_step_run_fn *run)
{
    struct wl_step *s = wl_new(p->arena, struct wl_step);
    s->node = n;
    s->pass = pass;
    s->when = when & p->passes;
    s->flops_share = 1;
    s->run = run;
    WL_GROW(p->arena, p->steps, p->n_steps, p->cap_steps);
    p->steps[p->n_steps++] = s;
    return s;
}

static void use(struct wl_program *p, struct wl_step *s, struct wl_buf *b, bool write)
{
    WL_CHECK(s->n_uses < WL_MAX_USES && p->steps[p->n_steps - 1] == s);
    int now = (int)p->n_steps - 1;
    if (b->first < 0) b->first = now;
    b->last = now;
    s->uses[s->n_uses++] = (struct wl_use) { .buf = b, .write = write, .moved_bytes = b->bytes };
}

void wl_step_reads(struct wl_program *p, struct wl_step *s, struct wl_buf *b) { use(p, s, b, false); }

void wl_step_writes(struct wl_program *p, struct wl_step *s, struct wl_buf *b)
{
    const bool accumulates = b->class == WL_MEM_GRADIENT && b->first >= 0;
    use(p, s, b, true);
    if (b->class != WL_MEM_GRADIENT || !(accumulates || p->accumulate)) return;
    struct wl_buf *partial = wl_buf_like(p, b);
    partial->first = partial->last = (int)p->n_steps - 1;
    s->uses[s->n_uses - 1].partial = partial;
    s->uses[s->n_uses - 1].accumulates = accumulates;
}

int wl_step_reads_any(struct wl_program *p, struct wl_step *s, struct wl_buf *b)
{
    if (!b) return WL_NO_USE;
    wl_step_reads(p, s, b);
    return s->n_uses - 1;
}

int wl_step_writes_any(struct wl_program *p, struct wl_step *s, struct wl_buf *b)
{
    if (!b) return WL_NO_USE;
    wl_step_writes(p, s, b);
    return s->n_uses - 1;
}

void wl_step_accumulates(struct wl_program *p, struct wl_step *s, struct wl_buf *b)
{
    WL_CHECK(b->first >= 0);
    use(p, s, b, true);
}

struct wl_buf *wl_buf_param(struct wl_program *p, const struct wl_tensor *t, const void *layout, size_t bytes)
{
    struct wl_buf **value = &p->value[t->id];
    if (*value) {
        WL_CHECK(!layout == !(*value)->layout);
        return *value;
    }
    *value = wl_buf_new(p, WL_MEM_PARAM, WL_F32, &t->dims, layout, bytes);
    if (p->train) p->gradient[t->id] = wl_buf_new(p, WL_MEM_GRADIENT, WL_F32, &t->dims, layout, bytes);
    return *value;
}

static int plain(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *t, struct wl_buf *from,
                 struct wl_buf **out, struct wl_err *e)
{
    *out = from;
    if (!from->layout && from->dtype == t->dtype) return 0;
    *out = wl_buf_plain(p, WL_MEM_VALUE, t->dtype, &t->dims);
    return p->backend->reorder(p, n, from, *out, e);
}

int wl_lower_plain_value(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *t, struct wl_buf **out,
                         struct wl_err *e)
{
    return plain(p, n, t, t->role == WL_ROLE_INPUT ? p->input[t->id] : p->value[t->id], out, e);
}

int wl_lower_plain_gradient(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *t,
                            struct wl_buf **out, struct wl_err *e)
{
    return plain(p, n, t, p->gradient[t->id], out, e);
}

const struct wl_op_rules *wl_rules_of(const struct wl_program *p, const struct wl_node *n)
{
    return p->backend->rules[n->op];
}

bool wl_may_overwrite(const struct wl_program *p, const struct wl_tensor *x)
{
    if (p->keep_values || x->role != WL_ROLE_VALUE || x->output || x->readers > 1) return false;
    return !p->train || !wl_op_info(x->producer->op)->saves_output;
}

static int sum_gradients(struct wl_program *p, const struct wl_node *n, struct wl_buf **g, struct wl_buf *b,
                         struct wl_err *e)
{
    struct wl_buf *old = *g;
    if (old->references > 1) { /* another tensor's gradient too: the sum needs a place of its own */
        old->references--;
        *g = wl_buf_like(p, old);
        (*g)->references = 1;
    }
    return p->backend->sum(p, n, old, b, *g, e);
}

/* Values that are kept have whole gradients. */
static bool producer_adds(const struct wl_program *p, const struct wl_tensor *t)
{
    if (p->keep_values || !t->producer) return false;
    const struct wl_op_rules *rules = wl_rules_of(p, t->producer);
    return rules->adds_gradients && rules->adds_gradients(p, t->producer);
}

int wl_gradient_add(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *t, struct wl_buf *b,
                    struct wl_err *e)
{
    struct wl_buf **g = &p->gradient[t->id], **addend = &p->addend[t->id];
    if (!*g) {
        *g = b;
        b->references++;
        return 0;
    }
    if (!producer_adds(p, t)) return sum_gradients(p, n, g, b, e);
    struct wl_buf *before = *addend;
    *addend = b;
    b->references++;
    if (!before) return 0;
    before->references--;
    return sum_gradients(p, n, g, before, e);
}

int wl_gradient_add_plain(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *t, struct wl_buf *b,
                          struct wl_err *e)
{
    const struct wl_buf *value = p->value[t->id];
    if (value->layout || value->dtype != b->dtype || value->holds != b->holds) {
        struct wl_buf *to = wl_buf_like(p, value);
        int rc = p->backend->reorder(p, n, b, to, e);
        if (rc) return rc;
        b = to;
    }
    return wl_gradient_add(p, n, t, b, e);
}

void wl_gradient_done(struct wl_program *p, const struct wl_tensor *t)
{
    if (p->keep_values) return;
    p->gradient[t->id]->references--;
    if (p->addend[t->id]) p->addend[t->id]->references--;
}

bool wl_gradient_last_holder(const struct wl_program *p, const struct wl_tensor *t)
{
    return !p->keep_values && p->gradient[t->id]->references == 1;
}

void wl_lower_statistics(struct wl_program *p, const struct wl_node *n)
{
    for (int i = 0; i < 2; i++) {
        const struct wl_tensor *t = n->stat[i];
        struct wl_statistic s = { .tensor = t, .running = wl_buf_plain(p, WL_MEM_STATISTIC, WL_F32, &t->dims) };
        if (p->train) s.sum = wl_buf_plain(p, WL_MEM_STATISTIC_SUM, WL_F32, &t->dims);
        p->value[t->id] = s.running;
        p->gradient[t->id] = s.sum;
        WL_GROW(p->arena, p->statistics, p->n_statistics, p->cap_statistics);
        p->statistics[p->n_statistics++] = s;
    }
}

void wl_lower_statistic_sums(struct wl_program *p, const struct wl_node *n, struct wl_buf *mean, struct wl_buf *var)
{
    struct wl_step *s = wl_step_emit(p, n, "moments", WL_TRAIN, p->backend->device->sum_moments);
    s->context = p->device;
    wl_step_reads(p, s, mean);
    wl_step_reads(p, s, var);
    wl_step_writes(p, s, p->gradient[n->stat[0]->id]);
    wl_step_writes(p, s, p->gradient[n->stat[1]->id]);
}

static int with_node(int rc, const struct wl_node *n, struct wl_err *e)
{
    return rc ? wl_err_prefix(e, "%s (%s)", n->name, wl_op_name(n->op)) : 0;
}

/* By tensor: does a loss that is evaluated, an output, or a result that nobody reads, come of it? */
static bool *evaluated_tensors(const struct wl_program *p)
{
    const struct wl_graph *g = p->graph;
    bool *evaluated = wl_new_array(p->arena, bool, g->n_tensors);
    for (size_t i = g->n_nodes; i-- > 0;) {
        const struct wl_node *n = g->nodes[i];
        bool *out = &evaluated[n->out->id];
        if (!n->out->readers) *out = !wl_op_is_loss(n->op) || !n->u.loss.auxiliary;
        *out |= n->out->output;
        for (int k = 0; k < WL_MAX_INPUTS && n->in[k]; k++) evaluated[n->in[k]->id] |= *out;
    }
    return evaluated;
}

static bool needs_rounding(const struct wl_program *p, const struct wl_buf *value)
{
    return wl_dtype_bytes(p->precision) == 2 && value->dtype == WL_F32 && value->holds == WL_F32;
}

/* What operations read and write is of the plan's precision: f32 inputs are copied before the first operation that
 * reads them, and so are the results of operations that compute in f32. Losses are f32 on both ends. */
static int round_value(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *t, struct wl_err *e)
{
    struct wl_buf **value = &p->value[t->id], *from = *value;
    if (t->f32 || !needs_rounding(p, from)) return 0;
    *value = wl_buf_value(p, &t->dims);
    return p->backend->reorder(p, n, from, *value, e);
}

static int copy_output(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_tensor *t = n->out;
    p->output[t->id] = wl_buf_plain(p, WL_MEM_OUTPUT, WL_F32, &t->dims);
    p->passes = WL_EVAL;
    return p->backend->reorder(p, n, p->value[t->id], p->output[t->id], e);
}

/* Does a check of x find what one of y finds? It looks at inputs of the graph, dimensions, and the kind of rows. */
static bool same_check(const struct wl_node *x, const struct wl_node *y)
{
    if (wl_op_info(x->op)->check_inputs != wl_op_info(y->op)->check_inputs || x->rows != y->rows) return false;
    for (int i = 0; i < WL_MAX_INPUTS; i++) {
        const struct wl_tensor *a = x->in[i], *b = y->in[i];
        if (a == b) continue;
        if (!a || !b || a->role == WL_ROLE_INPUT || b->role == WL_ROLE_INPUT) return false;
        if (!wl_dims_equal(&a->dims, &b->dims)) return false;
    }
    if (!wl_dims_equal(&x->out->dims, &y->out->dims)) return false;
    return !x->par[0] == !y->par[0] && (!x->par[0] || wl_dims_equal(&x->par[0]->dims, &y->par[0]->dims));
}

static void add_input_check(struct wl_program *p, const struct wl_node *n)
{
    if (wl_op_info(n->op)->check_inputs == wl_check_none) return;
    for (size_t i = 0; i < p->n_input_checks; i++) {
        struct wl_input_check *c = &p->input_checks[i];
        if (!same_check(c->node, n)) continue;
        c->when |= p->passes;
        return;
    }
    WL_GROW(p->arena, p->input_checks, p->n_input_checks, p->cap_input_checks);
    p->input_checks[p->n_input_checks++] = (struct wl_input_check) { n, p->passes };
}

static int lower_forward(struct wl_program *p, const struct wl_node *n, bool evaluated, struct wl_err *e)
{
    const struct wl_op_rules *rules = wl_rules_of(p, n);
    bool loss = wl_op_is_loss(n->op);
    int rc = 0;
    p->passes = WL_TRAIN | WL_EVAL; /* an operation that is evaluated may read the copy of an input too */
    for (int i = 0; i < WL_MAX_INPUTS && n->in[i] && !loss && !rc; i++) rc = round_value(p, n, n->in[i], e);
    if (!evaluated) p->passes = WL_TRAIN;
    add_input_check(p, n);
    if (!rc) rc = rules->forward(p, n, e);
    if (!rc && !loss) rc = round_value(p, n, n->out, e);
    return rc || !n->out->output ? rc : copy_output(p, n, e);
}

int wl_lower(struct wl_program *p, struct wl_err *e)
{
    const struct wl_graph *g = p->graph;
    p->value = wl_new_array(p->arena, struct wl_buf *, g->n_tensors);
    p->gradient = wl_new_array(p->arena, struct wl_buf *, g->n_tensors);
    p->addend = wl_new_array(p->arena, struct wl_buf *, g->n_tensors);
    p->input = wl_new_array(p->arena, struct wl_buf *, g->n_tensors);
    p->output = wl_new_array(p->arena, struct wl_buf *, g->n_tensors);
    p->saved = wl_new_array(p->arena, struct wl_saved, g->n_tensors);
    for (size_t i = 0; i < g->n_tensors; i++) {
        const struct wl_tensor *t = g->tensors[i];
        if (t->role != WL_ROLE_INPUT) continue;
        p->value[t->id] = p->input[t->id] = wl_buf_plain(p, WL_MEM_INPUT, t->dtype, &t->dims);
    }
    const bool *evaluated = evaluated_tensors(p);
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct wl_node *n = g->nodes[i];
        int rc = lower_forward(p, n, evaluated[n->out->id], e);
        if (rc) return with_node(rc, n, e);
    }
    p->n_forward = p->n_steps;
    p->passes = WL_TRAIN;
    for (size_t i = g->n_nodes; p->train && i-- > 0;) {
        const struct wl_node *n = g->nodes[i];
        if (!n->out->gradient || (!wl_op_is_loss(n->op) && !p->gradient[n->out->id])) continue;
        int rc = wl_rules_of(p, n)->backward(p, n, e);
        if (rc) return with_node(rc, n, e);
    }
    return 0;
}
