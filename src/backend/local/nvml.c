/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.c - see nvml.h. The few functions that we call are stable since NVML's second
 * version; all return 0 for success. Those that came later, or went through several
 * versions, are optional: the newest that the library has is taken, and without any of
 * them memory alone tells that a device is in use.
 *
 * The library stays open as long as the daemon watches GPUs. To open it anew for each
 * look would cost tens of milliseconds, and seconds where the driver unloads a device
 * that nobody has open. */
#include "backend/local/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/units.h"

#define NVML_LIBRARY       "libnvidia-ml.so.1"
#define NVML_NAME_BYTES    96
#define NVML_NOT_SUPPORTED 3 /* what NVML answers where it cannot know */
#define NVML_NO_PERMISSION 4

struct nvml_memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used; /* with what the driver keeps */
};

struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total;
    unsigned long long reserved; /* what the driver keeps */
    unsigned long long free;
    unsigned long long used;
};

#define NVML_MEMORY_V2 ((unsigned)sizeof(struct nvml_memory_v2) | 2u << 24)

struct nvml_info_v1 {
    unsigned pid;
    unsigned long long bytes;
};

/* Of the functions _v2 and _v3. */
struct nvml_info_v2 {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance;
    unsigned compute_instance;
};

struct nvml {
    void *lib;
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *ret);
    int (*handle)(unsigned index, void **ret);
    int (*name)(void *device, char *ret, unsigned cap);
    int (*memory)(void *device, struct nvml_memory *ret);
    /* NULL where the library has none. */
    int (*uuid)(void *device, char *ret, unsigned cap);
    int (*memory_v2)(void *device, struct nvml_memory_v2 *ret);
    int (*processes_v1)(void *device, unsigned *inout_n, struct nvml_info_v1 *ret);
    int (*processes_v2)(void *device, unsigned *inout_n, struct nvml_info_v2 *ret);
};

static bool load(struct nvml *n, char why[NVML_WHY_BYTES])
{
    const struct {
        const char *name;
        void *slot;
        bool is_optional;
    } symbols[] = {
        {"nvmlInit_v2", &n->init, false},
        {"nvmlShutdown", &n->shutdown, false},
        {"nvmlDeviceGetCount_v2", &n->count, false},
        {"nvmlDeviceGetHandleByIndex_v2", &n->handle, false},
        {"nvmlDeviceGetName", &n->name, false},
        {"nvmlDeviceGetMemoryInfo", &n->memory, false},
        {"nvmlDeviceGetUUID", &n->uuid, true},
        {"nvmlDeviceGetMemoryInfo_v2", &n->memory_v2, true},
        {"nvmlDeviceGetComputeRunningProcesses", &n->processes_v1, true},
        {"nvmlDeviceGetComputeRunningProcesses_v2", &n->processes_v2, true},
        {"nvmlDeviceGetComputeRunningProcesses_v3", &n->processes_v2, true},
    };

    n->lib = dlopen(NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!n->lib) {
        (void)snprintf(why, NVML_WHY_BYTES, "there is no " NVML_LIBRARY);
        return false;
    }
    for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
        void *found = dlsym(n->lib, symbols[i].name);

        if (found)
            *(void **)symbols[i].slot = found;
        if (found || symbols[i].is_optional)
            continue;
        (void)snprintf(why, NVML_WHY_BYTES, NVML_LIBRARY " has no %s", symbols[i].name);
        return false;
    }
    return true;
}

struct nvml *nvml_open(char why[NVML_WHY_BYTES])
{
    struct nvml *n = mem_new(1, sizeof(*n));

    (void)snprintf(why, NVML_WHY_BYTES, "out of memory");
    if (!n)
        return NULL;
    if (load(n, why)) {
        if (n->init() == 0)
            return n;
        (void)snprintf(why, NVML_WHY_BYTES, NVML_LIBRARY " cannot be initialised");
    }
    if (n->lib)
        (void)dlclose(n->lib);
    mem_free(n);
    return NULL;
}

void nvml_close(struct nvml *n)
{
    if (!n)
        return;
    (void)n->shutdown();
    (void)dlclose(n->lib);
    mem_free(n);
}

