#!/bin/sh
# Slurm: in the script that slurm.conf names as Epilog
for user in "$SLURM_JOB_USER" root; do
    home=$(getent passwd "$user" | cut -d : -f 6)
    timeout 120 runuser -u "$user" -- env HOME="$home" /usr/local/bin/wattlaw restore || logger -t wattlaw "caps may be left on $(hostname): wattlaw restore as $user failed"
done
