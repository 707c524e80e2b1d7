/* The palette: Okabe and Ito, "Color Universal Design", 2008, https://jfly.uni-koeln.de/color/, without its black (the
 * neutral colour does that) and with the yellow darkened on light grounds, where it could not be seen. */
#include "report/figure/colour.h"

static const struct wl_colour palette[WL_COLOURS] = {
    { "blue", "#0072b2", "#4aa8e0" },        { "vermillion", "#d55e00", "#f0804a" },
    { "green", "#009e73", "#2fc79b" },       { "purple", "#aa4499", "#dd8fc4" },
    { "orange", "#e69f00", "#f2b63c" },      { "sky blue", "#56b4e9", "#8fd0f5" },
    { "dark yellow", "#9a8700", "#f0e442" },
};

static const struct wl_colour neutral = { "grey", "#666666", "#a8a8a8" };

const struct wl_colour *wl_colour(int slot) { return slot < 0 ? &neutral : &palette[slot % WL_COLOURS]; }

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
