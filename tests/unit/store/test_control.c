/* Requests to a campaign: each is stored, acted upon once, and survives the death of a wattlaw. */
#include "helper.h"

#include "store/lock.h"

static struct wl_control_answer ask(struct fixture *f, enum wl_control_action action, int64_t run)
{
    const struct wl_control_request r = { .action = action, .run = run, .asked_by = "lab@n1" };
    struct wl_control_answer answer;
    OK(wl_store_control(f->store, &r, &answer, f->arena, &f->e));
    assert_string_equal(answer.campaign, "test");
    return answer;
}

static void refused(struct fixture *f, int code, const char *why, struct wl_control_request r)
{
    struct wl_control_answer answer;
    r.asked_by = "lab@n1";
    FAILS(code, why, wl_store_control(f->store, &r, &answer, f->arena, &f->e));
}

/* A campaign of two planned runs, open as by its sweep; *trial is its trial. */
static struct wl_store *sweep_of(struct fixture *f, int64_t *trial, int64_t runs[2])
{
    struct wl_store *s = create_store(f);
    *trial = add_trial(f, s, 2);
    int64_t campaign;
    OK(wl_store_add_campaign(s, "test", "[campaign]\nname = test\n", "1", &campaign, &f->e));
    OK(wl_store_lock_campaign(s, campaign, &f->e));
    for (int i = 0; i < 2; i++) {
        const struct wl_run_plan plan = { .trial = *trial, .repeat = i + 1, .position = i + 1 };
        OK(wl_store_plan_run(s, &plan, &runs[i], &f->e));
    }
    return s;
}

static enum wl_run_status status_of(struct fixture *f, struct wl_store *s, int64_t run, const char **error)
{
    struct wl_run_rows rows;
    OK(wl_store_runs(s, &(struct wl_run_filter) { .run = run }, &rows, f->arena, &f->e));
    assert_int_equal(rows.n, 1);
    if (error) *error = rows.v[0].error;
    return rows.v[0].status;
}

static struct wl_control_rows requests(struct fixture *f, struct wl_store *s)
{
    struct wl_control_rows rows;
    OK(wl_store_controls(s, 1, 100, &rows, f->arena, &f->e));
    return rows;
}

static void begin(struct fixture *f, struct wl_store *s, int64_t run)
{
    const struct wl_run_begin b = { .command = "true", .version = "1", .at = wl_anchor_now() };
    OK(wl_store_run_begin(s, run, &b, &f->e));
}

static void the_newest_of_pause_and_resume_counts(void **state)
{
    struct fixture *f = *state;
    int64_t trial, runs[2];
    struct wl_store *s = sweep_of(f, &trial, runs);
    struct wl_control_state now;
    OK(wl_store_control_state(s, 1, &now, f->arena, &f->e));
    assert_false(now.paused || now.last);
    assert_int_equal(ask(f, WL_CONTROL_RESUME, 0).runs, 0);
    assert_int_equal(ask(f, WL_CONTROL_PAUSE, 0).runs, 1);
    assert_int_equal(ask(f, WL_CONTROL_PAUSE, 0).runs, 0);
    OK(wl_store_control_state(s, 1, &now, f->arena, &f->e));
    assert_true(now.paused && now.last == 1 && now.sweep == 1);
    assert_string_equal(now.by, "lab@n1");
    assert_int_equal(requests(f, s).v[0].acted_wall_ns, WL_NO_NS);
    OK(wl_store_control_noticed(s, 1, now.last, &f->e));
    assert_int_not_equal(requests(f, s).v[0].acted_wall_ns, WL_NO_NS);
    assert_int_equal(ask(f, WL_CONTROL_RESUME, 0).runs, 1);
    OK(wl_store_control_noticed(s, 1, 1, &f->e)); /* the resume came later */
    assert_int_equal(requests(f, s).v[0].acted_wall_ns, WL_NO_NS);
    OK(wl_store_control_state(s, 1, &now, f->arena, &f->e));
    assert_false(now.paused);
}

