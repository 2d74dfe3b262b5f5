/* sg_clock.h: what a process asks its host: the time, how many cores it may use, and whether it is asked to stop. */
#ifndef SG_CLOCK_H
#define SG_CLOCK_H

#include <stdbool.h>

/* Fixed clock for exact tests (hidden --fake-clock). */
void sg_clock_set_fake(bool fake);

/* Wall clock in seconds (monotonic); UTC time as "2025-01-31T12:00:00Z" into out [21]. Both constant under
 * the fake clock. */
double sg_clock_s(void);
void sg_clock_utc(char out[21]);

/* Cores that this process may use when `processes` like it share the host: at least 1. */
int sg_cores(int processes);

/* SIGINT and SIGTERM set a flag instead of ending the process; a second one of the same kind ends it. */
void sg_signals_catch(void);
int sg_signal_pending(void); /* its number or 0 */

#endif
