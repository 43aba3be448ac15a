/*
 * Relocation callbacks in C++: anything that can be called.
 */
#ifndef CUARENA_MOVES_HPP
#define CUARENA_MOVES_HPP

#include "error.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>

namespace cuarena
{
inline namespace CUARENA_CXX_VARIANT
{

/* The relocations of one batch, valid during the call of the callback that gets them. */
class relocations
{
  public:
    relocations(const cuarena_relocation_t *list, std::size_t count) noexcept
        : list_(list), count_(count)
    {
    }

    const cuarena_relocation_t *begin() const noexcept { return list_; }

    const cuarena_relocation_t *end() const noexcept { return list_ + count_; }

    std::size_t size() const noexcept { return count_; }

  private:
    const cuarena_relocation_t *list_;
    std::size_t count_;
};

namespace detail
{
/* Calls `callable`, which returns nothing, or false to stop. */
template <typename F> bool tell(F &callable, relocations moved)
{
    if constexpr (std::is_void_v<std::invoke_result_t<F &, relocations>>) {
        callable(moved);
        return true;
    } else {
        return callable(moved);
    }
}

/* Runs a callable from one call of a C function. Nothing may be thrown through C, so what the
 * callable throws ends that call, and is thrown again after it. */
template <typename F> class listening
{
  public:
    explicit listening(F &callable) noexcept : callable_(callable) {}

    static std::int32_t run(void *user, const cuarena_relocation_t *list,
                            std::size_t count) noexcept
    {
        auto *self = static_cast<listening *>(user);
#ifdef __cpp_exceptions
        try {
            return tell(self->callable_, {list, count}) ? 0 : 1;
        } catch (...) {
            self->thrown_ = std::current_exception();
            return 1;
        }
#else
        return tell(self->callable_, {list, count}) ? 0 : 1;
#endif
    }

    void rethrow() const
    {
#ifdef __cpp_exceptions
        if (thrown_)
            std::rethrow_exception(thrown_);
#endif
    }

  private:
    F &callable_;
#ifdef __cpp_exceptions
    std::exception_ptr thrown_;
#endif
};

/* Runs a callable that is kept, and that any call of a C function may run. */
template <typename F>
std::int32_t run_kept(void *user, const cuarena_relocation_t *list, std::size_t count) noexcept
{
    return tell(*static_cast<F *>(user), {list, count}) ? 0 : 1;
}
} // namespace detail

} // namespace CUARENA_CXX_VARIANT
} // namespace cuarena

#endif
