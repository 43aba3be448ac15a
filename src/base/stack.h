/* Stacks: the callers of a thread, as addresses, for debugging. */
#ifndef CUAI_BASE_STACK_H
#define CUAI_BASE_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* The most callers that are kept. */
#define CUAI_MOST_FRAMES 32
/* Room for one caller as text. */
#define CUAI_FRAME_TEXT 200

/* Whether this build can find callers. */
bool cuai_stacks_exist(void);
/* The innermost `most` callers, at most CUAI_MOST_FRAMES, from the first that is not of this
 * library on; how many they are. In a program that has the library linked statically its own
 * frames are not told apart, and come first. No lock is held: the system may open a library for
 * it. */
uint32_t cuai_stack_take(void **frames, uint32_t most);
/* Writes "name+0x12 (file)", or as much as the system knows of an address. */
void cuai_stack_print(const void *frame, char text[CUAI_FRAME_TEXT]);

#endif
