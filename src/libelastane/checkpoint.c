/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - saves that are whole or absent (R16).
 *
 * A checkpoint is two files, ckpt-SEQ.data and ckpt-SEQ.manifest, SEQ rising. The data
 * are written under a temporary name, synced and renamed; the manifest, which names their
 * length and hash and ends with a hash of itself, follows in the same way. A crash at any
 * point leaves a temporary file, or data without a manifest, and both mean nothing to
 * elastane_checkpoint_latest(). Only when the directory is synced are checkpoints older
 * than the one before removed, so one good one exists at every instant.
 *
 * The hash finds torn and damaged files; it is no defence against people. */
#include "libelastane/elastane.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY    "ckpt.tmp-"
#define MANIFEST_MAX 1024
#define HEADING      "elastane-checkpoint 1\n"
#define SEQ_MAX      9999999999

struct hash {
    uint64_t lanes[4];
    uint64_t bytes;
};

#define HASH_PRIME_A 0x9e3779b185ebca87u
#define HASH_PRIME_B 0xc2b2ae3d27d4eb4fu

static uint64_t lane_mix(uint64_t lane, uint64_t word)
{
    lane ^= word * HASH_PRIME_A;
    lane = lane << 29 | lane >> 35;
    return lane * HASH_PRIME_B;
}

/* n is a multiple of 32 except in the last call. */
static void hash_add(struct hash *h, const uint8_t *bytes, size_t n)
{
    uint64_t word[4];

    h->bytes += n;
    while (n > 0) {
        size_t part = n < sizeof(word) ? n : sizeof(word);

        memset(word, 0, sizeof(word));
        memcpy(word, bytes, part);
        for (int i = 0; i < 4; i++)
            h->lanes[i] = lane_mix(h->lanes[i], word[i]);
        bytes += part;
        n -= part;
    }
}

static uint64_t hash_end(const struct hash *h)
{
    uint64_t all = h->bytes;

    for (int i = 0; i < 4; i++)
        all = lane_mix(all, h->lanes[i] + (uint64_t)i);
    return all ^ all >> 31;
}

static int hash_file(int fd, uint64_t *ret_hash, int64_t *ret_bytes)
{
    static const size_t chunk = (size_t)1 << 18;
    uint8_t *bytes = malloc(chunk);
    struct hash h = {{1, 2, 3, 4}, 0};
    size_t have = 0;
    ssize_t n = 1;

    if (!bytes)
        return ELASTANE_E_NOMEM;
    while (n > 0) {
        n = pread(fd, bytes + have, chunk - have, (off_t)(h.bytes + have));
        if (n < 0 && errno == EINTR) {
            n = 1;
            continue;
        }
        have += n > 0 ? (size_t)n : 0;
        if (have == chunk || n == 0) {
            hash_add(&h, bytes, have);
            have = 0;
        }
    }
    free(bytes);
    if (n < 0)
        return ELASTANE_E_IO;
    *ret_hash = hash_end(&h);
    *ret_bytes = (int64_t)h.bytes;
    return 0;
}

static int manifest_write(char *text, size_t cap, const struct elastane_checkpoint *c,
                          const char *data_name, uint64_t data_hash)
{
    struct hash h = {{5, 6, 7, 8}, 0};
    int n = snprintf(text, cap,
                     HEADING "data %s\n"
                             "data_bytes %" PRId64 "\n"
                             "data_hash %016" PRIx64 "\n"
                             "samples_done %" PRId64 "\n"
                             "dataset_size %" PRId64 "\n"
                             "seed %" PRIu64 "\n"
                             "step %" PRId64 "\n"
                             "generation %" PRIu32 "\n",
                     data_name, c->data_bytes, data_hash, c->samples_done,
                     c->dataset_size, c->seed, c->step, c->generation);

    if (n < 0 || (size_t)n >= cap - 32)
        return ELASTANE_E_LIMIT;
    hash_add(&h, (const uint8_t *)text, (size_t)n);
    return n +
           snprintf(text + n, cap - (size_t)n, "check %016" PRIx64 "\n", hash_end(&h));
}

static bool manifest_is_whole(const char *text)
{
    struct hash h = {{5, 6, 7, 8}, 0};
    const char *check = strstr(text, "\ncheck ");
    char want[32];

    if (!check || strncmp(text, HEADING, strlen(HEADING)) != 0)
        return false;
    check++;
    hash_add(&h, (const uint8_t *)text, (size_t)(check - text));
    (void)snprintf(want, sizeof(want), "check %016" PRIx64 "\n", hash_end(&h));
    return strcmp(check, want) == 0;
}

/* The value behind "\nKEY "; NULL when there is none. */
static const char *manifest_find(const char *text, const char *key)
{
    char line[32];
    const char *at;

    (void)snprintf(line, sizeof(line), "\n%s ", key);
    at = strstr(text, line);
    return at ? at + strlen(line) : NULL;
}

