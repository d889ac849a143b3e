/* SPDX-License-Identifier: Apache-2.0 */
/* network.c - see network.h.
 *
 * SQLite's write-ahead log needs memory that all its users share, which machines do not,
 * and such file systems are known for locks and sockets that only seem to work. FUSE
 * stands for whatever program is behind it (sshfs, s3fs, ...), some of them local: those
 * lose a little speed and nothing else. */
#include "store/network.h"

#include <stddef.h>
#include <sys/vfs.h>

#include "base/units.h"

static const struct {
    uint32_t type;
    const char *name;
} types[] = {
    {0x00006969, "NFS"},      {0x0000517b, "SMB"},    {0xff534d42, "CIFS"},
    {0xfe534d42, "SMB"},      {0x5346414f, "AFS"},    {0x6b414653, "AFS"},
    {0x00c36400, "Ceph"},     {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"},
    {0x19830326, "BeeGFS"},   {0x01021997, "9p"},     {0x65735546, "FUSE"},
    {0x73757245, "Coda"},     {0x7461636f, "OCFS2"},  {0x01161970, "GFS2"},
    {0x20030528, "OrangeFS"}, {0xaad7aaea, "PanFS"},  {0x786f4256, "vboxsf"},
};

const char *network_type_name(uint32_t type)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (types[i].type == type)
            return types[i].name;
    return NULL;
}

const char *network_of(const char *dir)
{
    struct statfs st;

    return statfs(dir, &st) == 0 ? network_type_name((uint32_t)st.f_type) : NULL;
}
