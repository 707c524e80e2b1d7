/* Currencies of prices: codes of ISO 4217 and names of hundredths. */
#ifndef WL_CARBON_CURRENCY_H
#define WL_CARBON_CURRENCY_H

#include <stdbool.h>

/* The code in upper case of a word in any case, or of the signs for euro and pound; NULL: it is none. Other signs, such
 * as that of the dollar, have several currencies. */
const char *wl_currency_code(const char *word);

/* A hundredth of a currency: "ct", "cents", "pence", "ore" ... */
struct wl_currency_hundredth {
    const char *word; /* lower case */
    const char *of;   /* codes of the currencies that have it, separated by blanks; one alone is meant */
};

/* NULL: the word is none. */
const struct wl_currency_hundredth *wl_currency_hundredth(const char *word);

/* The only currency that has it, or NULL. */
const char *wl_currency_only(const struct wl_currency_hundredth *h);

bool wl_currency_has_hundredth(const char *code, const struct wl_currency_hundredth *h);

#endif
