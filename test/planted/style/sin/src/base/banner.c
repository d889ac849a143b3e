/* SPDX-License-Identifier: Apache-2.0 */
/* --- Part one. --- */
int fine;
