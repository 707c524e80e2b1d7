/* What the sensors and the sampler share. */
#ifndef WL_POWER_INTERNAL_H
#define WL_POWER_INTERNAL_H

#include "power/power.h"

/* What one read gives for one channel.
 *   value finite             a reading at t_ns: the middle of the call, or of the time that a mean covers
 *   value NAN, why set       a failed reading: a gap begins or goes on; `why` is static or lives as long as the sensor
 *   value NAN, why NULL      nothing to record at this tick (not due yet, no job yet) */
struct wl_reading {
    double value;
    int64_t t_ns;
    const char *why;
    int64_t took_ns; /* how long the call took that read it; 0: it says by itself when it was */
};

/* What a reading is to bring: quantities up to this pace. `all`: nothing of them may be left out, whatever it costs and
 * though it repeats what was read before (first and last samples, edges). */
struct wl_due {
    enum wl_poll_interval pace;
    bool all;
};
#define WL_DUE_ALL ((struct wl_due) { .pace = WL_POLL_SECOND, .all = true })
static inline bool wl_is_due(struct wl_due due, enum wl_quantity q) { return wl_quantity_poll_interval(q) <= due.pace; }

/* One opened sensor. open() fills it; its memory is the sensor's own arena. */
struct wl_sensor {
    const struct wl_sensor_ops *ops;
    struct wl_arena *arena;
    void *state;
    struct wl_device *devices;
    struct wl_channel *channels; /* device counts within this sensor until wl_sensors_open joins the lists */
    size_t n_devices, cap_devices, n_channels, cap_channels;
    const char *source, *reason, *fix; /* see struct wl_sensor_info; fix may be set by a failing open() as well */
    struct wl_reading *readings;       /* [n_channels] */
    size_t first_channel;              /* number of its first channel among all */
    double read_s;
    double period_s;       /* it has a thread of its own that reads no more often than this; 0: at the sampler's rate */
    double burst_period_s; /* it has a thread of its own that reads as often as this, where the sampler's rate is lower;
                              0: not */
    struct wl_cpu_stat *cpu_stat; /* of all sensors that were opened together */
    bool given_up;                /* a reading has not returned: its memory stays, and nobody looks at it again */
};

/* A kind of sensor. */
struct wl_sensor_ops {
    const char *name;
    const char *help;        /* one line for doctor: what it measures */
    const char *unavailable; /* not NULL: not part of this build, and why; then nothing else is set */

    /* Finds devices and channels. On failure e holds the exact reason and s->fix the command that cures it; what was
     * acquired is released by the arena. */
    int (*open)(struct wl_sensor *s, const struct wl_power_opts *o, struct wl_err *e);

    /* Reads the channels that are due into out[n_channels], which comes in as NAN. A sensor whose quantities come in
     * one call may read more than is due. Allocates nothing, never fails as a whole. */
    void (*read)(struct wl_sensor *s, struct wl_due due, struct wl_reading *out);

    /* (optional) The sampler starts at t_ns. Called once, before its first read. */
    void (*start)(struct wl_sensor *s, int64_t t_ns);

    /* (optional) A first process of the job is pid; called again for each rank that is started by itself. From any one
     * thread. */
    void (*watch)(struct wl_sensor *s, pid_t pid);

    /* (optional) Adds to `out` what a reader of the readings should know. Not while a thread reads. */
    void (*notes)(const struct wl_sensor *s, struct wl_strs *out, struct wl_arena *a);

    /* (optional) Readings of edges have shown that a device's channels move at other paces than was remembered; their
     * update_s is what was seen now, NAN: less often than was waited for. By the thread that reads. */
    void (*contradicted)(struct wl_sensor *s, int device);
};

extern const struct wl_sensor_ops wl_sensor_nvml, wl_sensor_amd, wl_sensor_level_zero, wl_sensor_rapl, wl_sensor_acpi,
    wl_sensor_cray, wl_sensor_ipmi, wl_sensor_proc, wl_sensor_cpu_model, wl_sensor_replay, wl_sensor_null;

/* All sensors in the order of doctor's list, NULL-terminated. */
extern const struct wl_sensor_ops *const wl_sensor_table[];

/* For open(): add a device (its texts live in s->arena) and a channel; both return the index within the sensor. */
int wl_sensor_add_device(struct wl_sensor *s, const struct wl_device *d);
int wl_sensor_add_channel(struct wl_sensor *s, int device, enum wl_quantity q, enum wl_scope scope,
                          enum wl_variant variant);

/* Of a reading that took longer nobody knows to which instant it belongs: of power or energy it is a failed one. */
#define WL_SLOW_NS  (WL_NS_PER_S / 10)
#define WL_SLOW_WHY "a reading took longer than 0.1 s, so that its instant is not known"

/* For read(): a good value that was read between t0 and now; the mean of a quantity over [from, to], which is at the
 * middle of that time; a failure. */
void wl_reading_set(struct wl_reading *r, double value, int64_t t0_ns);
void wl_reading_mean(struct wl_reading *r, double value, int64_t from_ns, int64_t to_ns);
void wl_reading_fail(struct wl_reading *r, const char *why);

/* Adds a fact to a device; both texts live as long as the sensor. */
void wl_sensor_add_fact(struct wl_sensor *s, int device, const char *key, const char *value);

/* Calls read() with a fresh s->readings. */
void wl_sensor_read(struct wl_sensor *s, struct wl_due due);

/* A value that a sensor shows again before its next update is no new reading. It is dropped while it is younger than
 * the update period, but not for longer than WL_REPEAT_NS, so that no gap comes of it. */
