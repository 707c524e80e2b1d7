#include "store/internal.h"

#include <linux/magic.h>
#include <sys/vfs.h>

/* File systems that several machines share, or whose other machines we cannot see: the shared memory that WAL needs
 * does not work there. Numbers that linux/magic.h lacks are from the file systems' sources. */
static const struct {
    unsigned long magic;
    const char *name;
} shared[] = {
    { NFS_SUPER_MAGIC, "nfs" }, { SMB_SUPER_MAGIC, "smb" },   { 0xfe534d42, "smb2" },       { 0xff534d42, "cifs" },
    { AFS_SUPER_MAGIC, "afs" }, { CODA_SUPER_MAGIC, "coda" }, { CEPH_SUPER_MAGIC, "ceph" }, { V9FS_MAGIC, "9p" },
    { 0x65735546, "fuse" }, /* sshfs, gluster and others */
    { 0x0bd00bd0, "lustre" },   { 0x47504653, "gpfs" },       { 0x19830326, "beegfs" },     { 0x01161970, "gfs2" },
    { 0x7461636f, "ocfs2" },    { 0xaad7aaea, "panfs" },      { 0x20030528, "orangefs" },
};

bool wl_store_on_network(const char *path)
{
    struct statfs fs;
    if (statfs(path, &fs)) return false;
    for (size_t i = 0; i < WL_COUNT(shared); i++)
        if (((unsigned long)fs.f_type & 0xffffffff) == shared[i].magic) return true;
    return false;
}
