/* Finding a power cap or clock by live trials: candidates, windows of a running job, evidence, search, session. */
#ifndef WL_TUNE_TUNE_H
#define WL_TUNE_TUNE_H

#include "tune/candidates.h"
#include "tune/evidence.h"
#include "tune/experiment.h"
#include "tune/history.h"
#include "tune/schedule.h"
#include "tune/search.h"
#include "tune/session.h"

#endif
