/* SPDX-License-Identifier: Apache-2.0 */
int f( int a ){ return a ; }
