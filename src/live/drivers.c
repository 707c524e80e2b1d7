#include "live/drivers.h"

#include "base/thread.h"

static const int64_t ROUND_NS = 2 * WL_NS_PER_S;

struct found {
    struct wl_arena *a;
    struct wl_live_drivers_view view;
};

/* The call that asks for processes, and all that its thread touches. */
struct asking {
    struct wl_arena *a;
    struct wl_power_opts power;
    struct wl_gpus *gpus;                          /* NULL: not opened yet */
    struct wl_gpu_users_state *states;             /* [gpus->n] */
    struct wl_gpu_user (*users)[WL_GPU_USERS_MAX]; /* [gpus->n] */
    int *n;                                        /* [gpus->n] or an error */
    struct wl_err why;                             /* of the last error */
    int rc;
};

struct wl_live_drivers {
    struct wl_arena *a;
    pthread_t thread;
    struct wl_power_opts power;
    struct wl_cap_opts cap;
    /* of the thread */
    struct wl_cap_reader *reader;
    struct wl_err caps_why;
    struct asking *asking; /* NULL: processes are not asked for */
    bool asking_hangs;
    /* under the lock */
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool stop, ended;
    struct found found; /* what was found last; a NULL: nothing yet */
};

/* ---- processes ---- */

static void ask_now(void *arg)
{
    struct asking *q = arg;
    const char *fix;
    q->rc = q->gpus ? 0 : wl_gpus_open(&q->gpus, &q->power, true, q->a, &fix, &q->why);
    if (q->rc < 0) {
        q->gpus = NULL;
        return;
    }
    if (!q->states) {
        q->states = wl_new_array(q->a, struct wl_gpu_users_state, q->gpus->n);
        q->users = wl_alloc_array(q->a, q->gpus->n, sizeof *q->users);
        q->n = wl_new_array(q->a, int, q->gpus->n);
    }
    for (size_t i = 0; i < q->gpus->n; i++) {
        q->n[i] = wl_gpu_users(q->gpus, i, &q->states[i], q->users[i], &q->why);
        if (q->n[i] < 0) q->rc = q->n[i];
    }
}

static void ask_for_users(struct wl_live_drivers *d, struct found *f)
{
    struct asking *q = d->asking;
    if (!q) return;
    if (!d->asking_hangs) d->asking_hangs = !wl_thread_call_timeout(ask_now, q, WL_DRIVER_TIMEOUT_NS);
    if (d->asking_hangs) {
        f->view.users_why = "the driver has not answered for 2 s when it was asked for the processes on its GPUs";
        return;
    }
    if (q->rc < 0) f->view.users_why = wl_strdup(f->a, q->why.msg);
    if (!q->gpus) return;
    f->view.users = wl_new_array(f->a, struct wl_live_gpu_user, q->gpus->n * WL_GPU_USERS_MAX);
    for (size_t i = 0; i < q->gpus->n; i++)
        for (int k = 0; k < q->n[i]; k++)
            f->view.users[f->view.n_users++] =
                (struct wl_live_gpu_user) { wl_strdup(f->a, q->gpus->devices[i].uuid), q->users[i][k] };
}

/* ---- limits ---- */

/* Opened once: a machine without a limit has none later. */
static void ask_for_caps(struct wl_live_drivers *d, struct found *f)
{
    if (!d->reader && !d->caps_why.code)
        d->caps_why.code = wl_cap_reader_open(&d->reader, &d->cap, &d->power, d->a, &d->caps_why);
    if (!d->reader) {
        f->view.caps_why = wl_strdup(f->a, d->caps_why.msg);
        return;
    }
    const struct wl_cap_present *v = wl_cap_reader_read(d->reader, &f->view.n_caps);
    f->view.caps = wl_new_array(f->a, struct wl_cap_present, f->view.n_caps);
    for (size_t i = 0; i < f->view.n_caps; i++) {
        f->view.caps[i] = v[i];
        if (v[i].why) f->view.caps[i].why = wl_strdup(f->a, v[i].why);
    }
}

