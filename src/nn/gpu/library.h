/* NVIDIA's libraries, opened at run time. */
#ifndef WL_NN_GPU_LIBRARY_H
#define WL_NN_GPU_LIBRARY_H

#include "cuda/library.h"

#endif
