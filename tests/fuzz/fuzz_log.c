/* Any bytes as the log of a training framework: each line gives marks that can be read, a message, or nothing. */
#include "fuzz.h"

#include "mark/mark.h"

#include <math.h>
#include <string.h>

/* A text that only the logs of one framework have, so that an input is read by the preset of its seed. */
static const struct {
    const char *preset, *text;
} frameworks[] = { { "megatron", "consumed samples" }, { "nemo", "global_step" }, { "torchtitan", "titan]" },
                   { "lightning", "Epoch " },          { "hf", "'loss'" },        { "deepspeed", "" } };

static const char *preset_of(const char *text)
{
    size_t i = 0;
    while (!strstr(text, frameworks[i].text)) i++;
    return frameworks[i].preset;
}

static void check_mark(void *ctx, const struct wl_mark *m)
{
    static const char *const counts[] = { "step", "samples", "tokens", "total" };
    (void)ctx;
    WL_CHECK(m->word == WL_MARK_STEP || m->word == WL_MARK_METRIC || m->word == WL_MARK_CHECKPOINT ||
             m->word == WL_MARK_EPOCH_BEGIN || m->word == WL_MARK_EPOCH_END);
    for (size_t i = 0; i < WL_COUNT(counts); i++) {
        const int64_t n = wl_mark_int(m, counts[i], 0);
        WL_CHECK(n >= 0 && n <= WL_MARK_COUNT_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    char *text = wl_strndup(a, (const char *)data, n), *end = text + strlen(text);
    const struct wl_mark_regex_opts o = { .log = preset_of(text), .tokens_per_sample = 4096 };
    struct wl_mark_regex *r;
    struct wl_err e;
    int64_t t_ns = 1;
    WL_CHECK(wl_mark_regex_new(&r, &o, check_mark, NULL, NULL, a, &e) == 0);
    wl_mark_regex_start(r, t_ns);
    for (char *line = text; line < end; line += strcspn(line, "\n\r") + 1) {
        e.msg[0] = '\0';
        WL_CHECK(wl_mark_regex_line(r, ++t_ns, line, strcspn(line, "\n\r"), &e) == 0 || e.msg[0]);
    }
    wl_mark_regex_end(r, ++t_ns, true);
    wl_arena_free(a);
    return 0;
}
