#include "pickle.h"

#include <stdlib.h>
#include <string.h>

#define PROTOCOL 0x80
#define LEAST_PROTOCOL 2
#define MOST_PROTOCOL 5

typedef struct reader {
    const char *name;
    const unsigned char *bytes;
    size_t length;
    size_t at;     /* the next byte */
    size_t opcode; /* where the opcode of this step is */
    pickle_items_t stack;
    pickle_items_t memo; /* values by number, without gaps */
    size_t *marks;       /* how high the stack was at each */
    size_t mark_count;
    size_t mark_capacity;
    bool stopped;
    pickle_t pickle;
    fault_t *fault;
} reader_t;

/* `size` is what `run` is given: how many bytes its argument has, or how many values it takes. */
typedef struct opcode {
    const char *name;
    bool (*run)(reader_t *, size_t size);
    size_t size;
} opcode_t;

static const opcode_t opcodes[256];

/* ---- Faults ------------------------------------------------------------- */

static bool wrong(const reader_t *r, const char *what, const char *expected)
{
    unsigned code = r->bytes[r->opcode];
    const char *name = opcodes[code].name;
    return fault_set(r->fault, "%s: byte %zu: opcode %s (0x%02x) %s, expected %s", r->name,
                     r->opcode, name != NULL ? name : "unknown", code, what, expected);
}

/* ---- Values ------------------------------------------------------------- */

static void add(pickle_items_t *items, pickle_value_t value)
{
    if (items->count == items->capacity) {
        items->capacity = items->capacity > 0 ? 2 * items->capacity : 4;
        items->values = must_have(items->values, items->capacity, sizeof value);
    }
    items->values[items->count++] = value;
}

static bool push(reader_t *r, pickle_value_t value)
{
    add(&r->stack, value);
    return true;
}

/* ---- Arguments of opcodes ------------------------------------------------ */

static bool take(reader_t *r, uint64_t count, const unsigned char **bytes_out)
{
    if (count > r->length - r->at)
        return wrong(r, "is cut by the end of the file", "a whole pickle");
    *bytes_out = r->bytes + r->at;
    r->at += (size_t)count;
    return true;
}

/* `size` bytes, at most 8, the lowest first. */
static bool take_count(reader_t *r, size_t size, uint64_t *count_out)
{
    const unsigned char *bytes = NULL;
    if (!take(r, size, &bytes))
        return false;
    *count_out = 0;
    for (size_t i = size; i-- > 0;)
        *count_out = *count_out << 8 | bytes[i];
    return true;
}

/* As many bytes as the `size` bytes before them say. */
static bool take_counted(reader_t *r, size_t size, const unsigned char **bytes_out,
                         uint64_t *count_out)
{
    return take_count(r, size, count_out) && take(r, *count_out, bytes_out);
}

/* ---- The stack ----------------------------------------------------------- */

/* Where the part of the stack begins that opcodes may take from: the last mark. */
static size_t floor_of(const reader_t *r)
{
    return r->mark_count > 0 ? r->marks[r->mark_count - 1] : 0;
}

static bool need(const reader_t *r, size_t count)
{
    return r->stack.count - floor_of(r) >= count ||
           wrong(r, "finds too few values", "a pickle as Python writes it");
}

/* Ends the part of the stack above the last mark, which begins at `from_out`. */
static bool end_mark(reader_t *r, size_t *from_out)
{
    if (r->mark_count == 0)
        return wrong(r, "finds no mark", "a pickle as Python writes it");
    *from_out = r->marks[--r->mark_count];
    return true;
}

/* ---- Opcodes: of the pickle itself ---------------------------------------- */

static bool run_protocol(reader_t *r, size_t size)
{
    uint64_t protocol = 0;
    return take_count(r, size, &protocol) &&
           ((protocol >= LEAST_PROTOCOL && protocol <= MOST_PROTOCOL) ||
            wrong(r, "names another protocol", "one from 2 to 5"));
}

/* How many bytes belong together says nothing about them. */
static bool run_frame(reader_t *r, size_t size)
{
    uint64_t length = 0;
    return take_count(r, size, &length);
}

static bool run_stop(reader_t *r, size_t size)
{
    r->stopped = true;
    r->mark_count = 0;
    return need(r, size);
}

