/* Scaling laws over observations, and what else can be said of runs on several worker counts. A header a question;
 * nothing here reads files or prints. */
#ifndef WL_LAW_LAW_H
#define WL_LAW_LAW_H

#include "law/audit/audit.h"
#include "law/energy/energy.h"
#include "law/factor/factor.h"
#include "law/fit/fit.h"
#include "law/forecast.h"
#include "law/target.h"

#endif
