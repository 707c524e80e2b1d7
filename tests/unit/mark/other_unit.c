/* A second translation unit with the public header: its own descriptor, the same file. */
#include <wattlaw/mark.h>

int mark_from_other_unit(void);
int mark_from_other_unit(void) { return wattlaw_mark_metric("other", 2, 0); }