static int64_t manifest_number(const char *text, const char *key)
{
    const char *at = manifest_find(text, key);

    return at ? strtoll(at, NULL, 10) : -1;
}

static int manifest_parse(const char *text, struct elastane_checkpoint *c,
                          char *ret_data_name, size_t cap, uint64_t *ret_hash)
{
    const char *name = manifest_find(text, "data");
    const char *hash = manifest_find(text, "data_hash");
    const char *seed = manifest_find(text, "seed");
    size_t n = name ? strcspn(name, "\n") : 0;

    if (!manifest_is_whole(text) || !name || !hash || !seed || n == 0 || n >= cap ||
        memchr(name, '/', n))
        return ELASTANE_E_CORRUPT;
    memcpy(ret_data_name, name, n);
    ret_data_name[n] = '\0';
    *ret_hash = strtoull(hash, NULL, 16);
    c->data_bytes = manifest_number(text, "data_bytes");
    c->samples_done = manifest_number(text, "samples_done");
    c->dataset_size = manifest_number(text, "dataset_size");
    c->step = manifest_number(text, "step");
    c->seed = strtoull(seed, NULL, 10);
    c->generation = (uint32_t)manifest_number(text, "generation");
    return c->samples_done < 0 || c->data_bytes < 0 ? ELASTANE_E_CORRUPT : 0;
}

/* SEQ of "ckpt-SEQ.manifest" (or .data), 0 for any other name. */
static int64_t seq_of(const char *name, const char *suffix)
{
    char *end;
    long long seq;

    if (strncmp(name, "ckpt-", 5) != 0 || name[5] < '0' || name[5] > '9')
        return 0;
    seq = strtoll(name + 5, &end, 10);
    return strcmp(end, suffix) == 0 && seq > 0 && seq <= SEQ_MAX ? seq : 0;
}

static void name_of(char *ret, size_t cap, int64_t seq, const char *suffix)
{
    (void)snprintf(ret, cap, "ckpt-%010" PRId64 "%s", seq, suffix);
}

/* The largest SEQ below `below`; 0 when there is none. */
static int64_t seq_before(int dir_fd, int64_t below)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    int64_t best = 0;

    if (!dir) {
        if (fd >= 0)
            (void)close(fd);
        return 0;
    }
    while ((entry = readdir(dir))) {
        int64_t seq = seq_of(entry->d_name, ".manifest");

        if (seq < below && seq > best)
            best = seq;
    }
    (void)closedir(dir);
    return best;
}

/* Leftover temporary files, and checkpoints older than SEQ `keep` (and data that never
 * got a manifest). Failures do not matter: the next time comes. */
static void tidy(int dir_fd, int64_t keep)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;

    if (!dir) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    while ((entry = readdir(dir))) {
        const char *name = entry->d_name;
        int64_t manifest = seq_of(name, ".manifest");
        int64_t data = seq_of(name, ".data");

        if (strncmp(name, TEMPORARY, strlen(TEMPORARY)) == 0 ||
            (manifest > 0 && manifest < keep) || (data > 0 && data < keep))
            (void)unlinkat(dir_fd, name, 0);
    }
    (void)closedir(dir);
}

