/* SPDX-License-Identifier: Apache-2.0 */
int elastane_start(void);
int helper(void);

int elastane_start(void)
{
    return helper();
}

int helper(void)
{
    return 0;
}
