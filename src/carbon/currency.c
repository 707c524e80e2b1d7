#include "carbon/currency.h"

#include "base/base.h"

#include <string.h>
#include <strings.h>

/* ISO 4217, active codes of money (2024), without funds, metals and tests. */
static const char *const codes[] = {
    "AED", "AFN", "ALL", "AMD", "ANG", "AOA", "ARS", "AUD", "AWG", "AZN", "BAM", "BBD", "BDT", "BGN", "BHD", "BIF",
    "BMD", "BND", "BOB", "BRL", "BSD", "BTN", "BWP", "BYN", "BZD", "CAD", "CDF", "CHF", "CLP", "CNY", "COP", "CRC",
    "CUP", "CVE", "CZK", "DJF", "DKK", "DOP", "DZD", "EGP", "ERN", "ETB", "EUR", "FJD", "FKP", "GBP", "GEL", "GHS",
    "GIP", "GMD", "GNF", "GTQ", "GYD", "HKD", "HNL", "HTG", "HUF", "IDR", "ILS", "INR", "IQD", "IRR", "ISK", "JMD",
    "JOD", "JPY", "KES", "KGS", "KHR", "KMF", "KPW", "KRW", "KWD", "KYD", "KZT", "LAK", "LBP", "LKR", "LRD", "LSL",
    "LYD", "MAD", "MDL", "MGA", "MKD", "MMK", "MNT", "MOP", "MRU", "MUR", "MVR", "MWK", "MXN", "MYR", "MZN", "NAD",
    "NGN", "NIO", "NOK", "NPR", "NZD", "OMR", "PAB", "PEN", "PGK", "PHP", "PKR", "PLN", "PYG", "QAR", "RON", "RSD",
    "RUB", "RWF", "SAR", "SBD", "SCR", "SDG", "SEK", "SGD", "SHP", "SLE", "SOS", "SRD", "SSP", "STN", "SVC", "SYP",
    "SZL", "THB", "TJS", "TMT", "TND", "TOP", "TRY", "TTD", "TWD", "TZS", "UAH", "UGX", "USD", "UYU", "UZS", "VES",
    "VND", "VUV", "WST", "XAF", "XCD", "XOF", "XPF", "YER", "ZAR", "ZMW", "ZWG",
};

#define CENTS "AUD CAD EUR HKD NZD SGD TWD USD ZAR"
#define ORE   "DKK NOK SEK"

static const struct wl_currency_hundredth hundredths[] = {
    { "ct", CENTS },     { "cent", CENTS },   { "cents", CENTS },  { "c", CENTS },      { "\u00a2", CENTS },
    { "pence", "GBP" },  { "penny", "GBP" },  { "p", "GBP" },      { "ore", ORE },      { "oere", ORE },
    { "\u00f8re", ORE }, { "\u00d8re", ORE }, { "\u00f6re", ORE }, { "\u00d6re", ORE },
};

const char *wl_currency_code(const char *word)
{
    if (wl_str_eq(word, "\u20ac")) return "EUR";
    if (wl_str_eq(word, "\u00a3")) return "GBP";
    for (size_t i = 0; i < WL_COUNT(codes); i++)
        if (strcasecmp(word, codes[i]) == 0) return codes[i];
    return NULL;
}

const struct wl_currency_hundredth *wl_currency_hundredth(const char *word)
{
    for (size_t i = 0; i < WL_COUNT(hundredths); i++)
        if (wl_str_eq(word, hundredths[i].word)) return &hundredths[i];
    return NULL;
}

const char *wl_currency_only(const struct wl_currency_hundredth *h) { return strchr(h->of, ' ') ? NULL : h->of; }

bool wl_currency_has_hundredth(const char *code, const struct wl_currency_hundredth *h)
{
    return strstr(h->of, code) != NULL;
}