static int open_dir(const char *dir)
{
    return dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

int elastane_checkpoint_begin(const char *dir, char *ret_path, size_t cap)
{
    int dir_fd;
    int n;

    if (!dir || !*dir || !ret_path)
        return ELASTANE_E_INVALID;
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return ELASTANE_E_IO;
    dir_fd = open_dir(dir);
    if (dir_fd < 0)
        return ELASTANE_E_IO;
    tidy(dir_fd, 0);
    (void)close(dir_fd);
    n = snprintf(ret_path, cap, "%s/" TEMPORARY "%ld", dir, (long)getpid());
    return n < 0 || (size_t)n >= cap ? ELASTANE_E_LIMIT : 0;
}

void elastane_checkpoint_abandon(const char *temporary)
{
    if (temporary)
        (void)unlink(temporary);
}

/* Syncs the temporary file and finds its length and hash. */
static int seal_data(const char *temporary, uint64_t *ret_hash, int64_t *ret_bytes)
{
    int fd = open(temporary, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    int rc;

    if (fd < 0)
        return ELASTANE_E_IO;
    rc = fsync(fd) < 0 ? ELASTANE_E_IO : hash_file(fd, ret_hash, ret_bytes);
    (void)close(fd);
    return rc;
}

static int put_manifest(int dir_fd, const char *name, const char *text, size_t n)
{
    static const char temporary[] = TEMPORARY "manifest";
    int fd =
        openat(dir_fd, temporary,
               O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    int rc = 0;

    if (fd < 0)
        return ELASTANE_E_IO;
    if (write(fd, text, n) != (ssize_t)n || fsync(fd) < 0)
        rc = ELASTANE_E_IO;
    if (close(fd) < 0)
        rc = ELASTANE_E_IO;
    if (rc == 0 && renameat(dir_fd, temporary, dir_fd, name) < 0)
        rc = ELASTANE_E_IO;
    if (rc < 0)
        (void)unlinkat(dir_fd, temporary, 0);
    return rc;
}

static int commit_in(int dir_fd, const char *dir, const char *temporary,
                     struct elastane_checkpoint *c)
{
    int64_t before = seq_before(dir_fd, SEQ_MAX + 1);
    char data_name[ELASTANE_MANIFEST_BYTES];
    char text[MANIFEST_MAX];
    uint64_t hash;
    int n;
    int rc = seal_data(temporary, &hash, &c->data_bytes);

    if (rc < 0)
        return rc;
    name_of(data_name, sizeof(data_name), before + 1, ".data");
    name_of(c->manifest, sizeof(c->manifest), before + 1, ".manifest");
    n = snprintf(c->path, sizeof(c->path), "%s/%s", dir, data_name);
    if (n < 0 || (size_t)n >= sizeof(c->path))
        return ELASTANE_E_LIMIT;
    n = manifest_write(text, sizeof(text), c, data_name, hash);
    if (n < 0)
        return n;
    if (renameat(AT_FDCWD, temporary, dir_fd, data_name) < 0)
        return ELASTANE_E_IO;
    rc = fsync(dir_fd) < 0 ? ELASTANE_E_IO
                           : put_manifest(dir_fd, c->manifest, text, (size_t)n);
    if (rc == 0 && fsync(dir_fd) < 0) {
        (void)unlinkat(dir_fd, c->manifest, 0);
        rc = ELASTANE_E_IO;
    }
    if (rc < 0)
        (void)unlinkat(dir_fd, data_name, 0);
    else
        tidy(dir_fd, before);
    return rc;
}

int elastane_checkpoint_commit(const char *dir, const char *temporary,
                               struct elastane_checkpoint *checkpoint)
{
    struct elastane_checkpoint c;
    int dir_fd = open_dir(dir);
    int why;
    int rc;

    if (!temporary || !checkpoint || checkpoint->samples_done < 0) {
        if (dir_fd >= 0)
            (void)close(dir_fd);
        return ELASTANE_E_INVALID;
    }
    c = *checkpoint;
    rc = dir_fd < 0 ? ELASTANE_E_IO : commit_in(dir_fd, dir, temporary, &c);
    why = errno;
    if (rc < 0)
        elastane_checkpoint_abandon(temporary);
    else
        *checkpoint = c;
    if (dir_fd >= 0)
        (void)close(dir_fd);
    errno = why;
    return rc;
}

static int read_small(int dir_fd, const char *name, char *text, size_t cap)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, cap - 1);

    if (fd >= 0)
        (void)close(fd);
    if (n < 0)
        return ELASTANE_E_IO;
    text[n] = '\0';
    return 0;
}

/* Fills c from SEQ when manifest and data are whole. */
static int load(int dir_fd, const char *dir, int64_t seq, struct elastane_checkpoint *c)
{
    char data_name[ELASTANE_MANIFEST_BYTES];
    char text[MANIFEST_MAX];
    uint64_t want = 0;
    uint64_t hash = 0;
    int64_t bytes = -1;
    int fd;
    int n;
    int rc;

    memset(c, 0, sizeof(*c));
    name_of(c->manifest, sizeof(c->manifest), seq, ".manifest");
    rc = read_small(dir_fd, c->manifest, text, sizeof(text));
    if (rc == 0)
        rc = manifest_parse(text, c, data_name, sizeof(data_name), &want);
    if (rc < 0)
        return rc;
    fd = openat(dir_fd, data_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    rc = fd < 0 ? ELASTANE_E_IO : hash_file(fd, &hash, &bytes);
    if (fd >= 0)
        (void)close(fd);
    if (rc == 0 && (hash != want || bytes != c->data_bytes))
        rc = ELASTANE_E_CORRUPT;
    n = snprintf(c->path, sizeof(c->path), "%s/%s", dir, data_name);
    return rc == 0 && (n < 0 || (size_t)n >= sizeof(c->path)) ? ELASTANE_E_LIMIT : rc;
}

int elastane_checkpoint_latest(const char *dir, struct elastane_checkpoint *ret)
{
    struct elastane_checkpoint c;
    int64_t seq = SEQ_MAX + 1;
    int dir_fd;
    int rc = ELASTANE_E_NOTFOUND;

    if (!dir || !ret)
        return ELASTANE_E_INVALID;
    dir_fd = open_dir(dir);
    if (dir_fd < 0)
        return errno == ENOENT ? ELASTANE_E_NOTFOUND : ELASTANE_E_IO;
    while (rc != 0 && (seq = seq_before(dir_fd, seq)) > 0)
        rc = load(dir_fd, dir, seq, &c);
    (void)close(dir_fd);
    if (rc != 0)
        return ELASTANE_E_NOTFOUND;
    *ret = c;
    return 0;
}
