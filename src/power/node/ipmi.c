/* Power of the whole node from its baseboard management controller (BMC): DCMI "Get Power Reading" through the
 * kernel's /dev/ipmi0, without a library. Sources: DCMI specification 1.5, section 6.6.1; linux/ipmi.h.
 *
 * A reading takes milliseconds on a slow bus, during which the kernel may poll: once a second, on a thread of its own.
 */
#include "power/procfs.h"
#include "power/sensor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ipmi.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    NETFN_GROUP = 0x2c,
    CMD_POWER_READING = 0x02,
    GROUP_DCMI = 0xdc,
    MODE_POWER_STATUS = 0x01,
    REPLY_BYTES = 19, /* completion code, group, 4 powers of 2 bytes, time stamp 4, period 4, state */
    STATE_ACTIVE = 0x40,
    TIMEOUT_MS = 2000,
};

struct ipmi {
    int fd, channel;
    long msgid;
};

static const char *completion_why(unsigned char code)
{
    switch (code) {
    case 0xc0: return "the BMC is busy";
    case 0xc1:
    case 0xc2: return "the BMC does not know DCMI power readings";
    case 0xc3: return "the BMC took too long";
    case 0xd4: return "the BMC does not allow power readings";
    default: return "the BMC refused the power reading";
    }
}

static int send_request(const struct ipmi *p)
{
    struct ipmi_system_interface_addr bmc = { .addr_type = IPMI_SYSTEM_INTERFACE_ADDR_TYPE,
                                              .channel = IPMI_BMC_CHANNEL };
    unsigned char data[] = { GROUP_DCMI, MODE_POWER_STATUS, 0, 0 };
    struct ipmi_req request = { .addr = (unsigned char *)&bmc, .addr_len = sizeof bmc, .msgid = p->msgid };
    request.msg =
        (struct ipmi_msg) { .netfn = NETFN_GROUP, .cmd = CMD_POWER_READING, .data = data, .data_len = sizeof data };
    return ioctl(p->fd, IPMICTL_SEND_COMMAND, &request);
}

/* The reply to the latest request, into buf; its length, or -1 with errno. Replies to earlier requests are skipped.
 */
static int receive(const struct ipmi *p, unsigned char *buf, unsigned short size)
{
    int64_t deadline = wl_now_ns() + TIMEOUT_MS * (int64_t)(WL_NS_PER_S / 1000);
    for (;;) {
        int64_t left_ms = (deadline - wl_now_ns()) / (WL_NS_PER_S / 1000);
        struct pollfd fd = { .fd = p->fd, .events = POLLIN };
        int ready = left_ms > 0 ? poll(&fd, 1, (int)left_ms) : 0;
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) errno = ETIMEDOUT;
        if (ready <= 0) return -1;
        struct ipmi_addr from;
        struct ipmi_recv reply = { .addr = (unsigned char *)&from, .addr_len = sizeof from };
        reply.msg = (struct ipmi_msg) { .data = buf, .data_len = size };
        if (ioctl(p->fd, IPMICTL_RECEIVE_MSG_TRUNC, &reply) < 0) {
            if (errno == EINTR || errno == EAGAIN) continue;
            return -1;
        }
        if (reply.msgid == p->msgid && reply.recv_type == IPMI_RESPONSE_RECV_TYPE) return reply.msg.data_len;
    }
}

static unsigned le16(const unsigned char *at) { return at[0] | (unsigned)at[1] << 8; }

/* NULL, or why there is no reading: static text. */
static const char *read_power(struct ipmi *p, unsigned *watts)
{
    unsigned char reply[64];
    p->msgid++;
    if (send_request(p) < 0) return errno == ENOTTY ? "not an IPMI device" : "cannot send a request to the BMC";
    int n = receive(p, reply, sizeof reply);
    if (n < 0) return errno == ETIMEDOUT ? "the BMC did not answer in time" : "cannot read the BMC's reply";
    if (n < 1 || reply[0] != 0) return n < 1 ? "the BMC's reply is empty" : completion_why(reply[0]);
    if (n < REPLY_BYTES || reply[1] != GROUP_DCMI) return "the BMC's reply is not a power reading";
    if (!(reply[REPLY_BYTES - 1] & STATE_ACTIVE)) return "the BMC is not measuring power";
    *watts = le16(&reply[2]);
    return NULL;
}

