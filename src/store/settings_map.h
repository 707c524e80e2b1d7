/* The columns of a struct wl_settings: included in the initialiser of a map, with SETTINGS_PREFIX (text before each
 * column) and SETTINGS_BASE (where the struct is in the row, bytes) defined. No include guard: it is included once per
 * map. */
/* clang-format off */
#define SETTING_FIELD(member, type) { SETTINGS_PREFIX #member, type, (SETTINGS_BASE) + offsetof(struct wl_settings, member) },
#define SETTING_OBSERVED(member, ...) SETTING_FIELD(member, WL_COLUMN_TEXT)
#define SETTING_TEXT(member, ...)     SETTING_FIELD(member, WL_COLUMN_TEXT)
#define SETTING_COUNT(member, ...)    SETTING_FIELD(member, WL_COLUMN_COUNT)
#define SETTING_CAP(member, ...)      SETTING_FIELD(member, WL_COLUMN_REAL)
#include "settings/settings.def"
SETTING_FIELD(extra, WL_COLUMN_OBJECT)
#undef SETTING_FIELD
#undef SETTINGS_PREFIX
#undef SETTINGS_BASE
/* clang-format on */
