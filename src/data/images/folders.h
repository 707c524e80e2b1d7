/* The ImageFolder layout. */
#ifndef WL_DATA_IMAGES_FOLDERS_H
#define WL_DATA_IMAGES_FOLDERS_H

#include "data/images/source.h"

/* Lists DIR/train or DIR/val. */
int wl_image_folders_open(struct wl_image_source *s, const char *dir, bool train, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

/* Reads the file s->name. */
int wl_encoded_image_read_file(struct wl_encoded_image *s, struct wl_err *e) WL_MUST_CHECK;

#endif
