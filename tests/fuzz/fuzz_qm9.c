/* Any bytes as a molecule's .xyz file, and as a tar archive of them: read, or refused with a message. */
#include "fuzz.h"

#include "data/molecules/qm9_archive.h"
#include "data/molecules/qm9_xyz.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

static int check_molecule(void *own, double done, const char *name, const char *text, size_t n, struct wl_err *e)
{
    struct wl_qm9_record r = { 0 };
    (void)own;
    (void)done;
    int rc = wl_qm9_parse(text, n, name, &r, e);
    WL_CHECK(rc == 0 || (rc == WL_EINVAL && e->msg[0]));
    if (rc) return rc;
    WL_CHECK(r.molecule.atoms >= 1 && r.molecule.atoms <= WL_MOLECULE_MAX_ATOMS);
    for (int i = 0; i < r.molecule.atoms; i++) {
        WL_CHECK(wl_qm9_symbol(r.molecule.atomic_number[i]));
        for (int c = 0; c < 3; c++) WL_CHECK(isfinite(r.molecule.position[i][c]));
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    (void)check_molecule(NULL, 0, "molecule.xyz", (const char *)data, n, &e);
    int fd = memfd_create("molecules", 0);
    WL_CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n);
    e = (struct wl_err) { 0 };
    int rc = wl_qm9_for_each_xyz(wl_strf(a, "/proc/self/fd/%d", fd), check_molecule, NULL, a, &e);
    WL_CHECK(rc == 0 || e.msg[0]);
    close(fd);
    wl_arena_free(a);
    return 0;
}
