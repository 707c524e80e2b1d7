#include "train/train.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t asked; /* the one thing that a signal handler may set */

static void on_signal(int number) { asked = number; }

void wl_cmd_train_signals_catch(void)
{
    struct sigaction act;
    memset(&act, 0, sizeof act);
    act.sa_handler = on_signal;
    act.sa_flags = SA_RESTART | (int)SA_RESETHAND;
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    /* A terminal that is closed says so several times, and not at all to who ignores it (nohup). */
    struct sigaction then;
    act.sa_flags = SA_RESTART;
    if (sigaction(SIGHUP, NULL, &then) == 0 && then.sa_handler != SIG_IGN) sigaction(SIGHUP, &act, NULL);
}

bool wl_cmd_train_stop_requested(void) { return asked != 0; }
