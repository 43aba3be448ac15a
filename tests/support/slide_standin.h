/*
 * The relocation kernel on the stand-in driver: what its entries run there is
 * the model of support/slide_protocol.h.
 */
#ifndef CUARENA_TEST_SLIDE_STANDIN_H
#define CUARENA_TEST_SLIDE_STANDIN_H

/* Binds the entries of the library's texts; nothing on a real driver. */
void slide_standin_bind(void);

#endif