static void a_planned_run_that_is_cancelled_never_begins(void **state)
{
    struct fixture *f = *state;
    int64_t trial, runs[2], again;
    const char *error;
    struct wl_store *s = sweep_of(f, &trial, runs);
    assert_int_equal(ask(f, WL_CONTROL_CANCEL, runs[1]).runs, 1);
    assert_int_equal(status_of(f, s, runs[1], &error), WL_RUN_FAILED);
    assert_string_equal(error, "cancelled by lab@n1");
    assert_int_equal(wl_store_run_is_planned(s, runs[1], &f->e), 0);
    const struct wl_run_begin b = { .command = "true", .version = "1", .at = wl_anchor_now() };
    FAILS(WL_EINVAL, "not planned", wl_store_run_begin(s, runs[1], &b, &f->e));
    refused(f, WL_EPERM, "ended already", (struct wl_control_request) { .action = WL_CONTROL_CANCEL, .run = runs[1] });
    /* a new plan keeps it as it is, and its retry */
    const struct wl_run_plan plan = { .trial = trial, .repeat = 2 };
    OK(wl_store_drop_planned(s, 1, &f->e));
    OK(wl_store_plan_run(s, &plan, &again, &f->e));
    assert_int_equal(again, runs[1]);
    assert_int_equal(ask(f, WL_CONTROL_RETRY, 0).runs, 1);
    assert_int_equal(ask(f, WL_CONTROL_RETRY, 0).runs, 0);
    for (int i = 0; i < 2; i++) {
        OK(wl_store_drop_planned(s, 1, &f->e));
        OK(wl_store_plan_run(s, &plan, &again, &f->e));
        assert_int_equal(status_of(f, s, again, NULL), WL_RUN_PLANNED);
    }
    begin(f, s, again);
    struct wl_run_end end = wl_run_end_none;
    end.status = WL_RUN_FAILED;
    OK(wl_store_run_end(s, again, &end, NULL, &f->e));
    refused(f, WL_EPERM, "was retried already",
            (struct wl_control_request) { .action = WL_CONTROL_RETRY, .run = runs[1] });
    int64_t newest;
    OK(wl_store_plan_run(s, &plan, &newest, &f->e)); /* its request was for the attempt before */
    assert_int_equal(newest, again);
}

static void the_request_is_closed_with_the_run(void **state)
{
    struct fixture *f = *state;
    int64_t trial, runs[2], *open;
    const char *error;
    size_t n;
    struct wl_store *s = sweep_of(f, &trial, runs);
    begin(f, s, runs[0]);
    begin(f, s, runs[1]);
    assert_null(wl_store_cancelled(s, runs[0], f->arena));
    for (int i = 0; i < 2; i++) assert_int_equal(ask(f, WL_CONTROL_CANCEL, runs[i]).runs, 1);
    assert_int_equal(ask(f, WL_CONTROL_CANCEL, runs[0]).runs, 0);
    assert_string_equal(wl_store_cancelled(s, runs[0], f->arena), "cancelled by lab@n1");
    OK(wl_store_to_cancel(s, 1, &open, &n, f->arena, &f->e));
    assert_int_equal(n, 2);
    struct wl_run_end end = wl_run_end_none;
    end.status = WL_RUN_INTERRUPTED; /* Ctrl-C at that moment: it is not to be repeated */
    end.error = "stopped by the user";
    OK(wl_store_run_end(s, runs[0], &end, NULL, &f->e));
    assert_int_equal(status_of(f, s, runs[0], &error), WL_RUN_FAILED);
    assert_string_equal(error, "cancelled by lab@n1");
    end = wl_run_end_none; /* it was quicker */
    OK(wl_store_run_end(s, runs[1], &end, NULL, &f->e));
    const struct wl_control_rows rows = requests(f, s);
    assert_int_equal(rows.n, 2);
    assert_string_equal(rows.v[0].outcome, "done");
    assert_string_equal(rows.v[1].outcome, "failed");
}

