/* A workload for the tests: epochs of sleep with marks, and all kinds of failures.
 *
 *     toy [key=value]...
 *
 * epochs=N ms=N      N epochs of so many milliseconds
 * status=N           exit status
 * signal=N           ends itself by that signal after the last epoch
 * fail_if=A:B        status 7 if the texts A and B are equal
 * deaf=1             ignores SIGTERM
 * trap=N             counts SIGTERM, SIGINT and SIGUSR1; ends at the first one, with status N + their number
 * stray=1            leaves a child in its own session that ignores SIGTERM
 * broken=1           writes invalid lines between its marks
 * say=TEXT           prints it after each epoch, with the epoch's number
 * wait=PATH          waits after the first epoch until the file exists, or a signal was counted
 * tail=TEXT          printed last, on stderr
 * touch=PATH         appends a line to the file at the end
 */
#include <wattlaw/mark.h>

#include <signal.h>

static const char *value(int argc, char **argv, const char *key, const char *fallback)
{
    size_t n = strlen(key);
    for (int i = argc - 1; i > 0; i--) /* the last one counts */
        if (strncmp(argv[i], key, n) == 0 && argv[i][n] == '=') return argv[i] + n + 1;
    return fallback;
}

static int number(int argc, char **argv, const char *key) { return atoi(value(argc, argv, key, "0")); }

static void sleep_ms(int ms)
{
    struct timespec left = { ms / 1000, ms % 1000 * 1000000L };
    while (nanosleep(&left, &left) && errno == EINTR) {
    }
}

static volatile sig_atomic_t caught;
static void count(int sig)
{
    (void)sig;
    caught++;
}

static void write_broken(void)
{
    static const char lines[] = "this is not a mark\n12 0 no-such-word a=1\nnot-a-number 0 stop\n1 0 epoch-end epoch=x\n";
    FILE *f = fopen(getenv("WATTLAW_MARKS"), "a");
    if (!f) return;
    fputs(lines, f);
    fclose(f);
}

static void leave_stray(void)
{
    if (fork() != 0) return;
    setsid();
    for (int fd = 0; fd < 3; fd++) close(fd);
    signal(SIGTERM, SIG_IGN);
    sleep_ms(60000);
    _exit(0);
}

static void append(const char *path)
{
    FILE *f = fopen(path, "a");
    if (!f) exit(99);
    fputs("done\n", f);
    fclose(f);
}

static void wait_for(const char *path)
{
    while (!caught && access(path, F_OK) != 0) sleep_ms(2);
}

static void train(int argc, char **argv)
{
    int epochs = number(argc, argv, "epochs"), ms = number(argc, argv, "ms");
    const char *say = value(argc, argv, "say", NULL), *wait = value(argc, argv, "wait", NULL);
    wattlaw_mark_start("workload=toy workers=%s", value(argc, argv, "workers", "1"));
    for (int epoch = 1; epoch <= epochs && !caught; epoch++) {
        wattlaw_mark_epoch_begin(epoch);
        if (number(argc, argv, "broken")) write_broken();
        sleep_ms(ms);
        wattlaw_mark_epoch_end(epoch, 100, 10);
        wattlaw_mark_phase_time("input", ms / 4e3, epoch);
        wattlaw_mark_metric("val_top1", 0.5, epoch);
        if (say) printf("%s %d\n", say, epoch), fflush(stdout);
        if (wait && epoch == 1) wait_for(wait);
    }
    wattlaw_mark_stop("ok");
}

int main(int argc, char **argv)
{
    int trap = number(argc, argv, "trap");
    if (number(argc, argv, "deaf")) signal(SIGTERM, SIG_IGN);
    if (trap) signal(SIGTERM, count), signal(SIGINT, count), signal(SIGUSR1, count);
    if (number(argc, argv, "stray")) leave_stray();
    train(argc, argv);
    if (caught) sleep_ms(100); /* so that a second one is counted too */
    const char *tail = value(argc, argv, "tail", NULL), *touch = value(argc, argv, "touch", NULL);
    if (tail) fprintf(stderr, "%s\n", tail);
    if (touch) append(touch);
    char pair[512];
    snprintf(pair, sizeof pair, "%s", value(argc, argv, "fail_if", "a:b"));
    char *colon = strchr(pair, ':');
    if (colon && strlen(colon + 1) == (size_t)(colon - pair) && strncmp(pair, colon + 1, (size_t)(colon - pair)) == 0)
        return 7;
    if (number(argc, argv, "signal")) raise(number(argc, argv, "signal"));
    return caught ? trap + caught : number(argc, argv, "status");
}
