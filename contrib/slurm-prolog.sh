#!/bin/sh
# Slurm: in the script that slurm.conf names as Prolog. Caps of jobs whose epilog did not run are restored before the next job starts.
export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
timeout 60 wattlaw restore >/dev/null || logger -t wattlaw "caps may be left on $(hostname): wattlaw restore failed before job $SLURM_JOB_ID"
exit 0 # another status drains the node
