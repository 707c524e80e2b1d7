/* What a device reaches at most: the roofline that its steps are compared with. */
#ifndef WL_NN_PROGRAM_PEAKS_H
#define WL_NN_PROGRAM_PEAKS_H

/* NAN: not known. */
struct wl_device_peaks {
    const char *device; /* "NVIDIA H100 80GB HBM3"; NULL: nothing is known */
    double bytes_per_s; /* of its memory */
    double flop_per_s_16bit, flop_per_s_tf32,
        flop_per_s_f32; /* of products of such numbers, summed in f32; NAN: has none */
};

#endif
