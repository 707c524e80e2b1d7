/* Writes files as C arrays: embed OUT.c NAME=FILE ... defines, for each, `const unsigned char wl_asset_NAME[]` and
 * `const size_t wl_asset_NAME_n`. Used at build time only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void embed(FILE *to, const char *name, const char *path)
{
    FILE *from = fopen(path, "rb");
    if (!from) {
        perror(path);
        exit(1);
    }
    size_t n = 0;
    fprintf(to, "extern const unsigned char wl_asset_%s[];\nextern const size_t wl_asset_%s_n;\n", name, name);
    fprintf(to, "const unsigned char wl_asset_%s[] = {", name);
    for (int c; (c = getc(from)) != EOF; n++) fprintf(to, "%s%d,", n % 32 ? "" : "\n", c);
    fprintf(to, "\n0};\nconst size_t wl_asset_%s_n = %zu;\n", name, n);
    fclose(from);
}

int main(int argc, char **argv)
{
    FILE *to = argc > 2 ? fopen(argv[1], "w") : NULL;
    if (!to) {
        fprintf(stderr, "usage: embed OUT.c NAME=FILE ...\n");
        return 1;
    }
    fputs("#include <stddef.h>\n", to);
    for (int i = 2; i < argc; i++) {
        char *path = strchr(argv[i], '=');
        if (!path) return 1;
        *path++ = '\0';
        embed(to, argv[i], path);
    }
    return fclose(to) != 0;
}
