/* SPDX-License-Identifier: Apache-2.0 */
struct unguarded {
    int n;
};
