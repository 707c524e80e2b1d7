#include "cmd/source.h"

#include "exchange/exchange.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

/* A store is known by the first bytes of every SQLite file, whatever it is called. From a pipe (/dev/stdin) they could
 * not be read again. */
static bool is_store(const char *path)
{
    if (!wl_is_file(path)) return false;
    static const char magic[] = "SQLite format 3";
    char head[sizeof magic] = "";
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    size_t n = fread(head, 1, sizeof magic, f);
    fclose(f);
    return n == sizeof magic && memcmp(head, magic, sizeof magic) == 0;
}

static int read_store(const char *given, const struct wl_strs *map, struct wl_observations *out, struct wl_arena *a,
                      struct wl_err *e)
{
    char *path;
    struct wl_store *store;
    if (map->n) return wl_fail(e, WL_EUSAGE, "--map renames columns of a CSV file; %s is a store", given);
    int rc = wl_store_find(given, &path, a, e);
    if (rc == 0) rc = wl_store_open(&store, path, WL_STORE_READ, a, e);
    if (rc) return rc;
    rc = wl_store_observations(store, 0, out, a, e);
    wl_store_close(store);
    return rc;
}

int wl_source_read(const char *path, const struct wl_strs *map, struct wl_observations *out, struct wl_arena *a,
                   struct wl_err *e)
{
    bool store = wl_is_dir(path) || is_store(path);
    int rc = store ? read_store(path, map, out, a, e) : wl_obs_read_csv(path, map, out, a, e);
    if (rc) return rc;
    if (!out->n) return wl_fail(e, WL_EINVAL, store ? "%s: no run is done yet" : "%s: a header and no rows", path);
    return 0;
}

struct wl_json *wl_source_json(const char *path, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_str(root, "wattlaw", WL_VERSION);
    wl_json_add_str(root, "source", path);
    return root;
}
