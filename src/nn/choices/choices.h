/* Choices that a plan makes by measurement, remembered.
 *
 * A choice answers a question about one shape ("conv2d forward f32 x 16x64x56x56 ...") on one machine: which
 * algorithm was fastest, and by how much. Timing is noisy and another answer rounds otherwise, so an answer that was
 * found once is kept: in a table that all ranks share, and in a file that later runs read. Then the same seed gives
 * the same bits. Layout of the file: docs/formats.md.
 */
#ifndef WL_NN_CHOICES_CHOICES_H
#define WL_NN_CHOICES_CHOICES_H

#include "base/base.h"
#include "nn/comm/comm.h"

/* Texts hold neither tabs nor newlines. Times are seconds a sample, as measured when the choice was made. */
struct wl_choice {
    const char *machine;   /* processor, library with version, threads */
    const char *question;  /* operation, pass, precision, shape */
    const char *answer;    /* "winograd" */
    const char *runner_up; /* what came second */
    double answer_s, runner_up_s;
};

/* The table. Open one with wl_choices_new; its texts live as long as the arena. */
struct wl_choices {
    struct wl_arena *arena;
    const char *machine; /* where questions are asked now; NULL: not known yet */
    struct wl_choice *v;
    size_t n, cap;
    size_t added;       /* since the file was read or written */
    const char *folder; /* of the file: what belongs to answers is kept there too (cuDNN's plans); NULL: nowhere */

    /* (optional) Called after each choice that is measured. */
    void (*progress)(void *context, size_t done, size_t total);
    void *context;
};
struct wl_choices *wl_choices_new(struct wl_arena *a);

/* The answer to a question on c->machine; NULL: there is none. Stays valid until the next wl_choices_add. */
const struct wl_choice *wl_choices_find(const struct wl_choices *c, const char *question);

/* Copies x, in place of an earlier answer to the same question on its machine. */
void wl_choices_add(struct wl_choices *c, const struct wl_choice *x);

/* Every rank gets rank 0's machine and table. Collective. */
int wl_choices_broadcast(struct wl_choices *c, struct wl_comm *comm, struct wl_err *e) WL_MUST_CHECK;

/* Adds what the file holds. No file is an empty one. WL_EINVAL names the line of a file that is not one of ours, and
 * nothing of it is taken. */
int wl_choices_load(struct wl_choices *c, const char *path, struct wl_err *e) WL_MUST_CHECK;

/* Writes the table, and keeps what other runs have put into the file meanwhile. The file is replaced whole, its folder
 * made; one that is not ours is replaced too. */
int wl_choices_save(struct wl_choices *c, const char *path, struct wl_err *e) WL_MUST_CHECK;

#endif
