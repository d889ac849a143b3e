/* SPDX-License-Identifier: Apache-2.0 */
/* fake_nvml.c - a libnvidia-ml.so.1 without hardware, found through LD_LIBRARY_PATH.
 *
 *     FAKE_NVML_COUNT=N   so many GPUs (0)
 *     FAKE_NVML_FAIL=init, count, handle or name: that call fails */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAILURE 999

struct memory {
    unsigned long long total, free, used;
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *ret);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret);
int nvmlDeviceGetName(void *device, char *ret, unsigned cap);
int nvmlDeviceGetMemoryInfo(void *device, struct memory *ret);

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
    static char devices[64];

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

int nvmlDeviceGetMemoryInfo(void *device, struct memory *ret)
{
    (void)device;
    *ret = (struct memory){80ull << 30, 80ull << 30, 0};
    return outcome("memory");
}
