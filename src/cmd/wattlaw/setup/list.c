/* The files of a setup: templates (files/) with the names filled in. */
#include "cmd/wattlaw/setup/setup.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { TEXT_MAX = 1 << 16 };

extern const unsigned char wl_setup_socket[], wl_setup_service[], wl_setup_rules[], wl_setup_energy[],
    wl_setup_sysusers[], wl_setup_caps[], wl_setup_folder[];

/* ---- CPU packages ---- */

static double watts_in(const char *path, struct wl_arena *a)
{
    char *text;
    double uw;
    if (wl_file_read(path, 64, &text, NULL, a, NULL) < 0) return NAN;
    return wl_str_to_real(wl_str_strip(a, text), &uw) == 0 && uw > 0 ? uw * 1e-6 : NAN;
}

/* The lowest and highest power limits that the packages have now. */
static void package_limits(const char *root, double *low, double *high, struct wl_arena *a)
{
    const char *folder = wl_strf(a, "%s/sys/class/powercap", root);
    struct wl_strs zones = { 0 };
    *low = *high = NAN;
    if (wl_dir_list(folder, &zones, a, NULL) < 0) return;
    for (size_t i = 0; i < zones.n; i++) {
        if (!wl_str_starts(zones.v[i], "intel-rapl:") || strchr(zones.v[i] + strlen("intel-rapl:"), ':')) continue;
        for (int k = 0; k < 2; k++) {
            double w = watts_in(wl_strf(a, "%s/%s/constraint_%d_power_limit_uw", folder, zones.v[i], k), a);
            *low = fmin(*low, w);
            *high = fmax(*high, w);
        }
    }
}

/* From half of the lowest limit up to the highest; without packages an example. */
static const char *package_rule(const char *root, struct wl_arena *a)
{
    double low, high;
    package_limits(root, &low, &high, a);
    bool known = low >= 2;
    return wl_strf(a, "%s[allow cpus]\n%sdevices = rapl:*\n%spower_cap_w = %.0f to %.0f", known ? "" : "# ",
                   known ? "" : "# ", known ? "" : "# ", known ? ceil(low / 2) : 60, known ? floor(high) : 205);
}

/* ---- templates ---- */

static const char *fill(const unsigned char *text, const struct wl_setup_names *names, struct wl_arena *a)
{
    const char *const values[][2] = { { "@GROUP@", names->group },
                                      { "@PROGRAM@", names->program },
                                      { "@CPUS@", package_rule(names->root, a) } };
    struct wl_text t = WL_TEXT(a);
    for (const char *s = (const char *)text; *s;) {
        size_t plain = strcspn(s, "@"), used = 0;
        wl_text_addn(&t, s, plain);
        s += plain;
        for (size_t i = 0; i < WL_COUNT(values) && !used; i++)
            if (wl_str_starts(s, values[i][0])) {
                wl_text_add(&t, values[i][1]);
                used = strlen(values[i][0]);
            }
        if (!used && *s) wl_text_addn(&t, s, used = 1);
        s += used;
    }
    return t.s;
}

/* ---- the list ---- */

static void add(struct wl_setup_items *out, struct wl_setup_item item, struct wl_arena *a)
{
    WL_GROW(a, out->v, out->n, out->cap);
    out->v[out->n++] = item;
}

static void add_folders(struct wl_setup_items *out, struct wl_arena *a)
{
    static const char *const folders[] = { "/etc",
                                           "/etc/wattlaw",
                                           "/etc/sysusers.d",
                                           "/etc/tmpfiles.d",
                                           "/etc/udev",
                                           "/etc/udev/rules.d",
                                           "/etc/systemd",
                                           "/etc/systemd/system",
                                           "/etc/systemd/system/sockets.target.wants" };
    for (size_t i = 0; i < WL_COUNT(folders); i++)
        add(out, (struct wl_setup_item) { .type = WL_SETUP_FOLDER, .path = folders[i], .mode = 0755 }, a);
}

/* ---- what packages have brought ---- */

/* The file that a package or `meson install` has put where systemd looks after /etc; NULL: none. */
static const char *packaged_at(const char *root, const char *name, struct wl_arena *a)
{
    static const char *const places[] = { "/usr/local/lib", "/usr/lib", "/lib" }; /* the first is systemd's choice */
    for (size_t i = 0; i < WL_COUNT(places); i++) {
        const char *path = wl_strf(a, "%s/%s", places[i], name);
        if (wl_is_file(wl_strf(a, "%s%s", root, path))) return path;
    }
    return NULL;
}

