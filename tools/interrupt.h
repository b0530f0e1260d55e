/* SIGINT, SIGTERM and SIGHUP: asked for, so that a run ends in order and what it has is kept. A
 * second signal ends the program at once. */
#ifndef GS_TOOLS_INTERRUPT_H
#define GS_TOOLS_INTERRUPT_H

/* Takes these signals from now on; SIGHUP only where it is not ignored. */
void gs_interrupt_watch(void);

/* In a child, which its parent tells to end and which a terminal tells as well: no signal ends it
 * at once. */
void gs_interrupt_follow(void);

/* The first signal that came, 0: none. */
int gs_interrupt_signal(void);

#endif
