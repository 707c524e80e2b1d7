/* Settings of the GPUs of the fake NVML: in a file, so that processes share them and they persist. */
#ifndef FAKE_LIMITS_H
#define FAKE_LIMITS_H

/* 0: not set. Clocks in MHz. */
struct fake_limits {
    unsigned power_mw, sm_mhz, mem_mhz, module_mw;
};

/* `path` "" keeps them in memory. */
void fake_limits_open(const char *path);
struct fake_limits fake_limits_get(int gpu);
void fake_limits_put(int gpu, const struct fake_limits *l);

#endif
