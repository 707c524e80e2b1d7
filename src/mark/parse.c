#include "mark/parse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* What a field of a word must be. */
enum kind { COUNT, ORDINAL, REAL, TEXT, BETTER }; /* whole number from 0, from 1, any number, any text, a direction */
#define COUNT_MAX_TEXT "9007199254740992"         /* WL_MARK_COUNT_MAX */

struct need {
    const char *key;
    enum kind kind;
    bool required;
};

static const struct {
    const char *name;
    struct need need[5];
} words[WL_MARK_WORDS] = {
    [WL_MARK_START] = { "start", { { 0 } } },
    [WL_MARK_EPOCH_BEGIN] = { "epoch-begin", { { "epoch", ORDINAL, true } } },
    [WL_MARK_EPOCH_END] = { "epoch-end",
                            { { "epoch", ORDINAL, true },
                              { "samples", COUNT, false },
                              { "updates", COUNT, false },
                              { "tokens", COUNT, false } } },
    [WL_MARK_STEP] = { "step",
                       { { "step", COUNT, true },
                         { "samples", COUNT, false },
                         { "tokens", COUNT, false },
                         { "total", COUNT, false },
                         { "loss", REAL, false } } },
    [WL_MARK_PHASE_BEGIN] = { "phase-begin", { { "name", TEXT, true } } },
    [WL_MARK_PHASE_END] = { "phase-end", { { "name", TEXT, true } } },
    [WL_MARK_PHASE] = { "phase", { { "name", TEXT, true }, { "time_s", REAL, true }, { "epoch", ORDINAL, false } } },
    [WL_MARK_METRIC] = { "metric", { { "name", TEXT, true }, { "value", REAL, true }, { "epoch", ORDINAL, false } } },
    [WL_MARK_CHECKPOINT] = { "checkpoint", { { "step", COUNT, false } } },
    [WL_MARK_DEFINE] = { "define", { { "name", TEXT, true }, { "better", BETTER, false }, { "main", COUNT, false } } },
    [WL_MARK_STOP] = { "stop", { { "status", TEXT, false } } },
};

static const char *const expected[] = {
    [COUNT] = "a whole number from 0 to " COUNT_MAX_TEXT,
    [ORDINAL] = "a whole number from 1 to " COUNT_MAX_TEXT,
    [REAL] = "a number",
    [TEXT] = "a text",
    [BETTER] = "larger or smaller",
};

const char *wl_mark_word_name(enum wl_mark_word word) { return words[word].name; }

static const char *value_of(const struct wl_mark *m, const char *key)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->split + m->field[i].key, key) == 0) return m->split + m->field[i].value;
    return NULL;
}

const char *wl_mark_str(const struct wl_mark *m, const char *key) { return value_of(m, key); }

int64_t wl_mark_int(const struct wl_mark *m, const char *key, int64_t fallback)
{
    const char *text = value_of(m, key);
    int64_t value;
    return text && wl_str_to_int(text, &value) == 0 ? value : fallback;
}

/* -1: not a number. nan and inf are numbers and give NAN, as a diverged loss is not a usable value. */
static int real_from(const char *text, double *out)
{
    static const char *const not_finite[] = { "nan", "inf", "infinity" };
    const char *bare = text + (*text == '-' || *text == '+');
    *out = NAN;
    for (size_t i = 0; i < WL_COUNT(not_finite); i++)
        if (strcasecmp(bare, not_finite[i]) == 0) return 0;
    return wl_str_to_real(text, out);
}

double wl_mark_real(const struct wl_mark *m, const char *key)
{
    const char *text = value_of(m, key);
    double value;
    return text && real_from(text, &value) == 0 ? value : NAN;
}

static bool is_count_from(const char *text, int64_t min)
{
    int64_t whole;
    return wl_str_to_int(text, &whole) == 0 && whole >= min && whole <= WL_MARK_COUNT_MAX;
}

static bool fits(const char *text, enum kind kind)
{
    double real;
    switch (kind) {
    case COUNT: return is_count_from(text, 0);
    case ORDINAL: return is_count_from(text, 1);
    case REAL: return real_from(text, &real) == 0;
    case TEXT: return true;
    case BETTER: return wl_str_eq(text, "larger") || wl_str_eq(text, "smaller");
    }
    return false;
}

static int check_fields(const struct wl_mark *m, const char *where, struct wl_err *e)
{
    const char *word = words[m->word].name;
    for (size_t i = 0; i < WL_COUNT(words[m->word].need) && words[m->word].need[i].key; i++) {
        const struct need *need = &words[m->word].need[i];
        const char *value = value_of(m, need->key);
        if (!value && need->required) return wl_fail(e, WL_EINVAL, "%s: %s requires %s=", where, word, need->key);
        if (value && !fits(value, need->kind))
            return wl_fail(e, WL_EINVAL, "%s: %s: %s=%s: expected %s", where, word, need->key, value,
                           expected[need->kind]);
    }
    return 0;
}