#define WL_REPEAT_NS (WL_NS_PER_S / 10)
struct wl_repeat_filter {
    double value;    /* as kept last, */
    int64_t kept_ns; /* and when; 0: none yet */
};
bool wl_is_repeat(struct wl_repeat_filter *r, const struct wl_reading *reading, double update_s);

/* ---- moves.c: how often a value moves ---- */

/* The changes of a value that is read many times between two of them. A reading that failed (NAN) is none. */
struct wl_change_detector {
    double value;                       /* of the latest reading, */
    int64_t read_ns, first_ns, last_ns; /* its time; of the first and the last reading with another value */
    int64_t longest_ns;                 /* the longest time between two readings from there on */
    int n;
};
extern const struct wl_change_detector wl_change_detector_none;
void wl_change_detector_add(struct wl_change_detector *m, double value, int64_t t_ns);

/* The mean time between two changes, s, and by how much it may be wrong, since a change is seen at the next reading
 * only; HUGE_VAL: one may have been missed. NAN: there were fewer than two. */
double wl_change_detector_period_s(const struct wl_change_detector *m);
double wl_change_detector_error_s(const struct wl_change_detector *m);

/* Does the sampler look for the edges of a counter with such steps when it is asked to (wl_sampler_edges)? (worker.c)
 */
bool wl_sampler_detects_edges(double step_s);

/* How often something costly is done: at most so often that it takes 1/share of a core. */
struct wl_budget {
    int64_t share, due_ns;
};
bool wl_budget_due(const struct wl_budget *b, bool all);
void wl_budget_spent(struct wl_budget *b, int64_t cpu0_ns); /* cpu0_ns: wl_clock_thread_cpu_ns() before the work */

/* ---- visible.c ---- */

/* Which of n GPUs a list as in CUDA_VISIBLE_DEVICES names: indices in the order of `uuids`, or UUIDs, whole or as a
 * prefix that fits one; a word that fits none ends the list, as CUDA has it. NULL keeps all. Returns how many were
 * kept; *by_index tells whether one was named by its index. */
size_t wl_visible_devices(const char *words, char *const *uuids, size_t n, bool *keep, bool *by_index);

/* ---- ring.c: samples from one producer to one consumer, lock-free ---- */

/* Positions only grow; slot = position mod size (a power of two). The producer owns head, the consumer tail; each on
 * its own cache line. */
struct wl_ring {
    struct wl_sample *slots;
    size_t size;
    _Atomic size_t head;
    char apart[64];
    _Atomic size_t tail;
};
void wl_ring_init(struct wl_ring *r, size_t least, struct wl_arena *a); /* room for at least so many samples */
bool wl_ring_push(struct wl_ring *r, const struct wl_sample *s);        /* false: full */
size_t wl_ring_pop(struct wl_ring *r, struct wl_sample *out, size_t max);

/* As wl_sampler_start, with rings that hold ring_s seconds. */
int wl_sampler_start_with(struct wl_sampler **out, struct wl_sensors *sensors, double rate_hz, double ring_s,
                          struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- procfs.c: small files read again and again without allocation ---- */

/* Opens root + path for wl_procfs_read, without waiting for whatever may hang behind the name (a FIFO); closed with the
 * arena. Returns the descriptor or a negative code. */
int wl_procfs_open(const char *root, const char *path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Reads a file from its start into buf, terminated; the length or -errno. */
int wl_procfs_read(int fd, char *buf, size_t size);

/* A text file of one short line, stripped; NULL where it cannot be read. For open() only. */
char *wl_procfs_text(struct wl_arena *a, const char *path);

/* Is a display or 3D controller or a processing accelerator of this vendor ("0x10de") on the PCI bus below `root`? For
 * the reason why a library is missing. */
bool wl_pci_has_gpu(const char *root, const char *vendor, struct wl_arena *a);

/* Is the CPU below this folder NVIDIA's Grace? */
bool wl_cpu_is_grace(const char *root, struct wl_arena *a);

/* The unsigned number that a file of /sys begins with; behind it only blanks, and with `unit` that word (the rest of
 * the line is not looked at). Returns NULL, or why there is no such number: static text. */
const char *wl_procfs_count(int fd, const char *unit, uint64_t *out);

/* Folders of /sys/class/hwmon whose driver has that name, as paths. */
struct wl_strs wl_hwmon_find(const char *root, const char *driver, struct wl_arena *a);

/* The CPUs that a list of /sys names ("0-3,8,10-11"), the first `max` of them into cpus; returns how many there are. */
size_t wl_cpu_list(const char *text, int *cpus, size_t max);

/* CPU time of the whole machine since boot, from the first line of /proc/stat. Seconds over all CPUs; busy excludes
 * idle, iowait and steal (time that a hypervisor gave to others). */
struct wl_cpu_times {
    double busy_s, total_s;
};
int wl_cpu_times_read(int fd, struct wl_cpu_times *out); /* 0 or -errno */

/* ---- cpu_stat.c: /proc/stat for several sensors, from any thread ---- */

struct wl_cpu_stat *wl_cpu_stat_new(struct wl_arena *a);

/* Opens root/proc/stat, once for all; it must look like one. */
int wl_cpu_stat_open(struct wl_cpu_stat *c, const char *root, struct wl_err *e) WL_MUST_CHECK;

/* The CPU times and when they were read: by another sensor at the same tick, but after `after_ns`, or now. 0 or
 * -errno. */
int wl_cpu_stat_read(struct wl_cpu_stat *c, int64_t after_ns, struct wl_cpu_times *out, int64_t *t_ns);

/* The kernel counts CPU time in ticks of 10 ms at worst: a busy share is only formed over at least this time. */
#define WL_SHARE_SPAN_NS (WL_NS_PER_S / 20)

#endif
