/*
 * Options: what the command line asks of a command that replays traces.
 */
#ifndef TOOLS_OPTIONS_H
#define TOOLS_OPTIONS_H

#include "advice.h"
#include "measure.h"

/* What is imported. */
typedef struct import_ask {
    const char *from; /* the kind of recording, rmm or pytorch; NULL: its contents say it */
    int64_t device;   /* TORCH_ANY_DEVICE: none is named */
} import_ask_t;

/* Which options a command takes, besides --help. */
#define OPTIONS_ARENA 1u      /* preset, memory, pool, option, api */
#define OPTIONS_SHARED 2u     /* repeat, json */
#define OPTIONS_REPLAY 4u     /* policy, compact, min-pool, min-limit, streams, verify, snapshot */
#define OPTIONS_INFO 8u       /* options, json */
#define OPTIONS_ADVISE 16u    /* for, room, json */
#define OPTIONS_REPORT 32u    /* output, svg, png, colour, policy, compact, streams, replay */
#define OPTIONS_IMPORT 64u    /* output, from, device */
#define OPTIONS_TOP 128u      /* once, json */
#define OPTIONS_SNAPSHOT 256u /* arena, format, output */

typedef enum options_format {
    FORMAT_BY_NAME, /* of the file */
    FORMAT_JSON,
    FORMAT_PYTORCH
} options_format_t;

typedef struct options {
    measure_ask_t ask;
    advice_ask_t advice;
    import_ask_t import;
    bool json;
    bool limit_given; /* by --option */
    bool list_options;
    bool once;
    uint64_t arena; /* of a snapshot; 0: the only one */
    options_format_t format;
    bool replay;        /* also what says where its blocks were */
    const char *output; /* files; NULL: none */
    const char *svg;
    const char *png;
    const char *colour; /* see colouring.h; NULL: as it fits */
    bool help;
    char **operands; /* what stands behind the options */
    size_t operand_count;
} options_t;

/* `argv[0]` is the command's name. On memory `none` with a pool of twice the peak where nothing
 * else is said. With --help nothing after it is looked at. The fault names option, value and what
 * would be accepted. */
bool options_parse(int argc, char **argv, unsigned groups, options_t *options_out, fault_t *fault);

/* A fault if an option names an operand as what is to be written. */
bool options_check_outputs(const options_t *options, fault_t *fault);
/* All traces that the operands name, or none. Faults are those of options_check_outputs, too. */
bool options_load(const options_t *options, trace_t **traces_out, fault_t *fault);
/* A fault if the trace has no streams where they are asked for. */
bool options_check_streams(const options_t *options, const trace_t *trace, fault_t *fault);
void options_unload(const options_t *options, trace_t *traces);

#endif
