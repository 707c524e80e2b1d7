/* The numbers of a table's columns: their unit and their decimals. For table.c and table_print.c alone. */
#ifndef WL_BASE_TABLE_NUMBERS_H
#define WL_BASE_TABLE_NUMBERS_H

#include "base/table.h"

#define WL_TABLE_TO " to " /* between the ends of a range */

/* The decimal exponent after rounding: 99.996 with four digits is 100.0. */
int wl_table_exponent(double value, int digits);

/* The table with the numbers of each column of numbers in one unit and with the same number of decimals, its head and
 * cells in `a`. scaled: columns of wl_table_unit_column take the prefix that fits their largest number. */
struct wl_table wl_table_with_numbers(const struct wl_table *t, bool scaled, struct wl_arena *a);

#endif
