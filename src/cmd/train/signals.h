#ifndef WL_CMD_TRAIN_SIGNALS_H
#define WL_CMD_TRAIN_SIGNALS_H

#include <stdbool.h>

/* Makes SIGINT, SIGTERM and SIGUSR1 (batch systems send it before a time limit) ask for a stop; a second one ends the
 * process at once. SIGHUP asks for a stop however often
 * it comes, unless it is ignored. */
void wl_cmd_train_signals_catch(void);

/* Has a signal asked for a stop? */
bool wl_cmd_train_stop_requested(void);

#endif
