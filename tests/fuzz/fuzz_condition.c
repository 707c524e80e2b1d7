/* Any text as a condition of --fail-if, a currency, a duration and a number: refused, or read as a value that prints.
 */
#include "fuzz.h"

#include "carbon/carbon.h"
#include "carbon/currency.h"
#include "law/law.h"

#include <math.h>
#include <string.h>

static void check_number(double v, struct wl_arena *a)
{
    static const char *const units[] = { "J", "kWh", "EUR", "g CO2e" };
    WL_CHECK(isfinite(v) && *wl_human_time(a, v));
    for (size_t i = 0; i < WL_COUNT(units); i++) {
        const struct wl_amount q = wl_amount_between(v, 0.9 * v, 1.1 * v, units[i], WL_ESTIMATED);
        WL_CHECK(strstr(wl_amount_text(&q, a), "estimated"));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *text = wl_strndup(a, (const char *)data, n);
    struct wl_gate_condition c;
    struct wl_err e = { 0 };
    double v;
    if (wl_gate_parse(text, &c, a, &e) == 0)
        WL_CHECK(c.change > -1 && isfinite(c.change) && c.quantity < WL_GATE_QUANTITIES && c.text == text);
    else
        WL_CHECK(e.msg[0]);
    const char *code = wl_currency_code(text);
    WL_CHECK(!code || strlen(code) == 3);
    const struct wl_currency_hundredth *h = wl_currency_hundredth(text);
    if (h) (void)wl_currency_only(h);
    if (wl_str_to_duration(text, &v) == 0) WL_CHECK(v >= 0 && isfinite(v));
    if (wl_str_to_real(text, &v) == 0) check_number(v, a);
    wl_arena_free(a);
    return 0;
}