/* ---- the thread ---- */

static void publish(struct wl_live_drivers *d, const struct found *f)
{
    struct wl_arena *old = d->found.a;
    d->found = *f;
    wl_arena_free(old);
}

static void *work(void *arg)
{
    struct wl_live_drivers *d = arg;
    pthread_mutex_lock(&d->lock);
    while (!d->stop) {
        pthread_mutex_unlock(&d->lock);
        struct found f = { .a = wl_arena_new(NULL) };
        ask_for_caps(d, &f);
        ask_for_users(d, &f);
        pthread_mutex_lock(&d->lock);
        publish(d, &f);
        if (!d->stop) wl_thread_cond_wait(&d->change, &d->lock, &d->stop, ROUND_NS);
    }
    d->ended = true;
    pthread_cond_broadcast(&d->change);
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

struct wl_live_drivers *wl_live_drivers_start(const struct wl_power_opts *power, bool users)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_live_drivers *d = wl_new(a, struct wl_live_drivers);
    d->a = a;
    d->power = wl_power_opts_copy(power, a);
    d->cap.wait_s = (double)WL_DRIVER_TIMEOUT_NS / WL_NS_PER_S;
    if (users) {
        struct wl_arena *own = wl_arena_new(NULL);
        d->asking = wl_new(own, struct asking);
        *d->asking = (struct asking) { .a = own, .power = wl_power_opts_copy(power, own) };
    }
    wl_thread_cond_init(&d->lock, &d->change);
    if (wl_thread_start(&d->thread, "wl-drivers", work, d) == 0) return d;
    if (d->asking) wl_arena_free(d->asking->a);
    wl_arena_free(a);
    return NULL;
}

void wl_live_drivers_look(struct wl_live_drivers *d, struct wl_live_drivers_view *out, struct wl_arena *a)
{
    *out = (struct wl_live_drivers_view) { 0 };
    if (!d) {
        out->caps_why = out->users_why = "no thread can be started that asks the drivers";
        return;
    }
    pthread_mutex_lock(&d->lock);
    const struct wl_live_drivers_view *v = &d->found.view;
    *out = *v;
    out->caps = wl_new_array(a, struct wl_cap_present, v->n_caps);
    out->users = wl_new_array(a, struct wl_live_gpu_user, v->n_users);
    for (size_t i = 0; i < v->n_caps; i++) {
        out->caps[i] = v->caps[i]; /* device and name live as long as the thread */
        if (v->caps[i].why) out->caps[i].why = wl_strdup(a, v->caps[i].why);
    }
    for (size_t i = 0; i < v->n_users; i++)
        out->users[i] = (struct wl_live_gpu_user) { wl_strdup(a, v->users[i].gpu), v->users[i].user };
    if (v->caps_why) out->caps_why = wl_strdup(a, v->caps_why);
    if (v->users_why) out->users_why = wl_strdup(a, v->users_why);
    pthread_mutex_unlock(&d->lock);
}

void wl_live_drivers_stop(struct wl_live_drivers *d)
{
    if (!d) return;
    pthread_mutex_lock(&d->lock);
    d->stop = true;
    pthread_cond_broadcast(&d->change);
    const bool ended = wl_thread_cond_wait(&d->change, &d->lock, &d->ended, WL_DRIVER_TIMEOUT_NS + WL_NS_PER_S);
    pthread_mutex_unlock(&d->lock);
    if (!ended) {
        pthread_detach(d->thread);
        wl_arena_leak(d->a);
        if (d->asking) wl_arena_leak(d->asking->a);
        return;
    }
    pthread_join(d->thread, NULL);
    if (d->asking) {
        if (d->asking_hangs)
            wl_arena_leak(d->asking->a);
        else
            wl_arena_free(d->asking->a);
    }
    wl_arena_free(d->found.a);
    pthread_cond_destroy(&d->change);
    pthread_mutex_destroy(&d->lock);
    wl_arena_free(d->a);
}
