/* Draws rows of text by ncurses. */
#include "cmd/wattlaw/top/internal.h"

#include <curses.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

struct wl_top_terminal {
    SCREEN *screen;
    bool color;
};

const char *wl_top_terminal_unavailable(void) { return NULL; }

/* ---- a crash ---- */

/* A program that dies by a signal leaves the terminal as ncurses has set it: without echo, in its other screen. What
 * restores it has to be known before, since a handler may call nothing but write() and tcsetattr(). */
static struct termios before;
static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT };

static void restore_and_die(int sig)
{
    /* rmcup, sgr0, cnorm and rmkx of xterm, which every terminal with an other screen understands */
    static const char leave[] = "\033[?1049l\033[0m\033[?25h\033[?1l\033>\r\n";
    ssize_t ignored = write(STDIN_FILENO, leave, sizeof leave - 1);
    (void)ignored;
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
    signal(sig, SIG_DFL);
    raise(sig);
}

static void watch_for_crashes(void)
{
    struct sigaction action = { .sa_handler = restore_and_die, .sa_flags = (int)SA_RESETHAND };
    for (size_t i = 0; i < WL_COUNT(fatal); i++) sigaction(fatal[i], &action, NULL);
}

/* ---- opening ---- */

static void close_terminal(void *arg)
{
    struct wl_top_terminal *t = arg;
    endwin();
    delscreen(t->screen);
    for (size_t i = 0; i < WL_COUNT(fatal); i++) signal(fatal[i], SIG_DFL);
}

static void begin_colors(struct wl_top_terminal *t, bool color)
{
    t->color = color && has_colors() && start_color() == OK && use_default_colors() == OK;
    if (!t->color) return;
    init_pair(WL_GOOD, COLOR_GREEN, -1);
    init_pair(WL_CAUTION, COLOR_YELLOW, -1);
    init_pair(WL_BAD, COLOR_RED, -1);
}

/* A locale of UTF-8 is needed for characters of several bytes; text of C.UTF-8 is in English. */
int wl_top_terminal_open(struct wl_top_terminal **out, bool color, struct wl_arena *a, struct wl_err *e)
{
    struct wl_top_terminal *t = wl_new(a, struct wl_top_terminal);
    const char *kind = getenv("TERM");
    if (tcgetattr(STDIN_FILENO, &before)) return wl_fail(e, WL_EUNAVAIL, "stdin is not a terminal");
    setlocale(LC_CTYPE, "C.UTF-8");
    t->screen = newterm(NULL, wl_out_data(), stdin);
    if (!t->screen)
        return wl_fail(e, WL_EUNAVAIL, "the terminal '%s' (TERM) is not known here, or cannot be drawn on",
                       kind ? kind : "");
    wl_defer(a, close_terminal, t);
    watch_for_crashes();
    set_escdelay(25);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    begin_colors(t, color);
    *out = t;
    return 0;
}

/* ---- drawing ---- */

void wl_top_terminal_size(const struct wl_top_terminal *t, size_t *width, size_t *height)
{
    (void)t;
    *width = COLS > 0 ? (size_t)COLS : 1;
    *height = LINES > 0 ? (size_t)LINES : 1;
}

static attr_t attributes(const struct wl_top_terminal *t, enum wl_style style)
{
    if (style == WL_PLAIN) return A_NORMAL;
    if (style == WL_ANSWER) return A_BOLD;
    return t->color ? (attr_t)COLOR_PAIR(style) : A_NORMAL;
}

void wl_top_terminal_draw(struct wl_top_terminal *t, const struct wl_top_screen *s)
{
    erase();
    for (size_t i = 0; i < s->n && i < (size_t)LINES; i++) {
        const struct wl_top_row *r = &s->v[i];
        move((int)i, 0);
        for (size_t k = 0; k < r->n; k++) {
            const size_t end = k + 1 < r->n ? r->spans[k + 1].at : r->text.n;
            attrset((int)attributes(t, r->spans[k].style));
            addnstr(r->text.s + r->spans[k].at, (int)(end - r->spans[k].at));
        }
    }
    attrset(A_NORMAL);
    refresh();
}

/* ---- keys ---- */

static const struct {
    int code;
    enum wl_top_key key;
} keys[] = {
    { 'q', WL_TOP_QUIT },
    { 'Q', WL_TOP_QUIT },
    { 3, WL_TOP_QUIT },
    { KEY_F(10), WL_TOP_QUIT },
    { 'h', WL_TOP_HELP },
    { '?', WL_TOP_HELP },
    { KEY_F(1), WL_TOP_HELP },
    { 's', WL_TOP_SORT },
    { KEY_F(6), WL_TOP_SORT },
    { '+', WL_TOP_LONGER },
    { '=', WL_TOP_LONGER },
    { '-', WL_TOP_SHORTER },
    { KEY_UP, WL_TOP_UP },
    { 'k', WL_TOP_UP },
    { KEY_DOWN, WL_TOP_DOWN },
    { 'j', WL_TOP_DOWN },
    { KEY_PPAGE, WL_TOP_PAGE_UP },
    { KEY_NPAGE, WL_TOP_PAGE_DOWN },
    { KEY_HOME, WL_TOP_HOME },
    { KEY_END, WL_TOP_END },
    { KEY_RESIZE, WL_TOP_RESIZED },
};

enum wl_top_key wl_top_terminal_key(struct wl_top_terminal *t)
{
    (void)t;
    for (int code; (code = getch()) != ERR;)
        for (size_t i = 0; i < WL_COUNT(keys); i++)
            if (keys[i].code == code) return keys[i].key;
    return WL_TOP_NO_KEY;
}
