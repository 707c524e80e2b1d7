#ifndef WL_DATA_IMAGES_SYNTH_DRAW_H
#define WL_DATA_IMAGES_SYNTH_DRAW_H

#include <stdint.h>

/* Draws image i of a part (0: train, 1: val), of class i % classes.   rgb [size,size,3] */
void wl_imagenet_synth_draw(uint8_t *rgb, int size, int64_t classes, uint64_t seed, int part, int64_t i);

#endif
