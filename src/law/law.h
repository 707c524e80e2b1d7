/* Scaling laws over observations, and what else can be said of runs on several worker counts. A header a question;
 * nothing here reads files or prints. */
#ifndef WL_LAW_LAW_H
#define WL_LAW_LAW_H

#include "law/audit.h"
#include "law/energy.h"
#include "law/factor.h"
#include "law/fit.h"
#include "law/foretell.h"
#include "law/target.h"

#endif
