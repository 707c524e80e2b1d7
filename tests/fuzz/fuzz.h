/* Fuzz targets: a file defines LLVMFuzzerTestOneInput and is built twice over the same source: with clang
 * -fsanitize=fuzzer for a search without end, and with replay.c as a test that feeds it mutations of seeds. */
#ifndef WL_TESTS_FUZZ_H
#define WL_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif
