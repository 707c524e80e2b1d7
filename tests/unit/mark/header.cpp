// Compiles the public header as C++11; it runs as an empty program.
#include <wattlaw/mark.h>

int main()
{
    wattlaw_mark_set_rank(1);
    wattlaw_mark_start("workload=%s workers=%d", "net", 2);
    wattlaw_mark_epoch_begin(1);
    wattlaw_mark_phase_begin("validate");
    wattlaw_mark_phase_end("validate");
    wattlaw_mark_phase_time("input", 0.25, 1);
    wattlaw_mark_step(1, 32, 0.5);
    wattlaw_mark_epoch_end(1, 640, 20);
    wattlaw_mark_metric("val_top1", 0.61, 1);
    return wattlaw_mark_stop("ok");
}
