/*
 * Logs of RMM, as its logging_resource_adaptor writes them: CSV with the columns
 * Thread,Time,Action,Pointer,Size,Stream. RMM logs an allocation after it is made and a free before
 * it is, so that no two live allocations have one address, whatever threads there are.
 */
#ifndef TOOLS_RMM_LOG_H
#define TOOLS_RMM_LOG_H

#include "recording.h"

/* Whether the first line names the columns. */
bool rmm_log_begins(const char *text, size_t length);
/* The fault names line, value and what was expected. */
bool rmm_log_read(const char *name, const char *text, size_t length, recording_t *recording_out,
                  fault_t *fault);

#endif
