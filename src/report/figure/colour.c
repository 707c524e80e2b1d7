/* The palette: Okabe and Ito, "Color Universal Design", 2008, https://jfly.uni-koeln.de/color/, without its black (the
 * neutral colour does that) and with the yellow darkened on light grounds, where it could not be seen. */
#include "report/figure/colour.h"

static const struct wl_colour palette[WL_PALETTE] = {
    { "blue", "#0072b2", "#4aa8e0" },
    { "vermillion", "#d55e00", "#f0804a" },
    { "green", "#009e73", "#2fc79b" },
    { "purple", "#aa4499", "#dd8fc4" },
    { "orange", "#e69f00", "#f2b63c" },
    { "sky blue", "#56b4e9", "#8fd0f5" },
    { "dark yellow", "#9a8700", "#f0e442" },
    /* Beyond: Trubetskoy, "List of 20 simple, distinct colors", 2017, those far from the ones above. */
    { "red", "#c5002f", "#ff5c77" },
    { "navy", "#1c2f8f", "#8b9cf5" },
    { "brown", "#7a4a12", "#c58f4e" },
    { "magenta", "#e032c4", "#ff8cec" },
    { "olive", "#5f7312", "#b4cf4a" },
    { "teal", "#006a6a", "#4fc9c9" },
    { "maroon", "#750014", "#d96a7a" },
    { "lavender", "#8f7be0", "#c9bcff" },
    { "lime", "#5fae00", "#a6f03c" },
    { "pink", "#e57a9a", "#ffb6cb" },
    { "indigo", "#5a0fa8", "#b98af5" },
    { "beige", "#b59a6a", "#f0dcae" },
    { "slate", "#3f5f78", "#9dbdd6" },
    { "dark green", "#10502a", "#6fd092" },
};

static const struct wl_colour neutral = { "grey", "#666666", "#a8a8a8" };

const struct wl_colour *wl_colour(int slot) { return slot < 0 ? &neutral : &palette[slot % WL_PALETTE]; }

struct wl_look wl_look(int slot)
{
    return (struct wl_look) { slot % WL_PALETTE, slot / WL_PALETTE % WL_DASHES, slot + slot / WL_MARKERS };
}

/* The workloads that wattlaw-train ships, each at its own slot. */
static const char *const reference[WL_COLOURS] = { "resnet50", "bert",       "vgg16",      "schnet",
                                                   "dimenet",  "inception3", "fourcastnet" };

static int reference_slot(const char *name)
{
    for (int i = 0; i < WL_COLOURS; i++) {
        if (wl_str_eq(name, reference[i])) return i;
    }
    return -1;
}

void wl_colour_slots(const char *const *names, size_t n, int *slots)
{
    bool taken[WL_COLOURS] = { false };
    for (size_t i = 0; i < n; i++) {
        slots[i] = reference_slot(names[i]);
        if (slots[i] >= 0) taken[slots[i]] = true;
    }
    int next = 0;
    for (size_t i = 0; i < n; i++) {
        if (slots[i] >= 0) continue;
        while (next < WL_COLOURS && taken[next]) next++;
        slots[i] = next++; /* past the palette colours repeat, and markers distinguish the series */
    }
}
