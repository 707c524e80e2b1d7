/* What a device reaches at most: the roofline that its steps are compared with. */
#ifndef WL_NN_PROGRAM_PEAKS_H
#define WL_NN_PROGRAM_PEAKS_H

#include <stdbool.h>

/* NAN: not known. */
struct wl_device_peaks {
    const char *device; /* "NVIDIA H100 80GB HBM3"; NULL: nothing is known */
    bool measured;      /* false: estimated */
    int threads;        /* that measured; 0: estimated */
    /* Of its memory, bytes read and written together: of one stream that is read, one copied to another, and two added
     * into a third. Estimated ones are all the same. */
    double bytes_per_s_read, bytes_per_s_copy, bytes_per_s_add;
    /* Of products of such numbers, summed in f32 (int16: in 32 bits); NAN: has none. */
    double flop_per_s_16bit, flop_per_s_int16, flop_per_s_tf32, flop_per_s_f32;
};

#endif
