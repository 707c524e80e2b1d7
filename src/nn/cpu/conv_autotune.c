/* Direct convolution or Winograd's: asked of the table of choices, and answered by measuring all. */
#include "nn/cpu/conv.h"
#include "nn/threads.h"

/* A kernel is timed on as many samples as take about this many flop per thread, .1 s at 200 Gflop/s. Winograd
 * transforms the weights once per call, so very few samples would misjudge it. */
static const double measured_flops = 20e9;

/* Winograd must gain at least this: smaller differences are noise, and direct convolution rounds less. */
static const double worth_it = 0.95;

static const char *pass_name(enum wl_pass pass)
{
    static const char *const names[] = {
        [WL_PASS_FORWARD] = "forward", [WL_PASS_DATA] = "backward data", [WL_PASS_WEIGHTS] = "backward weights"
    };
    return names[pass];
}

/* Convolutions of so few channels are the first ones of a network, whose errors all others carry on, and gain least.
 * docs/adr/153 says what they did to gradients. */
enum { FEW_CHANNELS = 32 };

/* The kernel of this folder for a pass. */
static const struct wl_conv_custom *custom_of(const struct wl_program *p, const struct wl_window *v, enum wl_pass pass)
{
    const bool first = pass == WL_PASS_FORWARD && v->c <= FEW_CHANNELS;
    return p->precision == WL_BF16 && !first ? wl_conv_custom_of(v, pass) : NULL;
}

/* A kernel of this folder is part of the question: an answer from before it existed is none. */
static const char *question_of(const struct wl_program *p, const struct wl_node *n, enum wl_pass pass,
                               struct wl_arena *a)
{
    const struct wl_conv *c = &n->u.conv;
    const struct wl_window v = wl_conv_window(n);
    const struct wl_conv_custom *custom = custom_of(p, &v, pass);
    return wl_strf(a, "conv2d %s %s x %s w %s stride [%lld,%lld] pad [%lld,%lld]%s%s%s", pass_name(pass),
                   wl_dtype_name(p->precision), wl_dims_text(a, &n->in[0]->dims), wl_dims_text(a, &n->par[0]->dims),
                   (long long)c->stride[0], (long long)c->stride[1], (long long)c->pad[0], (long long)c->pad[1],
                   c->bias ? " bias" : "", custom ? " or " : "", custom ? custom->answer : "");
}

const struct wl_choice *wl_cpu_conv_choice(const struct wl_program *p, const struct wl_node *n, enum wl_pass pass)
{
    return p->conv == WL_CONV_AUTO ? wl_choices_find(p->choices, question_of(p, n, pass, p->arena)) : NULL;
}

/* In the table. Between bf16 values the name of Winograd says in which type it computes. */
static const char *answer_name(const struct wl_program *p, enum wl_conv_algorithm algorithm)
{
    return algorithm == WL_CONV_WINOGRAD && p->precision != WL_F32 ? "winograd in f32"
                                                                   : wl_conv_algorithm_name(algorithm);
}

static bool is_answer(const struct wl_program *p, const struct wl_choice *x, enum wl_conv_algorithm algorithm)
{
    return x && wl_str_eq(x->answer, answer_name(p, algorithm));
}

enum wl_conv_algorithm wl_cpu_conv_algorithm(const struct wl_program *p, const struct wl_choice *choice)
{
    if (p->conv != WL_CONV_AUTO) return p->conv;
    return is_answer(p, choice, WL_CONV_WINOGRAD) ? WL_CONV_WINOGRAD : WL_CONV_DIRECT;
}

const struct wl_conv_custom *wl_cpu_conv_custom(const struct wl_program *p, const struct wl_choice *choice,
                                                const struct wl_window *v, enum wl_pass pass)
{
    const struct wl_conv_custom *custom = p->conv == WL_CONV_DIRECT ? NULL : custom_of(p, v, pass);
    const bool taken = p->conv == WL_CONV_WINOGRAD || (custom && choice && wl_str_eq(choice->answer, custom->answer));
    return taken ? custom : NULL;
}

/* ---- one question ---- */

struct trial {
    const struct wl_program *p;
    struct wl_timings timings; /* of all candidates */
    const struct wl_node *n;
    struct wl_cpu cpu; /* with an arena of the trial */
    struct wl_window v;
    struct wl_layouts values; /* as direct convolution prefers them */
    wl_md master;             /* the layout of the parameter; NULL: as the kernel prefers it */
    dnnl_primitive_desc_t forward;
};

