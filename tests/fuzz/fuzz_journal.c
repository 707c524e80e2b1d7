/* Any text as a journal of caps: refused with a message that names the file, or values that can be restored, and a text
 * that reads back to itself. */
#include "cap/journal.h"
#include "cap/setter.h"
#include "fuzz.h"

#include <math.h>

static bool parse(const char *text, struct wl_journal *j, struct wl_arena *a)
{
    struct wl_err e = { 0 };
    bool ok = wl_journal_parse("fuzz.caps", text, j, a, &e) == 0;
    WL_CHECK(ok || wl_str_starts(e.msg, "fuzz.caps"));
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_journal j, again;
    if (parse(wl_strndup(a, (const char *)data, n), &j, a)) {
        WL_CHECK(j.holder.pid > 0 && j.holder.boot_id && j.holder.host);
        for (size_t i = 0; i < j.n; i++)
            WL_CHECK(j.v[i].set > 0 && isfinite(j.v[i].set) && wl_setter_find(j.v[i].setter));
        const char *text = wl_journal_text(&j, a);
        WL_CHECK(parse(text, &again, a) && wl_str_eq(text, wl_journal_text(&again, a)));
    }
    wl_arena_free(a);
    return 0;
}
