#include "raster.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* ---- Drawing ------------------------------------------------------------------- */

/* What covers a pixel: colours times their parts, and the sum of the parts. */
typedef struct cover {
    float red;
    float green;
    float blue;
    float part;
} cover_t;

typedef struct canvas {
    size_t width;
    size_t height;
    cover_t *covers;
} canvas_t;

typedef struct box {
    double left;
    double right;
    double top;
    double bottom;
} box_t;

static double part_of(double from, double to, size_t pixel)
{
    return fmin(to, (double)pixel + 1) - fmax(from, (double)pixel);
}

static void add_box(canvas_t *canvas, box_t box, const colour_t *colour)
{
    box.right = fmin(box.right, (double)canvas->width);
    box.bottom = fmin(box.bottom, (double)canvas->height);
    for (size_t y = (size_t)box.top; (double)y < box.bottom; y++) {
        double tall = part_of(box.top, box.bottom, y);
        for (size_t x = (size_t)box.left; (double)x < box.right; x++) {
            cover_t *cover = &canvas->covers[y * canvas->width + x];
            float part = (float)(tall * part_of(box.left, box.right, x));
            cover->red += part * colour->red;
            cover->green += part * colour->green;
            cover->blue += part * colour->blue;
            cover->part += part;
        }
    }
}

/* A large box leaves a seam to the next one. */
static box_t box_of(const history_t *h, const stay_t *stay, const canvas_t *canvas)
{
    double per_moment = (double)canvas->width / (double)h->moments;
    double per_byte = (double)canvas->height / (double)history_span_bytes(h);
    double offset = (double)history_offset(h, stay->address);
    box_t box = {(double)stay->begin * per_moment, (double)stay->end * per_moment,
                 (double)canvas->height - (offset + (double)stay->taken_bytes) * per_byte,
                 (double)canvas->height - offset * per_byte};
    if (box.right - box.left > 5)
        box.right -= 1;
    if (box.bottom - box.top > 5)
        box.top += 1;
    box.top = fmax(box.top, 0);
    return box;
}

/* On white; what covers little is somewhat stronger than it is, so that it is seen. */
static uint8_t blend(float sum, float part)
{
    float shown = part < 1 ? part * (2 - part) : 1;
    float value = part > 0 ? sum * shown / part + 255 * (1 - shown) : 255;
    return (uint8_t)(value < 255 ? value + 0.5F : 255);
}

raster_t raster_draw(const history_t *history, const colouring_t *colouring, size_t width,
                     size_t height)
{
    canvas_t canvas = {width, height, must_have(NULL, width * height, sizeof(cover_t))};
    raster_t raster = {width, height, must_have(NULL, width * height, 3)};
    memset(canvas.covers, 0, width * height * sizeof(cover_t));
    for (size_t i = 0; i < history->stay_count; i++)
        add_box(&canvas, box_of(history, &history->stays[i], &canvas),
                &colouring->colours[colouring->of[i]]);
    for (size_t i = 0; i < width * height; i++) {
        const cover_t *cover = &canvas.covers[i];
        raster.pixels[3 * i] = blend(cover->red, cover->part);
        raster.pixels[3 * i + 1] = blend(cover->green, cover->part);
        raster.pixels[3 * i + 2] = blend(cover->blue, cover->part);
    }
    free(canvas.covers);
    return raster;
}

void raster_free(raster_t *raster)
{
    free(raster->pixels);
    *raster = (raster_t){.pixels = NULL};
}

/* ---- PNG -------------------------------------------------------------------------- */

static void put_number(uint8_t *at, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(number >> (24 - 8 * i));
}

/* Length, name, bytes and checksum; where the next one begins. */
static uint8_t *put_chunk(uint8_t *at, const char *name, const uint8_t *bytes, size_t length)
{
    put_number(at, (uint32_t)length);
    memcpy(at + 4, name, 4);
    if (length > 0)
        memcpy(at + 8, bytes, length);
    put_number(at + 8 + length, (uint32_t)crc32(0, at + 4, (uInt)length + 4));
    return at + 12 + length;
}

/* Each row as it is, which PNG calls filter 0: it deflates best, since rows are much alike. */
static uint8_t *rows_of(const raster_t *raster, size_t *length_out)
{
    size_t row_bytes = 3 * raster->width;
    uint8_t *rows = must_have(NULL, raster->height, row_bytes + 1);
    for (size_t y = 0; y < raster->height; y++) {
        rows[y * (row_bytes + 1)] = 0;
        memcpy(rows + y * (row_bytes + 1) + 1, raster->pixels + y * row_bytes, row_bytes);
    }
    *length_out = raster->height * (row_bytes + 1);
    return rows;
}

uint8_t *raster_png(const raster_t *raster, size_t *length_out)
{
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    uint8_t header[13] = {[8] = 8, [9] = 2}; /* eight bits of three colours */
    size_t length = 0;
    uint8_t *rows = rows_of(raster, &length);
    uLongf deflated_length = compressBound(length);
    uint8_t *deflated = must_have(NULL, deflated_length, 1);
    if (compress2(deflated, &deflated_length, rows, length, 9) != Z_OK) {
        fprintf(stderr, "cuarena: no memory to deflate %zu bytes\n", length);
        exit(2);
    }
    put_number(header, (uint32_t)raster->width);
    put_number(header + 4, (uint32_t)raster->height);
    uint8_t *png = must_have(NULL, deflated_length + 64, 1), *at = png;
    memcpy(at, signature, sizeof signature);
    at = put_chunk(at + sizeof signature, "IHDR", header, sizeof header);
    at = put_chunk(at, "IDAT", deflated, deflated_length);
    at = put_chunk(at, "IEND", NULL, 0);
    free(deflated);
    free(rows);
    *length_out = (size_t)(at - png);
    return png;
}
