/* A libcuda for cuDNN to make plans with where there is no GPU: devices are described, and modules that it compiles are
 * taken as they are. cuDNN leaves out the engines that it compiles when the driver refuses them, and its library of
 * those engines needs one to be loaded at all. Everything else answers that there is no device. */
#define WL_EXPORT __attribute__((visibility("default")))

enum { NO_DEVICE = 100 };

#define ABSENT(name)          \
    WL_EXPORT int name(void); \
    int name(void) { return NO_DEVICE; }
ABSENT(cuInit)
ABSENT(cuCtxGetLimit)
ABSENT(cuCtxPopCurrent)
ABSENT(cuCtxPushCurrent)
ABSENT(cuStreamGetCtx)
ABSENT(cuLinkCreate)
ABSENT(cuLinkAddData)
ABSENT(cuLinkComplete)
ABSENT(cuLinkDestroy)
ABSENT(cuLaunchKernel)
ABSENT(cuLaunchCooperativeKernel)
ABSENT(cuLaunchKernelEx)
ABSENT(cuDeviceGet)
ABSENT(cuLibraryLoadFromFile)
ABSENT(cuOccupancyMaxPotentialClusterSize)
ABSENT(cuCtxGetCurrent)
ABSENT(cuDeviceGetCount)
ABSENT(cuTensorMapEncodeIm2col)
ABSENT(cuTensorMapEncodeTiled)

static int module;

#define MAKES(name)              \
    WL_EXPORT int name(void **); \
    int name(void **made)        \
    {                            \
        *made = &module;         \
        return 0;                \
    }
MAKES(cuLibraryLoadData)
MAKES(cuLibraryGetKernel)
MAKES(cuKernelGetFunction)
MAKES(cuModuleLoadData)
MAKES(cuModuleGetFunction)

WL_EXPORT int cuLibraryUnload(void *);
int cuLibraryUnload(void *library) { return library != &module; }

WL_EXPORT int cuModuleUnload(void *);
int cuModuleUnload(void *m) { return m != &module; }

WL_EXPORT int cuKernelSetAttribute(void);
int cuKernelSetAttribute(void) { return 0; }

/* Of a function that is compiled: threads of a block (0) and registers (4). */
WL_EXPORT int cuKernelGetAttribute(int *, int);
int cuKernelGetAttribute(int *value, int attribute)
{
    *value = attribute == 0 ? 1024 : attribute == 4 ? 128 : 0;
    return 0;
}

WL_EXPORT int cuDriverGetVersion(int *);
int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

WL_EXPORT int cuGetErrorString(int, const char **);
int cuGetErrorString(int code, const char **text)
{
    *text = code == NO_DEVICE ? "no device" : "an error";
    return 0;
}

WL_EXPORT int cuGetErrorName(int, const char **);
int cuGetErrorName(int code, const char **text) { return cuGetErrorString(code, text); }

/* For the fake cuDNN: a stream that is never busy. */
WL_EXPORT int wl_fake_enqueue(void *, void (*)(void *), void *);
int wl_fake_enqueue(void *stream, void (*f)(void *), void *arg)
{
    (void)stream;
    f(arg);
    return 0;
}
