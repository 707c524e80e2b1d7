/* The store: one SQLite file that holds campaigns, their runs, what was measured and what follows from it.
 *
 * schema.sql describes every table and column; docs/formats.md says it for users. Facts are append-only, derived
 * rows are replaced run by run. Numbers that may be missing are doubles here, NAN when missing (NULL in the file),
 * counts included; times are int64, WL_NO_NS when missing; texts are NULL when missing. What a reader returns lives
 * in the arena it was given.
 *
 * Crashes: every call that writes is one transaction, or part of the one that wl_store_begin opened. After a
 * SIGKILL the file holds every transaction that was committed. After a power loss it is consistent too, but on a
 * local disk the last transactions may be gone, up to the last "durable" one: the end of a run is on the disk when
 * wl_store_run_end returns, with everything before it.
 *
 * Threads: a wl_store belongs to one thread at a time; another thread or process opens the file for itself.
 * Waiting for another writer ends after 10 s with WL_EIO.
 *
 * Errors: WL_ENOENT no such file, WL_EPERM not writable, WL_EINVAL not a store (another kind of file, another
 * program's database, a newer version, damaged), WL_EIO disk full and other failures; messages name the file and,
 * where SQLite refused, quote the SQL.
 */
#ifndef WL_STORE_STORE_H
#define WL_STORE_STORE_H

#include "store/campaign.h"
#include "store/control.h"
#include "store/facts.h"
#include "store/open.h"
#include "store/placement.h"
#include "store/read.h"
#include "store/records.h"
#include "store/run.h"
#include "store/source.h"
#include "store/submission.h"

#endif