static int64_t few_samples(const struct wl_window *v)
{
    const double sample = 2.0 * (double)(v->k * v->p * v->q) * (double)(v->c * v->r * v->s);
    const int64_t threads = omp_get_max_threads(), per_thread = (int64_t)(measured_flops / sample) + 1;
    return per_thread * threads < v->n ? per_thread * threads : v->n;
}

static int describe(struct trial *t, enum wl_conv_algorithm algorithm, enum wl_pass pass, dnnl_primitive_desc_t *pd,
                    struct wl_err *e)
{
    const struct wl_conv_kernel k = { .pass = pass, .algorithm = algorithm };
    return wl_cpu_conv_kernel(&t->cpu, pd, &k, &t->v, &t->values, t->forward, e);
}

static int open_trial(struct trial *t, const struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    *t = (struct trial) { .p = p, .n = n, .cpu = *wl_cpu_of(p), .v = wl_conv_window(n) };
    t->timings.arena = t->cpu.arena = wl_arena_new(p->arena);
    t->v.n = few_samples(&t->v);
    struct wl_dims x = n->in[0]->dims, y = n->out->dims;
    x.d[0] = y.d[0] = t->v.n;
    int rc = wl_md_any(&t->cpu, &t->values.src, p->precision, &x, e);
    if (!rc) rc = wl_md_any(&t->cpu, &t->values.dst, p->precision, &y, e);
    if (!rc && n->par[1]) rc = wl_md_plain(&t->cpu, &t->values.bias, WL_F32, &n->par[1]->dims, e);
    if (!rc) rc = describe(t, WL_CONV_DIRECT, WL_PASS_FORWARD, &t->forward, e);
    if (rc) return rc;
    t->values.src = wl_pd_md(t->forward, DNNL_ARG_SRC);
    t->values.dst = wl_pd_md(t->forward, DNNL_ARG_DST);
    return 0;
}

static void close_trial(struct trial *t) { wl_arena_free(t->cpu.arena); }

static bool is_line(struct trial *t, enum wl_pass pass)
{
    return t->p->precision == WL_F32 && wl_cpu_winograd_1d_applies(&t->cpu, &t->v, &t->values, pass);
}

static bool has_winograd(struct trial *t, enum wl_pass pass)
{
    dnnl_primitive_desc_t pd;
    return describe(t, WL_CONV_WINOGRAD, pass, &pd, NULL) == 0 || is_line(t, pass);
}

/* Adds a copy, where one is needed. */
static int add_copy(struct trial *t, wl_md from, wl_md to, struct wl_err *e)
{
    dnnl_primitive_desc_t copy;
    if (wl_md_equal(from, to)) return 0;
    int rc = wl_pd_reorder(&t->cpu, &copy, from, to, e);
    return rc ? rc : wl_timings_add_primitive(&t->timings, &t->cpu, copy, e);
}

static enum wl_conv_algorithm answered(const struct trial *t, enum wl_pass pass)
{
    return wl_cpu_conv_algorithm(t->p, wl_cpu_conv_choice(t->p, t->n, pass));
}

/* Both backward passes read one copy of dy; the pass by data, which is answered first, pays for it. */
static bool shares_gradient(const struct trial *t, enum wl_pass pass)
{
    return pass == WL_PASS_WEIGHTS && answered(t, WL_PASS_DATA) == WL_CONV_WINOGRAD;
}

/* Copies of values, where the kernel computes in another type. */
static int add_value_copies(struct trial *t, const_dnnl_primitive_desc_t pd, enum wl_pass pass, struct wl_err *e)
{
    wl_md x = t->values.src, y = t->values.dst;
    wl_md at_x = wl_pd_md(pd, pass == WL_PASS_DATA ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC);
    wl_md at_y = wl_pd_md(pd, pass == WL_PASS_FORWARD ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST);
    int rc = pass == WL_PASS_DATA ? add_copy(t, at_x, x, e) : add_copy(t, x, at_x, e);
    if (rc || shares_gradient(t, pass)) return rc;
    return pass == WL_PASS_FORWARD ? add_copy(t, at_y, y, e) : add_copy(t, y, at_y, e);
}

/* The copy of the weights, or of their gradient, from or to the layout `kernel`, where they are held in another layout
 * or type. */
static int add_weights_copy(struct trial *t, wl_md kernel, enum wl_pass pass, struct wl_err *e)
{
    wl_md held = t->master;
    int rc = held ? 0 : wl_md_as(&t->cpu, &held, kernel, WL_F32, e);
    if (rc) return rc;
    return pass == WL_PASS_WEIGHTS ? add_copy(t, kernel, held, e) : add_copy(t, held, kernel, e);
}

