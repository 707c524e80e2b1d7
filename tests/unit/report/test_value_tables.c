/* The numbers of a report in the cells of its tables and in its findings. */
#include "values.h"

#include <math.h>

/* A table as text, one line per row, without empty columns: `digits` significant digits. */
static char *printed(const struct wl_document *d, const char *id, int digits)
{
    const struct wl_report_table *t = table(d, id);
    struct wl_text out = WL_TEXT(d->arena);
    for (size_t c = 0; c < t->n_columns; c++) wl_text_addf(&out, "%s%s", c ? "," : "", t->columns[c].id);
    wl_text_add(&out, "\n");
    for (size_t r = 0; r < t->n_rows; r++) {
        for (size_t c = 0; c < t->n_columns; c++) {
            const struct wl_report_cell *v = &t->cells[r * t->n_columns + c];
            wl_text_add(&out, c ? "," : "");
            if (v->text)
                wl_text_add(&out, v->text);
            else if (!isnan(v->value))
                wl_text_addf(&out, "%.*g", digits, v->value);
        }
        wl_text_add(&out, "\n");
    }
    return out.s;
}

/* spread: 100 (exp(d sqrt 2) - 1) = 37.104 %; from and to: 2 and 4 times exp(-+4.302653 sqrt(2) d) = .257226 and
 * 3.887626; energy: sqrt(144000 x 138240) N^1/2; power: sqrt(2400) N. */
static void configuration_table_matches_hand_computation(void **state)
{
    const struct wl_document *d = known_answer_report(&estimated, *state);
    assert_string_equal(printed(d, "configurations", 5),
                        "group,workers,runs,time_s,time_sd_pct,energy_j,mean_power_w,speedup,speedup_lo,speedup_hi,"
                        "efficiency,energy_ratio\n"
                        "net, local batch 32,1,2,2880,37.104,1.4109e+05,48.99,1,1,1,1,1\n"
                        "net, local batch 32,4,2,1440,37.104,2.8218e+05,195.96,2,0.51445,7.7753,0.5,2\n"
                        "net, local batch 32,16,2,720,37.104,5.6436e+05,783.84,4,1.0289,15.551,0.25,4\n");
    assert_true(table(d, "configurations")->estimated);
}

/* se of the exponent: sqrt(1.5) d / (2 ln 4) = .098570, interval .5 -+ 2.776445 se; R2: (ln 4)^2 / ((ln 4)^2 + 6 d^2).
 */
static void law_table_matches_hand_computation(void **state)
{
    const struct wl_document *d = known_answer_report(&estimated, *state);
    assert_string_equal(printed(d, "laws", 5),
                        "group,scaling,runs,worker_counts,beta,beta_se,beta_lo,beta_hi,alpha,r2,basis\n"
                        "net, local batch 32,strong,6,3,0.5,0.09857,0.22633,0.77367,2880,0.86546,runs\n");
}

/* Rates .04 and .06, three times each: mean .05, sd sqrt(6 x .01^2 / 5), so 21.909 %. */
static void energy_law_table_matches_hand_computation(void **state)
{
    const struct wl_document *d = known_answer_report(&estimated, *state);
    const struct wl_report_table *t = table(d, "energy-laws");
    double base, slope;
    line_of_energy(&base, &slope);
    char *is = printed(d, "energy-laws", 5);
    assert_holds(is, wl_strf(*state, "\nnet,6,45.92,2.1952,0.05,21.909,%.5g,%.5g,", base, slope));
    assert_holds(is, "group,runs,worker_h,kwh,rate,rate_cv_pct,base,slope,slope_lo,slope_hi,r2,note\n");
    assert_true(t->estimated);
}

static void run_table_matches_hand_computation(void **state)
{
    const struct wl_document *d = known_answer_report(&estimated, *state);
    const struct wl_report_table *t = table(d, "runs");
    assert_int_equal(t->n_rows, KNOWN_ANSWER_RUNS);
    char *is = printed(d, "runs", 9);
    /* run 4: 4 workers, 1152 s, 240 W: 4608 s, 1105920 J, 10 % less and more, three quarters above idle */
    assert_holds(is,
                 "\n4,net,4,32,128,,,,,2,done,4608,3,1536,1105920,995328,1216512,829440,240,,,,,,,,,,val_top1,0.9,,\n");
    assert_holds(is,
                 "\n1,net,1,32,32,,,,,1,done,14400,3,4800,576000,518400,633600,432000,40,,,,,,,,,,val_top1,0.7,,\n");
    assert_holds(is, "run,workload,workers,local_batch,global_batch,power_cap_w,module_cap_w,clock_mhz,mem_clock_mhz,"
                     "repeat,status,time_s,epochs,epoch_time_s,energy_j,energy_lo_j,energy_hi_j,above_idle_j,"
                     "mean_power_w,");
    assert_true(t->estimated);
}

