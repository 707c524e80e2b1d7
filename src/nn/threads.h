/* The number of threads of parallel loops, ours and oneDNN's. One OpenMP runtime serves both: libgomp, which libdnnl
 * is linked with. gcc uses it by itself; another compiler would bring a runtime of its own beside it, so there our
 * own loops run on one thread and the two calls below still reach oneDNN's. */
#ifndef WL_NN_THREADS_H
#define WL_NN_THREADS_H

#ifdef _OPENMP
#include <omp.h>
#else
extern void omp_set_num_threads(int n);
extern int omp_get_max_threads(void);
extern int omp_get_thread_num(void);
#endif

#endif