/* The second wattlaw closes the run of the first, which died before it heard of the request. */
static void a_dead_wattlaw_loses_no_request(void **state)
{
    struct fixture *f = *state;
    int64_t trial, runs[2];
    const char *error;
    struct wl_store *s = sweep_of(f, &trial, runs);
    begin(f, s, runs[0]);
    ask(f, WL_CONTROL_CANCEL, runs[0]);
    wl_store_close(s); /* with its locks */
    OK(wl_store_open(&s, f->store, WL_STORE_WRITE, f->arena, &f->e));
    assert_int_equal(status_of(f, s, runs[0], &error), WL_RUN_FAILED);
    assert_non_null(strstr(error, "cancelled by lab@n1: wattlaw (process "));
    const struct wl_control_rows rows = requests(f, s);
    assert_int_not_equal(rows.v[0].acted_wall_ns, WL_NO_NS);
    assert_string_equal(rows.v[0].outcome, "failed");
}

static void a_request_that_cannot_be_meant_is_refused(void **state)
{
    struct fixture *f = *state;
    int64_t trial, runs[2], other;
    struct wl_store *s = sweep_of(f, &trial, runs);
    refused(f, WL_EINVAL, "number of a run", (struct wl_control_request) { .action = WL_CONTROL_CANCEL });
    refused(f, WL_EINVAL, "no run", (struct wl_control_request) { .action = WL_CONTROL_PAUSE, .run = runs[0] });
    refused(f, WL_ENOENT, "no run 99", (struct wl_control_request) { .action = WL_CONTROL_CANCEL, .run = 99 });
    refused(f, WL_ENOENT, "(it has test)",
            (struct wl_control_request) { .action = WL_CONTROL_PAUSE, .campaign = "tst" });
    refused(f, WL_EINVAL, "of campaign test, not of x",
            (struct wl_control_request) { .action = WL_CONTROL_CANCEL, .run = runs[0], .campaign = "x" });
    refused(f, WL_EPERM, "has not failed", (struct wl_control_request) { .action = WL_CONTROL_RETRY, .run = runs[0] });
    OK(wl_store_add_campaign(s, "second", "[campaign]\n", "1", &other, &f->e));
    refused(f, WL_EINVAL, "2 campaigns", (struct wl_control_request) { .action = WL_CONTROL_PAUSE });
    begin(f, s, runs[0]);
    wl_store_unlock(s, wl_lock_of_campaign(1)); /* as of a run that no sweep made */
    refused(f, WL_EPERM, "stop it where it was started",
            (struct wl_control_request) { .action = WL_CONTROL_CANCEL, .run = runs[0] });
    assert_int_equal(requests(f, s).n, 0);
}

/* A name of any length and content is stored as text, whole characters of it. */
static void who_asks_is_text(void **state)
{
    struct fixture *f = *state;
    int64_t trial, runs[2];
    struct wl_store *s = sweep_of(f, &trial, runs);
    struct wl_control_answer answer;
    char *by = wl_alloc(f->arena, 1000);
    memset(by, 'x', 999);
    memcpy(by + WL_CONTROL_BY_MAX - 1, "\u00e9'); DROP TABLE run; --", 10);
    OK(wl_store_control(f->store, &(struct wl_control_request) { .action = WL_CONTROL_PAUSE, .asked_by = by }, &answer,
                        f->arena, &f->e));
    assert_int_equal(strlen(requests(f, s).v[0].asked_by), WL_CONTROL_BY_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_newest_of_pause_and_resume_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_planned_run_that_is_cancelled_never_begins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_request_is_closed_with_the_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dead_wattlaw_loses_no_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_request_that_cannot_be_meant_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_asks_is_text, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