static bool key_ok(const char *key)
{
    if (!*key || (*key >= '0' && *key <= '9')) return false;
    return key[strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
}

/* Splits m->fields in place of its copy m->split. */
static int split_fields(struct wl_mark *m, const char *where, struct wl_err *e)
{
    memcpy(m->split, m->fields, sizeof m->split);
    m->n = 0;
    for (char *rest = m->split; rest && *m->split;) {
        char *key = rest, *end = strchr(rest, ' '), *equals;
        rest = end ? end + 1 : NULL;
        if (end) *end = '\0';
        equals = strchr(key, '=');
        if (!*key) return wl_fail(e, WL_EINVAL, "%s: double blank, or blank at the end", where);
        if (!equals) return wl_fail(e, WL_EINVAL, "%s: '%s': expected key=value", where, key);
        *equals = '\0';
        if (!key_ok(key)) return wl_fail(e, WL_EINVAL, "%s: '%s' is not a valid key (letters, digits, _)", where, key);
        if (!equals[1]) return wl_fail(e, WL_EINVAL, "%s: %s= has no value", where, key);
        if (value_of(m, key)) return wl_fail(e, WL_EINVAL, "%s: duplicate key %s=", where, key);
        if (m->n == WL_MARK_FIELDS_MAX)
            return wl_fail(e, WL_EINVAL, "%s: more than %d fields", where, WL_MARK_FIELDS_MAX);
        m->field[m->n].key = (uint16_t)(key - m->split);
        m->field[m->n++].value = (uint16_t)(equals + 1 - m->split);
    }
    return 0;
}

static int word_from(const char *name, enum wl_mark_word *word, const char *where, struct wl_err *e)
{
    const char *names[WL_MARK_WORDS], *meant;
    for (int i = 0; i < WL_MARK_WORDS; i++) {
        names[i] = words[i].name;
        if (strcmp(name, names[i]) != 0) continue;
        *word = (enum wl_mark_word)i;
        return 0;
    }
    meant = wl_str_closest(name, names, WL_MARK_WORDS);
    return wl_fail(e, WL_EINVAL, "%s: unknown word '%s'%s%s%s", where, name, meant ? "; did you mean '" : "",
                   meant ? meant : "", meant ? "'?" : "");
}

/* Cuts the next word off *rest; NULL where there is none. */
static char *next_word(char **rest)
{
    char *word = *rest, *end;
    if (!word || !*word) return NULL;
    end = strchr(word, ' ');
    *rest = end ? end + 1 : NULL;
    if (end) *end = '\0';
    return word;
}

int wl_mark_parse(struct wl_mark *m, const char *line, size_t n, const char *where, struct wl_err *e)
{
    char text[WL_MARK_LINE_MAX], *rest = text;
    const char *time, *rank, *word;
    int64_t number;
    int rc;

    if (n >= WL_MARK_LINE_MAX)
        return wl_fail(e, WL_EINVAL, "%s: %zu bytes; a mark has at most %d with its newline", where, n + 1,
                       WL_MARK_LINE_MAX);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 127)
            return wl_fail(e, WL_EINVAL, "%s: control character 0x%02x at byte %zu", where, (unsigned char)line[i],
                           i + 1);
    memcpy(text, line, n);
    text[n] = '\0';

    time = next_word(&rest);
    rank = next_word(&rest);
    word = next_word(&rest);
    if (!time || !rank || !word)
        return wl_fail(e, WL_EINVAL, "%s: expected 'TIME RANK WORD key=value ...', found '%.*s'", where,
                       (int)(n < 80 ? n : 80), line);
    if (wl_str_to_int(time, &m->t_ns) != 0 || m->t_ns < 0 || m->t_ns > WL_MARK_TIME_MAX)
        return wl_fail(e, WL_EINVAL, "%s: time '%s': expected CLOCK_MONOTONIC in ns", where, time);
    if (wl_str_to_int(rank, &number) != 0 || number < 0 || number > INT32_MAX)
        return wl_fail(e, WL_EINVAL, "%s: rank '%s': expected a whole number from 0", where, rank);
    m->rank = (int32_t)number;
    if ((rc = word_from(word, &m->word, where, e)) != 0) return rc;
    if (rest && !*rest) return wl_fail(e, WL_EINVAL, "%s: blank at the end", where);
    snprintf(m->fields, sizeof m->fields, "%s", rest ? rest : "");
    if ((rc = split_fields(m, where, e)) != 0) return rc;
    return check_fields(m, where, e);
}

int wl_mark_make(struct wl_mark *m, int64_t t_ns, int rank, enum wl_mark_word word, const char *fields,
                 struct wl_err *e)
{
    char line[2 * WL_MARK_LINE_MAX];
    int n = snprintf(line, sizeof line, "%lld %d %s%s%s", (long long)t_ns, rank, words[word].name, *fields ? " " : "",
                     fields);
    return wl_mark_parse(m, line, (size_t)n, words[word].name, e);
}
