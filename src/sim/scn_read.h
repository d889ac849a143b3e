/* SPDX-License-Identifier: Apache-2.0 */
/* scn_read.h - the kinds of lines that the scenario reader is made of. Each takes a line
 * whose first word has been consumed; 0, E_NOMEM, E_LIMIT or E_INVALID. */
#ifndef SIM_SCN_READ_H
#define SIM_SCN_READ_H

#include "sim/scenario.h"
#include "sim/scn_line.h"

/* job NAME key value ... */
int scn_read_job(struct scenario *scn, struct scn_line *line);
/* Settings of a job that may follow its name in `job` and in `update`: consumes one key
 * with its value; E_NOTFOUND (nothing consumed) when the next word is no such key. */
int scn_read_setting(struct scn_line *line, struct job_spec *spec);
/* proc ... and comm ..., the key consumed */
int scn_read_proc(struct scn_line *line, struct perf_model *model);
int scn_read_comm(struct scn_line *line, struct perf_model *model);

/* fault ... */
int scn_read_fault(struct scenario *scn, struct scn_line *line);
/* user VERB JOB at T, VERB JOB at T ... */
int scn_read_user(struct scenario *scn, struct scn_line *line);
/* update JOB key value ... at T */
int scn_read_update(struct scenario *scn, struct scn_line *line);

/* cluster ..., node ..., delays ... */
int scn_read_cluster(struct scenario *scn, struct scn_line *line);
int scn_read_node(struct scenario *scn, struct scn_line *line);
int scn_read_delays(struct scenario *scn, struct scn_line *line);
/* policy, scaler and set: the key is not consumed yet; `at T` at the end makes it an
 * action. */
int scn_read_config(struct scenario *scn, struct scn_line *line);

/* The next word as the index of a known job. */
int scn_read_job_name(const struct scenario *scn, struct scn_line *line,
                      const char *field, int32_t *ret_job);

#endif
