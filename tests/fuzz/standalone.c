/*
 * Runs a fuzz target without a fuzzer:
 *
 *   fuzz_heap FILE...            each file once
 *   fuzz_heap -r SEED COUNT      COUNT inputs of random bytes
 *   fuzz_heap -w SEED FILE       writes one such input
 *
 * A target that finds something aborts; what it was running is on stderr.
 */
#include "../support/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES ((size_t)1 << 16)
#define RANDOM_BYTES 2048u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t bytes[MOST_BYTES];

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return EXIT_FAILURE;
    }
    size_t size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    fprintf(stderr, "%s: %zu bytes\n", path, size);
    LLVMFuzzerTestOneInput(bytes, size);
    return EXIT_SUCCESS;
}

static size_t make_input(uint64_t seed)
{
    random_state_t random = {seed};
    size_t size = 1 + (size_t)random_below(&random, RANDOM_BYTES);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)random_next(&random);
    return size;
}

static int run_random(uint64_t seed, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        fprintf(stderr, "\rseed %" PRIu64, seed + i);
        LLVMFuzzerTestOneInput(bytes, make_input(seed + i));
    }
    fprintf(stderr, "\n");
    return EXIT_SUCCESS;
}

static int write_random(uint64_t seed, const char *path)
{
    FILE *file = fopen(path, "wb");
    size_t size = make_input(seed);
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
        perror(path);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

int main(int count, char **arguments)
{
    int failed = EXIT_SUCCESS;
    if (count == 4 && strcmp(arguments[1], "-r") == 0)
        return run_random(strtoull(arguments[2], NULL, 0), strtoull(arguments[3], NULL, 0));
    if (count == 4 && strcmp(arguments[1], "-w") == 0)
        return write_random(strtoull(arguments[2], NULL, 0), arguments[3]);
    for (int i = 1; i < count; i++)
        failed |= run_file(arguments[i]);
    return failed;
}
