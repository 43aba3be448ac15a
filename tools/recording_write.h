/* Recordings as traces: CSV, compressed by gzip if the name of the file ends in .gz. */
#ifndef TOOLS_RECORDING_WRITE_H
#define TOOLS_RECORDING_WRITE_H

#include "recording.h"

/* "-" is standard output. A file that could not be written whole is removed. */
bool recording_write(const recording_t *recording, const char *path, uint32_t *streams_out,
                     fault_t *fault);

#endif
