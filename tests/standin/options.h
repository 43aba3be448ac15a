/*
 * What the environment, or standin_configure, chose: read once, at the first call of any kind.
 */
#ifndef CUARENA_STANDIN_OPTIONS_H
#define CUARENA_STANDIN_OPTIONS_H

#include "support/random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SD_DEVICES_MAX 2

typedef struct sd_options {
    uint64_t seed;
    unsigned pace; /* calls of 256 that run a few steps */
    int device_count;
    bool peers;
    uint64_t memory_bytes; /* of each device */
    int version;           /* of the driver, 13000 */
    int capability;        /* of the devices, 90 */
    int swallow;           /* so many waits until one does nothing; 0: none */
    int patience;          /* seconds until a wait is called endless */
    char lack[512];        /* comma-separated */
    bool strict;
    bool leaks;
    bool quiet;
} sd_options_t;

extern sd_options_t sd_options;
/* The one source of chance. */
extern random_state_t sd_random;

/* Reads the environment if that was not done yet. */
void sd_options_read(void);
/* Sets one; false for an unknown key or a value that makes no sense. */
bool sd_options_set(const char *key, const char *value);
/* Whether `lack` names it. */
bool sd_lacks(const char *name);
/* Walks a comma-separated list: false at its end. */
bool sd_list_next(const char **list, char *item, size_t room);

#endif
