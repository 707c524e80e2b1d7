#!/bin/sh
# Slurm: in the script that slurm.conf names as Epilog
export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
for user in "$SLURM_JOB_USER" root; do
    home=$(getent passwd "$user" | cut -d : -f 6)
    timeout 120 runuser -u "$user" -- env HOME="$home" wattlaw restore || logger -t wattlaw "caps may be left on $(hostname): wattlaw restore as $user failed"
done
