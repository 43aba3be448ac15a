/*
 * A raster: the map of a history in pixels, each of the colours of the blocks that cover it, as
 * much as they do. Cost: the stays, and the pixels.
 */
#ifndef TOOLS_RASTER_H
#define TOOLS_RASTER_H

#include "colouring.h"

typedef struct raster {
    size_t width;
    size_t height;
    uint8_t *pixels; /* red, green and blue, by rows from the top */
} raster_t;

raster_t raster_draw(const history_t *history, const colouring_t *colouring, size_t width,
                     size_t height);
void raster_free(raster_t *raster);
/* As a PNG; the caller frees it. */
uint8_t *raster_png(const raster_t *raster, size_t *length_out);

#endif
