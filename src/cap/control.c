/* Drivers and the site's commands may hang: setters are opened and called by threads that can be abandoned. An
 * abandoned thread keeps using its memory: that is in arenas of its own, which are then leaked. docs/adr/093 */
#include "cap/control.h"

#include "base/thread.h"

#include <math.h>

/* A command that takes too long is killed, and has this long to die. */
static const double KILL_S = 3;

/* Maximum number of hung devices that are waited for while a setter is opened. */
enum { MAX_HUNG = 4 };

/* The memory of an open setter. */
struct wl_setter_session {
    struct wl_arena *a;
    double wait_s; /* for a call */
    bool hung;     /* a call has timed out */
};

double wl_cap_wait_s(const struct wl_cap_opts *o)
{
    static const double DEFAULT_S = 10;
    return o->wait_s > 0 ? o->wait_s : DEFAULT_S;
}

/* ---- opening ---- */

static const char *copy(struct wl_arena *a, const char *text) { return text ? wl_strdup(a, text) : NULL; }

static struct wl_cap_opts *copy_opts(const struct wl_cap_opts *o, struct wl_arena *a)
{
    struct wl_cap_opts *c = wl_new(a, struct wl_cap_opts);
    *c = *o;
    c->setter = copy(a, o->setter);
    c->command = copy(a, o->command);
    c->restore = copy(a, o->restore);
    c->clock_command = copy(a, o->clock_command);
    c->clock_restore = copy(a, o->clock_restore);
    c->state_dir = copy(a, o->state_dir);
    c->program = copy(a, o->program);
    return c;
}

/* A call of describe(), and all that its thread touches except the setter's session. */
struct describing {
    struct wl_control k;
    int (*describe)(struct wl_control *k, struct wl_arena *a, struct wl_err *e);
    struct wl_arena *a;
    struct wl_err why;
    int rc;
};

static void describe_now(void *arg)
{
    struct describing *d = arg;
    d->rc = d->describe(&d->k, d->a, &d->why);
}

int wl_control_describe(const struct wl_setter_context *p, struct wl_control *k,
                        int (*describe)(struct wl_control *k, struct wl_arena *a, struct wl_err *e), struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(p->a);
    struct describing *d = wl_new(a, struct describing);
    double wait_s = p->session->wait_s;
    *d = (struct describing) { .k = *k, .describe = describe, .a = a };
    if (wl_thread_call_timeout(describe_now, d, (int64_t)(wait_s * WL_NS_PER_S))) {
        *k = d->k;
        return d->rc < 0 ? wl_fail(e, d->rc, "%s", d->why.msg) : 0;
    }
    p->session->hung = true;
    if (p->all) return 0;
    return wl_fail(e, WL_EHUNG, "%s (%s): no answer from the driver for %g s (--cap-wait)", k->device, k->name, wait_s);
}

/* All that the thread touches which opens a setter. */
struct opening {
    const struct wl_setter_ops *ops; /* NULL: the one that the options name */
    struct wl_setter_context context;
    enum wl_cap_kind kind;
    struct wl_controls controls;
    const char *fix;
    struct wl_err why;
    int rc;
};

static void open_now(void *arg)
{
    struct opening *o = arg;
    o->rc = o->ops ? o->ops->open(&o->context, o->kind, &o->controls, &o->fix, &o->why)
                   : wl_setter_open(&o->context, o->kind, &o->controls, &o->fix, &o->why);
}

static bool is_wanted(const struct wl_cap_client *client, const struct wl_control *k)
{
    if (!client || client->n == 0) return true;
    for (size_t i = 0; i < client->n; i++)
        if (client->v[i].kind == k->kind && wl_str_eq(client->v[i].device, k->device)) return true;
    return false;
}

static void free_arena(void *a) { wl_arena_free(a); }

/* Closing calls the driver too and may hang. */
static void close_opened(void *what)
{
    struct wl_setter_session *o = what;
    if (o->hung || !wl_thread_call_timeout(free_arena, o->a, WL_DRIVER_TIMEOUT_NS)) wl_arena_leak(o->a);
}

int wl_controls_open(const struct wl_setter_context *p, const struct wl_setter_ops *ops, enum wl_cap_kind kind,
                     struct wl_controls *out, const char **fix, struct wl_err *e)
{
    struct wl_arena *own = wl_arena_new(NULL);
    struct wl_setter_session *opened = wl_new(own, struct wl_setter_session);
    struct wl_power_opts *power = wl_new(own, struct wl_power_opts);
    struct opening *o = wl_new(own, struct opening);
    double wait_s = wl_power_wait_s(p->power);
    *opened = (struct wl_setter_session) { .a = own, .wait_s = wl_cap_wait_s(p->opts) };
    *power = wl_power_opts_copy(p->power, own);
    *o = (struct opening) { .ops = ops, .kind = kind };
    o->context = (struct wl_setter_context) {
        .opts = copy_opts(p->opts, own), .power = power, .all = p->all, .session = opened, .a = own
    };
    double max_wait_s = wait_s + MAX_HUNG * opened->wait_s;
    if (!wl_thread_call_timeout(open_now, o, (int64_t)(max_wait_s * WL_NS_PER_S))) {
        wl_arena_leak(own);
        return wl_fail(e, WL_EHUNG, "no answer from the driver within %g s (--sensor-wait, --cap-wait)", max_wait_s);
    }
    wl_defer(p->a, close_opened, opened);
    *fix = o->fix;
    for (size_t i = 0; i < o->controls.n && o->rc == 0; i++) {
        if (!is_wanted(p->opts->client, &o->controls.v[i])) continue;
        struct wl_control *k = wl_controls_add(out, p->a);
        *k = o->controls.v[i];
        k->session = opened;
    }
    return o->rc < 0 ? wl_fail(e, o->rc, "%s", o->why.msg) : 0;
}

