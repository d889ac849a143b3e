/* SPDX-License-Identifier: Apache-2.0 */
int elastane_start(void);
static int helper(void);

int elastane_start(void)
{
    return helper();
}

static int helper(void)
{
    return 0;
}
