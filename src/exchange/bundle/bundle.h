/* A campaign as one archive for a paper: a zip file that is an RO-Crate 1.1 (w3id.org/ro/crate/1.1) with a checksum of
 * each file. docs/reference/exporting.md describes it, docs/adr/166 why it is so. */
#ifndef WL_EXCHANGE_BUNDLE_BUNDLE_H
#define WL_EXCHANGE_BUNDLE_BUNDLE_H

#include "base/base.h"

#define WL_BUNDLE_CRATE    "ro-crate-metadata.json"
#define WL_BUNDLE_MANIFEST "manifest-sha256.txt" /* as sha256sum writes it; lists all other files */

#define WL_BUNDLE_BYTES_MAX 4000000000u /* of all files together; of an archive: 2^32 - 1 */

struct wl_bundle_file {
    const char *name; /* in the archive: a relative path of letters, digits, "._-" and slashes */
    const char *path; /* where its content is on disk; NULL: `text` */
    const char *text; /* content of `n` bytes */
    size_t n;
    const char *type;        /* "text/csv" */
    const char *description; /* one sentence; NULL: none */
};

struct wl_bundle {
    const char *name, *description;
    const char *license;          /* URL or text; NULL: none is given */
    const struct wl_strs *author; /* names */
    const char *published;        /* "2026-01-31" */
    const char *begun, *ended;    /* ISO 8601: of the measurements; NULL: unknown */
    const char *version;          /* of the wattlaw that measured: "0.1.0" */
    const struct wl_bundle_file *files;
    size_t n;
};

/* Writes crate and manifest after the files, in the order of names. The same files give the same bytes, whenever and
 * wherever. `to` is at the beginning of a regular file. WL_EUNAVAIL: built without minizip; WL_EINVAL: more than
 * WL_BUNDLE_BYTES_MAX. */
int wl_bundle_write(const struct wl_bundle *b, FILE *to, struct wl_err *e) WL_MUST_CHECK;

/* What was found in an archive. */
struct wl_bundle_check {
    const char *name, *published; /* as the crate says; NULL: it does not */
    size_t files;
    double bytes;            /* of their content */
    struct wl_strs problems; /* sentences: a file that was changed, is missing or is not listed */
};

/* Reads the whole archive and extracts nothing. Memory does not grow with its files. WL_EINVAL: it is not a bundle, or
 * holds what no bundle holds: a name that leads out of a folder, a name twice, a link, an encrypted file, more than
 * compression can give. Where each file is only other than the manifest says, `problems` has them and the call
 * succeeds. */
int wl_bundle_verify(const char *path, struct wl_bundle_check *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- shared by the parts of this folder ---- */

/* May a file of an archive have this name: relative, of printable ASCII without backslashes and colons, no part "." or
 * ".." or empty? */
bool wl_bundle_name_is_safe(const char *name);

/* The text of ro-crate-metadata.json. */
char *wl_bundle_crate(const struct wl_bundle *b, struct wl_arena *a);

/* The manifest, read: WL_EINVAL names the line. */
struct wl_bundle_sum {
    const char *name, *sha256;
};
struct wl_bundle_sums {
    struct wl_bundle_sum *v;
    size_t n, cap;
};
int wl_bundle_sums_read(const char *text, const char *what, struct wl_bundle_sums *out, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

#endif
