/*
 * Snapshots of PyTorch, as torch.cuda.memory._dump_snapshot writes them: a pickle of
 *
 *   device_traces  for each device a ring of entries, the oldest first: an allocation, a free that
 *                  was requested or is completed, a segment that came or went, a refused request,
 *                  the snapshot itself.
 *   segments       what is reserved at the end, with its blocks.
 *
 * The bytes of a block can be reused once its free is completed: that is the free of the trace.
 */
#ifndef TOOLS_TORCH_SNAPSHOT_H
#define TOOLS_TORCH_SNAPSHOT_H

#include "recording.h"

/* The only device that has entries. */
#define TORCH_ANY_DEVICE (-1)

/* The fault names the entry and what was expected; or the devices, if there are several and
 * `device` is none of them. */
bool torch_snapshot_read(const char *name, const char *bytes, size_t length, int64_t device,
                         recording_t *recording_out, fault_t *fault);

#endif
