"""tools/gpu-check: report.py what was found, programs.py how programs are run, phases.py what is checked, pack.py the archive."""