static bool has_text(const char *root, const char *path, const char *text, struct wl_arena *a)
{
    char *found;
    return wl_file_read(wl_strf(a, "%s%s", root, path), TEXT_MAX, &found, NULL, a, NULL) == 0 && wl_str_eq(found, text);
}

/* A packaged unit serves if it says what ours would; another (for a different group) gives way to ours in /etc, which
 * systemd reads first. */
static void use_packaged_unit(struct wl_setup_item *item, const char *root, struct wl_arena *a)
{
    static const char units[] = "/etc/systemd/system/";
    struct stat st;
    if (!wl_str_starts(item->path, units)) return;
    item->packaged = packaged_at(root, wl_strf(a, "systemd/system/%s", item->path + strlen(units)), a);
    if (!item->packaged || lstat(wl_strf(a, "%s%s", root, item->path), &st) == 0) return;
    if (has_text(root, item->packaged, item->text, a)) item->path = item->packaged;
}

/* ---- all of it ---- */

void wl_setup_list(const struct wl_setup_names *names, struct wl_setup_items *out, struct wl_arena *a)
{
    const char *socket = NULL;
    const struct {
        const char *path;
        const unsigned char *text;
        const char *why;
        bool is_editable;
    } files[] = {
        { "/etc/sysusers.d/wattlaw.conf", wl_setup_sysusers, "the group, in images that start without it", false },
        { "/etc/tmpfiles.d/wattlaw.conf", wl_setup_folder, "/run/wattlaw, the folder for cap journals", true },
        { "/etc/tmpfiles.d/wattlaw-energy.conf", wl_setup_energy, "energy counters for the group, at boot", false },
        { "/etc/udev/rules.d/60-wattlaw.rules", wl_setup_rules,
          "energy counters for the group, when a driver is loaded", false },
        { "/etc/wattlaw/caps.conf", wl_setup_caps, "who may set which caps; yours to edit", true },
        { "/etc/systemd/system/wattlaw-caps.socket", wl_setup_socket,
          "/run/wattlaw-caps.socket, for root and the group", false },
        { "/etc/systemd/system/wattlaw-caps.service", wl_setup_service, "the cap service, started by the socket",
          false },
    };
    /* that rule the administrator may have changed: any is good */
    bool skip_folder = packaged_at(names->root, "tmpfiles.d/wattlaw.conf", a) != NULL;
    add_folders(out, a);
    for (size_t i = 0; i < WL_COUNT(files); i++) {
        if (files[i].text == wl_setup_folder && skip_folder) continue;
        struct wl_setup_item item = { .type = WL_SETUP_FILE,
                                      .path = files[i].path,
                                      .mode = 0644,
                                      .text = fill(files[i].text, names, a),
                                      .why = files[i].why,
                                      .is_editable = files[i].is_editable };
        use_packaged_unit(&item, names->root, a);
        if (files[i].text == wl_setup_socket) socket = item.path;
        add(out, item, a);
    }
    add(out,
        (struct wl_setup_item) { .type = WL_SETUP_LINK,
                                 .path = "/etc/systemd/system/sockets.target.wants/wattlaw-caps.socket",
                                 .text = socket,
                                 .why = "starts the socket at boot" },
        a);
}

/* ---- what is done with an item ---- */

enum wl_setup_action wl_setup_action(const struct wl_setup_item *item)
{
    switch (item->state) {
    case WL_SETUP_MISSING: return WL_SETUP_CREATE;
    case WL_SETUP_OLD: return item->is_editable ? WL_SETUP_KEEP : WL_SETUP_REPLACE;
    case WL_SETUP_SAME: return WL_SETUP_KEEP;
    case WL_SETUP_FOREIGN: break;
    }
    /* a link that systemctl enable has made: its name alone counts */
    return item->is_editable || item->type == WL_SETUP_LINK ? WL_SETUP_KEEP : WL_SETUP_REFUSE;
}

bool wl_setup_is_made(const struct wl_setup_item *item)
{
    enum wl_setup_action action = wl_setup_action(item);
    return action == WL_SETUP_CREATE || action == WL_SETUP_REPLACE;
}
