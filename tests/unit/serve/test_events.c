/* Streams of events: order, reconnecting, clients that are slow. */
#include "test.h"

#include "serve/events.h"

/* All that a stream has to read, in pieces of n bytes. */
static const char *read_all(struct wl_events *ev, struct wl_event_stream *s, size_t n, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    char *part = wl_alloc(a, n);
    for (size_t got; (got = wl_events_read(ev, s, part, n)) > 0;) wl_text_addn(&t, part, got);
    assert_false(wl_events_pending(ev, s));
    return t.s;
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, part)); p++) n++;
    return n;
}

/* The id of the last event of a text. */
static const char *last_id(const char *text, struct wl_arena *a)
{
    const char *at = NULL;
    for (const char *p = text; (p = strstr(p, "id: ")); p++) at = p + 4;
    assert_non_null(at);
    return wl_strndup(a, at, strcspn(at, "\n"));
}

static void events_come_once_and_in_order(void **state)
{
    struct wl_events *ev = wl_events_new(*state);
    wl_events_add(ev, "run", "{\"early\":1}");
    for (size_t n = 1; n <= 64; n *= 4) {
        struct wl_event_stream s = wl_events_begin(ev, NULL, "event: hello\ndata: {}\n\n");
        wl_events_add(ev, "run", "{\"n\":1}");
        wl_events_beat(ev);
        wl_events_add(ev, "epoch", "{\"n\":2}");
        const char *text = read_all(ev, &s, n, *state);
        assert_int_equal(strncmp(text, "event: hello\ndata: {}\n\nid: ", 27), 0);
        assert_int_equal(count(text, "early"), 0);
        assert_int_equal(count(text, "event: run\ndata: {\"n\":1}\n\n:\n\nid: "), 1);
        assert_int_equal(count(text, "event: epoch\ndata: {\"n\":2}\n\n"), 1);
        wl_events_add(ev, "run", "{\"n\":3}");
        assert_true(wl_events_pending(ev, &s));
        assert_int_equal(count(read_all(ev, &s, n, *state), "data"), 1);
    }
}

static void a_client_that_reconnects_gets_what_it_missed(void **state)
{
    struct wl_events *ev = wl_events_new(*state);
    struct wl_event_stream s = wl_events_begin(ev, NULL, NULL);
    wl_events_add(ev, "run", "1");
    const char *id = last_id(read_all(ev, &s, 99, *state), *state);
    wl_events_add(ev, "run", "2");
    wl_events_add(ev, "run", "3");
    s = wl_events_begin(ev, id, NULL);
    const char *missed = read_all(ev, &s, 99, *state);
    assert_int_equal(count(missed, "event"), 2);
    assert_holds(missed, "data: 2");
    assert_holds(missed, "data: 3");
    s = wl_events_begin(ev, last_id(missed, *state), NULL);
    assert_false(wl_events_pending(ev, &s));
}

static void what_is_not_known_is_a_reset(void **state)
{
    struct wl_events *ev = wl_events_new(*state);
    static const char *const ids[] = { "x", "1-1", "-", "99999999999999999999999-1", "1-99999999999999999999999" };
    for (size_t i = 0; i < WL_COUNT(ids); i++) {
        struct wl_event_stream s = wl_events_begin(ev, ids[i], NULL);
        assert_holds(read_all(ev, &s, 50, *state), "event: reset\ndata: {}\n\n");
    }
    struct wl_event_stream s = wl_events_begin(ev, NULL, NULL), slow = s;
    wl_events_add(ev, "run", "1");
    const char *id = last_id(read_all(ev, &s, 99, *state), *state);
    for (int i = 0; i < WL_EVENTS_KEPT; i++) wl_events_add(ev, "run", "2");
    s = wl_events_begin(ev, id, NULL);
    assert_int_equal(count(read_all(ev, &s, 99, *state), "data: 2"), WL_EVENTS_KEPT); /* none was missed */
    wl_events_add(ev, "run", "2");
    s = wl_events_begin(ev, id, NULL);
    const char *text = read_all(ev, &s, 99, *state);
    assert_int_equal(count(text, "event"), 1);
    assert_holds(text, "event: reset");
    text = read_all(ev, &slow, 99, *state);
    assert_int_equal(count(text, "event"), 1);
    assert_holds(text, "event: reset");
    s = wl_events_begin(ev, last_id(text, *state), NULL); /* its id is that of the newest event */
    assert_false(wl_events_pending(ev, &s));
}

/* The rest of an event that has been dropped is not there any more: what was sent of it becomes part of the reset. */
static void a_torn_event_ends(void **state)
{
    struct wl_events *ev = wl_events_new(*state);
    for (size_t at = 1; at < 40; at++) {
        struct wl_event_stream s = wl_events_begin(ev, NULL, NULL);
        char part[64];
        wl_events_add(ev, "run", "{\"number\":12345}");
        assert_int_equal(wl_events_read(ev, &s, part, at), at);
        for (int i = 0; i <= WL_EVENTS_KEPT; i++) wl_events_add(ev, "run", "2");
        const char *rest = read_all(ev, &s, 99, *state);
        assert_int_equal(rest[0], '\n');
        assert_holds(rest, "\nevent: reset\ndata: {}\n\n");
        assert_int_equal(count(rest, "event"), 1);
    }
}

static void after_a_pause_everybody_reads_again(void **state)
{
    struct wl_events *ev = wl_events_new(*state);
    struct wl_event_stream s = wl_events_begin(ev, NULL, NULL), early = s;
    wl_events_add(ev, "run", "1");
    const char *id = last_id(read_all(ev, &s, 99, *state), *state);
    wl_events_forget(ev);
    assert_holds(read_all(ev, &s, 99, *state), "event: reset");
    assert_holds(read_all(ev, &early, 99, *state), "event: reset");
    s = wl_events_begin(ev, id, NULL);
    assert_holds(read_all(ev, &s, 99, *state), "event: reset");
    s = wl_events_begin(ev, NULL, NULL);
    assert_false(wl_events_pending(ev, &s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ARENA(events_come_once_and_in_order),       WITH_ARENA(a_client_that_reconnects_gets_what_it_missed),
        WITH_ARENA(what_is_not_known_is_a_reset),        WITH_ARENA(a_torn_event_ends),
        WITH_ARENA(after_a_pause_everybody_reads_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
