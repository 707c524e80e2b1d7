/* BERT's parameters from and to files of other programs. */
#ifndef WL_TRAIN_WORKLOADS_BERT_WEIGHTS_H
#define WL_TRAIN_WORKLOADS_BERT_WEIGHTS_H

#include "nn/checkpoint/safetensors.h"

/* Gives the plan the parameters of a file of safetensors with the names of bert-base-uncased: with or without "bert."
 * in front, norms with weight and bias or with gamma and beta. `vocabulary` tokens are those of the data in `dir`; a
 * file for another number is WL_EINVAL. */
int wl_bert_weights_load(const char *path, int64_t vocabulary, const char *dir, struct wl_plan *plan, bool log,
                         struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
