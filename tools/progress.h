/*
 * Progress: one line on a terminal's stderr that tells a person how far long work has come. Work of
 * less than a second shows nothing.
 */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

/* What is being worked on, until the next call: "%s (%zu of %zu)". */
void progress_task(const char *title, unsigned long number, unsigned long count);
/* Shows the task and what is done of it now, ten times a second at most. */
__attribute__((format(printf, 1, 2))) void progress_step(const char *format, ...);
/* Takes the line away, before something else is written. */
void progress_clear(void);

#endif
