/* SPDX-License-Identifier: Apache-2.0 */
/* allocfile_fuzz.c - bytes as an allocation problem.
 *
 * What is read is within the limits and can be solved or is infeasible; the answer is
 * JSON that fits the problem. */
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/mem.h"
#include "wire/allocfile.h"

#include "fuzz.h"

static void solve(const struct allocfile *file)
{
    int32_t *sizes = mem_new((size_t)file->problem.n_rows + 1, sizeof *sizes);
    struct alloc_scratch scratch;
    struct alloc_result result;
    struct err err;
    struct buf out;
    int rc;

    alloc_scratch_init(&scratch);
    buf_init(&out, (size_t)64 << 20);
    ASSERT(sizes);
    rc = alloc_solve(&file->problem, &scratch, sizes, &result);
    if (rc == 0) {
        ASSERT(result.used <= file->problem.devices);
        ASSERT(result.value <= allocfile_bound(file, &result));
        allocfile_write(file, sizes, &result, &out);
        ASSERT(buf_error(&out) == 0);
    } else {
        ASSERT(rc == E_INFEASIBLE);
        ASSERT(allocfile_explain_infeasible(file, &err) == E_INFEASIBLE);
    }
    buf_release(&out);
    alloc_scratch_release(&scratch);
    mem_free(sizes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct allocfile file;
    struct err err;

    allocfile_init(&file);
    if (n <= 1 << 16 && allocfile_read(&file, (const char *)bytes, n, &err) == 0)
        solve(&file);
    allocfile_release(&file);
    return 0;
}