/* Bytes in use. */
static bool get_used(const struct nvml *n, void *device, int64_t *ret)
{
    struct nvml_memory_v2 newer = {.version = NVML_MEMORY_V2};
    struct nvml_memory memory = {0};

    if (n->memory_v2 && n->memory_v2(device, &newer) == 0) {
        *ret = (int64_t)newer.used;
        return true;
    }
    if (n->memory(device, &memory) != 0)
        return false;
    *ret = (int64_t)memory.used;
    return true;
}

static bool describe(const struct nvml *n, unsigned index, struct nvml_device *ret)
{
    char name[NVML_NAME_BYTES] = "";
    char uuid[NVML_NAME_BYTES] = "";
    struct nvml_memory memory = {0};
    void *device = NULL;

    if (n->handle(index, &device) != 0 || n->name(device, name, sizeof(name)) != 0 ||
        n->memory(device, &memory) != 0)
        return false;
    name[sizeof(name) - 1] = '\0';
    (void)snprintf(ret->name, sizeof(ret->name), "%s", name);
    ret->uuid[0] = '\0';
    if (n->uuid && n->uuid(device, uuid, sizeof(uuid)) == 0 &&
        memchr(uuid, '\0', sizeof(ret->uuid)))
        memcpy(ret->uuid, uuid, strlen(uuid) + 1);
    ret->mem_bytes = (int64_t)memory.total;
    ret->used_bytes = (int64_t)memory.used;
    return true;
}

int32_t nvml_discover(const struct nvml *n, struct nvml_device *ret, int32_t cap,
                      char why[NVML_WHY_BYTES])
{
    unsigned found = 0;
    int32_t i = 0;

    why[0] = '\0';
    if (n->count(&found) != 0)
        found = 0;
    while (i < cap && (unsigned)i < found && describe(n, (unsigned)i, &ret[i]))
        i++;
    if ((unsigned)i < found && i < cap) {
        (void)snprintf(why, NVML_WHY_BYTES, "GPU %d of %u does not answer", i, found);
        return 0; /* indices would be wrong: all or none */
    }
    if (i == 0)
        (void)snprintf(why, NVML_WHY_BYTES, NVML_LIBRARY " finds no GPU");
    return i;
}

static int64_t known_bytes(unsigned long long bytes)
{
    return bytes > INT64_MAX ? -1 : (int64_t)bytes;
}

/* NVML's answer; what it cannot tell is no process. */
static int get_processes(const struct nvml *n, void *device, struct nvml_use *use)
{
    /* Twice the room: some drivers have told of processes in a longer struct. */
    struct nvml_info_v1 v1[NVML_PROCESS_MAX] = {{0}};
    struct nvml_info_v2 v2[2 * NVML_PROCESS_MAX] = {{0}};
    unsigned count = NVML_PROCESS_MAX;
    int rc = NVML_NOT_SUPPORTED;

    if (n->processes_v2)
        rc = n->processes_v2(device, &count, v2);
    else if (n->processes_v1)
        rc = n->processes_v1(device, &count, v1);
    if (rc == NVML_NOT_SUPPORTED || rc == NVML_NO_PERMISSION)
        return 0;
    if (rc != 0 || count > NVML_PROCESS_MAX)
        return rc != 0 ? rc : -1;
    for (unsigned i = 0; i < count; i++)
        use->processes[use->n_processes++] = (struct nvml_process){
            .pid = (int32_t)(n->processes_v2 ? v2[i].pid : v1[i].pid),
            .bytes = known_bytes(n->processes_v2 ? v2[i].bytes : v1[i].bytes)};
    return 0;
}

bool nvml_look(const struct nvml *n, int32_t index, struct nvml_use *ret)
{
    void *device = NULL;

    *ret = (struct nvml_use){0};
    return n->handle((unsigned)index, &device) == 0 &&
           get_used(n, device, &ret->used_bytes) && get_processes(n, device, ret) == 0;
}

/* As a word of a flag: small letters, digits and '-', whatever the locale. */
static char tidy(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
}

void nvml_device_type(const struct nvml_device *devices, int32_t n,
                      char ret[NAME_MAX_BYTES])
{
    static const char maker[] = "NVIDIA ";
    const char *name = n > 0 ? devices[0].name : "";

    if (text_starts_with(name, maker))
        name += sizeof(maker) - 1;
    for (int32_t i = 1; i < n; i++)
        if (!text_equal(devices[i].name, devices[0].name))
            name = "";
    (void)snprintf(ret, NAME_MAX_BYTES, "%s", name[0] ? name : "gpu");
    for (char *c = ret; *c; c++)
        *c = tidy(*c);
}
