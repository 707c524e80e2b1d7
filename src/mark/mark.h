/* Marks: a workload's reports about its epochs. The one header of this folder that other folders include. */
#ifndef WL_MARK_MARK_H
#define WL_MARK_MARK_H

#include "mark/parse.h"
#include "mark/regex.h"
#include "mark/tail.h"

#endif
