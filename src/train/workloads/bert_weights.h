/* BERT's parameters from files of other programs. */
#ifndef WL_TRAIN_WORKLOADS_BERT_WEIGHTS_H
#define WL_TRAIN_WORKLOADS_BERT_WEIGHTS_H

#include "nn/checkpoint/safetensors.h"

/* Loads a safetensors file with the names of bert-base-uncased: with or without the prefix "bert.", norms with weight
 * and bias or with gamma and beta. The data in `dir` have a vocabulary of `vocabulary` tokens; a file for another
 * number is WL_EINVAL. `log`: log parameters that are missing or ignored. */
int wl_bert_weights_load(const char *path, int64_t vocabulary, const char *dir, struct wl_plan *plan, bool log,
                         struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