static wl_md weights_of(const_dnnl_primitive_desc_t pd, enum wl_pass pass)
{
    return wl_pd_md(pd, pass == WL_PASS_WEIGHTS ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS);
}

static int add_line(struct trial *t, enum wl_pass pass, struct wl_err *e)
{
    wl_md weights;
    int rc = wl_cpu_winograd_1d_add_times(&t->cpu, &t->v, pass, &t->timings, e);
    if (!rc) rc = wl_cpu_winograd_1d_weights(&t->cpu, &t->v, pass, &weights, e);
    return rc ? rc : add_weights_copy(t, weights, pass, e);
}

static int add_kernel(struct trial *t, enum wl_conv_algorithm algorithm, enum wl_pass pass, struct wl_err *e)
{
    dnnl_primitive_desc_t pd;
    int rc = describe(t, algorithm, pass, &pd, e);
    if (!rc) rc = wl_timings_add_primitive(&t->timings, &t->cpu, pd, e);
    if (!rc) rc = add_value_copies(t, pd, pass, e);
    return rc ? rc : add_weights_copy(t, weights_of(pd, pass), pass, e);
}

static int add_custom(struct trial *t, const struct wl_conv_custom *custom, enum wl_pass pass, struct wl_err *e)
{
    wl_md weights;
    int rc = wl_conv_custom_add_time(custom, &t->v, pass, t->values.bias, &t->timings, e);
    if (!rc) rc = wl_conv_custom_weights(&t->cpu, &t->v, &weights, e);
    return rc ? rc : add_weights_copy(t, weights, pass, e);
}

/* A kernel that may compute a pass. */
struct candidate {
    const char *answer;
    enum wl_conv_algorithm algorithm;
    const struct wl_conv_custom *custom; /* NULL: oneDNN's, or Winograd along lines */
    size_t first, end;                   /* of the trial's timings: what it runs */
    double seconds;                      /* per sample */
};

/* Direct convolution is the first. */
enum { MAX_CANDIDATES = 3 };

static int list_candidates(struct trial *t, enum wl_pass pass, struct candidate list[MAX_CANDIDATES])
{
    const struct wl_conv_custom *custom = custom_of(t->p, &t->v, pass);
    int n = 0;
    list[n++] = (struct candidate) { .answer = answer_name(t->p, WL_CONV_DIRECT), .algorithm = WL_CONV_DIRECT };
    if (has_winograd(t, pass))
        list[n++] = (struct candidate) { .answer = answer_name(t->p, WL_CONV_WINOGRAD), .algorithm = WL_CONV_WINOGRAD };
    if (custom && wl_conv_custom_reads(&t->cpu, &t->v, &t->values))
        list[n++] = (struct candidate) { .answer = custom->answer, .custom = custom };
    return n;
}

static int add_candidate(struct trial *t, struct candidate *c, enum wl_pass pass, struct wl_err *e)
{
    const bool line = c->algorithm == WL_CONV_WINOGRAD && is_line(t, pass);
    c->first = t->timings.n;
    int rc = c->custom ? add_custom(t, c->custom, pass, e)
             : line    ? add_line(t, pass, e)
                       : add_kernel(t, c->algorithm, pass, e);
    c->end = t->timings.n;
    return rc;
}

/* In turns. */
static int measure(struct trial *t, struct candidate *list, int n, enum wl_pass pass, struct wl_err *e)
{
    int rc = 0;
    for (int i = 0; i < n && !rc; i++) rc = add_candidate(t, &list[i], pass, e);
    if (!rc) rc = wl_timings_run(&t->timings, wl_busiest_thread_lap, NULL, e);
    for (int i = 0; i < n && !rc; i++)
        list[i].seconds = wl_timings_seconds(&t->timings, list[i].first, list[i].end) / (double)t->v.n;
    return rc;
}

/* What is not answered yet counts as direct. */
static int hold_weights(struct trial *t, enum wl_pass asked, struct wl_err *e)
{
    const enum wl_pass pass = wl_cpu_conv_master(t->p);
    dnnl_primitive_desc_t pd;
    if (asked == pass) return 0;
    const struct wl_conv_custom *custom = wl_cpu_conv_custom(t->p, wl_cpu_conv_choice(t->p, t->n, pass), &t->v, pass);
    if (custom) return wl_conv_custom_weights(&t->cpu, &t->v, &t->master, e);
    if (answered(t, pass) == WL_CONV_WINOGRAD && is_line(t, pass))
        return wl_cpu_winograd_1d_weights(&t->cpu, &t->v, pass, &t->master, e);
    int rc = describe(t, answered(t, pass), pass, &pd, e);
    if (!rc) t->master = weights_of(pd, pass);
    return rc;
}