static void close_fd(void *fd) { close((int)(intptr_t)fd); }

/* "17" main server chassis, "23" rack mount, "25" multi-system, "28" blade: such machines usually have a BMC. Source:
 * DMTF DSP0134, System Enclosure or Chassis Types. */
static bool is_server(const char *root, struct wl_arena *a)
{
    static const char *const types[] = { "17", "23", "25", "28" };
    char *type = wl_procfs_text(a, wl_strf(a, "%s/sys/devices/virtual/dmi/id/chassis_type", root));
    for (size_t i = 0; i < WL_COUNT(types); i++) {
        if (wl_str_eq(type, types[i])) return true;
    }
    return false;
}

static int open_device(struct wl_sensor *s, struct ipmi *p, const char *root, const char **path, struct wl_err *e)
{
    static const char *const paths[] = { "/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0" };
    int error = ENOENT;
    for (size_t i = 0; i < WL_COUNT(paths) && error == ENOENT; i++) {
        *path = wl_strf(s->arena, "%s%s", root, paths[i]);
        p->fd = open(*path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
        if (p->fd >= 0) {
            wl_defer(s->arena, close_fd, (void *)(intptr_t)p->fd);
            return 0;
        }
        error = errno;
    }
    if (error == ENOENT) {
        if (is_server(root, s->arena)) s->fix = "sudo modprobe ipmi_si && sudo modprobe ipmi_devintf";
        return wl_fail(e, WL_EUNAVAIL, "there is no %s%s", root, paths[0]);
    }
    if (error == EACCES || error == EPERM)
        s->fix =
            "echo 'KERNEL==\"ipmi*\", MODE=\"0660\", GROUP=\"power\"' | sudo tee /etc/udev/rules.d/60-ipmi.rules && "
            "sudo groupadd -f power && sudo usermod -aG power $USER && sudo udevadm trigger    (then log in again)";
    errno = error;
    return wl_fail_errno(e, "%s", *path);
}

static int ipmi_open(struct wl_sensor *s, const struct wl_power_opts *o, struct wl_err *e)
{
    struct ipmi *p = wl_new(s->arena, struct ipmi);
    const char *path;
    unsigned watts;
    s->state = p;
    int code = open_device(s, p, o->root, &path, e);
    if (code < 0) return code;
    const char *why = read_power(p, &watts);
    if (why) return wl_fail(e, WL_EUNAVAIL, "%s: %s", path, why);
    int node = wl_sensor_add_device(s, &(struct wl_device) { .name = "node", .uuid = "ipmi:node" });
    p->channel = wl_sensor_add_channel(s, node, WL_POWER, WL_SCOPE_NODE, WL_VARIANT_INSTANT);
    s->min_period_s = 1;
    s->source = wl_strf(s->arena, "%s, DCMI power reading", path);
    return 0;
}

static void ipmi_read(struct wl_sensor *s, struct wl_due due, struct wl_reading *out)
{
    (void)due;
    struct ipmi *p = s->state;
    unsigned watts;
    int64_t t0 = wl_now_ns();
    const char *why = read_power(p, &watts);
    if (why)
        wl_reading_fail(&out[p->channel], why);
    else
        wl_reading_mean(&out[p->channel], watts, t0, wl_now_ns()); /* a slow call: the middle of it */
}

const struct wl_sensor_ops wl_sensor_ipmi = {
    .name = "ipmi",
    .help = "power of the whole node from its BMC (IPMI, DCMI)",
    .open = ipmi_open,
    .read = ipmi_read,
};
