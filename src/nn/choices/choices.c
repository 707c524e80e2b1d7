/* The table and its text. */
#include "nn/choices/choices.h"

#include "nn/choices/internal.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_LINE "wattlaw-choices 1"

struct wl_choices *wl_choices_new(struct wl_arena *a)
{
    struct wl_choices *c = wl_new(a, struct wl_choices);
    c->arena = a;
    return c;
}

static struct wl_choice *find(const struct wl_choices *c, const char *machine, const char *question)
{
    for (size_t i = 0; i < c->n; i++)
        if (!strcmp(c->v[i].question, question) && !strcmp(c->v[i].machine, machine)) return &c->v[i];
    return NULL;
}

const struct wl_choice *wl_choices_find(const struct wl_choices *c, const char *question)
{
    return c->machine ? find(c, c->machine, question) : NULL;
}

static void copy(struct wl_choices *c, struct wl_choice *to, const struct wl_choice *x)
{
    *to = (struct wl_choice) {
        .machine = wl_strdup(c->arena, x->machine),
        .question = wl_strdup(c->arena, x->question),
        .answer = wl_strdup(c->arena, x->answer),
        .runner_up = wl_strdup(c->arena, x->runner_up),
        .answer_s = x->answer_s,
        .runner_up_s = x->runner_up_s,
    };
}

void wl_choices_append(struct wl_choices *c, const struct wl_choice *x)
{
    WL_GROW(c->arena, c->v, c->n, c->cap);
    copy(c, &c->v[c->n++], x);
}

void wl_choices_add(struct wl_choices *c, const struct wl_choice *x)
{
    struct wl_choice *known = find(c, x->machine, x->question);
    c->added++;
    if (known)
        copy(c, known, x);
    else
        wl_choices_append(c, x);
}

/* ---- text ---- */

char *wl_choices_text(const struct wl_choices *c, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_add(&t, FIRST_LINE "\n");
    for (size_t i = 0; i < c->n; i++) {
        const struct wl_choice *x = &c->v[i];
        wl_text_addf(&t, "%s\t%s\t%s\t%.9g\t%s\t%.9g\n", x->machine, x->question, x->answer, x->answer_s, x->runner_up,
                     x->runner_up_s);
    }
    return t.s;
}

static bool is_time(const char *s, double *seconds) { return !wl_str_to_real(s, seconds) && *seconds > 0; }

static bool parse_line(struct wl_choice *x, char *line, struct wl_arena *a)
{
    struct wl_strs f = wl_str_split(a, line, '\t');
    if (f.n != 6) return false;
    *x = (struct wl_choice) { .machine = f.v[0], .question = f.v[1], .answer = f.v[2], .runner_up = f.v[4] };
    return *x->machine && *x->question && *x->answer && *x->runner_up && is_time(f.v[3], &x->answer_s) &&
           is_time(f.v[5], &x->runner_up_s);
}

/* A choice, and its place: those of the table come before those that are read. */
struct placed {
    const struct wl_choice *x;
    size_t place;
};

static int compare_questions(const struct placed *p, const struct placed *q)
{
    const int by_machine = strcmp(p->x->machine, q->x->machine);
    return by_machine ? by_machine : strcmp(p->x->question, q->x->question);
}

static int by_question(const void *a, const void *b)
{
    const struct placed *p = a, *q = b;
    const int order = compare_questions(p, q);
    return order ? order : (p->place > q->place) - (p->place < q->place);
}

/* Of equal questions the first one counts. Sorted, since a file may have a hundred thousand lines. */
static void append_new(struct wl_choices *c, const struct wl_choice *read, size_t n, struct wl_arena *once)
{
    const size_t known = c->n;
    struct placed *all = wl_new_array(once, struct placed, known + n);
    bool *twice = wl_new_array(once, bool, n);
    for (size_t i = 0; i < known + n; i++) all[i] = (struct placed) { i < known ? &c->v[i] : &read[i - known], i };
    qsort(all, known + n, sizeof *all, by_question);
    for (size_t i = 1; i < known + n; i++)
        if (all[i].place >= known && !compare_questions(&all[i - 1], &all[i])) twice[all[i].place - known] = true;
    for (size_t i = 0; i < n; i++)
        if (!twice[i]) wl_choices_append(c, &read[i]);
}

int wl_choices_parse(struct wl_choices *c, const char *text, const char *where, struct wl_err *e)
{
    struct wl_arena *once = wl_arena_new(c->arena);
    size_t n = strlen(text);
    struct wl_strs lines = wl_str_split(once, text, '\n'); /* the last one is empty, after the final newline */
    struct wl_choice *read = wl_new_array(once, struct wl_choice, lines.n + 1);
    int rc = 0;
    if (lines.n == 0 || strcmp(lines.v[0], FIRST_LINE))
        rc = wl_fail(e, WL_EINVAL, "%s:1: expected '%s'", where, FIRST_LINE);
    else if (text[n - 1] != '\n')
        rc = wl_fail(e, WL_EINVAL, "%s:%zu: the last line is cut off", where, lines.n);
    for (size_t i = 1; !rc && i + 1 < lines.n; i++)
        if (!parse_line(&read[i], lines.v[i], once))
            rc = wl_fail(e, WL_EINVAL,
                         "%s:%zu: expected machine, question, answer, seconds, runner-up and seconds between tabs",
                         where, i + 1);
    if (!rc && lines.n > 2) append_new(c, read + 1, lines.n - 2, once);
    wl_arena_free(once);
    return rc;
}

/* ---- ranks ---- */

struct message {
    int64_t machine_bytes, text_bytes; /* with the final NUL */
};

int wl_choices_broadcast(struct wl_choices *c, struct wl_comm *comm, struct wl_err *e)
{
    struct wl_arena *once = wl_arena_new(c->arena);
    const bool root = comm->rank == 0;
    char *text = root ? wl_choices_text(c, once) : NULL, *machine = NULL;
    struct message m = { 0 };
    if (root) {
        machine = wl_strdup(once, c->machine);
        m = (struct message) { (int64_t)strlen(machine) + 1, (int64_t)strlen(text) + 1 };
    }
    int rc = comm->ops->broadcast(comm, &m, sizeof m, 0, e);
    if (!rc && !root) {
        machine = wl_alloc(once, (size_t)m.machine_bytes);
        text = wl_alloc(once, (size_t)m.text_bytes);
    }
    if (!rc) rc = comm->ops->broadcast(comm, machine, (size_t)m.machine_bytes, 0, e);
    if (!rc) rc = comm->ops->broadcast(comm, text, (size_t)m.text_bytes, 0, e);
    if (!rc && !root) {
        c->machine = wl_strdup(c->arena, machine);
        c->n = 0;
        rc = wl_choices_parse(c, text, "choices of rank 0", e);
    }
    wl_arena_free(once);
    return rc;
}
