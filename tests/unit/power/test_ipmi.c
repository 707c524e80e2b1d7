/* The ipmi sensor against a simulated BMC: the linker redirects ioctl and poll to the test. */
#include "fixture.h"

#include <errno.h>
#include <linux/ipmi.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

enum { MOST_BYTES = 32 };

/* The BMC's reply. */
static struct {
    unsigned char bytes[MOST_BYTES];
    size_t n;
    int late;       /* number of replies to older requests that come first */
    bool silent;    /* it never answers */
    int send_error; /* errno of the request, 0: none */
    int receive_error;
    unsigned char asked[8];
    long msgid;
} bmc;

int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);

static int receive(struct ipmi_recv *to)
{
    if (bmc.receive_error) {
        errno = bmc.receive_error;
        return -1;
    }
    to->recv_type = IPMI_RESPONSE_RECV_TYPE;
    to->msgid = bmc.late > 0 ? bmc.msgid - 1 : bmc.msgid;
    if (bmc.late > 0) bmc.late--;
    size_t n = bmc.n < to->msg.data_len ? bmc.n : to->msg.data_len;
    memcpy(to->msg.data, bmc.bytes, n);
    to->msg.data_len = (unsigned short)n;
    return 0;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
    (void)fd;
    va_list ap;
    va_start(ap, request);
    void *arg = va_arg(ap, void *);
    va_end(ap);
    if (request == IPMICTL_RECEIVE_MSG_TRUNC) return receive(arg);
    assert_true(request == IPMICTL_SEND_COMMAND);
    const struct ipmi_req *r = arg;
    bmc.msgid = r->msgid;
    assert_int_equal(r->msg.netfn, 0x2c);
    assert_int_equal(r->msg.cmd, 0x02);
    memcpy(bmc.asked, r->msg.data, r->msg.data_len);
    if (bmc.send_error == 0) return 0;
    errno = bmc.send_error;
    return -1;
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    (void)timeout_ms;
    if (bmc.silent) return 0;
    fds[0].revents = POLLIN;
    return (int)n;
}

/* 214 W now, minimum 2 W, maximum 468 W, mean 184 W, over 1000 ms, active. */
static void answer(struct fixture *f, unsigned watts)
{
    static const unsigned char reply[] = { 0x00, 0xdc, 0x00, 0x00, 0x02, 0x00, 0xd4, 0x01, 0xb8, 0x00,
                                           0x84, 0x5f, 0x37, 0x66, 0xe8, 0x03, 0x00, 0x00, 0x40 };
    memset(&bmc, 0, sizeof bmc);
    memcpy(bmc.bytes, reply, sizeof reply);
    bmc.n = sizeof reply;
    bmc.bytes[2] = (unsigned char)watts;
    bmc.bytes[3] = (unsigned char)(watts >> 8);
    put_file(f, "dev/ipmi0", "%s", "");
}

static void the_node_power_is_read(void **state)
{
    struct fixture *f = *state;
    answer(f, 1460);
    struct wl_sensors *s = open_sensors(f, "ipmi");
    int node = channel_of(s, "node", WL_POWER);
    assert_int_equal(s->channels[node].scope, WL_SCOPE_NODE);
    assert_true(read_channel(s, node) == 1460);
    assert_int_equal(bmc.asked[0], 0xdc);
    assert_int_equal(bmc.asked[1], 0x01);
    bmc.late = 2; /* replies to abandoned requests */
    assert_true(read_channel(s, node) == 1460);
}

static void errors_of_the_bmc_are_reported(void **state)
{
    struct fixture *f = *state;
    answer(f, 300);
    struct wl_sensors *s = open_sensors(f, "ipmi");
    int node = channel_of(s, "node", WL_POWER);
    bmc.bytes[18] = 0;
    assert_string_equal(read_failure(s, node), "the BMC is not measuring power");
    bmc.bytes[18] = 0x40;
    bmc.bytes[1] = 0;
    assert_string_equal(read_failure(s, node), "the BMC's reply is not a power reading");
    bmc.bytes[0] = 0xc1;
    assert_string_equal(read_failure(s, node), "the BMC does not know DCMI power readings");
    bmc.bytes[0] = 0xff;
    assert_string_equal(read_failure(s, node), "the BMC refused the power reading");
    for (bmc.n = 0; bmc.n < 19; bmc.n++) {
        bmc.bytes[0] = 0;
        bmc.bytes[1] = 0xdc;
        assert_non_null(read_failure(s, node));
    }
    bmc.receive_error = EIO;
    assert_string_equal(read_failure(s, node), "cannot read the BMC's reply");
    bmc.silent = true;
    assert_string_equal(read_failure(s, node), "the BMC did not answer in time");
    bmc.send_error = EIO;
    assert_string_equal(read_failure(s, node), "cannot send a request to the BMC");
    answer(f, 301);
    assert_true(read_channel(s, node) == 301);
}

static void expect_error(struct fixture *f, const char *text)
{
    struct wl_sensors *s;
    f->opts.sensors = wl_str_split(f->a, "ipmi", ',');
    assert_int_equal(wl_sensors_open(&s, &f->opts, f->a, &f->e), WL_EUNAVAIL);
    if (!strstr(f->e.msg, text)) fail_msg("'%s' is not in: %s", text, f->e.msg);
}

static void a_machine_without_a_bmc_says_so(void **state)
{
    struct fixture *f = *state;
    expect_error(f, "there is no");
    assert_null(strstr(f->e.msg, "modprobe"));
    put_file(f, "sys/devices/virtual/dmi/id/chassis_type", "23\n");
    expect_error(f, "sudo modprobe ipmi_si");
    answer(f, 1);
    bmc.send_error = ENOTTY;
    expect_error(f, "not an IPMI device");
}

/* It is opened on request only, and then read once per second on its own thread. */
static void it_is_read_only_on_request(void **state)
{
    struct fixture *f = *state;
    answer(f, 250);
    struct wl_sensors *s = open_sensors(f, "auto");
    assert_int_equal(info_of(s, "ipmi")->state, WL_SENSOR_UNUSED);
    s = open_sensors(f, "ipmi");
    struct wl_sampler *sampler;
    assert_int_equal(wl_sampler_start(&sampler, s, 100, f->a, &f->e), 0);
    wl_sleep_until(wl_now_ns() + WL_NS_PER_S / 5);
    wl_sampler_stop(sampler);
    struct wl_sampler_stats stats;
    wl_sampler_stats(sampler, &stats);
    assert_true(stats.ticks < 8); /* at 100 Hz it would be 20 */
    struct wl_channel_stats channel;
    wl_sampler_channel_stats(sampler, 0, &channel);
    assert_int_equal(channel.samples, 2); /* the first and the last */
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(the_node_power_is_read),
        WITH_FIXTURE(errors_of_the_bmc_are_reported),
        WITH_FIXTURE(a_machine_without_a_bmc_says_so),
        WITH_FIXTURE(it_is_read_only_on_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
