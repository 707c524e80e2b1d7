#include "settings/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct wl_settings wl_settings_none = {
#define SETTING_COUNT(member, option, unit, max, grid, help, ...) .member = NAN,
#define SETTING_CAP(member, option, unit, kind, grid, help, ...)  .member = NAN,
#include "settings/settings.def"
};

/* clang-format off */
#define ROW(member_, type_, ...) { .name = #member_, .offset = offsetof(struct wl_settings, member_), .type = type_, __VA_ARGS__ },
const struct wl_setting wl_settings_table[] = {
#define SETTING_OBSERVED(member, ...)                              ROW(member, WL_SETTING_TEXT, .observed = true, __VA_ARGS__)
#define SETTING_TEXT(member, option, grid, help, ...)              ROW(member, WL_SETTING_TEXT, __VA_ARGS__)
#define SETTING_COUNT(member, option, unit_, max, grid, help, ...) ROW(member, WL_SETTING_COUNT, .unit = unit_, __VA_ARGS__)
#include "settings/settings.def"
#define SETTING_CAP(member, option, unit_, kind, grid, help, ...)  \
    ROW(member, WL_SETTING_REAL, .unit = unit_, .is_cap = true, .cap = kind, .group = WL_GROUP_VARIES, __VA_ARGS__)
#include "settings/settings.def"
#define SETTING_CHOICE(name_, option_, def_, choices_, help_, ...)                                            \
    { .name = #name_, .type = WL_SETTING_CHOICE, .option = option_, .def = def_, .choices = choices_, .help = help_, \
      __VA_ARGS__ },
#include "settings/settings.def"
    { 0 },
};
/* clang-format on */

const struct wl_setting *wl_setting_find(const char *name)
{
    for (const struct wl_setting *r = wl_settings_table; r->name; r++)
        if (wl_str_eq(r->name, name)) return r;
    return NULL;
}

const struct wl_setting *wl_setting_find_choice(const char *name)
{
    const struct wl_setting *r = wl_setting_find(name);
    return r && r->type == WL_SETTING_CHOICE ? r : NULL;
}

bool wl_setting_separates(const char *name)
{
    const struct wl_setting *r = wl_setting_find(name);
    return r && r->group != WL_GROUP_NEVER;
}

const struct wl_setting *wl_setting_of_cap(enum wl_cap_kind kind)
{
    for (const struct wl_setting *r = wl_settings_table; r->name; r++)
        if (r->is_cap && r->cap == kind) return r;
    WL_CHECK(false);
    return NULL;
}

const struct wl_setting *wl_setting_next_cap(const struct wl_setting *after)
{
    const struct wl_setting *r = after ? after + 1 : wl_settings_table;
    while (r->name && !r->is_cap) r++;
    return r->name ? r : NULL;
}

const struct wl_setting *wl_setting_next_clock(const struct wl_setting *after)
{
    const struct wl_setting *r = wl_setting_next_cap(after);
    while (r && !r->achieved) r = wl_setting_next_cap(r);
    return r;
}

const char *wl_setting_limited(const struct wl_setting *cap, struct wl_arena *a)
{
    return cap->domain ? wl_strf(a, "%s clock", cap->domain) : cap->label;
}

static const void *member(const struct wl_setting *r, const struct wl_settings *set)
{
    return (const char *)set + r->offset;
}

static bool is_number(const struct wl_setting *r) { return r->type == WL_SETTING_COUNT || r->type == WL_SETTING_REAL; }

double wl_setting_real(const struct wl_setting *r, const struct wl_settings *set)
{
    return is_number(r) ? *(const double *)member(r, set) : NAN;
}

const char *wl_setting_string(const struct wl_setting *r, const struct wl_settings *set)
{
    return r->type == WL_SETTING_TEXT ? *(const char *const *)member(r, set) : NULL;
}

