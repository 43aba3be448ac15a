/*
 * A std::pmr::memory_resource on an arena, where the standard library has them.
 */
#ifndef CUARENA_RESOURCE_HPP
#define CUARENA_RESOURCE_HPP

#include "arena.hpp"

#include <cstddef>
#include <cstdint>
#if __has_include(<memory_resource>)
#include <memory_resource>
#endif

namespace cuarena
{
inline namespace CUARENA_CXX_VARIANT
{

#ifdef __cpp_lib_memory_resource
/*
 * Standard containers allocate from it. Two resources on the same arena are equal: what one
 * allocated the other may free; without types at run time each equals only itself. The arena object
 * may be moved; once it has ended, the resource may still free, but no longer allocate. Like every
 * std::pmr::memory_resource it throws.
 */
class memory_resource : public std::pmr::memory_resource
{
  public:
    /* Blocks get the tag; 0: none. Throws, status unsupported, if the CPU does not reach the
     * memory: ask arena::host_readable where that may be. */
    explicit memory_resource(const arena &from, cuarena_tag_t tag = 0)
        : arena_(from.get()), tag_(tag), granule_bytes_(detail::properties_of(arena_).granule_bytes)
    {
        const result<bool> holds = detail::holds_objects(arena_);
        if (!holds)
            fail(holds.code(), holds.why());
    }

    /* The arena would end at once. */
    explicit memory_resource(arena &&, cuarena_tag_t = 0) = delete;

    cuarena_t *get() const noexcept { return arena_; }

  private:
    void *do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        /* An arena gives no address for 0 bytes; a resource has to. */
        request how;
        if (tag_ != 0)
            how.tag(tag_);
        if (alignment > granule_bytes_)
            how.align(alignment);
        return detail::alloc(arena_, bytes > 0 ? bytes : 1, how).value();
    }

    void do_deallocate(void *pointer, std::size_t, std::size_t) override
    {
        (void)cuarena_free(arena_, pointer);
    }

    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
    {
#ifdef __cpp_rtti
        const auto *same = dynamic_cast<const memory_resource *>(&other);
        return same && same->arena_ == arena_;
#else
        return this == &other;
#endif
    }

    cuarena_t *arena_;
    cuarena_tag_t tag_;
    std::uint64_t granule_bytes_; /* every address is a multiple of it */
};
#endif

} // namespace CUARENA_CXX_VARIANT
} // namespace cuarena

#endif
