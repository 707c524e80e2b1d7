/* Hardware cards: what a vendor or a measurement says about a device, with the source of every number.
 *
 *     { "name": "v100-pcie", "title": "NVIDIA Tesla V100 PCIe 32 GB", "kind": "gpu",
 *       "numbers": { "peak_f32": { "value": 14, "unit": "TFLOP/s", "source": "NVIDIA V100 datasheet, table 1",
 *                                  "url": "https://..." },
 *                    "lowest_clock": { "value": 135, "unit": "MHz", "assumed": "the idle clock" } } }
 *
 * Peaks are dense (no structured sparsity). A number has a source or, where none was found, "assumed" with the reason;
 * one with neither is an error. A number that is not there is missing, never guessed.
 */
#ifndef WL_PLANNER_CARD_H
#define WL_PLANNER_CARD_H

#include "base/base.h"

/* The numbers of a card: CARD_NUMBER(member, key, dimension). Values are in the dimension's base unit. */
#define WL_HARDWARE_CARD_NUMBERS                           \
    CARD_NUMBER(peak_f64, "peak_f64", FLOP_RATE)           \
    CARD_NUMBER(peak_f32, "peak_f32", FLOP_RATE)           \
    CARD_NUMBER(peak_tf32, "peak_tf32", FLOP_RATE)         \
    CARD_NUMBER(peak_f16, "peak_f16", FLOP_RATE)           \
    CARD_NUMBER(peak_bf16, "peak_bf16", FLOP_RATE)         \
    CARD_NUMBER(peak_fp8, "peak_fp8", FLOP_RATE)           \
    CARD_NUMBER(memory_b, "memory", BYTES)                 \
    CARD_NUMBER(memory_b_s, "memory_bandwidth", BYTE_RATE) \
    CARD_NUMBER(link_b_s, "link_bandwidth", BYTE_RATE)     \
    CARD_NUMBER(max_w, "max_power", POWER)                 \
    CARD_NUMBER(min_cap_w, "min_power_cap", POWER)         \
    CARD_NUMBER(idle_w, "idle_power", POWER)               \
    CARD_NUMBER(clock_mhz, "clock", CLOCK)                 \
    CARD_NUMBER(lowest_clock_mhz, "lowest_clock", CLOCK)   \
    CARD_NUMBER(devices_per_node, "devices_per_node", NUMBER)

/* Where a number is from. */
struct wl_card_source {
    const char *text; /* document and place in it, or why the number was assumed; NULL: the card has no such number */
    const char *url;  /* of the document; NULL: not given */
    bool assumed;     /* no source was found */
};

struct wl_hardware_card {
    const char *name, *title, *kind; /* kind: "gpu", "cpu" */
    const char *path;                /* of the file; "built in" */
#define CARD_NUMBER(member, key, dimension) double member;
    WL_HARDWARE_CARD_NUMBERS
#undef CARD_NUMBER
#define CARD_NUMBER(member, key, dimension) struct wl_card_source member##_source;
    WL_HARDWARE_CARD_NUMBERS
#undef CARD_NUMBER
};

/* Parses the text of a card; `path` is used in messages. WL_EINVAL names the number, its value and what was expected.
 */
int wl_hardware_card_parse(const char *path, const char *text, struct wl_hardware_card *out, struct wl_arena *a,
                           struct wl_err *e) WL_MUST_CHECK;

/* A card by name: FOLDER/NAME.json if that is a file, else the built-in one; a name that ends in .json is a file.
 * folder NULL: none. WL_ENOENT with "did you mean". */
int wl_hardware_card_find(const char *name, const char *folder, struct wl_hardware_card *out, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

/* The names of the built-in cards, in alphabetical order. */
const char *const *wl_hardware_card_names(size_t *n);

/* FLOP/s by name of a data type ("bf16"); NAN: the card does not have it. */
double wl_hardware_card_peak(const struct wl_hardware_card *c, const char *dtype);

/* The i-th number in its base unit, NAN and source text NULL: missing; false: there are no more. */
bool wl_hardware_card_number(const struct wl_hardware_card *c, size_t i, const char **key, double *value,
                             const char **unit, const struct wl_card_source **source);

#endif
