/*
 * The text of a page: tools/page/ as page/embed made it of the files there.
 */
#ifndef TOOLS_PAGE_TEXT_H
#define TOOLS_PAGE_TEXT_H

/* Lines with their newlines; NULL behind the last. A line "@facts@" or "@columns@" stands for what
 * a report has there. */
extern const char *const page_text[];

#endif
