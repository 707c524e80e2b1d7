/* wattlaw-hdf5 TOOL <FILE: the HDF5 file of a tool as the CSV that the same tool writes. `wattlaw import` starts it, so
 * that a library which may be brought to do anything by a file runs in a process that may do nothing. docs/adr/179. */
#include "cmd/hdf5/sandbox.h"
#include "cmd/hdf5/tools.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct tool {
    const char *name;
    int (*write)(struct wl_hdf5_file *f, FILE *to, struct wl_err *e);
} tools[] = { { "perun", wl_hdf5_write_perun }, { "jpwr", wl_hdf5_write_jpwr } };

static const struct tool *tool_named(const char *name)
{
    for (size_t i = 0; i < WL_COUNT(tools); i++)
        if (strcmp(tools[i].name, name) == 0) return &tools[i];
    return NULL;
}

/* The file is mapped, and the library gets its bytes: nothing has to be opened any more. */
static int map_input(void **bytes, size_t *n, struct wl_err *e)
{
    struct stat st;
    if (fstat(STDIN_FILENO, &st) < 0) return wl_fail_errno(e, "cannot read stdin");
    if (!S_ISREG(st.st_mode) || st.st_size == 0) return wl_fail(e, WL_EINVAL, "stdin is not a file with content");
    *n = (size_t)st.st_size;
    *bytes = mmap(NULL, *n, PROT_READ, MAP_PRIVATE, STDIN_FILENO, 0);
    return *bytes == MAP_FAILED ? wl_fail_errno(e, "cannot read stdin") : 0;
}

static int convert(const struct tool *tool, struct wl_arena *a, struct wl_err *e)
{
    struct wl_hdf5_file f;
    void *bytes;
    size_t n = 0;
    int rc = map_input(&bytes, &n, e);
    if (rc < 0) return rc;
    if (H5dont_atexit() < 0 || H5open() < 0 || H5PLset_loading_state(0) < 0)
        return wl_hdf5_fail(e, "the library does not start");
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* its errors become messages */
    rc = wl_hdf5_confine(n, e);
    if (rc == 0) rc = wl_hdf5_open(&f, bytes, n, a, e);
    if (rc == 0) rc = tool->write(&f, stdout, e);
    if (rc == 0 && fflush(stdout) != 0) rc = wl_fail_errno(e, "cannot write");
    return rc;
}

int main(int argc, char **argv)
{
    static char buffer[1 << 16];
    struct wl_err e = { 0 };
    const struct tool *tool = argc == 2 ? tool_named(argv[1]) : NULL;
    if (!tool) {
        fputs("usage: wattlaw-hdf5 perun|jpwr <FILE.h5: its readings as CSV, for wattlaw import\n", stderr);
        return 2;
    }
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    int rc = convert(tool, wl_arena_new(NULL), &e);
    if (rc < 0) (void)!write(STDERR_FILENO, e.msg, strlen(e.msg));
    _exit(rc < 0); /* no destructor of a library runs after a file that may be hostile */
}
