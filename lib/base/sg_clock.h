/* sg_clock.h: the time, and the signals that ask the process to stop. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_CLOCK_H
#define SG_CLOCK_H

#include <stdbool.h>

/* All times are 0 from now on, for exact tests (the hidden --fake-clock). */
void sg_clock_set_fake(bool fake);

/* sg_clock_s: monotonic wall clock in seconds. sg_clock_utc: UTC time as "2025-01-31T12:00:00Z" into out [21]. */
double sg_clock_s(void);
void sg_clock_utc(char out[21]);

/* From now on SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGXCPU set a flag, but for those that are ignored, as HUP
 * under nohup and INT behind & in a script. One that comes more than a second after the first ends the process. */
void sg_signals_catch(void);
int sg_signal_pending(void); /* the number of the signal that came; 0 = none */

#endif
