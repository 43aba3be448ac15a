/*
 * A picture: a history as one SVG, for papers. The map is pixels in it, so that it is no larger for
 * more events; axes, curves and words are drawn.
 */
#ifndef TOOLS_PICTURE_H
#define TOOLS_PICTURE_H

#include <stdio.h>

#include "page.h"

void picture_write(const page_subject_t *subject, FILE *out);

#endif
