/*
 * The part of the binary interface of NVTX 3 that the library uses, declared anew: no header of
 * NVTX is needed to build, and none is included. tests/scripts/check_nvtx_abi compares it with the
 * real headers.
 *
 * A tool is a shared library with two entry points. Each gets tables of the caller's, and puts its
 * functions there: InitializeInjectionNvtx2 those of domains and ranges, and
 * InitializeInjectionNvtxExtension those of an extension, here of memory. What it leaves empty it
 * does not take. Both answer 0 if they want nothing.
 */
#ifndef CUAI_NVTX_ABI_H
#define CUAI_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

#define CUAI_NVTX_VERSION 3
#define CUAI_NVTX_VARIABLE "NVTX_INJECTION64_PATH" /* names the tool */
#define CUAI_NVTX_NO_TOOL "./."                    /* a value that says that there is none */

typedef void *cuai_nvtx_domain_t;
typedef void *cuai_nvtx_heap_t;

/* ---- Domains and ranges ------------------------------------------------ */

#define CUAI_NVTX_CORE "InitializeInjectionNvtx2"

typedef const void *(*cuai_nvtx_get_table_t)(uint32_t table);
typedef int (*cuai_nvtx_init_core_t)(cuai_nvtx_get_table_t get_table);

#define CUAI_NVTX_TABLE_CALLBACKS 1
#define CUAI_NVTX_TABLE_VERSION 3

typedef void (*cuai_nvtx_function_t)(void);

/* Of a module: an array, of which [0] is unused, with addresses of pointers to functions. */
typedef struct cuai_nvtx_callbacks {
    size_t struct_size;
    int (*get_module)(int module, cuai_nvtx_function_t ***functions_out, unsigned *count_out);
} cuai_nvtx_callbacks_t;

typedef struct cuai_nvtx_version {
    size_t struct_size;
    uint32_t version; /* CUAI_NVTX_VERSION */
    uint32_t zero;
    void (*set_tool)(uint32_t version);
} cuai_nvtx_version_t;

#define CUAI_NVTX_MODULE_FIRST 1
#define CUAI_NVTX_MODULE_CORE2 5
#define CUAI_NVTX_MODULE_LAST 6
#define CUAI_NVTX_MODULE_SIZES                                                                     \
    {                                                                                              \
        0, 16, 9, 15, 7, 16, 7                                                                     \
    } /* functions, with [0], by module */
#define CUAI_NVTX_MODULE_MOST 16

/* Numbers of functions in the module CORE2. */
#define CUAI_NVTX_RANGE_PUSH 4
#define CUAI_NVTX_RANGE_POP 5
#define CUAI_NVTX_DOMAIN_CREATE 12

typedef union cuai_nvtx_message {
    const char *ascii;
    const void *handle;
} cuai_nvtx_message_t;

#define CUAI_NVTX_MESSAGE_ASCII 1
#define CUAI_NVTX_PAYLOAD_UINT64 1

typedef struct cuai_nvtx_event {
    uint16_t version; /* CUAI_NVTX_VERSION */
    uint16_t struct_size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t zero;
    uint64_t payload;
    int32_t message_type;
    cuai_nvtx_message_t message;
} cuai_nvtx_event_t;

typedef cuai_nvtx_domain_t (*cuai_nvtx_domain_create_t)(const char *name);
typedef int (*cuai_nvtx_range_push_t)(cuai_nvtx_domain_t domain, const cuai_nvtx_event_t *event);
typedef int (*cuai_nvtx_range_pop_t)(cuai_nvtx_domain_t domain);

/* ---- Memory ------------------------------------------------------------ */

#define CUAI_NVTX_EXTENSION "InitializeInjectionNvtxExtension"
#define CUAI_NVTX_EXTENSION_MEMORY 1
#define CUAI_NVTX_MEMORY_VERSION 0x0102

/* Functions of an extension, as numbers: 0 is none, and 1 one that is not wanted. */
typedef struct cuai_nvtx_functions {
    size_t number; /* 1: there is one segment of functions */
    size_t count;
    intptr_t *functions;
} cuai_nvtx_functions_t;

typedef struct cuai_nvtx_extension {
    uint16_t version; /* CUAI_NVTX_VERSION */
    uint16_t struct_size;
    uint16_t extension;
    uint16_t extension_version;
    size_t segment_count;
    cuai_nvtx_functions_t *segments;
    intptr_t (*get_export)(uint32_t number);
    const void *more;
} cuai_nvtx_extension_t;

