/* Plans in files: engines that cuDNN compiles take seconds to plan, and a millisecond to take back. A file's lines are
 * what the plan is of, its engine, the checksum of the rest, and cuDNN's JSON: cuDNN takes back what is well formed,
 * also the plan of another shape. */
#include "nn/gpu/dnn/dnn.h"

#include <string.h>

enum { MOST_BYTES = 16 << 20 }; /* a plan has some hundred KB */

static char *path_of(const char *folder, const char *key, struct wl_arena *a)
{
    return wl_strf(a, "%s/%08x.json", folder, (unsigned)wl_crc32c(0, key, strlen(key)));
}

/* The line at *text, of which it is made a string; NULL: the text ends before the line does. */
static char *cut_line(char **text)
{
    char *line = *text, *end = strchr(line, '\n');
    if (!end) return NULL;
    *end = '\0';
    *text = end + 1;
    return line;
}

static char *checksum(const char *json, struct wl_arena *a)
{
    return wl_strf(a, "%08x", (unsigned)wl_crc32c(0, json, strlen(json)));
}

struct wl_gpu_kept_plan wl_gpu_dnn_kept(const char *folder, const char *key, struct wl_arena *a)
{
    const struct wl_gpu_kept_plan none = { 0 };
    char *text;
    size_t n;
    if (wl_file_read(path_of(folder, key, a), MOST_BYTES, &text, &n, a, NULL) || strlen(text) != n) return none;
    const char *of = cut_line(&text), *engine = of ? cut_line(&text) : NULL, *sum = engine ? cut_line(&text) : NULL;
    if (!sum || strcmp(of, key) || strcmp(sum, checksum(text, a))) return none;
    return (struct wl_gpu_kept_plan) { engine, text };
}

int wl_gpu_dnn_keep(const char *folder, const char *key, const struct wl_gpu_kept_plan *k, struct wl_err *e)
{
    struct wl_arena *once = wl_arena_new(NULL);
    const char *text = wl_strf(once, "%s\n%s\n%s\n%s", key, k->engine, checksum(k->json, once), k->json);
    int rc = wl_mkdirs(folder, e);
    if (!rc) rc = wl_file_write(path_of(folder, key, once), text, strlen(text), e);
    wl_arena_free(once);
    return rc;
}
