/*
 * The arena in C++.
 */
#ifndef CUARENA_ARENA_HPP
#define CUARENA_ARENA_HPP

#include "block.hpp"
#include "config.hpp"
#include "moves.hpp"
#include "typed.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace cuarena
{
inline namespace CUARENA_CXX_VARIANT
{

/*
 * Owns an arena. Moving the object moves no memory: blocks, pointers and resources know the C
 * arena. It is not for arenas that the process shares (shared.h), since it would destroy them.
 */
class arena
{
  public:
    arena() noexcept = default;

    /* Makes an arena of options such as "memory=device, pool=80%", as cuarena_open does; "" and
     * nullptr mean the defaults. Throws; try_create gives a status. */
    explicit arena(const char *options) : arena(try_create(options).value()) {}

    explicit arena(const cuarena_config_t &options) : arena(try_create(options).value()) {}

    static result<arena> try_create(const char *options) noexcept
    {
        arena made;
        const status code = to_status(cuarena_open(options, &made.handle_));
        if (code != status::ok)
            return code;
        return made;
    }

    static result<arena> try_create(const cuarena_config_t &options) noexcept
    {
        arena made;
        const status code = to_status(cuarena_create(&options, &made.handle_));
        if (code != status::ok)
            return code;
        return made;
    }

    /* Takes over an arena that C made. */
    static arena take(cuarena_t *handle) noexcept
    {
        arena taken;
        taken.handle_ = handle;
        return taken;
    }

    arena(arena &&other) noexcept : handle_(other.release()) {}

    arena &operator=(arena &&other) noexcept
    {
        arena(std::move(other)).swap(*this);
        return *this;
    }

    /*
     * Ends the arena at once if no block or pointer of it lives; otherwise retires it
     * (cuarena_retire), and it ends with the last of them. The end waits for the work of its
     * streams. A block that nobody frees keeps the arena: destroy() says whether there is one, and
     * destroy_forced() ends the arena all the same. Bytes or functions of the program's that the
     * arena uses must outlive it, so end such an arena by destroy(). Not to be called from one of
     * the arena's own callbacks.
     */
    ~arena()
    {
        if (handle_ && cuarena_retire(handle_, end_retired, nullptr) == CUARENA_STALE)
            (void)cuarena_destroy_forced(&handle_);
    }

    explicit operator bool() const noexcept { return handle_ != nullptr; }

    /* For the functions of C. */
    cuarena_t *get() const noexcept { return handle_; }

    /* Gives up the arena: the caller destroys it. */
    [[nodiscard]] cuarena_t *release() noexcept { return std::exchange(handle_, nullptr); }

    void swap(arena &other) noexcept { std::swap(handle_, other.handle_); }

    /* Ends the arena; status::busy, with nothing changed, while blocks live. */
    status try_destroy() noexcept { return to_status(cuarena_destroy(&handle_)); }

    void destroy() { check(try_destroy()); }

    /* Ends the arena with all that lives in it. Objects that own blocks of it must have ended, or
     * have released them. */
    status try_destroy_forced() noexcept { return to_status(cuarena_destroy_forced(&handle_)); }

    void destroy_forced() { check(try_destroy_forced()); }

    /* Whether the CPU reaches the bytes. */
    bool host_readable() const noexcept { return detail::host_readable(handle_); }

    /* -- Pointers -- */

    result<void *> try_alloc(std::uint64_t bytes, const request &how = {}) const noexcept
    {
        return detail::alloc(handle_, bytes, how);
    }

    void *alloc(std::uint64_t bytes, const request &how = {}) const
    {
        return try_alloc(bytes, how).value();
    }

    status try_free(void *pointer, cuarena_stream_t stream = CUARENA_NO_STREAM) const noexcept
    {
        return to_status(cuarena_free_on(handle_, pointer, stream));
    }

    void free(void *pointer, cuarena_stream_t stream = CUARENA_NO_STREAM) const
    {
        check(try_free(pointer, stream));
    }

    /* -- Owners of blocks -- */

    result<block> try_make_block(std::uint64_t bytes, const request &how = {}) const noexcept
    {
        cuarena_block_t id = 0;
        const status code =
            to_status(cuarena_block_alloc_on(handle_, bytes, how.stream(), how.get(), &id));
        if (code != status::ok)
            return code;
        return block(handle_, id, bytes, how.stream());
    }

    block make_block(std::uint64_t bytes, const request &how = {}) const
    {
        return try_make_block(bytes, how).value();
    }

    template <typename T>
    result<buffer<T>> try_make_buffer(std::size_t size, const request &how = {}) const noexcept
    {
        result<T *> data = detail::alloc_values<T>(handle_, size, how);
        if (!data)
            return {data.code(), data.why()};
        return buffer<T>(handle_, *data, size, how);
    }

    template <typename T> buffer<T> make_buffer(std::size_t size, const request &how = {}) const
    {
        return try_make_buffer<T>(size, how).value();
    }

    /* Constructs an object from the arguments. What its constructor throws comes out of both forms.
     * Status unsupported if the CPU does not reach the memory. */
    template <typename T, typename... Arguments, std::enable_if_t<!std::is_array_v<T>, int> = 0>
    result<unique_ptr<T>> try_make_unique(Arguments &&...arguments) const
    {
        result<buffer<std::byte>> bytes = storage<T>(1);
        if (!bytes)
            return {bytes.code(), bytes.why()};
        void *place = bytes->data();
        T *object = ::new (place) T(std::forward<Arguments>(arguments)...);
        (void)bytes->release();
        return unique_ptr<T>(object, deleter<T>(handle_, 1));
    }

    template <typename T, typename... Arguments, std::enable_if_t<!std::is_array_v<T>, int> = 0>
    unique_ptr<T> make_unique(Arguments &&...arguments) const
    {
        return try_make_unique<T>(std::forward<Arguments>(arguments)...).value();
    }

    /* For T[]: constructs `count` values, each as T() does. What a constructor throws comes out of
     * both forms. Status unsupported if the CPU does not reach the memory. */
    template <typename T, std::enable_if_t<std::is_array_v<T>, int> = 0>
    result<unique_ptr<T>> try_make_unique(std::size_t count) const
    {
        static_assert(std::extent_v<T> == 0, "an array has its length at run time: T[]");
        using value = std::remove_extent_t<T>;
        result<buffer<std::byte>> bytes = storage<value>(count);
        if (!bytes)
            return {bytes.code(), bytes.why()};
        auto *values = reinterpret_cast<value *>(bytes->data());
        std::uninitialized_value_construct_n(values, count);
        (void)bytes->release();
        return unique_ptr<T>(values, deleter<value>(handle_, count));
    }

    template <typename T, std::enable_if_t<std::is_array_v<T>, int> = 0>
    unique_ptr<T> make_unique(std::size_t count) const
    {
        return try_make_unique<T>(count).value();
    }

    /* -- Compaction -- */

    /* Compacts (compact.h). `callable` is called with relocations, and returns nothing, or whether
     * to go on. What it throws ends the compaction after the batch that it was told of, and comes
     * out of both forms. nullptr options: the defaults. */
    template <typename F>
    result<cuarena_compact_report_t> try_compact(const cuarena_compact_options_t *options,
                                                 F &&callable) const
    {
        using listening = detail::listening<std::remove_reference_t<F>>;
        listening listener(callable);
        cuarena_compact_report_t report;
        cuarena_compact_report_init(&report);
        const status code =
            to_status(cuarena_compact(handle_, options, listening::run, &listener, &report));
        listener.rethrow();
        if (code != status::ok)
            return code;
        return report;
    }

    template <typename F>
    cuarena_compact_report_t compact(const cuarena_compact_options_t *options, F &&callable) const
    {
        return try_compact(options, callable).value();
    }

    result<cuarena_compact_report_t> try_compact(
        const cuarena_compact_options_t *options = nullptr) const
    {
        return try_compact(options, [](relocations) {});
    }

    cuarena_compact_report_t compact(const cuarena_compact_options_t *options = nullptr) const
    {
        return try_compact(options).value();
    }

    /* See cuarena_set_relocation_callback. The callable is kept by reference, so it must live until
     * the arena ends or another one is set. It must be noexcept, since it is called in whichever
     * thread's call moves blocks, where nobody expects its exceptions. */
    template <typename F> void set_relocation_callback(F &callable) const
    {
        static_assert(std::is_nothrow_invocable_v<F &, relocations>,
                      "a relocation callback that is kept is noexcept");
        check(cuarena_set_relocation_callback(handle_, detail::run_kept<F>, &callable));
    }

    /* -- Trimming, streams, tags, statistics -- */

    status try_trim(std::uint64_t keep_bytes = 0) const noexcept
    {
        std::uint64_t given_back = 0;
        return to_status(cuarena_trim(handle_, keep_bytes, &given_back));
    }

    void trim(std::uint64_t keep_bytes = 0) const { check(try_trim(keep_bytes)); }

    status try_release_stream(cuarena_stream_t stream) const noexcept
    {
        return to_status(cuarena_release_stream(handle_, stream));
    }

    void release_stream(cuarena_stream_t stream) const { check(try_release_stream(stream)); }

    result<cuarena_tag_t> try_tag(const char *name) const noexcept
    {
        cuarena_tag_t tag = 0;
        const status code = to_status(cuarena_tag(handle_, name, &tag));
        if (code != status::ok)
            return code;
        return tag;
    }

    cuarena_tag_t tag(const char *name) const { return try_tag(name).value(); }

    /* Statistics of a region, or with CUARENA_REGION_ALL of the arena. */
    cuarena_stats_t stats(std::int32_t region = CUARENA_REGION_ALL) const
    {
        cuarena_stats_t stats;
        cuarena_stats_init(&stats);
        check(cuarena_stats(handle_, region, &stats));
        return stats;
    }

  private:
    static void end_retired(void *, cuarena_t *retired) noexcept
    {
        (void)cuarena_destroy_forced(&retired);
    }

    /* Bytes for objects; they are freed unless the caller releases them. */
    template <typename T> result<buffer<std::byte>> storage(std::size_t count) const noexcept
    {
        const result<bool> holds = detail::holds_objects(handle_);
        if (!holds)
            return {holds.code(), holds.why()};
        result<T *> values = detail::alloc_values<T>(handle_, count, {});
        if (!values)
            return {values.code(), values.why()};
        return buffer<std::byte>(handle_, reinterpret_cast<std::byte *>(*values),
                                 count * sizeof(T));
    }

    cuarena_t *handle_ = nullptr;
};

} // namespace CUARENA_CXX_VARIANT
} // namespace cuarena

#endif
