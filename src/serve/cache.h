/* Answers that stay right until the store changes, so that many clients cost no more than one. */
#ifndef WL_SERVE_CACHE_H
#define WL_SERVE_CACHE_H

#include "serve/request.h"

struct wl_answer_cache;
struct wl_answer_cache *wl_answer_cache_new(struct wl_arena *a);

/* The answer to this target in this state, copied into the arena; false: not known. */
bool wl_answer_cache_get(struct wl_answer_cache *c, const char *target, const char *etag, struct wl_http_answer *out,
                         struct wl_arena *a);

/* Keeps a copy of an answer with an ETag and a body. The oldest ones go. */
void wl_answer_cache_put(struct wl_answer_cache *c, const char *target, const struct wl_http_answer *answer);

#endif
