"""Cases that the instants of readings and signals decide, several at a time."""
import concurrent.futures


def failure_of(case):
    """What a case, (function, arguments...), says as it fails; None if it passes."""
    try:
        case[0](*case[1:])
    except (Exception, SystemExit) as failure:  # pylint: disable=broad-except
        return failure
    return None


def run(cases, at_once=4):
    """Runs the cases in threads. One that fails beside the others, which may have taken its processor at the wrong moment, is run again
    alone: a defect fails both times."""
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        failures = list(pool.map(failure_of, cases))
    for case, failure in zip(cases, failures):
        if failure is not None:
            print(f"{case[0].__name__}{case[1:]} failed beside others and is run again alone: {failure}", flush=True)
            case[0](*case[1:])
