#include "cmd/train.h"

/* Frey et al. 2022, arXiv:2201.12423, section 2: ten epochs of SGD in mixed precision with a rate of 1e-5 and 256
 * samples a GPU, whatever the number of GPUs. Momentum and weight decay are not given there: the network's own stay.
 *
 * Huber et al. 2025, arXiv:2508.07706: ResNet50 with a rate of 0.1 x global batch/256 reached by a linear warm-up of
 * five epochs (Goyal et al. 2017, arXiv:1706.02677), halved when the validation loss has not improved for five epochs,
 * 100 epochs, and accuracy on both sets after each of them. What does not fill a global batch is left out, as in every
 * training here. */
const struct wl_opt_preset wl_train_recipes[] = {
    { "frey2022", "epochs=10 local-batch=256 lr=1e-5 lr-scale=no lr-schedule=constant warmup-epochs=0 "
                  "precision=bf16" },
    { "huber2025", "epochs=100 lr=0.1 lr-scale=yes warmup-epochs=5 lr-schedule=plateau lr-factor=0.5 lr-patience=5 "
                   "precision=f32 momentum=0.9 weight-decay=1e-4 nesterov=no validate=yes eval-train=yes" },
    { NULL, NULL },
};
