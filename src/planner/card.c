#include "planner/card.h"

#include <math.h>
#include <string.h>

enum dimension { FLOP_RATE, BYTES, BYTE_RATE, POWER, CLOCK, NUMBER };

/* What a device can have, in base units: as the keys of a plan file, so that no arithmetic overflows. */
static const struct range {
    double min, max;
    bool whole;
} ranges[] = {
    [FLOP_RATE] = { 1e6, 1e21, false }, [BYTES] = { 1, 1e18, false }, [BYTE_RATE] = { 1e3, 1e15, false },
    [POWER] = { 1e-3, 1e5, false },     [CLOCK] = { 1, 1e5, false },  [NUMBER] = { 1, 1024, true },
};

/* The first unit of a dimension is its base unit. */
static const struct unit {
    const char *name;
    enum dimension of;
    double factor;
} units[] = {
    { "FLOP/s", FLOP_RATE, 1 },
    { "GFLOP/s", FLOP_RATE, 1e9 },
    { "TFLOP/s", FLOP_RATE, 1e12 },
    { "PFLOP/s", FLOP_RATE, 1e15 },
    { "B", BYTES, 1 },
    { "GB", BYTES, 1e9 },
    { "MiB", BYTES, 1048576. },
    { "GiB", BYTES, 1073741824. },
    { "B/s", BYTE_RATE, 1 },
    { "GB/s", BYTE_RATE, 1e9 },
    { "TB/s", BYTE_RATE, 1e12 },
    { "W", POWER, 1 },
    { "mW", POWER, 1e-3 },
    { "kW", POWER, 1e3 },
    { "MHz", CLOCK, 1 },
    { "GHz", CLOCK, 1e3 },
    { "1", NUMBER, 1 },
};

