#!/bin/sh
# The jobs of experiments/frey2022.ini: frey2022-job.sh prepare TRAIN DATA | frey2022-job.sh train TRAIN DATA WORKLOAD WORKERS THREADS SEED
# TRAIN is the path of wattlaw-train. Run from the top of the source tree.
set -eu
step=$1 train=$2 data=$3

if [ "$step" = prepare ]; then
    # into a folder of its own first: an interrupted one is not taken for the data
    rm -rf "$data.part"
    mkdir -p "$data.part"
    "$train" data imagenet --synthetic "$data.part/images" --classes 8 --images 960 --val-images 80 --image-size 100
    "$train" data wikitext --synthetic "$data.part/text" --words 20000
    "$train" data qm9 --synthetic "$data.part/molecules" --molecules 600
    mv "$data.part" "$data"
    exit
fi

workload=$4 workers=$5 threads=$6 seed=$7
case $workload in
bert) # more workers, more epochs; the paper does not say which number of GPUs had how many, the steps are ours
    case $workers in 1 | 2) epochs=4 ;; 3 | 4) epochs=6 ;; [5-8]) epochs=10 ;; 9 | 1[0-6]) epochs=15 ;; *) epochs=25 ;; esac
    set -- --data "$data/text" --local-batch 8 ;;
dimenet | schnet)
    epochs=12
    set -- --data "$data/molecules" --local-batch 16 ;;
inception3) # its auxiliary head needs 91 pixels
    epochs=3
    set -- --data "$data/images" --image-size 96 --local-batch 16 ;;
*)
    epochs=3
    set -- --data "$data/images" --image-size 64 --local-batch 16 ;;
esac
exec "$train" "$workload" --size tiny --workers "$workers" --threads "$threads" --seed "$seed" --epochs "$epochs" --loader-threads 0 "$@"
