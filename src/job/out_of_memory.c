#include "job/out_of_memory.h"

#include "base/base.h"

#include <string.h>

bool wl_job_says_out_of_memory(const char *text)
{
    static const char *const words[] = { "out of memory",      "OutOfMemory", "cannot allocate memory", "bad_alloc",
                                         "unable to allocate", "no memory:",  "out_of_memory" };
    for (size_t i = 0; text && i < WL_COUNT(words); i++)
        if (strcasestr(text, words[i])) return true;
    return false;
}
