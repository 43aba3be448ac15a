/*
 * A page: a history as one HTML file that needs nothing else. What it shows is worked out by the
 * scripts in it, of the numbers that this writes into it:
 *
 *   facts     a JSON object, in which no text can end the element that it is in.
 *   columns   the stays, samples, refusals and slides of the history.
 */
#ifndef TOOLS_PAGE_H
#define TOOLS_PAGE_H

#include <stdio.h>

#include "history.h"
#include "player.h"

/* What is drawn, and of what. */
typedef struct page_subject {
    const char *title;
    const player_setup_t *setup; /* NULL: no arena was replayed */
    const history_t *history;
    const char *colour; /* by what: see colouring.h; NULL: as it fits */
} page_subject_t;

void page_write(const page_subject_t *subject, FILE *out);

#endif
