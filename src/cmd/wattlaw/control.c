/* wattlaw pause, resume and retry: requests to a campaign, which its sweep acts upon. docs/adr/177 */
#include "cmd/wattlaw/control.h"

#include "cmd/cmd.h"

#include <pwd.h>
#include <unistd.h>

struct options {
    const char *campaign;
    bool json;
};

static const struct wl_opt rows[] = {
    { .name = "campaign",
      .type = WL_STR,
      .offset = offsetof(struct options, campaign),
      .unit = "NAME",
      .help = "name of the campaign of the store (default: its only one, or that of RUN)" },
    { .name = "json",
      .type = WL_FLAG,
      .offset = offsetof(struct options, json),
      .help = "print what happens now as JSON, an object on a line of its own for each request" },
    WL_OPT_END,
};

int wl_cmd_run_numbers(const struct wl_strs *words, size_t first, struct wl_ints *runs, struct wl_arena *a,
                       struct wl_err *e)
{
    *runs = (struct wl_ints) { .v = wl_new_array(a, int64_t, words->n) };
    for (size_t i = first; i < words->n; i++, runs->n++)
        if (wl_str_to_int(words->v[i], &runs->v[runs->n]) < 0 || runs->v[runs->n] < 1)
            return wl_fail(e, WL_EUSAGE, "%s: expected the number of a run", words->v[i]);
    return 0;
}

const char *wl_cmd_user(struct wl_arena *a)
{
    const struct passwd *user = getpwuid(geteuid());
    return user ? wl_strf(a, "%s@%s", user->pw_name, wl_host_name(a))
                : wl_strf(a, "user %lld@%s", (long long)geteuid(), wl_host_name(a));
}

static int ask(const char *path, const struct wl_control_request *request, bool json, struct wl_arena *a,
               struct wl_err *e)
{
    struct wl_control_answer answer;
    int rc = wl_store_control(path, request, &answer, a, e);
    if (rc < 0) return rc;
    if (!json) {
        wl_print("%s\n", answer.text);
        return 0;
    }
    struct wl_json *o = wl_json_root_object(a);
    wl_control_answer_json(request->action, &answer, o);
    wl_json_print_line(o);
    return 0;
}

int wl_cmd_control(enum wl_control_action action, const char *given, const char *campaign, const struct wl_ints *runs,
                   bool json, struct wl_arena *a, struct wl_err *e)
{
    struct wl_control_request request = { .action = action, .campaign = campaign, .asked_by = wl_cmd_user(a) };
    char *path;
    int rc = wl_store_find(given, &path, a, e);
    if (rc == 0 && runs->n == 0) rc = ask(path, &request, json, a, e);
    for (size_t i = 0; i < runs->n && rc == 0; i++) {
        request.run = runs->v[i];
        rc = ask(path, &request, json, a, e);
    }
    return rc;
}

static int run(enum wl_control_action action, const struct options *o, const struct wl_opts_args *rest,
               struct wl_arena *a, struct wl_err *e)
{
    const struct wl_strs *words = &rest->args;
    struct wl_ints runs;
    if (words->n == 0) return wl_fail(e, WL_EUSAGE, "expected RESULTS: the folder or .db file of a campaign");
    if (words->n > 1 && action != WL_CONTROL_RETRY)
        return wl_fail(e, WL_EUSAGE, "%s: expected RESULTS alone: the whole campaign is %sd", words->v[1],
                       wl_control_names[action]);
    int rc = wl_cmd_run_numbers(words, 1, &runs, a, e);
    return rc ? rc : wl_cmd_control(action, words->v[0], o->campaign, &runs, o->json, a, e);
}

static int run_pause(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    return run(WL_CONTROL_PAUSE, options, rest, a, e);
}

static int run_resume(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    return run(WL_CONTROL_RESUME, options, rest, a, e);
}

static int run_retry(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    return run(WL_CONTROL_RETRY, options, rest, a, e);
}

const struct wl_cmd wl_cmd_pause = {
    .name = "pause",
    .usage = "[options] RESULTS",
    .help = "let no further run of a campaign begin, until wattlaw resume",
    .more = "RESULTS is the folder or .db file of the campaign. A run that is running goes on to its end. The campaign "
            "stays paused\n"
            "when its sweep ends and is started again.\n"
            "\n"
            "    wattlaw pause lab1\n"
            "    wattlaw resume lab1",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run_pause,
};

const struct wl_cmd wl_cmd_resume = {
    .name = "resume",
    .usage = "[options] RESULTS",
    .help = "resume a campaign that was paused",
    .more = "RESULTS is the folder or .db file of the campaign. Its sweep, if one is running, goes on within seconds; "
            "otherwise the\n"
            "next wattlaw sweep does.\n"
            "\n"
            "    wattlaw resume lab1",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run_resume,
};

const struct wl_cmd wl_cmd_retry = {
    .name = "retry",
    .usage = "[options] RESULTS [RUN...]",
    .help = "give failed runs of a campaign another attempt",
    .more =
        "RESULTS is the folder or .db file of the campaign; without RUNs all of its failed runs are retried. The "
        "failed run, its\n"
        "log and its files stay. The sweep that is running begins the new attempts; otherwise the next wattlaw sweep "
        "does.\n"
        "\n"
        "    wattlaw retry lab1\n"
        "    wattlaw retry lab1 7 12",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run_retry,
};
