/* The base library needs only libc, libinih, jansson and utf8proc. This is the one header that other folders include.
 */
#ifndef WL_BASE_BASE_H
#define WL_BASE_BASE_H

#include "base/affinity.h"
#include "base/amount.h"
#include "base/arena.h"
#include "base/atomic_file.h"
#include "base/byte_order.h"
#include "base/clock.h"
#include "base/crc.h"
#include "base/csv.h"
#include "base/err.h"
#include "base/fields.h"
#include "base/file.h"
#include "base/fold.h"
#include "base/half.h"
#include "base/host.h"
#include "base/ini.h"
#include "base/json.h"
#include "base/log.h"
#include "base/numbering.h"
#include "base/observations.h"
#include "base/opt.h"
#include "base/out.h"
#include "base/parallel.h"
#include "base/print.h"
#include "base/printable.h"
#include "base/process.h"
#include "base/progress.h"
#include "base/protobuf.h"
#include "base/random.h"
#include "base/str.h"
#include "base/table.h"
#include "base/tempfile.h"
#include "base/utf8.h"

#endif
