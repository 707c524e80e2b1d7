/* Time and energy of distributed training from first principles, at scales and on machines that nobody has run.
 *
 * A plan file (plan.h) names machines, frameworks and workloads; model.h evaluates one of each in a setting;
 * calibrate.h fits their uncertain constants (parameters.def) to measurements and samples what remains unknown. Pure:
 * reads files, prints nothing. Every result is an estimate.
 */
#ifndef WL_PLANNER_PLANNER_H
#define WL_PLANNER_PLANNER_H

#include "planner/calibrate.h"
#include "planner/card.h"
#include "planner/collective.h"
#include "planner/device.h"
#include "planner/layout.h"
#include "planner/model.h"
#include "planner/parameters.h"
#include "planner/plan.h"
#include "planner/workload_card.h"

#endif
