/* SPDX-License-Identifier: Apache-2.0 */
/* fake_nvml.c - a libnvidia-ml.so.1 without hardware, found through LD_LIBRARY_PATH.
 *
 *     FAKE_NVML_COUNT=N   so many GPUs (0)
 *     FAKE_NVML_FAIL=CALL init, count, handle, name, memory, uuid or processes fails
 *     FAKE_NVML_FILE=PATH who is on them, read anew at each call
 *
 * The file has lines, each begins with the number of a device:
 *
 *     0 used MIB       memory in use
 *     0 pid PID MIB    a process that computes
 *     0 mute           the device does not answer
 *     0 lag PATH MIB   memory in use until PATH is half a second old
 *
 * The memory function of the first version counts 600 MiB more, as drivers do. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define FAILURE      999
#define TOO_SMALL    7
#define MIB          (1ull << 20)
#define RESERVED_MIB 600
#define LINE_BYTES   512

struct memory {
    unsigned long long total, free, used;
};

struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

struct process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *ret);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret);
int nvmlDeviceGetName(void *device, char *ret, unsigned cap);
int nvmlDeviceGetUUID(void *device, char *ret, unsigned cap);
int nvmlDeviceGetMemoryInfo(void *device, struct memory *ret);
int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory_v2 *ret);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *inout_n,
                                            struct process *ret);

static char devices[64];

static int outcome(const char *call)
{
    const char *fails = getenv("FAKE_NVML_FAIL");

    return fails && strcmp(fails, call) == 0 ? FAILURE : 0;
}

static unsigned count(void)
{
    const char *text = getenv("FAKE_NVML_COUNT");

    return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}

static unsigned index_of(const void *device)
{
    return (unsigned)((const char *)device - devices);
}

/* The next line of the file about this device; *ret_rest is what stands behind the
 * number. */
static int next_line(FILE *file, unsigned index, char *line, int cap, char **ret_rest)
{
    while (file && fgets(line, cap, file))
        if ((unsigned)strtoul(line, ret_rest, 10) == index && *ret_rest != line)
            return 1;
    return 0;
}

static FILE *open_file(void)
{
    const char *path = getenv("FAKE_NVML_FILE");

    return path ? fopen(path, "re") : NULL;
}

static int is_mute(unsigned index)
{
    FILE *file = open_file();
    char line[LINE_BYTES];
    char *rest;
    int found = 0;

    while (!found && next_line(file, index, line, sizeof(line), &rest))
        found = strncmp(rest, " mute", 5) == 0;
    if (file)
        (void)fclose(file);
    return found;
}

/* Whether the file was there half a second ago. */
static int is_settled(const char *path)
{
    struct timespec now;
    struct stat st;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return stat(path, &st) == 0 &&
           (double)(now.tv_sec - st.st_mtim.tv_sec) +
                   (double)(now.tv_nsec - st.st_mtim.tv_nsec) / 1e9 >
               0.5;
}

static unsigned long long used_mib(unsigned index)
{
    FILE *file = open_file();
    unsigned long long mib = 0;
    char line[LINE_BYTES];
    char path[LINE_BYTES];
    char *rest;

    while (next_line(file, index, line, sizeof(line), &rest)) {
        unsigned long long lag = 0;

        if (strncmp(rest, " used ", 6) == 0)
            mib += strtoull(rest + 6, NULL, 10);
        if (sscanf(rest, " lag %511s %llu", path, &lag) == 2 && !is_settled(path))
            mib += lag;
    }
    if (file)
        (void)fclose(file);
    return mib;
}

int nvmlInit_v2(void)
{
    return outcome("init");
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *ret)
{
    *ret = count();
    return outcome("count");
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret)
{
    if (index >= count() || index >= sizeof(devices))
        return FAILURE;
    *ret = &devices[index];
    return outcome("handle");
}

int nvmlDeviceGetName(void *device, char *ret, unsigned cap)
{
    (void)device;
    (void)snprintf(ret, cap, "NVIDIA Fake 1000-80GB");
    return outcome("name");
}

int nvmlDeviceGetUUID(void *device, char *ret, unsigned cap)
{
    (void)snprintf(ret, cap, "GPU-00000000-0000-0000-0000-%012u", index_of(device));
    return outcome("uuid");
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *ret)
{
    unsigned long long used = (used_mib(index_of(device)) + RESERVED_MIB) * MIB;

    *ret = (struct memory){80ull << 30, (80ull << 30) - used, used};
    return is_mute(index_of(device)) ? FAILURE : outcome("memory");
}

int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory_v2 *ret)
{
    unsigned long long used = used_mib(index_of(device)) * MIB;

    if (ret->version != (sizeof(*ret) | 2u << 24) || is_mute(index_of(device)))
        return FAILURE;
    ret->total = 80ull << 30;
    ret->reserved = RESERVED_MIB * MIB;
    ret->used = used;
    ret->free = ret->total - ret->reserved - used;
    return outcome("memory");
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *inout_n,
                                            struct process *ret)
{
    FILE *file = open_file();
    unsigned n = 0;
    char line[LINE_BYTES];
    char *rest;

    while (next_line(file, index_of(device), line, sizeof(line), &rest)) {
        if (strncmp(rest, " pid ", 5) != 0)
            continue;
        if (n < *inout_n) {
            ret[n] = (struct process){.pid = (unsigned)strtoul(rest + 5, &rest, 10)};
            ret[n].used = strtoull(rest, NULL, 10) * MIB;
        }
        n++;
    }
    if (file)
        (void)fclose(file);
    if (n > *inout_n)
        return TOO_SMALL;
    *inout_n = n;
    return outcome("processes");
}
