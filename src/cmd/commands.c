/* The commands of a program as a tree, and what their options and arguments take. */
#include "cmd/internal.h"

#include <ctype.h>
#include <string.h>

void wl_cmd_walk(const struct wl_cmd_program *p, wl_cmd_visit *visit, void *ctx, struct wl_arena *a)
{
    const char *blank = strchr(p->name, ' '); /* "wattlaw-train data" is below "wattlaw-train" */
    for (const struct wl_cmd *const *c = p->commands; *c; c++) {
        const char *path = blank ? wl_strf(a, "%s %s", blank + 1, (*c)->name) : (*c)->name;
        if ((*c)->program)
            wl_cmd_walk((*c)->program, visit, ctx, a);
        else
            visit(ctx, path, *c, a);
    }
}

const struct wl_cmd *wl_cmd_find(const struct wl_cmd_program *p, char *const *words)
{
    if (!*words) return NULL;
    for (const struct wl_cmd *const *c = p->commands; *c; c++)
        if (wl_str_eq((*c)->name, *words)) return (*c)->program ? wl_cmd_find((*c)->program, words + 1) : *c;
    return NULL;
}

static bool is_one_of(const char *word, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (wl_str_eq(word, names[i])) return true;
    return false;
}

enum wl_value_kind wl_cmd_value_kind(const struct wl_opt *o)
{
    static const char *const files[] = { "FILE", "PATH", "FILE.svg", "FILE.ini", "STORE|CSV", "COMMAND" },
                             *const folders[] = { "FOLDER" };
    if (o->type == WL_FLAG) return WL_VALUE_NONE;
    if (o->type == WL_CHOICE) return WL_VALUE_WORDS;
    if (o->unit && is_one_of(o->unit, folders, WL_COUNT(folders))) return WL_VALUE_FOLDER;
    if (o->unit && is_one_of(o->unit, files, WL_COUNT(files))) return WL_VALUE_FILE;
    return WL_VALUE_OTHER;
}

/* "observations|samples" and "dcgm" of a usage: words in lower case, which are typed as they are. */
const char *wl_cmd_argument_words(const struct wl_cmd *c, struct wl_arena *a)
{
    for (const char *word = c->usage; *word;) {
        const size_t n = strcspn(word, " "), optional = *word == '[' && memchr(word, '|', n); /* "[a|b]" */
        size_t letters = optional;
        while (letters < n && (islower((unsigned char)word[letters]) || word[letters] == '|')) letters++;
        if (letters + optional == n && n > 1) {
            char *words = wl_strndup(a, word + optional, n - 2 * optional);
            for (char *s = words; *s; s++)
                if (*s == '|') *s = ' ';
            return words;
        }
        word += n + strspn(word + n, " ");
    }
    return NULL;
}

/* A usage names what it takes in capitals: STORE, FILE.ini, COMMAND. */
bool wl_cmd_takes_files(const struct wl_cmd *c)
{
    for (const char *s = c->usage; *s; s++)
        if (isupper((unsigned char)*s)) return true;
    return false;
}

char *wl_cmd_choices(const struct wl_opt *o, struct wl_arena *a)
{
    char *words = wl_strdup(a, o->choices);
    for (char *s = words; *s; s++)
        if (*s == '|') *s = ' ';
    return words;
}
