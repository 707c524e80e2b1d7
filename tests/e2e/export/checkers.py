"""Strict checkers of formats, each written from the format's documentation."""
import json
import re

from stores import check

NUMBER = r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:%s)(?:,%s)*)?\} (%s)" % (LABEL, LABEL, NUMBER))
UNITS = ("seconds", "joules", "watts", "ratio")


def unescaped(text):
    return re.sub(r"\\(.)", lambda m: "\n" if m.group(1) == "n" else m.group(1), text)


def openmetrics(text):
    """{(name, labels): value} of an OpenMetrics 1.0 text of gauges: HELP, TYPE and UNIT before the samples of a family, a family
    in one piece, no label and no sample twice, "# EOF" last and once."""
    check(text.endswith("# EOF\n") and text.count("# EOF") == 1, text[-200:])
    families, samples, now = {}, {}, None
    for line in text.splitlines()[:-1]:
        if line.startswith("# "):
            word, name, rest = line[2:].split(" ", 2)
            if word == "HELP":
                check(name not in families and rest.endswith("."), line)
                now = families[name] = {"name": name}
            else:
                check(now is not None and now["name"] == name and word not in now, line)
                check(rest == "gauge" if word == "TYPE" else rest in UNITS and name.endswith("_" + rest), line)
            now[word] = rest
            continue
        m = SAMPLE.fullmatch(line)
        check(m and m.group(1) == now["name"] and "TYPE" in now, "sample", line)
        pairs = re.findall(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\.)*)"', m.group(2) or "")
        check(len(dict(pairs)) == len(pairs) and not any(name.startswith("__") for name, _ in pairs), "labels", line)
        key = (m.group(1), tuple((name, unescaped(value)) for name, value in pairs))
        check(key not in samples, "twice", line)
        samples[key] = float(m.group(3))
    for name, family in families.items():
        suffix = next((unit for unit in UNITS if name.endswith("_" + unit)), None)
        check(family.get("UNIT") == suffix and not name.endswith("_total"), name, family)
    return samples


def trace(text):
    """The events of a trace in the JSON Object Format of the Trace Event Format: X, C and M events with the members that they
    must have; names of processes and threads that are used; the slices of a thread nest."""
    root = json.loads(text)
    check(set(root) == {"displayTimeUnit", "otherData", "traceEvents"} and root["displayTimeUnit"] in ("ms", "ns"), list(root))
    named, slices = {"process_name": set(), "thread_name": set()}, {}
    for event in root["traceEvents"]:
        check(isinstance(event["name"], str) and event["name"] and type(event["pid"]) is int and type(event["tid"]) is int, event)
        if event["ph"] == "M":
            check(event["name"] in named and set(event) == {"ph", "pid", "tid", "name", "args"} and list(event["args"]) == ["name"], event)
            named[event["name"]].add((event["pid"], event["tid"] if event["name"] == "thread_name" else 0))
        elif event["ph"] == "C":
            check(set(event) == {"ph", "pid", "tid", "name", "ts", "args"} and event["args"], event)
            check(all(type(value) in (int, float) for value in event["args"].values()), event)
        else:
            check(event["ph"] == "X" and set(event) <= {"ph", "pid", "tid", "name", "cat", "ts", "dur", "args"}, event)
            check(type(event["dur"]) in (int, float) and event["dur"] >= 0, event)
            slices.setdefault((event["pid"], event["tid"]), []).append((event["ts"], -event["dur"]))
        check(event["ph"] == "M" or (type(event["ts"]) in (int, float) and event["ts"] >= 0), event)
    for thread, spans in slices.items():
        check(thread in named["thread_name"] and (thread[0], 0) in named["process_name"], "no name of", thread)
        open_ends = []
        for begin, minus in sorted(spans):
            end = begin - minus
            while open_ends and open_ends[-1] <= begin + 1e-6:
                open_ends.pop()
            check(not open_ends or end <= open_ends[-1] + 1e-6, "slices of", thread, "overlap at", begin)
            open_ends.append(end)
    return root["traceEvents"]


# Boavizta's BoAmps 1.1.0, model/*_schema.json: members, of what type or out of which words; "!" before a name: required.
TEXT, REAL, SHARE = str, (int, float), "share"
COMPONENT = {"componentName": TEXT, "!componentType": TEXT, "!nbComponent": int, "share": SHARE}
BOAMPS = {
    "header": {"licensing": TEXT, "formatVersion": TEXT, "formatVersionSpecificationUri": TEXT, "reportId": TEXT, "!reportDatetime": TEXT,
               "reportStatus": ["draft", "final", "corrective", "other"],
               "publisher": {"name": TEXT, "division": TEXT, "projectName": TEXT,
                             "!confidentialityLevel": ["public", "internal", "confidential", "secret"]}},
    "!task": {"!taskStage": TEXT, "!taskFamily": TEXT, "taskDescription": TEXT,
              "!algorithms": [{"trainingType": TEXT, "algorithmType": TEXT, "algorithmName": TEXT, "foundationModelName": TEXT, "parametersNumber": REAL,
                               "framework": TEXT, "frameworkVersion": TEXT, "epochsNumber": REAL, "optimizer": TEXT, "quantization": TEXT}],
              "!dataset": [{"!dataUsage": ["input", "output"], "dataQuantity": REAL, "dataSize": REAL, "source": ["public", "private", "other"],
                            "sourceUri": TEXT, "owner": TEXT,
                            "!dataType": ["tabular", "audio", "boolean", "image", "video", "object", "text", "token", "word", "other"]}]},
    "!measures": [{"!measurementMethod": TEXT, "version": TEXT, "cpuTrackingMode": TEXT, "gpuTrackingMode": TEXT, "averageUtilizationCpu": SHARE,
                   "averageUtilizationGpu": SHARE, "!powerConsumption": REAL, "measurementDuration": REAL, "measurementDateTime": TEXT}],
    "system": {"!os": TEXT, "distribution": TEXT, "distributionVersion": TEXT},
    "software": {"!language": TEXT, "version": TEXT},
    "!infrastructure": {"!infraType": ["publicCloud", "privateCloud", "onPremise", "other"], "cloudProvider": TEXT, "cloudInstance": TEXT,
                        "!components": [COMPONENT]},
    "environment": {"!country": TEXT, "location": TEXT, "powerSupplierType": ["public", "private", "internal", "other"],
                    "powerSource": ["solar", "wind", "nuclear", "hydroelectric", "gas", "coal", "other"], "powerSourceCarbonIntensity": REAL},
    "quality": ["high", "medium", "low"],
}


def boamps(value, rule=BOAMPS, at="report"):
    if isinstance(rule, dict):
        known = {name.lstrip("!"): part for name, part in rule.items()}
        check(isinstance(value, dict) and set(value) <= set(known), at, value)
        for name in rule:
            check(not name.startswith("!") or name[1:] in value, at, "lacks", name)
        for name, member in value.items():
            boamps(member, known[name], at + "." + name)
    elif isinstance(rule, list) and isinstance(rule[0], dict):
        check(isinstance(value, list) and value, at, value)
        for member in value:
            boamps(member, rule[0], at + "[]")
    elif isinstance(rule, list):
        check(value in rule, at, value, "is none of", rule)
    elif rule == SHARE:
        check(type(value) in (int, float) and 0 <= value <= 1, at, value)
    else:
        check(isinstance(value, rule) and not isinstance(value, bool), at, value)
    return value
