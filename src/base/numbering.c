#include "base/numbering.h"

#include "base/random.h"
#include "base/str.h"

struct wl_numbering wl_numbering_new(size_t most, struct wl_arena *a)
{
    struct wl_numbering x = { .slots = 16 };
    while (x.slots < 2 * most) x.slots *= 2;
    x.text = wl_new_array(a, const char *, most);
    x.slot = wl_new_array(a, size_t, x.slots);
    return x;
}

size_t wl_numbering_of(struct wl_numbering *x, const char *text)
{
    size_t at = wl_hash_fnv1a(text) & (x->slots - 1);
    while (x->slot[at] && !wl_str_eq(x->text[x->slot[at] - 1], text)) at = (at + 1) & (x->slots - 1);
    if (!x->slot[at]) {
        x->text[x->n] = text;
        x->slot[at] = ++x->n;
    }
    return x->slot[at] - 1;
}
