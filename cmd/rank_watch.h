/* rank_watch.h: what a program says and does while it waits for other ranks. */
/* SPDX-License-Identifier: MIT */
#ifndef RANK_WATCH_H
#define RANK_WATCH_H

/* Called before sg_comm_open. A call that waits long for other ranks is said, with its ranks and hosts, and again each
 * time the wait has doubled. Where a signal came or the time stop_at_s has passed, a call that waits on ends the
 * process as that would have ended it. stop_at_s 0 = no limit; checkpoint: the file that a message names, or NULL. */
void rank_watch(double stop_at_s, const char *checkpoint);

/* Says which step it is in. */
void rank_watch_step(double steps);

#endif
