#include "campaign/template.h"

#include <ctype.h>
#include <string.h>

static bool name_char(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The length of the name after an opening brace, 0 if there is none or the brace is not closed. */
static size_t name_length(const char *s)
{
    size_t n = 0;
    while (name_char(s[n])) n++;
    return s[n] == '}' ? n : 0;
}

int wl_template_expand(const char *text, wl_template_value *value, void *ctx, const char *where, const char **out,
                       struct wl_arena *a, struct wl_err *e)
{
    struct wl_text to = WL_TEXT(a);
    for (const char *s = text; *s;) {
        if ((s[0] == '{' || s[0] == '}') && s[1] == s[0]) {
            wl_text_addn(&to, s, 1);
            s += 2;
        } else if (*s == '{') {
            size_t n = name_length(s + 1);
            if (n == 0)
                return wl_fail(e, WL_EINVAL, "%s: '%.24s': a placeholder is {name}; write {{ and }} for plain braces",
                               where, s);
            const char *v = NULL;
            int rc = value(ctx, wl_strndup(a, s + 1, n), where, &v, a, e);
            if (rc < 0) return rc;
            wl_text_add(&to, v);
            s += n + 2;
        } else if (*s == '}') {
            return wl_fail(e, WL_EINVAL,
                           "%s: '%.24s': a closing brace without its opening one; write }} for a plain "
                           "brace",
                           where, s);
        } else {
            size_t n = strcspn(s, "{}");
            wl_text_addn(&to, s, n);
            s += n;
        }
    }
    *out = to.s;
    return 0;
}

/* A word that only a shell understands. */
static bool is_shell_operator(const char *word)
{
    static const char *const operators[] = { "|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1" };
    for (size_t i = 0; i < WL_COUNT(operators); i++)
        if (wl_str_eq(word, operators[i])) return true;
    return false;
}

int wl_template_words(const char *text, const char *where, struct wl_strs *out, struct wl_arena *a, struct wl_err *e)
{
    int rc = wl_shell_split(text, out, a, e);
    if (rc < 0) return wl_err_prefix(e, "%s", where);
    for (size_t i = 0; i < out->n; i++)
        if (is_shell_operator(out->v[i]))
            return wl_fail(e, WL_EINVAL,
                           "%s: '%s' needs a shell, and the command is started without one; write: "
                           "sh -c '...'",
                           where, out->v[i]);
    return 0;
}

char **wl_strs_argv(const struct wl_strs *words, struct wl_arena *a)
{
    char **argv = wl_new_array(a, char *, words->n + 1);
    for (size_t i = 0; i < words->n; i++) argv[i] = words->v[i];
    return argv;
}