/* Is it better than another one, as direct convolution's advantage has it? */
static bool is_better(const struct candidate *a, const struct candidate *b, const struct candidate *direct)
{
    return (a == direct ? worth_it : 1) * a->seconds < (b == direct ? worth_it : 1) * b->seconds;
}

/* The two best ones to the front. */
static void rank_two(struct candidate *list[], int n, const struct candidate *direct)
{
    for (int place = 0; place < 2; place++)
        for (int i = place + 1; i < n; i++) {
            struct candidate *c = list[i];
            if (!is_better(c, list[place], direct)) continue;
            list[i] = list[place];
            list[place] = c;
        }
}

static int answer(const struct wl_program *p, const struct wl_node *n, enum wl_pass pass, struct wl_choices *choices,
                  struct wl_err *e)
{
    struct trial t;
    struct candidate candidates[MAX_CANDIDATES], *ranked[MAX_CANDIDATES];
    int count = 0, rc = open_trial(&t, p, n, e);
    if (!rc) rc = hold_weights(&t, pass, e);
    if (!rc) count = list_candidates(&t, pass, candidates);
    if (!rc) rc = measure(&t, candidates, count, pass, e);
    for (int i = 0; i < count; i++) ranked[i] = &candidates[i];
    if (!rc) {
        rank_two(ranked, count, candidates);
        wl_choices_add(choices, &(struct wl_choice) {
                                    .machine = choices->machine,
                                    .question = question_of(p, n, pass, t.cpu.arena),
                                    .answer = ranked[0]->answer,
                                    .runner_up = ranked[1]->answer,
                                    .answer_s = ranked[0]->seconds,
                                    .runner_up_s = ranked[1]->seconds,
                                });
    }
    close_trial(&t);
    return rc ? wl_err_prefix(e, "%s (%s)", n->name, pass_name(pass)) : 0;
}

/* ---- all of them ---- */

struct open_question {
    const struct wl_node *n;
    enum wl_pass pass;
    const char *text;
};

struct open_questions {
    struct open_question *v;
    size_t n, cap;
};

static bool is_listed(const struct open_questions *list, const char *text)
{
    for (size_t i = 0; i < list->n; i++)
        if (wl_str_eq(list->v[i].text, text)) return true;
    return false;
}

/* Is there an answer to the question, and is it one of these candidates? */
static bool is_known(const struct wl_program *p, const char *question, const struct candidate *list, int n)
{
    const struct wl_choice *c = wl_choices_find(p->choices, question);
    for (int i = 0; c && i < n; i++)
        if (wl_str_eq(c->answer, list[i].answer)) return true;
    return false;
}

/* Shapes for which there is no other algorithm ask nothing. */
static int list_node(struct open_questions *list, const struct wl_program *p, const struct wl_node *n,
                     struct wl_arena *a, struct wl_err *e)
{
    struct trial t;
    int rc = open_trial(&t, p, n, e), passes = p->train ? WL_PASS_WEIGHTS : WL_PASS_FORWARD;
    for (int pass = WL_PASS_FORWARD; pass <= passes && !rc; pass++) {
        if (pass == WL_PASS_DATA && !n->in[0]->gradient) continue;
        const char *text = question_of(p, n, (enum wl_pass)pass, a);
        struct candidate candidates[MAX_CANDIDATES];
        const int count = list_candidates(&t, (enum wl_pass)pass, candidates);
        if (count < 2 || is_known(p, text, candidates, count) || is_listed(list, text)) continue;
        WL_GROW(a, list->v, list->n, list->cap);
        list->v[list->n++] = (struct open_question) { n, (enum wl_pass)pass, text };
    }
    close_trial(&t);
    return rc ? wl_err_prefix(e, "%s (%s)", n->name, wl_op_name(n->op)) : 0;
}

int wl_cpu_autotune(struct wl_program *p, struct wl_choices *choices, struct wl_err *e)
{
    const struct wl_graph *g = p->graph;
    struct wl_arena *once = wl_arena_new(p->arena);
    struct open_questions list = { 0 };
    int rc = 0;
    for (size_t i = 0; i < g->n_nodes && !rc; i++)
        if (g->nodes[i]->op == WL_OP_CONV) rc = list_node(&list, p, g->nodes[i], once, e);
    for (size_t i = 0; i < list.n && !rc; i++) {
        rc = answer(p, list.v[i].n, list.v[i].pass, choices, e);
        if (choices->progress) choices->progress(choices->context, i + 1, list.n);
    }
    wl_arena_free(once);
    return rc;
}