char *wl_settings_extra_text(const struct wl_json *value, struct wl_arena *a)
{
    if (wl_json_str(value)) return wl_strdup(a, wl_json_str(value));
    char *text = wl_json_text(value, 0, a);
    double number = wl_json_real(value);
    if (!isnan(number)) return wl_strf(a, "%.15g", number);
    if (strcmp(text, "null") == 0) return NULL;
    return strcmp(text, "true") == 0 ? wl_strdup(a, "1") : strcmp(text, "false") == 0 ? wl_strdup(a, "0") : text;
}

char *wl_setting_choice(const struct wl_setting *r, const struct wl_settings *set, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct wl_json *object;
    char *text = NULL;
    if (set->extra && wl_json_parse(set->extra, "settings", &object, scratch, NULL) == 0) {
        const struct wl_json *value = wl_json_get(object, r->name);
        if (value) text = wl_settings_extra_text(value, a);
    }
    wl_arena_free(scratch);
    return text;
}

void wl_setting_set_real(const struct wl_setting *r, struct wl_settings *set, double value)
{
    WL_CHECK(is_number(r));
    *(double *)((char *)set + r->offset) = value;
}

void wl_setting_set_string(const struct wl_setting *r, struct wl_settings *set, const char *value)
{
    WL_CHECK(r->type == WL_SETTING_TEXT);
    *(const char **)((char *)set + r->offset) = value;
}

static int by_name(const void *x, const void *y)
{
    const struct wl_setting_pair *p = x, *q = y;
    return strcmp(p->name, q->name);
}

char *wl_settings_extra(struct wl_setting_pair *v, size_t n, struct wl_arena *a)
{
    if (n == 0) return NULL;
    qsort(v, n, sizeof *v, by_name);
    struct wl_json *o = wl_json_root_object(a);
    for (size_t i = 0; i < n; i++) wl_json_add_str(o, v[i].name, v[i].value);
    return wl_json_text(o, 0, a);
}

/* A member of either object. */
struct member {
    const char *name;
    const struct wl_json *value;
};

static int by_member_name(const void *x, const void *y)
{
    const struct member *p = x, *q = y;
    return strcmp(p->name, q->name);
}

static struct wl_json *parse_extra(const char *text, struct wl_arena *a)
{
    struct wl_json *object;
    return wl_json_parse(text, "settings", &object, a, NULL) == 0 && wl_json_is_object(object) ? object
                                                                                               : wl_json_root_object(a);
}

static const char *merge_extra(const char *first, const char *second, struct wl_arena *scratch)
{
    const struct wl_json *from[] = { parse_extra(first, scratch), parse_extra(second, scratch) };
    struct member *v = wl_new_array(scratch, struct member, wl_json_size(from[0]) + wl_json_size(from[1]));
    size_t n = 0;
    for (size_t i = 0; i < WL_COUNT(from); i++)
        for (const char *key = wl_json_key(from[i], NULL); key; key = wl_json_key(from[i], key))
            if (i == 0 || !wl_json_get(from[0], key)) v[n++] = (struct member) { key, wl_json_get(from[i], key) };
    if (n) qsort(v, n, sizeof *v, by_member_name);
    struct wl_json *o = wl_json_root_object(scratch);
    for (size_t i = 0; i < n; i++) wl_json_add_value(o, v[i].name, v[i].value);
    return wl_json_text(o, 0, scratch);
}

const char *wl_settings_merge_extra(const char *first, const char *second, struct wl_arena *a)
{
    if (!first || !second) return first ? first : second;
    struct wl_arena *scratch = wl_arena_new(NULL);
    const char *text = wl_strdup(a, merge_extra(first, second, scratch));
    wl_arena_free(scratch);
    return text;
}

char *wl_settings_key(const struct wl_settings *set, struct wl_arena *a)
{
    struct wl_text key = WL_TEXT(a);
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) {
        const char *text = wl_setting_string(r, set), *blank = key.n ? " " : "";
        double number = wl_setting_real(r, set);
        if (text) wl_text_addf(&key, "%s%s=%s", blank, r->name, text);
        if (!isnan(number)) wl_text_addf(&key, "%s%s=%.15g", blank, r->name, number);
    }
    if (set->extra) wl_text_addf(&key, "%sextra=%s", key.n ? " " : "", set->extra);
    return key.s;
}
