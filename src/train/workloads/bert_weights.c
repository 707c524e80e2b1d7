#include "train/workloads/bert_weights.h"

#include <string.h>

static const char embedding_name[] = "bert.embeddings.word_embeddings.weight", bert_prefix[] = "bert.";

/* The old name of a norm's parameter: gamma for weight, beta for bias. NULL: not of a norm. */
static const char *old_name(const char *name, struct wl_arena *a)
{
    static const char *const now[] = { "LayerNorm.weight", "LayerNorm.bias" }, *const then[] = { "gamma", "beta" };
    for (size_t i = 0; i < WL_COUNT(now); i++) {
        const char *at = strstr(name, now[i]);
        if (at && wl_str_eq(at, now[i])) return wl_strf(a, "%.*sLayerNorm.%s", (int)(at - name), name, then[i]);
    }
    return NULL;
}

static void add_names(const char *name, struct wl_strs *names, struct wl_arena *a)
{
    const char *old = old_name(name, a);
    wl_strs_add(a, names, name);
    if (old) wl_strs_add(a, names, old);
}

/* Names in files of the encoder alone do not start with "bert.". */
static void names_of(const char *parameter, struct wl_strs *names, struct wl_arena *a)
{
    add_names(parameter, names, a);
    if (wl_str_starts(parameter, bert_prefix)) add_names(parameter + strlen(bert_prefix), names, a);
}

/* The numbers 0 to 511, and parameters tied to others. */
static bool is_ignored(const char *name)
{
    static const char *const copies[] = { "cls.predictions.decoder.weight", "cls.predictions.decoder.bias" };
    return strstr(name, "position_ids") || wl_str_eq(name, copies[0]) || wl_str_eq(name, copies[1]);
}

static int check_vocabulary(const struct wl_safetensors *s, int64_t vocabulary, const char *dir, struct wl_err *e)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct wl_safetensor *t = &s->v[i];
        bool is_table = wl_str_eq(t->name, embedding_name) || wl_str_eq(t->name, embedding_name + strlen(bert_prefix));
        if (!is_table || t->dims != 2 || t->dim[0] == vocabulary) continue;
        return wl_fail(
            e, WL_EINVAL,
            "%s is for a vocabulary of %lld tokens, but %s has one of %lld: tokenise the text with the vocab.txt of "
            "these weights (wattlaw-train data wikitext --vocab)",
            s->path, (long long)t->dim[0], dir, (long long)vocabulary);
    }
    return 0;
}

int wl_bert_weights_load(const char *path, int64_t vocabulary, const char *dir, struct wl_plan *plan, bool log,
                         struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_param_naming naming = { .names = names_of, .ignored = is_ignored };
    struct wl_arena *once = wl_arena_new(a);
    struct wl_safetensors s;
    int rc = wl_safetensors_open(&s, path, once, e);
    if (!rc) rc = check_vocabulary(&s, vocabulary, dir, e);
    if (!rc) rc = wl_safetensors_load(&s, plan, &naming, log, once, e);
    wl_arena_free(once);
    return rc;
}
