/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h - who, of all processes below a command, is to hear a stop notice.
 *
 * Shells and launchers stand between us and the process that can save, and data loaders
 * stand below it; a signal to any of those loses work. */
#ifndef SHIM_TRAINER_H
#define SHIM_TRAINER_H

#include <stddef.h>
#include <sys/types.h>

/* The process that trains below `command`: down through shells and launchers that have no
 * handler for SIGTERM, while there is one child only and it runs another program than its
 * parent. `command` itself when nothing better is found. */
pid_t trainer_find(pid_t command);

/* The trainers of the ranks that a launcher has started below `command`: a rank is the
 * topmost process of our channel that has RANK, which we give to no launcher. Told one by
 * one they have the whole grace; a launcher told in their place may kill them sooner
 * (torchrun: after 30 s; R04). Returns how many, at most cap; *ret_launcher is the parent
 * of one of them. */
size_t trainer_find_ranks(pid_t command, const char *channel, pid_t *ret, size_t cap,
                          pid_t *ret_launcher);

#endif
