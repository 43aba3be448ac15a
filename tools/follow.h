/*
 * Following: how a player learns where compaction put its blocks.
 */
#ifndef TOOLS_FOLLOW_H
#define TOOLS_FOLLOW_H

#include "player.h"

/* A cuarena_relocation_fn; `user` is a tracked player. Finds the slot of each block on the list,
 * gives slots that hold pointers the new ones and tells the watch. A block that no slot holds
 * counts as refused. Cost: a sort of the list, and a look-up in it for each slot. */
int32_t follow(void *user, const cuarena_relocation_t *list, size_t count);

#endif
