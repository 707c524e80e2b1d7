/* The sentences of an audit. */
#ifndef WL_LAW_AUDIT_FINDINGS_H
#define WL_LAW_AUDIT_FINDINGS_H

#include "law/audit/audit.h"

/* Fills audit->findings and audit->limits. */
void wl_audit_add_findings(struct wl_audit *audit, double assumed_n, struct wl_arena *a);

#endif
