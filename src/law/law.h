/* Scaling laws over observations: fits, forecasts, factor comparisons, energy laws, targets, audits. Nothing here reads
 * files or prints. */
#ifndef WL_LAW_LAW_H
#define WL_LAW_LAW_H

#include "law/audit/audit.h"
#include "law/curves.h"
#include "law/energy/energy.h"
#include "law/energy/extrapolate.h"
#include "law/energy/parts.h"
#include "law/factor/factor.h"
#include "law/fan.h"
#include "law/fit/fit.h"
#include "law/forecast.h"
#include "law/gate.h"
#include "law/hier/hier.h"
#include "law/labels.h"
#include "law/per_work.h"
#include "law/target.h"
#include "law/units/units.h"

#endif