static bool run_mark(reader_t *r, size_t size)
{
    (void)size;
    if (r->mark_count == r->mark_capacity) {
        r->mark_capacity = r->mark_capacity > 0 ? 2 * r->mark_capacity : 16;
        r->marks = must_have(r->marks, r->mark_capacity, sizeof *r->marks);
    }
    r->marks[r->mark_count++] = r->stack.count;
    return true;
}

static bool run_pop_mark(reader_t *r, size_t size)
{
    (void)size;
    return end_mark(r, &r->stack.count);
}

static bool run_pop(reader_t *r, size_t size)
{
    if (r->mark_count > 0 && r->marks[r->mark_count - 1] == r->stack.count)
        return run_pop_mark(r, size);
    if (!need(r, size))
        return false;
    r->stack.count -= size;
    return true;
}

static bool run_dup(reader_t *r, size_t size)
{
    return need(r, size) && push(r, r->stack.values[r->stack.count - 1]);
}

/* ---- Opcodes: the memo ---------------------------------------------------- */

/* Numbers come in order, or again: what has gaps could ask for any amount of memory. */
static bool put(reader_t *r, uint64_t number)
{
    if (!need(r, 1))
        return false;
    pickle_value_t value = r->stack.values[r->stack.count - 1];
    if (number > r->memo.count)
        return wrong(r, "leaves out numbers of the memo", "them in order");
    if (number == r->memo.count)
        add(&r->memo, value);
    r->memo.values[number] = value;
    return true;
}

static bool run_memoize(reader_t *r, size_t size)
{
    (void)size;
    return put(r, r->memo.count);
}

static bool run_put(reader_t *r, size_t size)
{
    uint64_t number = 0;
    return take_count(r, size, &number) && put(r, number);
}

static bool run_get(reader_t *r, size_t size)
{
    uint64_t number = 0;
    if (!take_count(r, size, &number))
        return false;
    if (number >= r->memo.count)
        return wrong(r, "asks for what the memo has not", "a pickle as Python writes it");
    return push(r, r->memo.values[number]);
}

/* ---- Opcodes: single values ------------------------------------------------ */

static bool run_none(reader_t *r, size_t size)
{
    (void)size;
    return push(r, (pickle_value_t){.kind = PICKLE_NONE});
}

static bool run_flag(reader_t *r, size_t flag)
{
    return push(r, (pickle_value_t){.kind = PICKLE_FLAG, .number = flag != 0});
}

static bool push_number(reader_t *r, uint64_t bits)
{
    return push(r, (pickle_value_t){.kind = PICKLE_NUMBER, .number = (int64_t)bits});
}

static bool run_count(reader_t *r, size_t size)
{
    uint64_t bits = 0;
    return take_count(r, size, &bits) && push_number(r, bits);
}

/* The lowest byte comes first; the highest bit is the sign. */
static uint64_t signed_bits(const unsigned char *bytes, size_t count)
{
    uint64_t bits = count > 0 && (bytes[count - 1] & 0x80) != 0 ? UINT64_MAX : 0;
    for (size_t i = count; i-- > 0;)
        bits = bits << 8 | bytes[i];
    return bits;
}

static bool run_int(reader_t *r, size_t size)
{
    const unsigned char *bytes = NULL;
    return take(r, size, &bytes) && push_number(r, signed_bits(bytes, size));
}

static bool push_other(reader_t *r)
{
    return push(r, (pickle_value_t){.kind = PICKLE_OTHER});
}

static bool run_long(reader_t *r, size_t size)
{
    uint64_t count = 0;
    const unsigned char *bytes = NULL;
    if (!take_counted(r, size, &bytes, &count))
        return false;
    return count <= sizeof(int64_t) ? push_number(r, signed_bits(bytes, (size_t)count))
                                    : push_other(r);
}

static bool run_float(reader_t *r, size_t size)
{
    const unsigned char *bytes = NULL;
    return take(r, size, &bytes) && push_other(r);
}

static bool run_bytes(reader_t *r, size_t size)
{
    uint64_t count = 0;
    const unsigned char *bytes = NULL;
    return take_counted(r, size, &bytes, &count) && push_other(r);
}

static bool run_text(reader_t *r, size_t size)
{
    uint64_t count = 0;
    const unsigned char *bytes = NULL;
    if (!take_counted(r, size, &bytes, &count))
        return false;
    if (count > UINT32_MAX)
        return wrong(r, "has 4 GiB or more", "a shorter text");
    return push(r, (pickle_value_t){.kind = PICKLE_TEXT,
                                    .length = (uint32_t)count,
                                    .text = (const char *)bytes});
}

