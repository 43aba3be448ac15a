/* Memory that one call allocates: device, managed and pinned; and questions about addresses. */
#ifndef CUARENA_STANDIN_MEMORY_H
#define CUARENA_STANDIN_MEMORY_H

struct sd_context;

/* Frees what was allocated in a context that ends. */
void sd_memory_end(struct sd_context *context);

#endif
