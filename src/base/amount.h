/*
 * Amounts of memory and other numbers: from text, to text, and in bytes.
 *
 *   bytes   digits, perhaps decimals, perhaps K, M, G, T or KiB ... TiB in
 *           either case, all counting in 1024; the product is a whole number
 *   amount  bytes, or a number and %, or "auto", or "auto-" and bytes
 *   count   digits
 *
 * Nothing may be before or behind it, not even blanks. KB, MB and the like are refused because
 * people mean different things by them.
 */
#ifndef CUAI_BASE_AMOUNT_H
#define CUAI_BASE_AMOUNT_H

#include "cuarena/arena.h"
#include "cuarena/memory.h"

/* Why a text was refused, in words that follow "the text ..."; static. NULL: it was accepted, and
 * only then `out` is written. */
typedef const char *cuai_refusal_t;

cuai_refusal_t cuai_amount_read(const char *text, cuarena_amount_t *out);
cuai_refusal_t cuai_bytes_read(const char *text, uint64_t *out);
cuai_refusal_t cuai_count_read(const char *text, uint64_t *out);

/* Room for every number that is printed, and its zero. */
#define CUAI_NUMBER_TEXT 40

/* Print exactly, in the largest unit that leaves no decimals, so that reading gives the same. The
 * unit of an amount may be unknown: messages need that. */
void cuai_amount_print(cuarena_amount_t amount, char text[CUAI_NUMBER_TEXT]);
void cuai_bytes_print(uint64_t bytes, char text[CUAI_NUMBER_TEXT]);

/*
 * The bytes of an amount: a percentage is one of what the memory has in all, auto is what is
 * available now. An amount in bytes is not compared with either. BAD_ARGUMENT where the memory does
 * not know, OUT_OF_MEMORY where auto leaves nothing.
 */
cuarena_status_t cuai_amount_resolve(cuarena_amount_t amount, const cuarena_memory_ops_t *ops,
                                     void *user, uint64_t *bytes_out);

#endif