/* ---- Opcodes: lists and dicts ---------------------------------------------- */

/* A list or dict of the values from `from` on, which leave the stack. */
static bool push_items(reader_t *r, pickle_kind_t kind, size_t from)
{
    pickle_items_t *items = must_have(NULL, 1, sizeof *items);
    *items = (pickle_items_t){.next = r->pickle.all};
    r->pickle.all = items;
    for (size_t i = from; i < r->stack.count; i++)
        add(items, r->stack.values[i]);
    r->stack.count = from;
    return push(r, (pickle_value_t){.kind = kind, .items = items});
}

static bool run_tuple(reader_t *r, size_t size)
{
    return need(r, size) && push_items(r, PICKLE_LIST, r->stack.count - size);
}

static bool run_empty_dict(reader_t *r, size_t size)
{
    (void)size;
    return push_items(r, PICKLE_DICT, r->stack.count);
}

/* Of what stands above the last mark. */
static bool run_list(reader_t *r, size_t size)
{
    size_t from = size;
    return end_mark(r, &from) && push_items(r, PICKLE_LIST, from);
}

static bool check_pairs(const reader_t *r, size_t from)
{
    return (r->stack.count - from) % 2 == 0 ||
           wrong(r, "finds a key without a value", "one for each");
}

static bool run_dict(reader_t *r, size_t size)
{
    size_t from = size;
    return end_mark(r, &from) && check_pairs(r, from) && push_items(r, PICKLE_DICT, from);
}

/* Moves the values from `from` on into the list or dict below them. */
static bool move_into(reader_t *r, pickle_kind_t kind, size_t from)
{
    if (from <= floor_of(r) || r->stack.values[from - 1].kind != kind)
        return wrong(r, "finds something else to add to",
                     kind == PICKLE_LIST ? "a list" : "a dict");
    for (size_t i = from; i < r->stack.count; i++)
        add(r->stack.values[from - 1].items, r->stack.values[i]);
    r->stack.count = from;
    return true;
}

static bool run_append(reader_t *r, size_t size)
{
    return need(r, size) && move_into(r, PICKLE_LIST, r->stack.count - size);
}

static bool run_appends(reader_t *r, size_t size)
{
    size_t from = size;
    return end_mark(r, &from) && move_into(r, PICKLE_LIST, from);
}

static bool run_setitem(reader_t *r, size_t size)
{
    return need(r, size) && move_into(r, PICKLE_DICT, r->stack.count - size);
}

static bool run_setitems(reader_t *r, size_t size)
{
    size_t from = size;
    return end_mark(r, &from) && check_pairs(r, from) && move_into(r, PICKLE_DICT, from);
}

/* ---- The table of them ------------------------------------------------------ */