static const struct number {
    const char *key;
    size_t value, source;
    enum dimension of;
} numbers[] = {
#define CARD_NUMBER(member, key_, dimension)                        \
    { .key = key_,                                                  \
      .value = offsetof(struct wl_hardware_card, member),           \
      .source = offsetof(struct wl_hardware_card, member##_source), \
      .of = dimension },
    WL_HARDWARE_CARD_NUMBERS
#undef CARD_NUMBER
};

static const char *base_unit(enum dimension of)
{
    for (size_t i = 0; i < WL_COUNT(units); i++)
        if (units[i].of == of) return units[i].name;
    return "";
}

static double *value_of(struct wl_hardware_card *c, const struct number *n) { return (double *)((char *)c + n->value); }

static struct wl_card_source *source_of(struct wl_hardware_card *c, const struct number *n)
{
    return (struct wl_card_source *)((char *)c + n->source);
}

static bool given(const char *text) { return text && *text; }

static int read_source(const char *path, const char *key, const struct wl_json *v, struct wl_card_source *out,
                       struct wl_arena *a, struct wl_err *e)
{
    const char *source = wl_json_str(wl_json_get(v, "source")), *assumed = wl_json_str(wl_json_get(v, "assumed")),
               *url = wl_json_str(wl_json_get(v, "url"));
    if (!given(source) && !given(assumed))
        return wl_fail(e, WL_EINVAL,
                       "%s: %s: the source is missing: expected who published or measured the number, or assumed with "
                       "the reason",
                       path, key);
    if (given(source) && given(assumed))
        return wl_fail(e, WL_EINVAL, "%s: %s: has both source and assumed: expected one of them", path, key);
    if (url && !wl_str_starts(url, "https://") && !wl_str_starts(url, "http://"))
        return wl_fail(e, WL_EINVAL, "%s: %s: url %s: expected https:// or http://", path, key, url);
    *out = (struct wl_card_source) { .text = wl_strdup(a, given(source) ? source : assumed),
                                     .url = url ? wl_strdup(a, url) : NULL,
                                     .assumed = given(assumed) };
    return 0;
}

/* "; did you mean X?" or "". */
static const char *meant(const char *word, const char *const *names, size_t n, struct wl_arena *a)
{
    const char *near = wl_str_closest(word, names, n);
    return near ? wl_strf(a, "; did you mean %s?", near) : "";
}

static const struct number *number_of(const char *key)
{
    for (size_t i = 0; i < WL_COUNT(numbers); i++)
        if (wl_str_eq(numbers[i].key, key)) return &numbers[i];
    return NULL;
}

static int unknown_number(const char *path, const char *key, struct wl_arena *a, struct wl_err *e)
{
    const char *names[WL_COUNT(numbers)];
    for (size_t i = 0; i < WL_COUNT(numbers); i++) names[i] = numbers[i].key;
    return wl_fail(e, WL_EINVAL, "%s: unknown number %s%s", path, key, meant(key, names, WL_COUNT(names), a));
}

static int find_unit(const char *path, const struct number *n, const char *unit, const struct unit **out,
                     struct wl_arena *a, struct wl_err *e)
{
    const char *names[WL_COUNT(units)];
    struct wl_text list = WL_TEXT(a);
    size_t count = 0;
    for (size_t i = 0; i < WL_COUNT(units); i++) {
        if (units[i].of != n->of) continue;
        if (wl_str_eq(units[i].name, unit)) return *out = &units[i], 0;
        wl_text_addf(&list, "%s%s", count ? ", " : "", units[i].name);
        names[count++] = units[i].name;
    }
    return wl_fail(e, WL_EINVAL, "%s: %s: unknown unit %s: expected %s%s", path, n->key, unit ? unit : "(none)", list.s,
                   unit ? meant(unit, names, count, a) : "");
}

static int check_range(const char *path, const struct number *n, double value, const struct unit *unit,
                       struct wl_err *e)
{
    const struct range *r = &ranges[n->of];
    const double v = value * unit->factor;
    if (v >= r->min && v <= r->max && !(r->whole && v != floor(v))) return 0;
    if (r->whole)
        return wl_fail(e, WL_EINVAL, "%s: %s: value %.10g: expected a whole number from %.10g to %.10g", path, n->key,
                       value, r->min, r->max);
    return wl_fail(e, WL_EINVAL, "%s: %s: value %.10g %s: expected a number from %.10g to %.10g %s", path, n->key,
                   value, unit->name, r->min, r->max, base_unit(n->of));
}

static int set_number(struct wl_hardware_card *c, const char *key, const struct wl_json *v, struct wl_arena *a,
                      struct wl_err *e)
{
    const struct number *n = number_of(key);
    if (!n) return unknown_number(c->path, key, a, e);
    const double value = wl_json_real(wl_json_get(v, "value"));
    const struct unit *unit = units;
    int rc = find_unit(c->path, n, wl_json_str(wl_json_get(v, "unit")), &unit, a, e);
    if (rc == 0) rc = check_range(c->path, n, value, unit, e);
    if (rc) return rc;
    rc = read_source(c->path, key, v, source_of(c, n), a, e);
    if (rc == 0) *value_of(c, n) = value * unit->factor;
    return rc;
}

int wl_hardware_card_parse(const char *path, const char *text, struct wl_hardware_card *out, struct wl_arena *a,
                           struct wl_err *e)
{
    struct wl_json *root;
    int rc = wl_json_parse(text, path, &root, a, e);
    if (rc) return rc;
    *out = (struct wl_hardware_card) { .path = wl_strdup(a, path) };
    for (size_t i = 0; i < WL_COUNT(numbers); i++) *value_of(out, &numbers[i]) = NAN;
    const struct wl_json *all = wl_json_get(root, "numbers");
    out->name = wl_json_str(wl_json_get(root, "name"));
    out->title = wl_json_str(wl_json_get(root, "title"));
    out->kind = wl_json_str(wl_json_get(root, "kind"));
    if (!out->name || !out->title || !out->kind || !wl_json_is_object(all))
        return wl_fail(e, WL_EINVAL, "%s: not a hardware card: expected an object with name, title, kind and numbers",
                       path);
    for (const char *key = wl_json_key(all, NULL); key && rc == 0; key = wl_json_key(all, key))
        rc = set_number(out, key, wl_json_get(all, key), a, e);
    return rc;
}

/* ---- where cards are ---- */

/* Generated from cards/ at build (tools/embed-cards). */
extern const char *const wl_hardware_card_builtin_names[], *const wl_hardware_card_builtin_texts[];
extern const unsigned long wl_hardware_card_builtin_count;

const char *const *wl_hardware_card_names(size_t *n)
{
    *n = wl_hardware_card_builtin_count;
    return wl_hardware_card_builtin_names;
}

static int read_file(const char *path, struct wl_hardware_card *out, struct wl_arena *a, struct wl_err *e)
{
    enum { MAX = 1 << 20 };
    char *text;
    int rc = wl_file_read(path, MAX, &text, NULL, a, e);
    return rc ? rc : wl_hardware_card_parse(path, text, out, a, e);
}

int wl_hardware_card_find(const char *name, const char *folder, struct wl_hardware_card *out, struct wl_arena *a,
                          struct wl_err *e)
{
    const size_t length = strlen(name);
    if (length > 5 && wl_str_eq(name + length - 5, ".json"))
        return read_file(folder ? wl_path_join(a, folder, name) : name, out, a, e);
    const char *own = folder ? wl_path_join(a, folder, wl_strf(a, "%s.json", name)) : NULL;
    if (own && wl_is_file(own)) return read_file(own, out, a, e);
    for (size_t i = 0; i < wl_hardware_card_builtin_count; i++)
        if (wl_str_eq(wl_hardware_card_builtin_names[i], name))
            return wl_hardware_card_parse(wl_strf(a, "built-in card %s", name), wl_hardware_card_builtin_texts[i], out,
                                          a, e);
    struct wl_text list = WL_TEXT(a);
    for (size_t i = 0; i < wl_hardware_card_builtin_count; i++)
        wl_text_addf(&list, "%s%s", i ? ", " : "", wl_hardware_card_builtin_names[i]);
    return wl_fail(e, WL_ENOENT, "no hardware card %s%s (built in: %s; or a file NAME.json)", name,
                   meant(name, wl_hardware_card_builtin_names, wl_hardware_card_builtin_count, a), list.s);
}

double wl_hardware_card_peak(const struct wl_hardware_card *c, const char *dtype)
{
    static const char prefix[] = "peak_";
    for (size_t i = 0; i < WL_COUNT(numbers); i++)
        if (wl_str_starts(numbers[i].key, prefix) && wl_str_eq(numbers[i].key + strlen(prefix), dtype))
            return *value_of((struct wl_hardware_card *)c, &numbers[i]);
    return NAN;
}

bool wl_hardware_card_number(const struct wl_hardware_card *c, size_t i, const char **key, double *value,
                             const char **unit, const struct wl_card_source **source)
{
    if (i >= WL_COUNT(numbers)) return false;
    *key = numbers[i].key;
    *value = *(const double *)((const char *)c + numbers[i].value);
    *unit = base_unit(numbers[i].of);
    *source = (const struct wl_card_source *)((const char *)c + numbers[i].source);
    return true;
}
