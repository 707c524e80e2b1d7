/* ro-crate-metadata.json: RO-Crate 1.1, "RO-Crate Structure" and "Root Data Entity". */
#include "exchange/bundle/bundle.h"

#include <string.h>
#include <sys/stat.h>

#define CONTEXT "https://w3id.org/ro/crate/1.1/context"
#define PROFILE "https://w3id.org/ro/crate/1.1"

static struct wl_json *entity(struct wl_json *graph, const char *id, const char *type)
{
    struct wl_json *o = wl_json_add_object(graph, NULL);
    wl_json_add_str(o, "@id", id);
    wl_json_add_str(o, "@type", type);
    return o;
}

static void reference(struct wl_json *parent, const char *key, const char *id)
{
    wl_json_add_str(wl_json_add_object(parent, key), "@id", id);
}

static void add_descriptor(struct wl_json *graph)
{
    struct wl_json *o = entity(graph, WL_BUNDLE_CRATE, "CreativeWork");
    reference(o, "conformsTo", PROFILE);
    reference(o, "about", "./");
}

static bool is_url(const char *text) { return wl_str_starts(text, "http://") || wl_str_starts(text, "https://"); }

static const char *license_id(const struct wl_bundle *b)
{
    return b->license && is_url(b->license) ? b->license : "#license";
}

/* The profile asks for a license and a name of it. */
static void add_license(struct wl_json *graph, const struct wl_bundle *b)
{
    struct wl_json *o = entity(graph, license_id(b), "CreativeWork");
    wl_json_add_str(o, "name", b->license ? b->license : "No license was given");
}

static const char *author_id(size_t i, struct wl_arena *a) { return wl_strf(a, "#author-%zu", i + 1); }

static void add_root(struct wl_json *graph, const struct wl_bundle *b, struct wl_arena *a)
{
    struct wl_json *o = entity(graph, "./", "Dataset");
    wl_json_add_str(o, "name", b->name);
    wl_json_add_str(o, "description", b->description);
    wl_json_add_str(o, "datePublished", b->published);
    reference(o, "license", license_id(b));
    if (b->author->n) {
        struct wl_json *list = wl_json_add_array(o, "author");
        for (size_t i = 0; i < b->author->n; i++) reference(list, NULL, author_id(i, a));
    }
    struct wl_json *parts = wl_json_add_array(o, "hasPart");
    for (size_t i = 0; i < b->n; i++) reference(parts, NULL, b->files[i].name);
    reference(parts, NULL, WL_BUNDLE_MANIFEST);
    reference(wl_json_add_array(o, "mentions"), NULL, "#measurement");
}

static int64_t size_of(const struct wl_bundle_file *f)
{
    struct stat st;
    if (!f->path) return (int64_t)f->n;
    return stat(f->path, &st) == 0 ? (int64_t)st.st_size : 0;
}

static void add_file(struct wl_json *graph, const struct wl_bundle_file *f, struct wl_arena *a)
{
    struct wl_json *o = entity(graph, f->name, "File");
    wl_json_add_str(o, "name", wl_path_base(f->name));
    if (f->description) wl_json_add_str(o, "description", f->description);
    wl_json_add_str(o, "encodingFormat", f->type);
    wl_json_add_str(o, "contentSize", wl_strf(a, "%lld", (long long)size_of(f)));
}

/* What made the store: the program that measured, and when. */
static void add_measurement(struct wl_json *graph, const struct wl_bundle *b, struct wl_arena *a)
{
    struct wl_json *o = entity(graph, "#wattlaw", "SoftwareApplication");
    wl_json_add_str(o, "name", "wattlaw");
    wl_json_add_str(o, "version", b->version);
    o = entity(graph, "#measurement", "CreateAction");
    wl_json_add_str(o, "name", wl_strf(a, "Measurement of %s", b->name));
    if (b->begun) wl_json_add_str(o, "startTime", b->begun);
    if (b->ended) wl_json_add_str(o, "endTime", b->ended);
    reference(o, "instrument", "#wattlaw");
    reference(wl_json_add_array(o, "result"), NULL, "wattlaw.db");
}

char *wl_bundle_crate(const struct wl_bundle *b, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_str(root, "@context", CONTEXT);
    struct wl_json *graph = wl_json_add_array(root, "@graph");
    add_descriptor(graph);
    add_root(graph, b, a);
    add_license(graph, b);
    for (size_t i = 0; i < b->author->n; i++)
        wl_json_add_str(entity(graph, author_id(i, a), "Person"), "name", b->author->v[i]);
    for (size_t i = 0; i < b->n; i++) add_file(graph, &b->files[i], a);
    const struct wl_bundle_file manifest = { .name = WL_BUNDLE_MANIFEST,
                                             .type = "text/plain",
                                             .description = "SHA-256 of every other file, as sha256sum -c reads it" };
    struct wl_json *o = entity(graph, manifest.name, "File");
    wl_json_add_str(o, "name", manifest.name);
    wl_json_add_str(o, "description", manifest.description);
    wl_json_add_str(o, "encodingFormat", manifest.type);
    add_measurement(graph, b, a);
    return wl_strf(a, "%s\n", wl_json_printable(wl_json_text(root, 2, a), a));
}
