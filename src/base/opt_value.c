#include "base/opt_value.h"

#include <math.h>
#include <string.h>

static void *field(const struct wl_opt *o, void *out) { return (char *)out + o->offset; }

bool wl_opt_has_range(const struct wl_opt *o) { return o->min != 0 || o->max != 0; }

static bool in_range(const struct wl_opt *o, double v) { return !wl_opt_has_range(o) || (v >= o->min && v <= o->max); }

const char *wl_opt_expected(const struct wl_opt *o, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    switch (o->type) {
    case WL_FLAG: wl_text_add(&t, "yes or no"); break;
    case WL_INT: wl_text_add(&t, "a whole number"); break;
    case WL_REAL: wl_text_add(&t, "a number"); break;
    case WL_DURATION: wl_text_add(&t, "a time such as 10s, 200ms or 3m"); break;
    case WL_CHOICE: wl_text_addf(&t, "one of %s", o->choices); break;
    case WL_INTS: wl_text_add(&t, "a list of whole numbers"); break;
    case WL_REALS: wl_text_add(&t, "a list of numbers"); break;
    case WL_STR:
    case WL_STRS:
    case WL_LINES: wl_text_add(&t, "text"); break;
    }
    if (wl_opt_has_range(o) && o->max >= WL_NO_MAX)
        wl_text_addf(&t, " of at least %.10g", o->min);
    else if (wl_opt_has_range(o))
        wl_text_addf(&t, " from %.10g to %.10g", o->min, o->max);
    if (o->unit) wl_text_addf(&t, " (%s)", o->unit);
    return t.s;
}

static bool parse_flag(const char *s, bool *out)
{
    static const char *const yes[] = { "yes", "true", "on", "1" }, *const no[] = { "no", "false", "off", "0" };
    for (size_t i = 0; i < WL_COUNT(yes); i++) {
        if (strcasecmp(s, yes[i]) == 0) return *out = true, true;
        if (strcasecmp(s, no[i]) == 0) return *out = false, true;
    }
    return false;
}

bool wl_opt_has_choice(const char *choices, const char *s)
{
    size_t n = strlen(s);
    for (const char *c = choices; c && n; c = strchr(c, '|') ? strchr(c, '|') + 1 : NULL)
        if (strncmp(c, s, n) == 0 && (c[n] == '|' || c[n] == '\0')) return true;
    return false;
}

static bool set_ints(const struct wl_opt *o, struct wl_ints *out, const char *s, struct wl_arena *a)
{
    struct wl_strs words = wl_str_split(a, s, ',');
    struct wl_ints list = { wl_new_array(a, int64_t, words.n), words.n };
    for (size_t i = 0; i < words.n; i++)
        if (wl_str_to_int(words.v[i], &list.v[i]) || !in_range(o, (double)list.v[i])) return false;
    if (list.n) *out = list;
    return list.n > 0;
}

static bool set_reals(const struct wl_opt *o, struct wl_reals *out, const char *s, struct wl_arena *a)
{
    struct wl_strs words = wl_str_split(a, s, ',');
    struct wl_reals list = { wl_new_array(a, double, words.n), words.n };
    for (size_t i = 0; i < words.n; i++)
        if (wl_str_to_real(words.v[i], &list.v[i]) || !in_range(o, list.v[i])) return false;
    if (list.n) *out = list;
    return list.n > 0;
}

bool wl_opt_set(const struct wl_opt *o, void *out, const char *s, bool more, struct wl_arena *a)
{
    void *f = field(o, out);
    switch (o->type) {
    case WL_FLAG: return parse_flag(s, f);
    case WL_INT: {
        int64_t v;
        if (wl_str_to_int(s, &v) || !in_range(o, (double)v)) return false;
        *(int64_t *)f = v;
        return true;
    }
    case WL_REAL:
    case WL_DURATION: {
        double v;
        if (o->type == WL_REAL ? wl_str_to_real(s, &v) : wl_str_to_duration(s, &v)) return false;
        if (!in_range(o, v)) return false;
        *(double *)f = v;
        return true;
    }
    case WL_CHOICE:
        if (!wl_opt_has_choice(o->choices, s)) return false;
        *(const char **)f = wl_strdup(a, s);
        return true;
    case WL_STR: *(const char **)f = wl_strdup(a, s); return true;
    case WL_INTS: return set_ints(o, f, s, a);
    case WL_REALS: return set_reals(o, f, s, a);
    case WL_STRS: {
        struct wl_strs words = wl_str_split(a, s, ','), *list = f;
        if (!more) *list = (struct wl_strs) { 0 };
        for (size_t i = 0; i < words.n; i++) wl_strs_add(a, list, words.v[i]);
        return words.n > 0;
    }
    case WL_LINES:
        if (!more) *(struct wl_strs *)f = (struct wl_strs) { 0 };
        wl_strs_add(a, f, s);
        return true;
    }
    return false;
}

void wl_opt_clear(const struct wl_opt *o, void *out)
{
    void *f = field(o, out);
    switch (o->type) {
    case WL_FLAG: *(bool *)f = false; break;
    case WL_INT: *(int64_t *)f = 0; break;
    case WL_REAL:
    case WL_DURATION: *(double *)f = NAN; break;
    case WL_STR:
    case WL_CHOICE: *(const char **)f = NULL; break;
    case WL_INTS: *(struct wl_ints *)f = (struct wl_ints) { 0 }; break;
    case WL_REALS: *(struct wl_reals *)f = (struct wl_reals) { 0 }; break;
    case WL_STRS:
    case WL_LINES: *(struct wl_strs *)f = (struct wl_strs) { 0 }; break;
    }
}

const char *wl_opt_text(const struct wl_opt *o, const void *in, struct wl_arena *a)
{
    const void *f = (const char *)in + o->offset;
    struct wl_text t = WL_TEXT(a);
    switch (o->type) {
    case WL_FLAG: return *(const bool *)f ? "yes" : "no";
    case WL_INT: return wl_strf(a, "%lld", (long long)*(const int64_t *)f);
    case WL_REAL:
    case WL_DURATION: return isnan(*(const double *)f) ? NULL : wl_strf(a, "%.17g", *(const double *)f);
    case WL_STR:
    case WL_CHOICE: return *(const char *const *)f;
    case WL_INTS:
        for (size_t i = 0; i < ((const struct wl_ints *)f)->n; i++)
            wl_text_addf(&t, "%s%lld", i ? "," : "", (long long)((const struct wl_ints *)f)->v[i]);
        break;
    case WL_REALS:
        for (size_t i = 0; i < ((const struct wl_reals *)f)->n; i++)
            wl_text_addf(&t, "%s%.17g", i ? "," : "", ((const struct wl_reals *)f)->v[i]);
        break;
    case WL_STRS:
    case WL_LINES:
        for (size_t i = 0; i < ((const struct wl_strs *)f)->n; i++)
            wl_text_addf(&t, "%s%s", i ? "," : "", ((const struct wl_strs *)f)->v[i]);
        break;
    }
    return t.n ? t.s : NULL;
}
