/* SPDX-License-Identifier: Apache-2.0 */
/* records.h - the field tables of all records that are stored or sent.
 *
 * To add a field: add a line at its place in the alphabet (records_test finds the record
 * members that no table names), and make 0 its harmless default. Names and kinds that
 * stand in journals are never changed or used again. */
#ifndef WIRE_RECORDS_H
#define WIRE_RECORDS_H

#include "wire/schema.h"

extern const struct record_type record_size_set;
extern const struct record_type record_spec;
extern const struct record_type record_plan;
extern const struct record_type record_run;
extern const struct record_type record_node;
extern const struct record_type record_hold;
extern const struct record_type record_mark;
extern const struct record_type record_globals;
extern const struct record_type record_config;
extern const struct record_type record_model;
extern const struct record_type record_profile;
extern const struct record_type record_event;
extern const struct record_type record_change;

#endif
