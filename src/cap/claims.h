/* All journals of a state folder, and what they say about a device. */
#ifndef WL_CAP_CLAIMS_H
#define WL_CAP_CLAIMS_H

#include "cap/journal.h"
#include "cap/setter.h"

struct wl_claim {
    struct wl_journal j;
    enum wl_holder_state holder_state;
    const char *why; /* why it may live */
    bool settled;    /* restored, or no longer of concern */
};

struct wl_claims {
    struct wl_claim *v; /* newest holder first: what was set last is restored first */
    size_t n, cap;
    struct wl_restore_result *bad; /* journals that cannot be read */
    size_t n_bad, bad_cap;
};

/* `client` not NULL: without those of other users' dead processes. */
int wl_claims_load(const char *dir, const struct wl_cap_client *client, struct wl_claims *out, struct wl_arena *a,
                   struct wl_err *e);

/* May the claim's holder still run? */
bool wl_claim_may_be_alive(const struct wl_claim *c);

/* The next entry of another holder on the device of `mine`, from claim *at on; *at moves past it. NULL: none. */
const struct wl_journal_entry *wl_claims_next(const struct wl_claims *all, const struct wl_journal *self,
                                              const struct wl_journal_entry *mine, size_t *at);

/* The value of the device before it was capped: `found` of `mine`, or what dead holders found who set that value. Other
 * users' journals count as far as wl_journal_entry_refusal allows. `whose`: the last holder that was believed, or NULL.
 */
double wl_claims_original(const struct wl_claims *all, const struct wl_journal *self,
                          const struct wl_journal_entry *mine, const struct wl_control *k,
                          const struct wl_claim **whose);

/* Why a device must not be set to the found value in another user's journal; NULL: it may. Such a value can undo a cap,
 * but neither lower the device nor raise it above its default. `force`: any value that the device takes. */
const char *wl_journal_entry_refusal(const struct wl_journal_entry *entry, const struct wl_control *k, double now,
                                     bool force, struct wl_arena *a);

#endif
