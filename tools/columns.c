#include "columns.h"

#include <stdlib.h>
#include <zlib.h>

#include "fault.h"

#define VARINT_BYTES 10 /* of 64 bits, at most */

void columns_begin(columns_t *columns)
{
    columns->last = 0;
}

void columns_add(columns_t *columns, uint64_t number)
{
    if (columns->capacity - columns->length < VARINT_BYTES) {
        columns->capacity = 2 * columns->capacity + 4096;
        columns->bytes = must_have(columns->bytes, columns->capacity, 1);
    }
    for (; number >= 0x80; number >>= 7)
        columns->bytes[columns->length++] = (uint8_t)(number | 0x80);
    columns->bytes[columns->length++] = (uint8_t)number;
}

void columns_add_step(columns_t *columns, uint64_t number)
{
    uint64_t step = number - columns->last;
    uint64_t sign = UINT64_C(0) - (step >> 63);
    columns_add(columns, (step << 1) ^ sign);
    columns->last = number;
}

void base64_write(const uint8_t *bytes, size_t length, FILE *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        uint32_t three = (uint32_t)bytes[i] << 16;
        three |= left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
        three |= left > 2 ? bytes[i + 2] : 0;
        fputc(digits[three >> 18], out);
        fputc(digits[three >> 12 & 63], out);
        fputc(left > 1 ? digits[three >> 6 & 63] : '=', out);
        fputc(left > 2 ? digits[three & 63] : '=', out);
    }
}

void columns_write(const columns_t *columns, FILE *out)
{
    uLongf length = compressBound(columns->length);
    uint8_t *deflated = must_have(NULL, length, 1);
    /* It fails for want of memory alone: there is room for any result. */
    if (compress2(deflated, &length, columns->bytes, columns->length, 6) != Z_OK) {
        fprintf(stderr, "cuarena: no memory to deflate %zu bytes\n", columns->length);
        exit(2);
    }
    base64_write(deflated, length, out);
    free(deflated);
}

void columns_free(columns_t *columns)
{
    free(columns->bytes);
    *columns = (columns_t){.bytes = NULL};
}
