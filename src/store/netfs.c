#include "store/files.h"

#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>

/* File systems that several machines share, or whose other machines we cannot see: the shared memory that WAL needs
 * does not work there. Numbers that linux/magic.h lacks are from the file systems' sources. */
static const unsigned long shared[] = {
    NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC, AFS_SUPER_MAGIC, CODA_SUPER_MAGIC,
    CEPH_SUPER_MAGIC, V9FS_MAGIC,      0xfe534d42, /* SMB 2 and 3 */
    0xff534d42,                                    /* CIFS */
    0x65735546,                                    /* FUSE: sshfs, gluster and others */
    0x0bd00bd0,                                    /* Lustre */
    0x47504653,                                    /* GPFS */
    0x19830326,                                    /* BeeGFS */
    0x01161970,                                    /* GFS2 */
    0x7461636f,                                    /* OCFS2 */
    0xaad7aaea,                                    /* PanFS */
    0x20030528,                                    /* OrangeFS */
};

bool wl_store_on_netfs(const char *path)
{
    const char *journal = getenv("WATTLAW_JOURNAL"); /* for file systems that are not in the list */
    struct statfs fs;
    if (wl_str_eq(journal, "rollback") || wl_str_eq(journal, "wal")) return wl_str_eq(journal, "rollback");
    if (statfs(path, &fs)) return false;
    for (size_t i = 0; i < WL_COUNT(shared); i++)
        if (((unsigned long)fs.f_type & 0xffffffff) == shared[i]) return true;
    return false;
}
