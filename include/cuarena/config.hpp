/*
 * How arenas and allocations are asked for in C++.
 */
#ifndef CUARENA_CONFIG_HPP
#define CUARENA_CONFIG_HPP

#include "error.hpp"

#include <cstddef>
#include <cstdint>

namespace cuarena
{
inline namespace CUARENA_CXX_VARIANT
{

/* The options of an arena, as members and by their names. */
class config : public cuarena_config_t
{
  public:
    config() noexcept { cuarena_config_init(this); }

    /* "key=value,key=value". */
    explicit config(const char *options) : config() { parse(options); }

    status try_set(const char *key, const char *value) noexcept
    {
        return to_status(cuarena_config_set(this, key, value));
    }

    config &set(const char *key, const char *value)
    {
        check(try_set(key, value));
        return *this;
    }

    status try_parse(const char *options) noexcept
    {
        return to_status(cuarena_config_parse(this, options));
    }

    config &parse(const char *options)
    {
        check(try_parse(options));
        return *this;
    }
};

/* What an allocation asks for besides its size, as in request().on(stream).tag(weights). */
class request
{
  public:
    request &on(cuarena_stream_t stream) noexcept
    {
        stream_ = stream;
        return *this;
    }

    request &tag(cuarena_tag_t tag) noexcept
    {
        more().tag = tag;
        return *this;
    }

    /* A power of two. */
    request &align(std::uint64_t alignment) noexcept
    {
        more().alignment = alignment;
        return *this;
    }

    request &stable() noexcept
    {
        more().region = CUARENA_REGION_STABLE;
        return *this;
    }

    request &zeroed() noexcept
    {
        more().zeroed = 1;
        return *this;
    }

    request &dedicated() noexcept
    {
        more().dedicated = 1;
        return *this;
    }

    /* For C functions: nullptr if nothing was asked for, with which they are fastest. */
    const cuarena_request_t *get() const noexcept
    {
        return request_.struct_size > 0 ? &request_ : nullptr;
    }

    cuarena_stream_t stream() const noexcept { return stream_; }

  private:
    cuarena_request_t &more() noexcept
    {
        if (request_.struct_size == 0)
            cuarena_request_init(&request_);
        return request_;
    }

    cuarena_request_t request_{};
    cuarena_stream_t stream_ = CUARENA_NO_STREAM;
};

namespace detail
{
inline cuarena_properties_t properties_of(cuarena_t *arena) noexcept
{
    cuarena_properties_t properties;
    cuarena_properties_init(&properties);
    (void)cuarena_properties(arena, &properties);
    return properties;
}

inline bool host_readable(cuarena_t *arena) noexcept
{
    return properties_of(arena).host_readable == 1;
}

inline result<void *> alloc(cuarena_t *arena, std::uint64_t bytes, const request &how) noexcept
{
    void *pointer = nullptr;
    const status code =
        to_status(how.stream() == CUARENA_NO_STREAM
                      ? cuarena_alloc_with(arena, bytes, how.get(), &pointer)
                      : cuarena_alloc_on(arena, bytes, how.stream(), how.get(), &pointer));
    if (code != status::ok)
        return code;
    return pointer;
}

inline constexpr const char *too_many = "so many values have more than 2^64 bytes";

/* Status out_of_memory if the product has more than 64 bits: no arena has so much. */
template <typename T> status bytes_of(std::size_t count, std::uint64_t *bytes_out) noexcept
{
    if (count > UINT64_MAX / sizeof(T))
        return status::out_of_memory;
    *bytes_out = std::uint64_t{count} * sizeof(T);
    return status::ok;
}

/* Bytes for `count` values of a type, aligned for it. */
template <typename T>
result<T *> alloc_values(cuarena_t *arena, std::size_t count, request how) noexcept
{
    std::uint64_t bytes = 0;
    const status code = bytes_of<T>(count, &bytes);
    if (code != status::ok)
        return {code, too_many};
    if (alignof(T) > 8 && alignof(T) > properties_of(arena).granule_bytes &&
        !(how.get() && how.get()->alignment > alignof(T)))
        how.align(alignof(T));
    result<void *> given = alloc(arena, bytes, how);
    if (!given)
        return given.code();
    return static_cast<T *>(*given);
}

inline constexpr const char *unreachable =
    "the CPU does not reach the arena's memory, so no objects can be in it; "
    "memory=pageable, pinned, managed, and bytes of the host are accepted";

inline constexpr const char *empty = "the arena object is empty: it was moved from, or never made";

/* Whether objects can be in the arena's memory, and if not why. */
inline result<bool> holds_objects(cuarena_t *arena) noexcept
{
    if (!arena)
        return {status::bad_argument, empty};
    if (!host_readable(arena))
        return {status::unsupported, unreachable};
    return true;
}

/* The thread's default stream is another one on each thread. */
inline bool is_per_thread(cuarena_stream_t stream) noexcept
{
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
    return !stream || stream == CUARENA_STREAM_PER_THREAD;
#else
    return stream == CUARENA_STREAM_PER_THREAD;
#endif
}

/* Frees what was allocated on the stream or, if it is `named`, is to be freed there. */
inline cuarena_status_t free_pointer(cuarena_t *arena, void *pointer, cuarena_stream_t stream,
                                     bool named) noexcept
{
    return is_per_thread(stream) && !named ? cuarena_free_own(arena, pointer)
                                           : cuarena_free_on(arena, pointer, stream);
}

inline cuarena_status_t free_block(cuarena_t *arena, cuarena_block_t block, cuarena_stream_t stream,
                                   bool named) noexcept
{
    return is_per_thread(stream) && !named ? cuarena_block_free_own(arena, block)
                                           : cuarena_block_free_on(arena, block, stream);
}
} // namespace detail

} // namespace CUARENA_CXX_VARIANT
} // namespace cuarena

#endif
