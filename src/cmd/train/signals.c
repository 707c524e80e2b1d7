#include "cmd/train/signals.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t stop_signal; /* the only type that a signal handler may set */

static void on_signal(int number) { stop_signal = number; }

void wl_cmd_train_signals_catch(void)
{
    struct sigaction act;
    memset(&act, 0, sizeof act);
    act.sa_handler = on_signal;
    act.sa_flags = SA_RESTART | (int)SA_RESETHAND;
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGUSR1, &act, NULL);
    /* A terminal that closes sends SIGHUP several times; nohup ignores it. */
    struct sigaction before;
    act.sa_flags = SA_RESTART;
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(SIGHUP, &act, NULL);
}

bool wl_cmd_train_stop_requested(void) { return stop_signal != 0; }
