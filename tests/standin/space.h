/*
 * The address space of the devices. Bytes are memory that exists; an area is a range of addresses
 * at which work may find some of it. An area of device memory lies at addresses that the CPU may
 * not touch (the range is mapped without access), and the stand-in reaches the bytes elsewhere, at
 * its alias: a program that follows a device pointer crashes, as it should. Pinned and managed
 * memory lies where the CPU finds it too.
 *
 * One area per allocation, per mapping of a handle and per chunk of a pool.
 */
#ifndef CUARENA_STANDIN_SPACE_H
#define CUARENA_STANDIN_SPACE_H

#include "abi.h"
#include "order.h"
#include "standin.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sd_context;
struct sd_pool;
struct sd_work;

typedef struct sd_bytes {
    uint64_t id;
    uint64_t size;
    int device;          /* whose memory it takes; -1: the host's */
    unsigned references; /* areas, handles, work */
    unsigned uses;       /* work that is queued and touches it */
    unsigned char *data; /* NULL: only through an area's alias */
    int file;            /* behind it; -1: none */
    uint64_t file_offset;
    bool owns_file;
    struct sd_bytes *whole; /* of a mapping: the handle's bytes, which have the order of all
                             * accesses; its own marks are of those through it. NULL: no mapping */
    sd_marks_t marks;       /* who touched it last */
} sd_bytes_t;

typedef enum sd_area_kind {
    SD_AREA_DEVICE,
    SD_AREA_MANAGED,
    SD_AREA_PINNED,
    SD_AREA_POOLED,
    SD_AREA_MAPPED
} sd_area_kind_t;

typedef struct sd_area {
    uint64_t address;
    uint64_t size;
    sd_area_kind_t kind;
    sd_bytes_t *bytes;
    uint64_t offset;      /* of the area in the bytes */
    unsigned char *alias; /* where the stand-in reaches the first byte */
    struct sd_context *context;
    int device;       /* whose, -1: the host's */
    unsigned readers; /* devices that may read, a bit each */
    unsigned writers; /* ... and write */
    unsigned flags;   /* of the call that made it */
    uint64_t asked;   /* bytes asked for; a pool's chunk has more */
    uint64_t group;   /* areas of one reservation may be crossed */
    uint64_t handle;  /* of a mapping */
    bool granted;     /* the program may name it in calls */
    bool live;        /* work may touch it */
    bool sync_memops;
    struct sd_pool *pool;
} sd_area_t;

/* Bytes with a reference; data is mapped now, or is left NULL with a file. */
sd_bytes_t *sd_bytes_new(uint64_t size, int device, bool mapped);
/* The bytes that a view is of, or they themselves. */
static inline sd_bytes_t *sd_bytes_whole(sd_bytes_t *bytes)
{
    return bytes->whole != NULL ? bytes->whole : bytes;
}
/* What one mapping of the bytes is used for; holds them. */
sd_bytes_t *sd_bytes_view(sd_bytes_t *whole);
void sd_bytes_hold(sd_bytes_t *bytes);
void sd_bytes_release(sd_bytes_t *bytes);
/* Queued work touches them, or no longer. */
void sd_bytes_use(sd_bytes_t *bytes);
void sd_bytes_unuse(sd_bytes_t *bytes);
/* Reports that the range is freed while work may use it: work that is queued
 * or that the host has not seen complete. Gives whether that is so. */
bool sd_bytes_freed(sd_bytes_t *bytes, uint64_t offset, uint64_t size, standin_kind_t kind,
                    uint64_t address);

/* Addresses without access, or NULL. */
void *sd_addresses_new(uint64_t size, uint64_t alignment, void *wanted);
void sd_addresses_free(void *address, uint64_t size);

/* Makes the area known; it takes a reference on its bytes. */
sd_area_t *sd_area_add(const sd_area_t *area);
/* Forgets it and lets go of its bytes; its addresses are remembered as freed.
 */
void sd_area_remove(sd_area_t *area);
/* The area that the address lies in; NULL if there is none. */
sd_area_t *sd_area_at(uint64_t address);
/* The first that ends above the address; follow with the end of each. */
sd_area_t *sd_area_from(uint64_t address);
/* Whether the address was in an area not long ago. */
bool sd_area_was(uint64_t address);
/* Whether the CPU may have something mapped there. */
bool sd_host_has(uint64_t address);
/* How many there are of a kind, pool chunks that are granted only. */
size_t sd_areas_alive(sd_area_kind_t kind);
/* Calls `each` with every area; it may remove the area. */
void sd_areas_each(void (*each)(sd_area_t *area, void *user), void *user);

/* Whether a call of the context may name this range for work of its device: else reports why
 * not. */
bool sd_range_known(const struct sd_context *context, uint64_t address, uint64_t bytes, bool writes,
                    bool any_device);
/* Where a running unit of work finds the range; notes the access and checks its order. NULL, and a
 * report, where it may not touch it. */
unsigned char *sd_reach(struct sd_work *work, uint64_t address, uint64_t bytes, bool writes,
                        bool any_device);
/* The unit will touch this range. */
void sd_range_use(struct sd_work *work, uint64_t address, uint64_t bytes);

#endif
