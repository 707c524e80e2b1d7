"""Tables that are not part of this project."""
import os
import sys


def find(source_root, *names):
    """Their paths: in the folder that WATTLAW_SHARED_DATA names, or in shared/data beside the source tree. Without them the test is skipped."""
    for folder in (os.environ.get("WATTLAW_SHARED_DATA"), os.path.join(source_root, "..", "shared", "data")):
        paths = [os.path.join(folder, name) for name in names] if folder else []
        if paths and all(map(os.path.isfile, paths)):
            return paths
    print(f"SKIP: no {' and '.join(names)}; WATTLAW_SHARED_DATA may name the folder that holds them")
    return sys.exit(77)
