#ifndef WL_TESTS_LIBRARY_TYPES_H
#define WL_TESTS_LIBRARY_TYPES_H

typedef enum libraryPropertyType_t { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL } libraryPropertyType;

#endif