/* A choice has a column where a run has it; other settings without a column of the store have none. */
static void run_table_shows_choices(void **state)
{
    struct known_answer_run runs[KNOWN_ANSWER_RUNS];
    memcpy(runs, known_answer_runs, sizeof runs);
    runs[2].extra = "{\"lr\": \"0.1\", \"precision\": \"bf16\"}";
    runs[3].extra = "{\"precision\": \"f32\"}";
    const struct hand chosen = { .runs = runs, .n = KNOWN_ANSWER_RUNS };
    const struct wl_document *d = known_answer_report(&chosen, *state);
    char *is = printed(d, "runs", 9);
    assert_holds(is, ",clock_mhz,mem_clock_mhz,precision,repeat,status,");
    assert_holds(is, "\n2,net,1,32,32,,,,,,2,done,");
    assert_holds(is, "\n3,net,4,32,128,,,,,bf16,1,done,");
    assert_holds(is, "\n4,net,4,32,128,,,,,f32,1,done,");
    runs[5].extra = "{\"recompute\": \"yes\"}";
    is = printed(known_answer_report(&chosen, *state), "runs", 9);
    assert_holds(is, ",mem_clock_mhz,precision,recompute,repeat,");
    assert_holds(is, "\n6,net,16,32,512,,,,,,yes,1,done,");
}

/* Shares .10 .30, .05 .15 and .12 .28 at one worker, in %. */
static void utilisation_table_matches_hand_computation(void **state)
{
    const struct wl_document *d = known_answer_report(&estimated, *state);
    assert_string_equal(printed(d, "utilisation", 5),
                        "group,workers,quantity,mean,mean_lo,mean_hi,cv_time,cv_devices,cv_pooled,cv_pooled_lo,"
                        "cv_pooled_hi\n"
                        "net, local batch 32,1,CPU busy time,50,-77.062,177.06,20,10,20,-81.65,121.65\n"
                        "net, local batch 32,4,CPU busy time,70,70,70,20,5,20,20,20\n"
                        "net, local batch 32,16,CPU busy time,90,90,90,10,5,10,10,10\n");
}

static void batch_table_matches_hand_computation(void **state)
{
    const struct wl_document *d = known_answer_report(&estimated, *state);
    assert_holds(printed(d, "batches", 5),
                 "workload,line,workers,metric,unit,global_batch,runs,final,final_lo,final_hi,best,best_lo,best_hi\n"
                 "net,1 worker,1,val_top1,,32,2,0.8,-0.47062,2.0706,0.8,-0.47062,2.0706\n"
                 "net,4 workers,4,val_top1,,128,2,0.8,-0.47062,2.0706,0.8,-0.47062,2.0706\n");
}

static void findings_match_hand_computation(void **state)
{
    const struct wl_document *d = known_answer_report(&estimated, *state);
    char *findings = joined(&d->findings, *state);
    assert_holds(
        findings,
        "net, local batch 32: the time of one epoch scales as workers^-beta, beta 0.500 (95 % interval "
        "0.226 to 0.774); 16 workers are 4.00 times as fast as 1 worker (25.0 % of ideal), at 4.00 times the "
        "estimated energy.\n");
    assert_holds(findings,
                 "Fastest epoch: 720.0 s, net, local batch 32 with 16 workers. Least estimated energy: 141 kJ, net, "
                 "local batch 32 with 1 worker.\n");
    assert_holds(joined(&d->warnings, *state), "Estimated, not measured: the energies of 6 of 6 runs");
}

/* The same times, and watts of a worker by its number: as fast, for the same energy. */
static void findings_of_workers_that_change_nothing(void **state)
{
    struct known_answer_run runs[KNOWN_ANSWER_RUNS];
    const struct hand flat = { .runs = runs, .n = KNOWN_ANSWER_RUNS };
    for (size_t i = 0; i < KNOWN_ANSWER_RUNS; i++) {
        runs[i] = known_answer_runs[i];
        runs[i].time_s = known_answer_runs[i % 2].time_s;
        runs[i].watts /= runs[i].workers;
    }
    const struct wl_document *d = known_answer_report(&flat, *state);
    assert_holds(joined(&d->findings, *state),
                 "; 16 workers are as fast as 1 worker (6.25 % of ideal), at the same energy.\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ARENA(configuration_table_matches_hand_computation),
        WITH_ARENA(law_table_matches_hand_computation),
        WITH_ARENA(energy_law_table_matches_hand_computation),
        WITH_ARENA(run_table_matches_hand_computation),
        WITH_ARENA(run_table_shows_choices),
        WITH_ARENA(utilisation_table_matches_hand_computation),
        WITH_ARENA(batch_table_matches_hand_computation),
        WITH_ARENA(findings_match_hand_computation),
        WITH_ARENA(findings_of_workers_that_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