/* One without a function is refused. */
static const opcode_t opcodes[256] = {
    [PROTOCOL] = {"PROTO", run_protocol, 1},
    [0x95] = {"FRAME", run_frame, 8},
    ['.'] = {"STOP", run_stop, 1},
    ['('] = {"MARK", run_mark, 0},
    ['0'] = {"POP", run_pop, 1},
    ['1'] = {"POP_MARK", run_pop_mark, 0},
    ['2'] = {"DUP", run_dup, 1},
    [0x94] = {"MEMOIZE", run_memoize, 0},
    ['q'] = {"BINPUT", run_put, 1},
    ['r'] = {"LONG_BINPUT", run_put, 4},
    ['h'] = {"BINGET", run_get, 1},
    ['j'] = {"LONG_BINGET", run_get, 4},
    ['N'] = {"NONE", run_none, 0},
    [0x88] = {"NEWTRUE", run_flag, 1},
    [0x89] = {"NEWFALSE", run_flag, 0},
    ['J'] = {"BININT", run_int, 4},
    ['K'] = {"BININT1", run_count, 1},
    ['M'] = {"BININT2", run_count, 2},
    [0x8a] = {"LONG1", run_long, 1},
    [0x8b] = {"LONG4", run_long, 4},
    ['G'] = {"BINFLOAT", run_float, 8},
    [0x8c] = {"SHORT_BINUNICODE", run_text, 1},
    ['X'] = {"BINUNICODE", run_text, 4},
    [0x8d] = {"BINUNICODE8", run_text, 8},
    ['C'] = {"SHORT_BINBYTES", run_bytes, 1},
    ['B'] = {"BINBYTES", run_bytes, 4},
    [0x8e] = {"BINBYTES8", run_bytes, 8},
    [']'] = {"EMPTY_LIST", run_tuple, 0},
    ['}'] = {"EMPTY_DICT", run_empty_dict, 0},
    [')'] = {"EMPTY_TUPLE", run_tuple, 0},
    ['l'] = {"LIST", run_list, 0},
    ['d'] = {"DICT", run_dict, 0},
    ['t'] = {"TUPLE", run_list, 0},
    [0x85] = {"TUPLE1", run_tuple, 1},
    [0x86] = {"TUPLE2", run_tuple, 2},
    [0x87] = {"TUPLE3", run_tuple, 3},
    ['a'] = {"APPEND", run_append, 1},
    ['e'] = {"APPENDS", run_appends, 0},
    ['s'] = {"SETITEM", run_setitem, 2},
    ['u'] = {"SETITEMS", run_setitems, 0},
    ['c'] = {"GLOBAL", NULL, 0},
    [0x93] = {"STACK_GLOBAL", NULL, 0},
    ['R'] = {"REDUCE", NULL, 0},
    ['b'] = {"BUILD", NULL, 0},
    ['i'] = {"INST", NULL, 0},
    ['o'] = {"OBJ", NULL, 0},
    [0x81] = {"NEWOBJ", NULL, 0},
    [0x92] = {"NEWOBJ_EX", NULL, 0},
    [0x82] = {"EXT1", NULL, 0},
    [0x83] = {"EXT2", NULL, 0},
    [0x84] = {"EXT4", NULL, 0},
    ['P'] = {"PERSID", NULL, 0},
    ['Q'] = {"BINPERSID", NULL, 0},
    [0x8f] = {"EMPTY_SET", NULL, 0},
    [0x90] = {"ADDITEMS", NULL, 0},
    [0x91] = {"FROZENSET", NULL, 0},
    [0x96] = {"BYTEARRAY8", NULL, 0},
    [0x97] = {"NEXT_BUFFER", NULL, 0},
    [0x98] = {"READONLY_BUFFER", NULL, 0},
};

/* ---- The whole --------------------------------------------------------------- */

static bool run_step(reader_t *r)
{
    r->opcode = r->at;
    if (r->at == r->length)
        return fault_set(r->fault, "%s: byte %zu: the file ends, expected a whole pickle", r->name,
                         r->at);
    const opcode_t *opcode = &opcodes[r->bytes[r->at++]];
    return opcode->run != NULL
               ? opcode->run(r, opcode->size)
               : wrong(r, "is refused", "built-in values alone: nothing of a pickle is executed");
}

bool pickle_begins(const char *bytes, size_t length)
{
    return length >= 2 && (unsigned char)bytes[0] == PROTOCOL && bytes[1] >= LEAST_PROTOCOL &&
           bytes[1] <= MOST_PROTOCOL;
}

bool pickle_read(const char *name, const char *bytes, size_t length, pickle_t *pickle_out,
                 fault_t *fault)
{
    reader_t r = {
        .name = name, .bytes = (const unsigned char *)bytes, .length = length, .fault = fault};
    bool good = true;
    while (good && !r.stopped)
        good = run_step(&r);
    if (good)
        r.pickle.root = r.stack.values[r.stack.count - 1];
    free(r.stack.values);
    free(r.memo.values);
    free(r.marks);
    if (good)
        *pickle_out = r.pickle;
    else
        pickle_free(&r.pickle);
    return good;
}

void pickle_free(pickle_t *pickle)
{
    while (pickle->all != NULL) {
        pickle_items_t *items = pickle->all;
        pickle->all = items->next;
        free(items->values);
        free(items);
    }
}

bool pickle_is(const pickle_value_t *value, const char *text)
{
    return value != NULL && value->kind == PICKLE_TEXT && value->length == strlen(text) &&
           memcmp(value->text, text, value->length) == 0;
}

/* A key that comes twice has its last value. */
const pickle_value_t *pickle_find(const pickle_value_t *dict, const char *key)
{
    if (dict == NULL || dict->kind != PICKLE_DICT)
        return NULL;
    const pickle_value_t *values = dict->items->values;
    for (size_t i = dict->items->count; i >= 2; i -= 2)
        if (pickle_is(&values[i - 2], key))
            return &values[i - 1];
    return NULL;
}
