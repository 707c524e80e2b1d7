/* Damaged HDF5 files of perun and jpwr: CSV or a message, and no handle stays open. The library itself crashes on some,
 * which is why wattlaw-hdf5 is a process of its own: replayed as a test, each file has one too, and signals that are
 * the library's are passed over. A search (tools/fuzz) is in one process, to learn from coverage; -fork=1
 * -ignore_crashes=1 lets it go on. */
#include "fuzz.h"

#include "cmd/hdf5/tools.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READ = 10, REFUSED = 11 }; /* exit statuses that no sanitizer has */

/* The library is not instrumented: a signal is its own, and so are its calls of memcpy and strdup with wrong lengths,
 * of which the first search found four in a minute. What AddressSanitizer then reports is ours. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:replace_str=0:replace_intrin=0:allocator_may_return_null=1";
}

extern int LLVMFuzzerRunDriver(int *, char ***, int (*)(const uint8_t *, size_t)) __attribute__((weak));

static bool write_as(int (*write_csv)(struct wl_hdf5_file *, FILE *, struct wl_err *), const uint8_t *data, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct wl_hdf5_file f;
    FILE *to = fopen("/dev/null", "w");
    WL_CHECK(to);
    int rc = wl_hdf5_open(&f, (void *)(uintptr_t)data, n, a, &e);
    const bool opened = rc == 0;
    if (rc == 0) rc = write_csv(&f, to, &e);
    WL_CHECK(rc == 0 || (rc < 0 && e.code == rc && e.msg[0]));
    WL_CHECK(!opened || H5Fget_obj_count(f.id, H5F_OBJ_ALL) == 1); /* the file alone */
    if (opened) H5Fclose(f.id);
    fclose(to);
    wl_arena_free(a);
    return rc == 0;
}

static bool write_both(const uint8_t *data, size_t n)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    H5PLset_loading_state(0);
    const bool perun = write_as(wl_hdf5_write_perun, data, n), jpwr = write_as(wl_hdf5_write_jpwr, data, n);
    return perun || jpwr;
}

/* A file that is shorter than its superblock says (version 0: at byte 40) is refused before anything else is read. */
static bool is_cut(const uint8_t *data, size_t n) { return n < 48 || (data[8] == 0 && wl_le_read(data + 40, 8) > n); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (LLVMFuzzerRunDriver) return (void)write_both(data, n), 0;
    if (is_cut(data, n)) return 0;
    int status;
    pid_t child = fork();
    WL_CHECK(child >= 0);
    if (child == 0) {
        alarm(20);
        _exit(write_both(data, n) ? READ : REFUSED);
    }
    WL_CHECK(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status))
        WL_CHECK(WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS || WTERMSIG(status) == SIGFPE);
    else
        WL_CHECK(WEXITSTATUS(status) == READ || WEXITSTATUS(status) == REFUSED);
    return 0;
}
