/* The .xyz files of QM9: the number of atoms; "gdb", the molecule's number and 15 properties; one line per atom with
 * symbol, position and partial charge; frequencies; SMILES; InChI. Numbers may have Mathematica's exponents: 1.2*^-6.
 */
#include "data/molecules/qm9_xyz.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *symbol;
    uint8_t number;
} elements[] = { { "H", 1 }, { "C", 6 }, { "N", 7 }, { "O", 8 }, { "F", 9 } };

const char *wl_qm9_symbol(int number)
{
    for (size_t i = 0; i < WL_COUNT(elements); i++)
        if (elements[i].number == number) return elements[i].symbol;
    return NULL;
}

/* Reads words, line by line. */
struct reader {
    const char *at, *end; /* the rest of all lines */
    const char *word;     /* the rest of this one */
    const char *line_end;
    const char *name;
    int line;
};

static int next_line(struct reader *r, const char *what, struct wl_err *e)
{
    r->line++;
    if (r->at >= r->end) return wl_fail(e, WL_EINVAL, "%s:%d: the file ends; expected %s", r->name, r->line, what);
    const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
    r->word = r->at;
    r->line_end = newline ? newline : r->end;
    r->at = newline ? newline + 1 : r->end;
    return 0;
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

enum { WORD = 40 };

/* The next word of the line, truncated to WORD - 1 bytes; false: there is none. */
static bool next_word(struct reader *r, char word[WORD])
{
    size_t n = 0;
    while (r->word < r->line_end && is_space(*r->word)) r->word++;
    for (; r->word < r->line_end && !is_space(*r->word); r->word++)
        if (n < WORD - 1) word[n++] = *r->word ? *r->word : '?';
    word[n] = 0;
    return n > 0;
}

static int read_word(struct reader *r, const char *what, char word[WORD], struct wl_err *e)
{
    if (next_word(r, word)) return 0;
    return wl_fail(e, WL_EINVAL, "%s:%d: the line ends; expected %s", r->name, r->line, what);
}

/* "-1.5*^-6" as "-1.5e-6". */
static void plain_exponent(char word[WORD])
{
    char *star = strstr(word, "*^");
    if (!star) return;
    *star = 'e';
    memmove(star + 1, star + 2, strlen(star + 2) + 1);
}

static int read_real(struct reader *r, const char *what, double *x, struct wl_err *e)
{
    char word[WORD];
    int rc = read_word(r, what, word, e);
    if (rc) return rc;
    plain_exponent(word);
    if (wl_str_to_real(word, x) || !isfinite(*x))
        return wl_fail(e, WL_EINVAL, "%s:%d: '%s' is not a number; expected %s", r->name, r->line, word, what);
    return 0;
}

static int read_count(struct reader *r, const char *what, int64_t most, int64_t *n, struct wl_err *e)
{
    char word[WORD];
    int rc = read_word(r, what, word, e);
    if (rc) return rc;
    if (wl_str_to_int(word, n) || *n < 1 || *n > most)
        return wl_fail(e, WL_EINVAL, "%s:%d: '%s'; expected %s, 1 to %lld", r->name, r->line, word, what,
                       (long long)most);
    return 0;
}

static int read_properties(struct reader *r, struct wl_qm9_record *out, struct wl_err *e)
{
    char word[WORD];
    int64_t id = 0;
    int rc = next_line(r, "the line of properties", e);
    if (!rc) rc = read_word(r, "'gdb'", word, e);
    if (!rc && !wl_str_eq(word, "gdb"))
        rc = wl_fail(e, WL_EINVAL, "%s:%d: '%s'; expected 'gdb'", r->name, r->line, word);
    if (!rc) rc = read_count(r, "the molecule's number", UINT32_MAX, &id, e);
    out->id = (uint32_t)id;
    for (int i = 0; i < WL_QM9_PROPERTIES && !rc; i++)
        rc = read_real(r, wl_qm9_properties[i].name, &out->property[i], e);
    return rc;
}

static int read_atom(struct reader *r, struct wl_molecule_synth *m, int i, struct wl_err *e)
{
    static const char *const axes[] = { "x", "y", "z" };
    char word[WORD];
    int rc = next_line(r, "a line for each atom", e);
    if (!rc) rc = read_word(r, "an element", word, e);
    if (rc) return rc;
    m->atomic_number[i] = 0;
    for (size_t k = 0; k < WL_COUNT(elements); k++)
        if (wl_str_eq(elements[k].symbol, word)) m->atomic_number[i] = elements[k].number;
    if (!m->atomic_number[i])
        return wl_fail(e, WL_EINVAL, "%s:%d: '%s'; expected an element: H, C, N, O or F", r->name, r->line, word);
    for (int c = 0; c < 3 && !rc; c++) {
        double x = 0;
        rc = read_real(r, axes[c], &x, e);
        m->position[i][c] = (float)x;
        if (!rc && !isfinite(m->position[i][c]))
            rc = wl_fail(e, WL_EINVAL, "%s:%d: %s is out of range: %g angstrom", r->name, r->line, axes[c], x);
    }
    return rc;
}

/* Frequencies, SMILES and InChI are not used, but without them the file is truncated. */
static int read_rest(struct reader *r, struct wl_err *e)
{
    static const char *const lines[] = { "the line of frequencies", "the line of SMILES", "the line of InChI" };
    int rc = 0;
    for (size_t i = 0; i < WL_COUNT(lines) && !rc; i++) rc = next_line(r, lines[i], e);
    return rc;
}

int wl_qm9_parse(const char *text, size_t n, const char *name, struct wl_qm9_record *out, struct wl_err *e)
{
    struct reader r = { .at = text, .end = text + n, .name = name };
    int64_t atoms = 0;
    int rc = next_line(&r, "the number of atoms", e);
    if (!rc) rc = read_count(&r, "the number of atoms", WL_MOLECULE_MAX_ATOMS, &atoms, e);
    if (!rc) rc = read_properties(&r, out, e);
    out->molecule.atoms = (int)atoms;
    for (int i = 0; i < (int)atoms && !rc; i++) rc = read_atom(&r, &out->molecule, i, e);
    if (!rc) rc = read_rest(&r, e);
    if (rc) return rc;
    int one, two;
    const struct wl_molecule m = { out->molecule.atoms, out->molecule.atomic_number, &out->molecule.position[0][0] };
    if (wl_molecule_find_overlap(&m, &one, &two))
        return wl_fail(e, WL_EINVAL, "%s:%d: atoms %d and %d are at the same position", name, 3 + one, two + 1,
                       one + 1);
    return 0;
}
