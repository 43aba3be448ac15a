/*
 * Errors of the C++ header, as exceptions and as statuses: see cuarena.hpp.
 */
#ifndef CUARENA_ERROR_HPP
#define CUARENA_ERROR_HPP

/* C has functions and structures of one name. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
#include "../cuarena.h"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

/* Code that is compiled with and without exceptions, with and without types at run time, or with
 * another meaning of the stream NULL, differs, so each gets names of its own: a linker must not
 * take one for the other. So a type of one is not that of another: see cuarena.hpp. */
#ifdef __cpp_exceptions
#define CUARENA_CXX_ERRORS throws
#else
#define CUARENA_CXX_ERRORS aborts
#endif
#ifdef __cpp_rtti
#define CUARENA_CXX_TYPES
#else
#define CUARENA_CXX_TYPES _untyped
#endif
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define CUARENA_CXX_NULL _per_thread
#else
#define CUARENA_CXX_NULL
#endif
#define CUARENA_CXX_JOINED(errors, types, null) errors##types##null
#define CUARENA_CXX_JOIN(errors, types, null) CUARENA_CXX_JOINED(errors, types, null)
#define CUARENA_CXX_VARIANT                                                                        \
    CUARENA_CXX_JOIN(CUARENA_CXX_ERRORS, CUARENA_CXX_TYPES, CUARENA_CXX_NULL)

namespace cuarena
{
inline namespace CUARENA_CXX_VARIANT
{

/* The statuses of base.h. They are std::error_codes too (make_error_code): those of status::limit,
 * out_of_memory and fragmented compare equal to std::errc::not_enough_memory. */
enum class [[nodiscard]] status : cuarena_status_t{
    ok = CUARENA_OK,
    bad_argument = CUARENA_BAD_ARGUMENT,
    out_of_memory = CUARENA_OUT_OF_MEMORY,
    fragmented = CUARENA_FRAGMENTED,
    limit = CUARENA_LIMIT,
    no_device = CUARENA_NO_DEVICE,
    driver = CUARENA_DRIVER,
    lost = CUARENA_LOST,
    unsupported = CUARENA_UNSUPPORTED,
    stale = CUARENA_STALE,
    busy = CUARENA_BUSY,
    reentered = CUARENA_REENTERED,
    corrupt = CUARENA_CORRUPT,
};

/* The status that a C function returned. */
constexpr status to_status(cuarena_status_t code) noexcept
{
    return static_cast<status>(code);
}

/* "CUARENA_LIMIT" and the like. */
inline const char *name(status code) noexcept
{
    return cuarena_status_name(static_cast<cuarena_status_t>(code));
}

/* Why the last failing call of this thread failed. */
inline cuarena_error_info_t last_error() noexcept
{
    cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    (void)cuarena_last_error_info(&info);
    return info;
}

namespace detail
{
/* What is known of a failure: `why`, or else the thread's last error, if that is this one. */
inline cuarena_error_info_t describe(status code, const char *why) noexcept
{
    const auto number = static_cast<cuarena_status_t>(code);
    cuarena_error_info_t info = last_error();
    if (!why && info.status == number)
        return info;
    cuarena_error_info_init(&info);
    info.status = number;
    std::snprintf(info.message, sizeof info.message, "%s", why ? why : cuarena_status_text(number));
    return info;
}

class category final : public std::error_category
{
  public:
    const char *name() const noexcept override { return "cuarena"; }

    std::string message(int code) const override { return cuarena_status_text(code); }

    std::error_condition default_error_condition(int code) const noexcept override
    {
        switch (to_status(code)) {
        case status::bad_argument:
            return std::errc::invalid_argument;
        case status::out_of_memory:
        case status::fragmented:
        case status::limit:
            return std::errc::not_enough_memory;
        case status::no_device:
            return std::errc::no_such_device;
        case status::unsupported:
            return std::errc::not_supported;
        case status::busy:
            return std::errc::device_or_resource_busy;
        default:
            return {code, *this};
        }
    }
};
} // namespace detail

inline const std::error_category &error_category() noexcept
{
    static const detail::category the;
    return the;
}

inline std::error_code make_error_code(status code) noexcept
{
    return {static_cast<int>(code), error_category()};
}

/* The second base class of every exception of this header. */
class failure
{
  public:
    explicit failure(const cuarena_error_info_t &info) noexcept : info_(info) {}

    status code() const noexcept { return to_status(info_.status); }

    /* The last error of the thread when it was thrown: what was asked for, what the limit is and so
     * on. Of a result that is read after another call has failed, that call's. */
    const cuarena_error_info_t &info() const noexcept { return info_; }

  protected:
    ~failure() = default;

  private:
    cuarena_error_info_t info_;
};

/* Thrown for statuses out_of_memory, fragmented and limit. */
class bad_alloc : public std::bad_alloc, public failure
{
  public:
    using failure::failure;

    const char *what() const noexcept override { return info().message; }
};

/* Thrown for all other statuses. */
class error : public std::runtime_error, public failure
{
  public:
    explicit error(const cuarena_error_info_t &info)
        : std::runtime_error(info.message), failure(info)
    {
    }
};

/* Throws the exception for the status. `why`, static text, is its message; nullptr: that of the
 * last error. */
[[noreturn]] inline void fail(status code, const char *why = nullptr)
{
    const cuarena_error_info_t info = detail::describe(code, why);
#ifdef __cpp_exceptions
    if (make_error_code(code) == std::errc::not_enough_memory)
        throw bad_alloc(info);
    throw error(info);
#else
    std::fprintf(stderr, "cuarena: %s: %s\n", name(code), info.message);
    std::abort();
#endif
}

inline void check(status code)
{
    if (code != status::ok)
        fail(code);
}

inline void check(cuarena_status_t code)
{
    check(to_status(code));
}

/* A value, or the status that says why there is none; *result is an empty value then. */
template <typename T> class [[nodiscard]] result
{
  public:
    /* `why`: static text, where the thread's last error does not say it. */
    result(status code, const char *why = nullptr) noexcept : code_(code), why_(why) {}

    result(T &&value) noexcept : value_(std::move(value)) {}

    explicit operator bool() const noexcept { return code_ == status::ok; }

    status code() const noexcept { return code_; }

    /* nullptr: the thread's last error says it. */
    const char *why() const noexcept { return why_; }

    T &operator*() noexcept { return value_; }

    const T &operator*() const noexcept { return value_; }

    T *operator->() noexcept { return &value_; }

    const T *operator->() const noexcept { return &value_; }

    /* Hands the value over, or throws. */
    T value()
    {
        if (code_ != status::ok)
            fail(code_, why_);
        return std::move(value_);
    }

  private:
    status code_ = status::ok;
    const char *why_ = nullptr;
    T value_{};
};

} // namespace CUARENA_CXX_VARIANT
} // namespace cuarena

template <> struct std::is_error_code_enum<cuarena::status> : std::true_type {
};

#endif
