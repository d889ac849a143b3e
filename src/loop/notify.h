/* SPDX-License-Identifier: Apache-2.0 */
/* notify.h - telling the service manager that we are ready (sd_notify). */
#ifndef LOOP_NOTIFY_H
#define LOOP_NOTIFY_H

/* Sends the state ("READY=1") to the datagram socket that address names: a path, or '@'
 * and an abstract name. NULL or "": nobody wants to know. Failures are nobody's business.
 */
void notify_send(const char *address, const char *state);

#endif