/* ---- calls ---- */

enum operation { GET, SET, RESTORE, PROBE, LOCKED_BY_OTHER };

/* One call, and all that its thread touches except the setter's session. */
struct call {
    struct wl_control k;
    enum operation operation;
    double value, set, enforced;
    const char *text; /* PROBE: the fix; LOCKED_BY_OTHER: why */
    struct wl_arena *a;
    struct wl_err why;
    int rc;
};

static void call_now(void *arg)
{
    struct call *c = arg;
    const struct wl_setter_ops *ops = c->k.ops;
    switch (c->operation) {
    case GET: c->rc = ops->get(&c->k, &c->set, &c->enforced, &c->why); break;
    case SET: c->rc = ops->set(&c->k, c->value, &c->why); break;
    case RESTORE: c->rc = (ops->restore ? ops->restore : ops->set)(&c->k, c->value, &c->why); break;
    case PROBE: c->rc = ops->probe(&c->k, &c->text, &c->why); break;
    case LOCKED_BY_OTHER: c->text = ops->locked_by_other(&c->k, c->a); break;
    }
}

static const char *doing(const struct call *c, struct wl_arena *a)
{
    const char *name = wl_cap_kind_name(c->k.kind);
    if (c->operation != SET && c->operation != RESTORE) return wl_strf(a, "%s was read", name);
    if (isnan(c->value)) return wl_strf(a, "%s was unlocked", name);
    return wl_strf(a, "%s was set to %g %s", name, c->value, wl_cap_kind_unit(c->k.kind));
}

static int fail_hung(const struct call *c, double wait_s, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    int rc = wl_fail(e, WL_EHUNG, "%s (%s): no answer from the driver for %g s (--cap-wait) while %s", c->k.device,
                     c->k.name, wait_s, doing(c, a));
    wl_arena_free(a);
    return rc;
}

/* The finished call, whose arena the caller frees; NULL: it timed out (WL_EHUNG). */
static struct call *call_with_timeout(const struct wl_control *k, enum operation operation, double value,
                                      struct wl_err *e)
{
    struct wl_arena *own = wl_arena_new(NULL);
    struct call *c = wl_new(own, struct call);
    double wait_s = k->session->wait_s;
    *c = (struct call) { .k = *k, .operation = operation, .value = value, .set = NAN, .enforced = NAN, .a = own };
    if (wl_thread_call_timeout(call_now, c, (int64_t)((wait_s + (k->ops->has_own_timeout ? KILL_S : 0)) * WL_NS_PER_S)))
        return c;
    k->session->hung = true;
    fail_hung(c, wait_s, e);
    wl_arena_leak(own);
    return NULL;
}

static int finish(struct call *c, struct wl_err *e)
{
    int rc = c->rc < 0 ? wl_fail(e, c->rc, "%s", c->why.msg) : 0;
    wl_arena_free(c->a);
    return rc;
}

int wl_control_get(const struct wl_control *k, double *set, double *enforced, struct wl_err *e)
{
    struct call *c = call_with_timeout(k, GET, NAN, e);
    if (!c) return WL_EHUNG;
    *set = c->set;
    *enforced = c->enforced;
    return finish(c, e);
}

int wl_control_set(const struct wl_control *k, double value, struct wl_err *e)
{
    struct call *c = call_with_timeout(k, SET, value, e);
    return c ? finish(c, e) : WL_EHUNG;
}

int wl_control_restore(const struct wl_control *k, double found, struct wl_err *e)
{
    struct call *c = call_with_timeout(k, RESTORE, found, e);
    return c ? finish(c, e) : WL_EHUNG;
}

int wl_control_probe(const struct wl_control *k, const char **fix, struct wl_err *e)
{
    if (!k->ops->probe) return 0;
    struct call *c = call_with_timeout(k, PROBE, NAN, e);
    if (!c) return WL_EHUNG;
    if (c->text) *fix = c->text;
    return finish(c, e);
}

int wl_control_locked_by_other(const struct wl_control *k, const char **why, struct wl_arena *a, struct wl_err *e)
{
    *why = NULL;
    if (!k->ops->locked_by_other) return 0;
    struct call *c = call_with_timeout(k, LOCKED_BY_OTHER, NAN, e);
    if (!c) return WL_EHUNG;
    *why = copy(a, c->text);
    return finish(c, e);
}
