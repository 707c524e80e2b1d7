/* A library for test_library.c, whose version is that of its folder. */
int wl_fake_version(void);

#define API __attribute__((visibility("default")))

API int wl_fake_version(void) { return FAKE_VERSION; }
