#!/usr/bin/env python3
"""wattlaw compare, audit, predict and energy on small tables, against the files in expected/: run.py WATTLAW

Text and messages must agree to the letter, numbers in JSON to 1e-7. WATTLAW_UPDATE_GOLDEN=1 writes the expected files
anew; read the difference before you commit it. Where tests/golden/analysis_values.json has values of statsmodels and
scipy for a case, they must agree to 1e-8 (members of nonlinear fits to 1e-5).
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "fit"))
from run import check, differ, run, subset  # noqa: E402

FOOTPRINT = ["--pue", "1.3", "--carbon", "380", "--carbon-range", "300,450", "--carbon-source", "DE 2024, yearly mean",
             "--price", "0.25"]

# name of the expected file: (arguments of `wattlaw`, exit status)
CASES = {
    "compare_caps": (["compare", "../fit/cases/caps.csv", "--factor", "power_cap_w"], 0),
    "compare_caps_json": (["compare", "../fit/cases/caps.csv", "--factor", "power_cap_w", "--json"], 0),
    "compare_clocks": (["compare", "cases/clocks.csv", "--factor", "clock_mhz"], 0),
    "compare_clocks_json": (["compare", "cases/clocks.csv", "--factor", "clock_mhz", "--json"], 0),
    "compare_clocks_base": (["compare", "cases/clocks.csv", "--factor", "clock_mhz", "--base", "135"], 0),
    "compare_clocks_energy": (["compare", "cases/clocks.csv", "--factor", "clock_mhz", "--response", "energy_j"], 0),
    "compare_noisy": (["compare", "cases/noisy.csv", "--factor", "power_cap_w"], 0),
    "compare_noisy_json": (["compare", "cases/noisy.csv", "--factor", "power_cap_w", "--json"], 0),
    "compare_noisy_margin": (["compare", "cases/noisy.csv", "--factor", "power_cap_w", "--margin", "0.5"], 0),
    "compare_one_run": (["compare", "cases/one_run.csv", "--factor", "clock_mhz"], 0),
    "compare_no_freedom": (["compare", "cases/no_freedom.csv", "--factor", "clock_mhz"], 0),
    "compare_no_freedom_json": (["compare", "cases/no_freedom.csv", "--factor", "clock_mhz", "--json"], 0),
    "compare_exact": (["compare", "cases/exact.csv", "--factor", "clock_mhz"], 0),
    "compare_unlike": (["compare", "cases/unlike.csv", "--factor", "clock_mhz"], 0),
    "compare_machines": (["compare", "cases/machines.csv", "--factor", "hardware"], 0),
    "compare_one_law": (["compare", "cases/one_law.csv", "--factor", "clock_mhz"], 0),
    "compare_one_level": (["compare", "../fit/cases/strong.csv", "--factor", "power_cap_w"], 1),
    "compare_one_level_json": (["compare", "../fit/cases/strong.csv", "--factor", "power_cap_w", "--json"], 1),
    "compare_weak": (["compare", "../fit/cases/weak.csv", "--factor", "workload"], 1),
    "compare_no_base": (["compare", "cases/clocks.csv", "--factor", "clock_mhz", "--base", "900"], 1),
    "compare_no_factor": (["compare", "cases/clocks.csv"], 2),
    "compare_workers": (["compare", "cases/clocks.csv", "--factor", "workers"], 1),
    "compare_by_factor": (["compare", "cases/clocks.csv", "--factor", "clock_mhz", "--by", "clock_mhz"], 1),
    "compare_bad_column": (["compare", "cases/clocks.csv", "--factor", "clock_mhzz"], 1),
    "gate_passed": (["compare", "cases/gate_base.csv", "cases/gate_base.csv", "--fail-if", "energy>3%,throughput<-5%"], 0),
    "gate_worse": (["compare", "cases/gate_base.csv", "cases/gate_worse.csv", "--fail-if", "energy>3%,time>2%"], 1),
    "gate_worse_markdown": (["compare", "cases/gate_base.csv", "cases/gate_worse.csv", "--fail-if", "energy>3%", "--markdown"], 1),
    "gate_worse_json": (["compare", "cases/gate_base.csv", "cases/gate_worse.csv", "--fail-if", "energy>3%", "--json"], 1),
    "gate_near": (["compare", "cases/gate_base.csv", "cases/gate_near.csv", "--fail-if", "energy>3%"], 3),
    "gate_near_pass": (["compare", "cases/gate_base.csv", "cases/gate_near.csv", "--fail-if", "energy>3%", "--undecided", "pass"], 0),
    "gate_near_fail": (["compare", "cases/gate_base.csv", "cases/gate_near.csv", "--fail-if", "energy>3%", "--undecided", "fail"], 1),
    "gate_no_condition": (["compare", "cases/gate_base.csv", "cases/gate_worse.csv"], 0),
    "gate_bad_condition": (["compare", "cases/gate_base.csv", "cases/gate_worse.csv", "--fail-if", "enrgy>3%"], 2),
    "gate_factor": (["compare", "cases/gate_base.csv", "cases/gate_worse.csv", "--factor", "workers"], 2),
    "work_fit_tokens": (["fit", "cases/tokens.csv", "--work", "tokens"], 0),
    "work_fit_steps": (["fit", "cases/tokens.csv", "--work", "steps", "--response", "energy_j"], 0),
    "work_predict": (["predict", "cases/tokens.csv", "--work", "tokens", "--at", "workers=16"], 0),
    "work_energy": (["energy", "cases/tokens.csv", "--work", "tokens"], 0),
    "work_energy_target": (["energy", "cases/tokens.csv", "--work", "tokens", "--target", "loss=1"], 2),
    "work_recommend": (["recommend", "cases/tokens.csv", "--tokens", "1e11", "--minimize", "energy"], 0),
    "work_no_tokens": (["fit", "cases/gate_base.csv", "--work", "tokens"], 1),
    "audit_frey": (["audit", "../../../examples/frey2022/tables.csv", "--n", "8"], 0),
    "audit_frey_json": (["audit", "../../../examples/frey2022/tables.csv", "--json"], 0),
    "audit_small": (["audit", "cases/table.csv"], 0),
    "audit_bad_r2": (["audit", "cases/table_bad_r2.csv"], 1),
    "audit_bad_n": (["audit", "cases/table_bad_n.csv"], 1),
    "audit_no_beta": (["audit", "cases/table_no_beta.csv"], 1),
    "audit_wrong_table": (["audit", "cases/clocks.csv"], 1),
    "audit_two": (["audit"], 2),
    "predict_amdahl": (["predict", "../fit/cases/amdahl.csv", "--at", "workers=100"], 0),
    "predict_amdahl_json": (["predict", "../fit/cases/amdahl.csv", "--at", "workers=100", "--json"], 0),
    "predict_strong": (["predict", "../fit/cases/strong.csv", "--at", "workers=6", "--at", "workers=256"], 0),
    "predict_far": (["predict", "../fit/cases/strong.csv", "--at", "workers=64,256,1024"], 0),
    "predict_far_json": (["predict", "../fit/cases/strong.csv", "--at", "workers=256", "--json"], 0),
    "predict_prior": (["predict", "../fit/cases/strong.csv", "--at", "workers=256", "--prior", "drift=0", "--prior",
                       "power=0"], 0),
    "predict_bad_prior": (["predict", "../fit/cases/strong.csv", "--at", "workers=256", "--prior", "tau=0"], 2),
    "predict_unknown_prior": (["predict", "../fit/cases/strong.csv", "--at", "workers=256", "--prior", "tua=.1"], 2),
    "predict_weak": (["predict", "../fit/cases/weak.csv", "--at", "workers=16"], 0),
    "predict_two_counts": (["predict", "../fit/cases/two_counts.csv", "--at", "workers=6", "--at", "workers=16"], 0),
    "predict_two_points": (["predict", "../fit/cases/two_points.csv", "--at", "workers=4"], 0),
    "predict_one_count": (["predict", "../fit/cases/one_count.csv", "--at", "workers=4"], 1),
    "predict_equal": (["predict", "../fit/cases/equal.csv", "--at", "workers=40"], 0),
    "predict_energy": (["predict", "../fit/cases/estimated.csv", "--at", "workers=3", "--response", "energy_j"], 0),
    "predict_energy_json": (["predict", "../fit/cases/estimated.csv", "--at", "workers=3,8", "--response", "energy_j",
                             "--prior", "idle=0", "--prior", "power_tau=0.02", "--json"], 0),
    "predict_bad_figure": (["predict", "../fit/cases/strong.csv", "--at", "workers=64", "--figure", "fan.png"], 2),
    "predict_bad_at": (["predict", "../fit/cases/weak.csv", "--at", "gpus=16"], 2),
    "predict_no_workers": (["predict", "../fit/cases/weak.csv", "--at", "workers=0"], 2),
    "predict_no_family": (["predict", "../fit/cases/two_counts.csv", "--at", "workers=6", "--prior", "power=0", "--prior", "amdahl=0",
                           "--prior", "amdahl_linear=0"], 1),
    "predict_below": (["predict", "../fit/cases/from_8.csv", "--at", "workers=2"], 0),
    "predict_empty_at": (["predict", "../fit/cases/weak.csv", "--at", "workers="], 2),
    "predict_huge_at": (["predict", "../fit/cases/weak.csv", "--at", "workers=1e300"], 2),
    "predict_twice": (["predict", "../fit/cases/weak.csv", "--at", "workers=16,16", "--at", "workers=16.0"], 0),
    "predict_prior_of_power": (["predict", "../fit/cases/strong.csv", "--at", "workers=256", "--prior", "idle=5"], 2),
    "energy": (["energy", "cases/energy.csv"], 0),
    "energy_json": (["energy", "cases/energy.csv", "--json"], 0),
    "energy_footprint": (["energy", "cases/energy_one_batch.csv", *FOOTPRINT], 0),
    "energy_footprint_json": (["energy", "cases/energy_one_batch.csv", "--json", *FOOTPRINT], 0),
    "energy_by_batch": (["energy", "cases/energy.csv", "--by", "hardware,local_batch"], 0),
    "energy_many": (["energy", "cases/energy.csv", "--by", "hardware,local_batch,workers"], 0),
    "energy_bounds": (["energy", "cases/energy_bounds.csv"], 0),
    "energy_bounds_many": (["energy", "cases/energy_bounds.csv", "--by", "hardware,workers"], 0),
    "energy_bounds_json": (["energy", "cases/energy_bounds.csv", "--json"], 0),
    "energy_gaps": (["energy", "cases/energy_gaps.csv"], 0),
    "energy_power": (["energy", "cases/energy_power.csv"], 0),
    "energy_two": (["energy", "cases/energy_two.csv"], 0),
    "energy_one": (["energy", "cases/energy_one.csv"], 0),
    "energy_one_json": (["energy", "cases/energy_one.csv", "--json"], 0),
    "energy_same": (["energy", "cases/energy_same.csv"], 0),
    "energy_falls": (["energy", "cases/energy_falls.csv"], 0),
    "energy_estimated": (["energy", "../fit/cases/estimated.csv"], 0),
    "energy_none": (["energy", "../fit/cases/foreign.csv", "--map", "time_s=seconds"], 1),
    "energy_at": (["energy", "../fit/cases/estimated.csv", "--at", "workers=8,16"], 0),
    "energy_at_json": (["energy", "cases/target_loss.csv", "--target", "val_loss=1.2", "--at", "workers=8", "--json"], 0),
    "energy_at_refused": (["energy", "cases/target.csv", "--target", "val_top1=0.65", "--at", "workers=8"], 0),
    "energy_at_unequal": (["energy", "../../../examples/huber2025/resnet50.csv", "--at", "workers=512"], 0),
    "energy_bad_at": (["energy", "cases/target.csv", "--at", "gpus=8"], 2),
    "energy_target": (["energy", "cases/target.csv", "--target", "val_top1=0.65"], 0),
    "energy_target_json": (["energy", "cases/target.csv", "--target", "val_top1=0.65", "--json"], 0),
    "energy_target_loss": (["energy", "cases/target_loss.csv", "--target", "val_loss=1.2"], 0),
    "energy_target_typo": (["energy", "cases/target.csv", "--target", "val_topl=0.65"], 1),
    "energy_target_other": (["energy", "cases/target.csv", "--target", "val_loss=0.65"], 1),
    "energy_target_bad": (["energy", "cases/target.csv", "--target", "val_top1"], 2),
    "energy_no_source": (["energy", "cases/energy.csv", "--carbon", "380"], 2),
    "energy_bad_range": (["energy", "cases/energy.csv", *FOOTPRINT, "--carbon-range", "450,300"], 2),
}
LOOSE = ("shared_overhead_model", "aicc", "models", "predictions")  # members that come from nonlinear fits


def without(value, keys):
    """A JSON value without those members, at any depth."""
    if isinstance(value, dict):
        return {key: without(v, keys) for key, v in value.items() if key not in keys}
    return [without(v, keys) for v in value] if isinstance(value, list) else value


def check_peer(program, line, want):
    status, text = run(program, line.split() + ["--json"], HERE)
    if status:
        return f"exit status {status}\n{text}"
    got = subset(json.loads(text), want)
    return differ(without(got, LOOSE), without(want, LOOSE), tolerance=1e-8) or differ(got, want, tolerance=1e-5)


def main():
    program, update = os.path.abspath(sys.argv[1]), os.environ.get("WATTLAW_UPDATE_GOLDEN") == "1"
    failures = [(name, why) for name, (line, status) in CASES.items()
                if (why := check(program, name, line, status, update, HERE))]
    with open(os.path.join(HERE, "..", "..", "golden", "analysis_values.json"), encoding="utf-8") as file:
        peers = json.load(file)
    failures += [(line, why) for line in peers if (why := check_peer(program, line, peers[line]))]
    for name, why in failures:
        print(f"{name}: {why}\n")
    total = len(CASES) + len(peers)
    print(f"{total - len(failures)} of {total} cases agree" + (" (written anew)" if update else ""))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
