/* Choices from evidence: which setting of a finished campaign to use. Pure: arrays and observations in, structs out;
 * nothing here reads files or prints. */
#ifndef WL_ADVISE_ADVISE_H
#define WL_ADVISE_ADVISE_H

#include "advise/choose/choose.h"
#include "advise/joint/joint.h"

#endif