typedef int (*cuai_nvtx_init_extension_t)(cuai_nvtx_extension_t *extension);

/* Numbers of the functions of the extension of memory. */
#define CUAI_NVTX_HEAP_REGISTER 0
#define CUAI_NVTX_HEAP_UNREGISTER 1
#define CUAI_NVTX_HEAP_RESET 2
#define CUAI_NVTX_REGIONS_REGISTER 3
#define CUAI_NVTX_REGIONS_RESIZE 4
#define CUAI_NVTX_REGIONS_UNREGISTER 5
#define CUAI_NVTX_REGIONS_NAME 6
#define CUAI_NVTX_MEMORY_COUNT 63 /* functions that a tool may expect room for */

#define CUAI_NVTX_USAGE_SUB_ALLOCATOR 1
#define CUAI_NVTX_VIRTUAL_ADDRESS 1
#define CUAI_NVTX_BY_POINTER 1

typedef struct cuai_nvtx_range {
    size_t bytes;
    const void *pointer;
} cuai_nvtx_range_t;

typedef struct cuai_nvtx_heap_desc {
    uint16_t version; /* CUAI_NVTX_MEMORY_VERSION, also below */
    uint16_t struct_size;
    uint32_t zero;
    uint32_t usage;
    uint32_t type; /* CUAI_NVTX_VIRTUAL_ADDRESS, also below */
    size_t range_size;
    const cuai_nvtx_range_t *range;
    uint32_t category;
    uint32_t message_type;
    cuai_nvtx_message_t message;
} cuai_nvtx_heap_desc_t;

typedef struct cuai_nvtx_register {
    uint16_t version;
    uint16_t struct_size;
    uint32_t type;
    cuai_nvtx_heap_t heap;
    size_t count;
    size_t range_size;
    const cuai_nvtx_range_t *ranges;
    void *handles_out; /* NULL: regions are named by their addresses */
} cuai_nvtx_register_t;

typedef struct cuai_nvtx_resize {
    uint16_t version;
    uint16_t struct_size;
    uint32_t type;
    size_t count;
    size_t range_size;
    const cuai_nvtx_range_t *ranges;
} cuai_nvtx_resize_t;

typedef union cuai_nvtx_region {
    const void *pointer;
    void *handle;
} cuai_nvtx_region_t;

typedef struct cuai_nvtx_unregister {
    uint16_t version;
    uint16_t struct_size;
    uint32_t by; /* CUAI_NVTX_BY_POINTER, also below */
    size_t count;
    size_t region_size;
    const cuai_nvtx_region_t *regions;
} cuai_nvtx_unregister_t;

typedef struct cuai_nvtx_region_name {
    uint32_t by;
    uint32_t message_type;
    cuai_nvtx_region_t region;
    cuai_nvtx_message_t name;
    uint32_t category;
    uint32_t zero;
} cuai_nvtx_region_name_t;

typedef struct cuai_nvtx_name {
    uint16_t version;
    uint16_t struct_size;
    uint32_t zero;
    size_t count;
    size_t name_size;
    const cuai_nvtx_region_name_t *names;
    size_t zero2;
} cuai_nvtx_name_t;

typedef cuai_nvtx_heap_t (*cuai_nvtx_heap_register_t)(cuai_nvtx_domain_t domain,
                                                      const cuai_nvtx_heap_desc_t *desc);
typedef void (*cuai_nvtx_heap_end_t)(cuai_nvtx_domain_t domain, cuai_nvtx_heap_t heap);
typedef void (*cuai_nvtx_regions_register_t)(cuai_nvtx_domain_t domain,
                                             const cuai_nvtx_register_t *desc);
typedef void (*cuai_nvtx_regions_resize_t)(cuai_nvtx_domain_t domain,
                                           const cuai_nvtx_resize_t *desc);
typedef void (*cuai_nvtx_regions_unregister_t)(cuai_nvtx_domain_t domain,
                                               const cuai_nvtx_unregister_t *desc);
typedef void (*cuai_nvtx_regions_name_t)(cuai_nvtx_domain_t domain, const cuai_nvtx_name_t *desc);

#endif
