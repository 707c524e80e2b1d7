"""Results of others at several worker counts, as their tools lay them out."""
import json


def mllog(key, t_s, value=None, **metadata):
    return ":::MLLOG " + json.dumps({"namespace": "", "time_ms": round(1.6e12 + t_s * 1e3), "event_type": "POINT_IN_TIME", "key": key, "value": value,
                                     "metadata": metadata}) + "\n"


def longest_ladder(table):
    """Of the times of real runs of MLPerf the benchmark with the most runs."""
    runs = table[table.response == "run"]
    return runs[runs.series == runs.series.value_counts().index[0]]


def write_submission(p, table, folder):
    """A submission to MLPerf Training, systems/ and results/, with these times."""
    for workers, rows in table.groupby("workers"):
        system = f"dgx_n{workers // 8}"
        p.write(f"{folder}/systems/{system}.json", json.dumps({"number_of_nodes": str(workers // 8), "accelerators_per_node": 8, "accelerator_model_name": "A100"}))
        for run, seconds in zip(rows.run, rows.time_s):
            at = 1e3 * workers + run
            p.write(f"{folder}/results/{system}/net/result_{run}.txt", "some output\n" + mllog("submission_benchmark", at, "net") + "0: " +
                    mllog("run_start", at) + mllog("eval_accuracy", at + 1, .5, samples_count=1000) + mllog("run_stop", at + seconds, status="success"))


def write_caraml(p, name):
    """A table of CARAML as JUBE prints it, with the EnergyFiles that it names: no table at hand has a system at several counts of devices."""
    header = "JobID,System,Version,Queue,Runtime(s),Model,Dataset,Nodes,Devices,GlobalBatchSize,BatchSize/Device,Images/second,EnergyFile\n"
    points = [(n, 1200 * n**.9 * jitter) for n in (1, 2, 4, 8) for jitter in (1, 1.01, .99)]
    p.write(name, header + "".join(f"{i},H100,1,q,90,resnet50,ImageNet,1,{n},{32 * n},32,{v:.3f},out/{i}.csv\n" for i, (n, v) in enumerate(points)))
    for i, (n, _) in enumerate(points):
        p.write(f"out/{i}.csv", ",0\n" + "".join(f"pynvml:{g},{5 + g}\n" for g in range(n)))
