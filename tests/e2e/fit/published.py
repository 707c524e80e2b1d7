#!/usr/bin/env python3
"""wattlaw fit on published measurements: published.py WATTLAW SOURCE_ROOT

The tables are not part of this project. They are looked for in the folder that WATTLAW_SHARED_DATA names, or in
shared/data beside the source tree; without them the test is skipped (exit 77). Exponents over runs and their standard
errors were computed with statsmodels from the same files:
- huber2025: 100 epochs of ResNet50 with samples in proportion to GPUs, Huber et al. 2025 (arXiv 2508.07706)
- extrap: latencies of MPI's collectives on 32 to 512 ranks with two libraries, of the Extra-P project; their exponents, and
  whether the libraries share one (analysis of covariance)
- mlperf_v4.0_power: time to train and energy of MLPerf Training v4.0 power runs (mlcommons/training_results_v4.0)
"""
import json
import math
import os
import subprocess
import sys

HUBER = ("huber2025/resnet50_samples_scaled_with_gpus.csv",
         ("workers=gpus", "time_s=derived_runtime_min", "energy_j=mean_energy_kWh", "samples=n_train_samples"), "series")
MLPERF = ("mlperf_v4.0_power/runs.csv", ("workers=gpus", "time_s=ttt_s", "energy_j=node_energy_J"), "measure,benchmark")
MPI = ("extrap/mpi_data.csv", ("workers=Ranks", "time_s=mean"), "mpi,variable")

# (table, response): {group: (runs, exponent, standard error)}
EXPECTED = {
    (MPI, "time_s"): {
        "IntelMPI MPI_Allgather": (5, -1.7535238168472294, 0.19206192771898023),
        "IntelMPI MPI_Allreduce": (5, -0.6261022863457162, 0.04099171013000555),
        "OpenMPI MPI_Allgather": (5, -1.061054786337699, 0.026741640527721575),
        "OpenMPI MPI_Allreduce": (5, -0.4548597695828624, 0.04595490238144284),
    },
    (HUBER, "time_s"): {
        "const_gbs_256": (5, -0.11595417320722044, 0.026036588404106057),
        "const_gbs_8192": (4, 0.0015263875417644845, 0.022469755956727323),
        "const_lbs_256": (9, -0.0175463969749167, 0.003699562984479104),
    },
    (HUBER, "energy_j"): {
        "const_gbs_256": (5, -0.9436730217187044, 0.06323434300296785),
        "const_gbs_8192": (4, -1.0421792729243464, 0.01848343444122178),
        "const_lbs_256": (9, -0.9515254589488069, 0.022674490233660277),
    },
    (MLPERF, "time_s"): {
        "ac llama2_70b_lora": (30, 0.6412881820679359, 0.01758647992698717),
        "ac resnet": (10, 0.7977130438392225, 0.0003480307280583959),
        "ac ssd": (10, 0.8397511044553272, 0.0002800150889766468),
        "ac unet3d": (80, 0.8817920758707934, 0.024762447905073388),
        "ac bert": (10, None, None),
    },
    (MLPERF, "energy_j"): {
        "ac llama2_70b_lora": (30, -0.2722086786123636, 0.019392499289893665),
        "dc ssd": (10, -0.10236449588273677, 0.010523057199906927),
    },
}

# Operation: F and p of equal slopes of the two libraries by analysis of covariance over means, and the verdict of the blocks.
COMPARED = {
    "MPI_Allgather": (12.752031509434815, 0.01177000826961704, "DIFFERENT"),
    "MPI_Allreduce": (7.732768737937656, 0.031963835337930596, "DIFFERENT"),
    "MPI_Alltoall": (0.7198735774405526, 0.4287298624365705, "UNDECIDED"),
    "MPI_Barrier": (3.7066118727173807, 0.10251626134102901, "UNDECIDED"),
    "MPI_Bcast": (0.8175384577469296, 0.40074594561025756, "UNDECIDED"),
}


def data_folder(source_root):
    for folder in (os.environ.get("WATTLAW_SHARED_DATA"), os.path.join(source_root, "..", "shared", "data")):
        if folder and os.path.isdir(folder):
            return folder
    return None


def groups_of(program, folder, source, options, by):
    table, names, _ = source
    command = [program, options[0], os.path.join(folder, table), *options[1:], "--json", "--by", by]
    for name in names:
        command += ["--map", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {" ".join(group["key"].values()): group for group in json.loads(done.stdout)["groups"]}


def fit(program, folder, source, response):
    return groups_of(program, folder, source, ["fit", "--response", response], source[2])


def close(got, want):
    return got is None if want is None else math.isclose(got, want, rel_tol=1e-8)


def main():
    folder = data_folder(sys.argv[2])
    if not folder:
        print("SKIP: no published tables; WATTLAW_SHARED_DATA may name the folder that holds them")
        return 77
    failed = 0
    for (source, response), groups in EXPECTED.items():
        got = fit(sys.argv[1], folder, source, response)
        for name, (runs, beta, error) in groups.items():
            seen = got[name]["estimators"]["run_means"]
            if got[name]["runs"] != runs or not close(seen["beta"], beta) or not close(seen["beta_se"], error):
                print(f"{source[0]} {response} {name}: {got[name]['runs']} runs, beta {seen['beta']} +- "
                      f"{seen['beta_se']}; wanted {runs}, {beta} +- {error}")
                failed += 1
    compared = groups_of(sys.argv[1], folder, MPI, ["compare", "--factor", "mpi"], "variable")
    for name, (f, p, verdict) in COMPARED.items():
        seen = compared[name]["by_basis"]["config_means"]["equal_slopes"]
        if not close(seen["f"], f) or not close(seen["p"], p) or compared[name]["verdict"] != verdict:
            print(f"compare {name}: F {seen['f']}, p {seen['p']}, {compared[name]['verdict']}; wanted {f}, {p}, {verdict}")
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
