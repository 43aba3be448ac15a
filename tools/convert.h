/*
 * Conversion of an SVG to a PNG, by the command rsvg-convert of librsvg.
 */
#ifndef TOOLS_CONVERT_H
#define TOOLS_CONVERT_H

#include <stdio.h>

#include "fault.h"

/* `svg` is read from its beginning. The fault says what is missing. */
bool convert_to_png(FILE *svg, const char *path, fault_t *fault);

#endif
