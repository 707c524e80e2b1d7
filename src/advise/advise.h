/* Choices from evidence: which setting of a finished campaign to use, which cap or batch to try next, one cap for many
 * jobs. Pure: arrays and observations in, structs out; nothing here reads files or prints. */
#ifndef WL_ADVISE_ADVISE_H
#define WL_ADVISE_ADVISE_H

#include "advise/batch/batch.h"
#include "advise/batch/largest.h"
#include "advise/cap/cap.h"
#include "advise/cap/policy/policy.h"
#include "advise/choose/campaign.h"
#include "advise/choose/choose.h"
#include "advise/choose/effects.h"
#include "advise/joint/joint.h"
#include "advise/policy/copies.h"
#include "advise/policy/decide.h"

#endif
