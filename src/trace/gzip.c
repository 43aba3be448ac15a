/* zlib is opened at run time, so that a compiler alone builds the library; what is used of its
 * interface is declared here. */
#include "trace/gzip.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>

#include "base/compiler.h"

#define FASTEST 1
#define DEFLATED 8
/* The largest window, and a gzip header. */
#define GZIP_WINDOW (15 + 16)
#define MEMORY_LEVEL 8
#define FINISH 4
#define STREAM_END 1

typedef struct zlib_stream {
    const unsigned char *next_in;
    unsigned avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state;
    void *(*zalloc)(void *, unsigned, unsigned);
    void (*zfree)(void *, void *);
    void *opaque;
    int data_type;
    unsigned long adler;
    unsigned long reserved;
} zlib_stream_t;

/* The library's functions; NULL where it is not there. It refuses a caller who knows another size
 * of the struct, or another first digit of the version. */
static struct {
    int (*begin)(zlib_stream_t *stream, int level, int method, int window, int memory, int strategy,
                 const char *version, int stream_size);
    int (*deflate)(zlib_stream_t *stream, int flush);
    int (*end)(zlib_stream_t *stream);
} zlib;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_library(void)
{
    void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return;
    *(void **)&zlib.deflate = dlsym(library, "deflate");
    *(void **)&zlib.end = dlsym(library, "deflateEnd");
    *(void **)&zlib.begin = dlsym(library, "deflateInit2_");
    if (zlib.deflate == NULL || zlib.end == NULL)
        zlib.begin = NULL;
}

bool cuai_gzip_is_there(void)
{
    (void)pthread_once(&once, open_library);
    return zlib.begin != NULL;
}

/* What does not shrink is stored, with five bytes for each 16 KiB at most. */
size_t cuai_gzip_most(size_t count)
{
    return count + count / 1024 + 64;
}

size_t cuai_gzip(const char *text, size_t count, unsigned char *out)
{
    CUAI_ASSERT(zlib.begin != NULL && count <= INT32_MAX);
    zlib_stream_t stream = {.next_in = (const unsigned char *)text,
                            .avail_in = (unsigned)count,
                            .next_out = out,
                            .avail_out = (unsigned)cuai_gzip_most(count)};
    if (zlib.begin(&stream, FASTEST, DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, 0, "1",
                   (int)sizeof stream) != 0)
        return 0;
    int code = zlib.deflate(&stream, FINISH);
    (void)zlib.end(&stream);
    return code == STREAM_END ? (size_t)stream.total_out : 0;
}
