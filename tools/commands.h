/*
 * Commands: what the first word of the command line chooses. Each takes the words from its own name
 * on and returns the status that the program ends
 * with.
 */
#ifndef TOOLS_COMMANDS_H
#define TOOLS_COMMANDS_H

#include "fault.h"

#define STATUS_SERVED 0  /* all was as it should be */
#define STATUS_REFUSED 1 /* an event was not served, or a check failed */
#define STATUS_BAD 2     /* bad input: there is no result */

int command_replay(int argc, char **argv);
int command_policies(int argc, char **argv);
int command_advise(int argc, char **argv);
int command_import(int argc, char **argv);
int command_report(int argc, char **argv);
int command_info(int argc, char **argv);
int command_run(int argc, char **argv);
int command_snapshot(int argc, char **argv);
int command_top(int argc, char **argv);

/* Writes the line of a fault to stderr; STATUS_BAD. */
int command_fail(const fault_t *fault);

/* Ends a command that wrote its result: `status`, or STATUS_BAD if stdout did not take all of
 * it. */
int command_end(int status);

#endif
