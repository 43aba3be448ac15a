/*
 * Allocations of values, which stay where they are.
 */
#ifndef CUARENA_TYPED_HPP
#define CUARENA_TYPED_HPP

#include "config.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace cuarena
{
inline namespace CUARENA_CXX_VARIANT
{

/* Ends the objects of a unique_ptr and frees their bytes. */
template <typename T> class deleter
{
  public:
    deleter() noexcept = default;

    static_assert(!std::is_const_v<T> && !std::is_volatile_v<T> && !std::is_array_v<T>,
                  "objects are neither const nor volatile, and arrays have one dimension: T[]");

    deleter(cuarena_t *arena, std::size_t count) noexcept : arena_(arena), count_(count) {}

    void operator()(T *objects) const noexcept
    {
        std::destroy_n(objects, count_);
        (void)cuarena_free_on(arena_, objects, stream_);
    }

    /* How many objects there are. */
    std::size_t count() const noexcept { return count_; }

    /* The stream on which the bytes are freed: the one that used them last. */
    void set_stream(cuarena_stream_t stream) noexcept { stream_ = stream; }

  private:
    cuarena_t *arena_ = nullptr;
    std::size_t count_ = 0;
    cuarena_stream_t stream_ = CUARENA_NO_STREAM;
};

/* An object, or with T[] an array, in memory that the CPU reaches. */
template <typename T> using unique_ptr = std::unique_ptr<T, deleter<std::remove_extent_t<T>>>;

/* Owns memory for `size()` values, in any memory, at an address that stays. It does not construct
 * or touch the values, since the CPU may not reach them. */
template <typename T> class buffer
{
    static_assert(std::is_trivially_copyable_v<T>,
                  "a buffer has values that can be copied as bytes");
    static_assert(!std::is_const_v<T> && !std::is_volatile_v<T>,
                  "a buffer has values that are neither const nor volatile");

  public:
    buffer() noexcept = default;

    /* Takes over a pointer that the arena gave. */
    buffer(cuarena_t *arena, T *data, std::size_t size,
           cuarena_stream_t stream = CUARENA_NO_STREAM) noexcept
        : arena_(arena), data_(data), size_(size), stream_(stream)
    {
    }

    /* Takes over a pointer that the arena gave for a request, which is asked for again where the
     * buffer gets values after it had none. */
    buffer(cuarena_t *arena, T *data, std::size_t size, const request &how) noexcept
        : arena_(arena), data_(data), size_(size), stream_(how.stream()), how_(how)
    {
    }

    buffer(buffer &&other) noexcept { swap(other); }

    buffer &operator=(buffer &&other) noexcept
    {
        buffer(std::move(other)).swap(*this);
        return *this;
    }

    ~buffer() { (void)try_free(); }

    T *data() const noexcept { return data_; }

    std::size_t size() const noexcept { return size_; }

    cuarena_stream_t stream() const noexcept { return stream_; }

    void set_stream(cuarena_stream_t stream) noexcept
    {
        stream_ = stream;
        named_ = true;
    }

    /* Gives up the values: the caller frees them. */
    [[nodiscard]] T *release() noexcept { return buffer(std::move(*this)).forget(); }

    status try_free() noexcept
    {
        const status code =
            to_status(data_ ? detail::free_pointer(arena_, data_, stream_, named_) : CUARENA_OK);
        if (code == status::ok)
            (void)forget();
        return code;
    }

    void free() { check(try_free()); }

    /* As cuarena_resize_on: contents stay, the address may not. */
    status try_resize(std::size_t size) noexcept
    {
        result<T *> data = data_ ? resized(size) : made(size);
        if (data) {
            data_ = *data;
            size_ = size;
        }
        return data.code();
    }

    void resize(std::size_t size)
    {
        std::uint64_t bytes;
        if (detail::bytes_of<T>(size, &bytes) != status::ok)
            fail(status::out_of_memory, detail::too_many);
        check(try_resize(size));
    }

    void swap(buffer &other) noexcept
    {
        std::swap(arena_, other.arena_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(stream_, other.stream_);
        std::swap(how_, other.how_);
        std::swap(named_, other.named_);
    }

  private:
    result<T *> made(std::size_t size) const noexcept
    {
        request how = how_;
        return detail::alloc_values<T>(arena_, size, how.on(stream_));
    }

    result<T *> resized(std::size_t size) const noexcept
    {
        void *data = nullptr;
        std::uint64_t bytes = 0;
        status code = detail::bytes_of<T>(size, &bytes);
        if (code == status::ok)
            code = to_status(cuarena_resize_on(arena_, data_, bytes, stream_, &data));
        if (code != status::ok)
            return code;
        return static_cast<T *>(data);
    }

    T *forget() noexcept
    {
        size_ = 0;
        return std::exchange(data_, nullptr);
    }

    cuarena_t *arena_ = nullptr;
    T *data_ = nullptr;
    std::size_t size_ = 0;
    cuarena_stream_t stream_ = CUARENA_NO_STREAM;
    request how_;
    bool named_ = false; /* the stream, by set_stream */
};

} // namespace CUARENA_CXX_VARIANT
} // namespace cuarena

#endif
