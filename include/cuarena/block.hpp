/*
 * Blocks that may move, and what holds them in place.
 */
#ifndef CUARENA_BLOCK_HPP
#define CUARENA_BLOCK_HPP

#include "config.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace cuarena
{
inline namespace CUARENA_CXX_VARIANT
{

/* Pins a block as long as this object lives (cuarena_block_pin), and gives its address as an array
 * of T. It must end before its block. Whether the CPU or kernels may touch the values depends on
 * the memory; this class does not touch them. */
template <typename T = std::byte> class pinned
{
  public:
    pinned() noexcept = default;

    pinned(cuarena_t *arena, cuarena_block_t block, cuarena_stream_t stream, T *data,
           std::size_t size) noexcept
        : arena_(arena), block_(block), stream_(stream), data_(data), size_(size)
    {
    }

    pinned(pinned &&other) noexcept { swap(other); }

    pinned &operator=(pinned &&other) noexcept
    {
        pinned(std::move(other)).swap(*this);
        return *this;
    }

    ~pinned()
    {
        if (arena_)
            (void)cuarena_block_unpin_on(arena_, block_, stream_);
    }

    T *data() const noexcept { return data_; }

    std::size_t size() const noexcept { return size_; }

    T *begin() const noexcept { return data_; }

    T *end() const noexcept { return data_ + size_; }

    T &operator[](std::size_t index) const noexcept { return data_[index]; }

    void swap(pinned &other) noexcept
    {
        std::swap(arena_, other.arena_);
        std::swap(block_, other.block_);
        std::swap(stream_, other.stream_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

  private:
    cuarena_t *arena_ = nullptr;
    cuarena_block_t block_ = 0;
    cuarena_stream_t stream_ = CUARENA_NO_STREAM;
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/* Owns a block: bytes that are named by an id, and may move while they are not pinned. */
class block
{
  public:
    block() noexcept = default;

    /* Takes over a block of the arena, of which `size_bytes` were asked for. */
    block(cuarena_t *arena, cuarena_block_t id, std::uint64_t size_bytes,
          cuarena_stream_t stream = CUARENA_NO_STREAM) noexcept
        : arena_(arena), id_(id), size_bytes_(size_bytes), stream_(stream)
    {
    }

    block(block &&other) noexcept { swap(other); }

    block &operator=(block &&other) noexcept
    {
        block(std::move(other)).swap(*this);
        return *this;
    }

    ~block() { (void)try_free(); }

    /* Whether it owns a block. */
    explicit operator bool() const noexcept { return id_ != 0; }

    cuarena_block_t id() const noexcept { return id_; }

    std::uint64_t size_bytes() const noexcept { return size_bytes_; }

    cuarena_stream_t stream() const noexcept { return stream_; }

    /* The stream that the block is resized and freed on. */
    void set_stream(cuarena_stream_t stream) noexcept
    {
        stream_ = stream;
        named_ = true;
    }

    /* Gives up the block: the caller frees it. */
    [[nodiscard]] cuarena_block_t release() noexcept
    {
        size_bytes_ = 0;
        return std::exchange(id_, 0);
    }

    status try_free() noexcept
    {
        const status code =
            to_status(id_ ? detail::free_block(arena_, id_, stream_, named_) : CUARENA_OK);
        if (code == status::ok)
            (void)release();
        return code;
    }

    void free() { check(try_free()); }

    status try_resize(std::uint64_t bytes) noexcept
    {
        const status code = to_status(cuarena_block_resize_on(arena_, id_, bytes, stream_));
        if (code == status::ok)
            size_bytes_ = bytes;
        return code;
    }

    void resize(std::uint64_t bytes) { check(try_resize(bytes)); }

    /* Pins the block, as an array of as many T as it has room for. With a stream, the stream waits
     * for compactions that moved the block, as cuarena_block_pin_on says, and the pin ends at the
     * point of the stream that it has reached when the object ends. Status bad_argument if the
     * address is not aligned for T; see request::align. */
    template <typename T = std::byte>
    result<pinned<T>> try_pin(cuarena_stream_t stream = CUARENA_NO_STREAM) const noexcept
    {
        void *address = nullptr;
        const status code = to_status(cuarena_block_pin_on(arena_, id_, stream, &address));
        if (code != status::ok)
            return code;
        pinned<T> held(arena_, id_, stream, static_cast<T *>(address),
                       static_cast<std::size_t>(size_bytes_ / sizeof(T)));
        if (reinterpret_cast<std::uintptr_t>(address) % alignof(T) != 0)
            return {status::bad_argument, "the block was not allocated with the type's alignment"};
        return held;
    }

    template <typename T = std::byte>
    pinned<T> pin(cuarena_stream_t stream = CUARENA_NO_STREAM) const
    {
        return try_pin<T>(stream).value();
    }

    void swap(block &other) noexcept
    {
        std::swap(arena_, other.arena_);
        std::swap(id_, other.id_);
        std::swap(size_bytes_, other.size_bytes_);
        std::swap(stream_, other.stream_);
        std::swap(named_, other.named_);
    }

  private:
    cuarena_t *arena_ = nullptr;
    cuarena_block_t id_ = 0;
    std::uint64_t size_bytes_ = 0;
    cuarena_stream_t stream_ = CUARENA_NO_STREAM;
    bool named_ = false; /* the stream, by set_stream */
};

} // namespace CUARENA_CXX_VARIANT
} // namespace cuarena

#endif
