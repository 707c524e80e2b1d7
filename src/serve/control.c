/* Pause, resume, cancel and retry from a page or program: the one path of this server that changes something. What is
 * asked for becomes a row of the store (wl_store_control); the sweep acts upon it. docs/adr/177 */
#include "store/control.h"
#include "serve/site.h"

#include <pthread.h>
#include <string.h>
#include <strings.h>

/* ---- how often ---- */

enum { BURST = 20 };
static const double PER_S = 2;

struct wl_site_control {
    pthread_mutex_t lock;
    double left;
    int64_t at_ns;
};

static void release(void *control) { pthread_mutex_destroy(&((struct wl_site_control *)control)->lock); }

struct wl_site_control *wl_site_control_new(struct wl_arena *a)
{
    struct wl_site_control *c = wl_new(a, struct wl_site_control);
    *c = (struct wl_site_control) { .left = BURST, .at_ns = wl_now_ns() };
    pthread_mutex_init(&c->lock, NULL);
    wl_defer(a, release, c);
    return c;
}

/* Only those who may change something are counted: others cannot use it up. */
static bool is_too_often(struct wl_site_control *c)
{
    const int64_t now_ns = wl_now_ns();
    pthread_mutex_lock(&c->lock);
    c->left += PER_S * (double)(now_ns - c->at_ns) / WL_NS_PER_S;
    if (c->left > BURST) c->left = BURST;
    c->at_ns = now_ns;
    const bool refused = c->left < 1;
    if (!refused) c->left--;
    pthread_mutex_unlock(&c->lock);
    return refused;
}

/* ---- what is asked for ---- */

static bool is_json(const struct wl_http_request *r)
{
    static const char json[] = "application/json";
    const char *type = r->content_type ? r->content_type : "";
    const size_t n = strlen(json);
    return strncasecmp(type, json, n) == 0 && (type[n] == '\0' || type[n] == ';' || type[n] == ' ');
}

static int check_members(const struct wl_json *root, struct wl_err *e)
{
    static const char *const names[] = { "action", "store", "campaign", "run" };
    size_t known = 0;
    for (size_t i = 0; i < WL_COUNT(names); i++) known += wl_json_get(root, names[i]) != NULL;
    if (known != wl_json_size(root))
        return wl_fail(e, WL_EINVAL, "expected no members but action, store, campaign, run");
    if (wl_json_get(root, "campaign") && !wl_json_str(wl_json_get(root, "campaign")))
        return wl_fail(e, WL_EINVAL, "campaign: expected the name of a campaign");
    if (wl_json_get(root, "run") && !wl_json_str(wl_json_get(root, "run")))
        return wl_fail(e, WL_EINVAL, "run: expected a text STORE-NUMBER, such as \"1-12\"");
    if (wl_json_get(root, "store") && wl_json_int(wl_json_get(root, "store"), -1) < 0)
        return wl_fail(e, WL_EINVAL, "store: expected the number of a store");
    return 0;
}

static int read_action(const struct wl_json *root, enum wl_control_action *out, struct wl_err *e)
{
    const char *name = wl_json_str(wl_json_get(root, "action"));
    for (int i = 0; i < WL_CONTROL_ACTIONS; i++)
        if (name && strcmp(name, wl_control_names[i]) == 0) return *out = (enum wl_control_action)i, 0;
    return wl_fail(e, WL_EINVAL, "action: %s: expected one of pause, resume, cancel, retry",
                   name ? name : "not a text");
}

static int parse(const struct wl_http_request *r, const struct wl_json **root, enum wl_control_action *action,
                 struct wl_err *e)
{
    struct wl_json *body = NULL;
    *root = NULL;
    if (!is_json(r)) return wl_fail(e, WL_EINVAL, "expected a body of type application/json");
    if (memchr(r->body, '\0', r->n_body)) return wl_fail(e, WL_EINVAL, "the body has a NUL byte");
    int rc = wl_json_parse(r->body, "the body", &body, r->a, e);
    if (rc == 0 && !wl_json_is_object(body)) rc = wl_fail(e, WL_EINVAL, "the body: expected a JSON object");
    if (rc == 0) rc = check_members(body, e);
    if (rc == 0) rc = read_action(body, action, e);
    *root = body;
    return rc;
}

/* The store, and the run if one is named; NULL: none, and *out says so. */
static struct wl_served *find(struct wl_site *site, const struct wl_http_request *r, const struct wl_json *root,
                              int64_t *run, struct wl_http_answer *out)
{
    const struct wl_json *id = wl_json_get(root, "run"), *store = wl_json_get(root, "store");
    *run = 0;
    if (!id) return wl_site_store(site, wl_strf(r->a, "%lld", (long long)wl_json_int(store, store ? 0 : 1)), r, out);
    const char *text = wl_json_str(id);
    struct wl_site_run found = wl_site_run(site, text, r, out);
    if (!found.row) return NULL;
    *run = found.row->id;
    wl_snapshot_release(found.snapshot);
    if (!store || (size_t)wl_json_int(store, 0) == wl_served_number(found.served)) return found.served;
    wl_http_answer_error(out, r->a, 400, "run %s is not of store %lld", text, (long long)wl_json_int(store, 0));
    return NULL;
}

static bool refuse(struct wl_site *site, const struct wl_http_request *r, struct wl_http_answer *out)
{
    const char *why = site->control ? wl_access_why_no_change(&site->access, r) : NULL;
    if (!site->control)
        wl_http_answer_error(out, r->a, 403, "this server only shows: start it with --allow-control and a token");
    else if (why)
        wl_http_answer_error(out, r->a, 403, "%s", why);
    else if (is_too_often(site->control))
        wl_http_answer_error(out, r->a, 429, "too many requests to change something: at most %g a second", PER_S);
    else
        return false;
    return true;
}

void wl_site_control_request(struct wl_site *site, const struct wl_http_request *r, const struct wl_site_parts *parts,
                             struct wl_http_answer *out)
{
    struct wl_control_request request = { 0 };
    struct wl_control_answer done;
    const struct wl_json *root;
    struct wl_err e;
    (void)parts;
    if (refuse(site, r, out)) return;
    if (parse(r, &root, &request.action, &e) < 0) {
        wl_http_answer_failure(out, r->a, &e);
        return;
    }
    struct wl_served *served = find(site, r, root, &request.run, out);
    if (!served) return;
    request.campaign = wl_json_str(wl_json_get(root, "campaign"));
    request.asked_by = wl_strf(r->a, "%s through wattlaw serve of %s", r->client ? r->client : "an unknown address",
                               site->options->user);
    const int rc = wl_store_control(wl_served_path(served), &request, &done, r->a, &e);
    wl_log(WL_INFO, "serve", "control: %s asks for %s%s%s of %s: %s", request.asked_by,
           wl_control_names[request.action], request.run ? " of run " : "",
           request.run ? wl_strf(r->a, "%lld", (long long)request.run) : "", wl_served_path(served),
           rc < 0 ? e.msg : done.text);
    if (rc == WL_EPERM)
        wl_http_answer_error(out, r->a, 409, "%s", e.msg);
    else if (rc < 0)
        wl_http_answer_failure(out, r->a, &e);
    else {
        struct wl_json *o = wl_json_root_object(r->a);
        wl_control_answer_json(request.action, &done, o);
        wl_http_answer_json(out, o, r->a);
    }
}
