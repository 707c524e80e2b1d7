/* What a command is called: by its script, not by the interpreter or the launchers before it. */
#ifndef WL_JOB_COMMAND_NAME_H
#define WL_JOB_COMMAND_NAME_H

#include "base/base.h"

/* "train.py" of `srun -n 4 python3 -u train.py --lr 1`, "train_llm" of `python -m train_llm`, "run.sh" of `bash
 * run.sh`; the program where no script is named (`python -c ...`, `./train`). NULL: argv is empty. */
const char *wl_command_name(char *const *argv, struct wl_arena *a);

#endif
