/* Optimizers: names, defaults and checks. What they compute on is the device (device.h, update). */
#ifndef WL_NN_OPTIM_OPTIM_H
#define WL_NN_OPTIM_OPTIM_H

#include "base/base.h"

/* The optimizers, as PyTorch writes them. t counts the optimizer steps of the training from 1.
 *   sgd    d = g + weight_decay * w;  v = momentum * v + d;  w -= lr * (nesterov ? d + momentum * v : v)
 *   adam   d = g + weight_decay * w;  m = beta1 * m + (1 - beta1) * d;  v = beta2 * v + (1 - beta2) * d^2;
 *          w -= lr * m/(1 - beta1^t) / (sqrt(v/(1 - beta2^t)) + eps)
 *   adamw  as adam with d = g, and w *= 1 - lr * weight_decay before the step
 * v and m start at 0. Kingma and Ba 2015, arXiv:1412.6980; Loshchilov and Hutter 2019, arXiv:1711.05101. */
struct wl_optim {
    const char *kind; /* NULL counts as "sgd" */
    double momentum, weight_decay;
    bool nesterov;
    double beta1, beta2; /* adam, adamw; 0 counts as 0.9 and 0.999 */
    double eps;          /* ... ; 0 counts as 1e-8 */
    /* Spare what a normalisation scales and adds, and biases, as BERT's recipe; default: all decay, as torchvision's.
     */
    bool decay_weights_only;
};

/* n elements of parameters w, gradients g (their sum: `scale` makes the mean) and each slot of state. */
struct wl_optim_span {
    float *w;
    const float *g;
    float *slot[2];
    size_t n;
    float scale, decay;
    int64_t step; /* of the training, from 1 */
};
struct wl_optim_ops {
    const char *name;
    int slots;                /* f32 buffers as large as the parameters */
    const char *slot_name[2]; /* in checkpoints */
    enum wl_optim_kind { WL_OPTIM_SGD, WL_OPTIM_ADAM, WL_OPTIM_ADAMW } kind; /* for the device's update */
};

/* Finds the optimizer that o names, puts the defaults into o and checks it. WL_EINVAL names the field. */
int wl_optim_init(struct wl_optim *o, const struct wl_optim_ops **ops, struct wl_err *e) WL_MUST_CHECK;

#endif
