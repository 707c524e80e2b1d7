/* Programs that ran out of memory, by what they say. */
#ifndef WL_JOB_OUT_OF_MEMORY_H
#define WL_JOB_OUT_OF_MEMORY_H

#include <stdbool.h>

/* Does this text, the error of a run or the end of its log, say that memory ran out? NULL: no. */
bool wl_job_says_out_of_memory(const char *text);

#endif
