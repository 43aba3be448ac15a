/* The C++ header: who owns what, what throws what, what it does to the C
 * arena. Started with "abort" it ends as code without exceptions ends. */
#include "expect.hpp"

#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

using cuarena::status;

void other_variant_tells_statuses();
void other_variant_aborts();

namespace
{

constexpr std::uint64_t mib = 1 << 20;

/* A memory of the process's own heap that counts its segments, to see when an arena has ended. */
class counted_memory
{
  public:
    counted_memory()
    {
        cuarena_memory_ops_init(&ops_);
        ops_.name = "counted";
        ops_.properties = CUARENA_MEMORY_HOST_READABLE | CUARENA_MEMORY_TOUCHES;
        ops_.alignment = 4096;
        ops_.get = get;
        ops_.give_back = give_back;
    }

    cuarena::arena arena()
    {
        return arena_with([](cuarena_memory_ops_t &) {});
    }

    template <typename F> cuarena::arena arena_with(F change)
    {
        change(ops_);
        cuarena::config config("preset=grow");
        config.memory = CUARENA_MEMORY_CUSTOM;
        config.ops = &ops_;
        config.ops_user = this;
        return cuarena::arena(config);
    }

    int segments() const { return segments_; }

  private:
    static cuarena_status_t get(void *user, std::uint64_t bytes, std::uint64_t,
                                cuarena_memory_segment_t *segment_out) noexcept
    {
        void *address = std::aligned_alloc(4096, bytes);
        if (!address)
            return CUARENA_OUT_OF_MEMORY;
        static_cast<counted_memory *>(user)->segments_++;
        segment_out->address = reinterpret_cast<std::uintptr_t>(address);
        segment_out->bytes = bytes;
        segment_out->address_bytes = bytes;
        segment_out->cookie = address;
        return CUARENA_OK;
    }

    static void give_back(void *user, cuarena_memory_segment_t *segment) noexcept
    {
        static_cast<counted_memory *>(user)->segments_--;
        std::free(segment->cookie);
    }

    cuarena_memory_ops_t ops_;
    int segments_ = 0;
};

/* What a call throws: its code, or ok. */
template <typename Exception, typename F> status thrown(F &&call)
{
    try {
        call();
    } catch (const Exception &failure) {
        return failure.code();
    }
    return status::ok;
}

cuarena_block_info_t info_of(const cuarena::arena &arena, const cuarena::block &block)
{
    cuarena_block_info_t info;
    cuarena::check(cuarena_block_info(arena.get(), block.id(), &info));
    return info;
}

/* ---- Errors ------------------------------------------------------------ */

void short_of_bytes_is_a_bad_alloc_with_the_last_error()
{
    cuarena::arena arena("pool=1MiB");
    try {
        (void)arena.alloc(2 * mib);
        EXPECT_NOT_REACHED();
    } catch (const std::bad_alloc &caught) {
        const auto *failure = dynamic_cast<const cuarena::failure *>(&caught);
        EXPECT(failure != nullptr);
        EXPECT_EQ(failure->code(), status::out_of_memory);
        EXPECT_EQ(failure->info().asked_bytes, 2 * mib);
        EXPECT_EQ(std::strcmp(caught.what(), cuarena::last_error().message), 0);
    }
    EXPECT_VALID(arena);
}

void a_wrong_option_is_a_runtime_error_that_names_it()
{
    try {
        cuarena::arena arena("pool=1MiB,colour=red");
        EXPECT_NOT_REACHED();
    } catch (const std::runtime_error &caught) {
        EXPECT(std::strstr(caught.what(), "colour") != nullptr);
    }
    EXPECT_EQ(cuarena::arena::try_create("colour=red").code(), status::bad_argument);
    cuarena::config config;
    EXPECT_EQ(thrown<cuarena::error>([&] { config.set("zero", "perhaps"); }), status::bad_argument);
}

void statuses_are_error_codes()
{
    const std::error_code code = status::fragmented;
    EXPECT(code == std::errc::not_enough_memory);
    EXPECT(make_error_code(status::limit) == std::errc::not_enough_memory);
    EXPECT_EQ(std::string(code.category().name()), "cuarena");
    EXPECT_EQ(code.message(), cuarena_status_text(CUARENA_FRAGMENTED));
    EXPECT(std::error_code(status::busy) == std::errc::device_or_resource_busy);
    EXPECT(!std::error_code(status::ok));
    EXPECT(std::error_code(status::stale) != std::errc::invalid_argument);
}

/* ---- Arenas ------------------------------------------------------------ */

void an_arena_ends_with_its_object()
{
    counted_memory memory;
    {
        cuarena::arena arena = memory.arena();
        cuarena::block block = arena.make_block(1000);
        EXPECT_EQ(memory.segments(), 1);
    }
    EXPECT_EQ(memory.segments(), 0);
}

void an_arena_ends_with_the_last_block_that_outlives_it()
{
    counted_memory memory;
    cuarena::buffer<float> buffer;
    cuarena::block block;
    {
        cuarena::arena arena = memory.arena();
        buffer = arena.make_buffer<float>(10);
        block = arena.make_block(1000);
    }
    EXPECT_EQ(memory.segments(), 1);
    std::memset(block.pin().data(), 1, 1000);
    block.free();
    EXPECT_EQ(memory.segments(), 1);
    buffer = {};
    EXPECT_EQ(memory.segments(), 0);
}

void moving_an_arena_leaves_what_knows_it()
{
    cuarena::arena first("pool=1MiB");
    cuarena::block block = first.make_block(100);
    cuarena::arena second = std::move(first);
    EXPECT(!first);
    block.resize(200);
    EXPECT_EQ(second.stats().requested_bytes, 200u);
    second = cuarena::arena("pool=2MiB");
    EXPECT_EQ(second.stats().live_blocks, 0u);
    block.free();
}

void destroy_refuses_while_a_block_lives_and_changes_nothing()
{
    cuarena::arena arena("pool=1MiB");
    cuarena::block block = arena.make_block(100, cuarena::request().tag(arena.tag("weights")));
    EXPECT_EQ(arena.try_destroy(), status::busy);
    EXPECT_EQ(thrown<cuarena::error>([&] { arena.destroy(); }), status::busy);
    EXPECT(std::strstr(cuarena::last_error().message, "weights") != nullptr);
    EXPECT_VALID(arena);
    block.free();
    arena.destroy();
    EXPECT(!arena);
    arena.destroy();
}

void forced_destruction_ends_what_was_released()
{
    counted_memory memory;
    cuarena::arena arena = memory.arena();
    EXPECT(arena.make_block(100).release() != 0);
    EXPECT(arena.alloc(100) != nullptr);
    arena.destroy_forced();
    EXPECT_EQ(memory.segments(), 0);
}

/* ---- Blocks ------------------------------------------------------------ */

void a_block_frees_itself_once()
{
    cuarena::arena arena("pool=1MiB");
    {
        cuarena::block first = arena.make_block(100);
        cuarena::block second = std::move(first);
        EXPECT(!first);
        EXPECT_EQ(first.try_free(), status::ok);
        cuarena::block &same = second;
        second = std::move(same);
        EXPECT(second);
        EXPECT_EQ(arena.stats().live_blocks, 1u);
    }
    EXPECT_EQ(arena.stats().live_blocks, 0u);
    EXPECT_EQ(arena.stats().frees, 1u);
    EXPECT_VALID(arena);
}

void a_stale_block_says_so()
{
    cuarena::arena arena("pool=1MiB");
    cuarena::block block = arena.make_block(100);
    EXPECT_EQ(arena.try_free(block.pin().data()), status::ok);
    EXPECT_EQ(block.try_free(), status::stale);
    EXPECT_EQ(block.try_resize(10), status::stale);
    EXPECT_EQ(block.try_pin().code(), status::stale);
    EXPECT_EQ(thrown<cuarena::error>([&] { block.resize(1); }), status::stale);
    EXPECT(block.release() != 0);
    EXPECT_VALID(arena);
}

void a_pin_holds_until_its_end()
{
    cuarena::arena arena("pool=1MiB");
    cuarena::block block = arena.make_block(100);
    {
        cuarena::pinned<std::uint32_t> one = block.pin<std::uint32_t>();
        cuarena::pinned<std::uint32_t> two = block.pin<std::uint32_t>();
        EXPECT_EQ(one.size(), 25u);
        EXPECT_EQ(info_of(arena, block).pins, 2);
        one = std::move(two);
        EXPECT_EQ(info_of(arena, block).pins, 1);
        for (std::uint32_t &value : one)
            value = 7;
        EXPECT_EQ(one[24], 7u);
    }
    EXPECT_EQ(info_of(arena, block).pins, 0);
    EXPECT_VALID(arena);
}

void a_pin_of_a_type_with_more_alignment_is_refused_and_not_kept()
{
    struct alignas(64) line {
        char bytes[64];
    };
    cuarena::arena arena("pool=1MiB,alignment=8");
    std::vector<cuarena::block> blocks;
    blocks.push_back(arena.make_block(8));
    blocks.push_back(arena.make_block(640));
    cuarena::block aligned = arena.make_block(640, cuarena::request().align(64));
    const auto refused = blocks[1].try_pin<line>();
    EXPECT_EQ(refused.code(), status::bad_argument);
    EXPECT_EQ(info_of(arena, blocks[1]).pins, 0);
    EXPECT_EQ(aligned.pin<line>().size(), 10u);
    EXPECT_VALID(arena);
}

/* ---- Compaction -------------------------------------------------------- */

/* Four blocks with a hole before the last three, filled with their numbers. */
std::vector<cuarena::block> holed(const cuarena::arena &arena)
{
    std::vector<cuarena::block> blocks;
    for (int i = 0; i < 4; i++) {
        blocks.push_back(arena.make_block(mib / 8));
        std::memset(blocks.back().pin().data(), i, mib / 8);
    }
    blocks.erase(blocks.begin());
    return blocks;
}

void compaction_tells_a_lambda_and_keeps_contents()
{
    cuarena::arena arena("pool=1MiB");
    std::vector<cuarena::block> blocks = holed(arena);
    std::vector<cuarena_block_t> told;
    const cuarena_compact_report_t report = arena.compact(nullptr, [&](cuarena::relocations moved) {
        for (const cuarena_relocation_t &move : moved)
            told.push_back(move.block);
    });
    EXPECT_EQ(report.moves, 3u);
    EXPECT_EQ(told.size(), 3u);
    for (std::size_t i = 0; i < blocks.size(); i++) {
        EXPECT_EQ(told[i], blocks[i].id());
        EXPECT_EQ(static_cast<std::size_t>(blocks[i].pin()[0]), i + 1);
    }
    EXPECT_VALID(arena);
}

cuarena_compact_options_t one_by_one()
{
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.batch_moves = 1;
    return options;
}

void a_callback_that_says_false_stops()
{
    cuarena::arena arena("pool=1MiB");
    std::vector<cuarena::block> blocks = holed(arena);
    const cuarena_compact_options_t options = one_by_one();
    int calls = 0;
    const auto report = arena.compact(&options, [&](cuarena::relocations) { return ++calls < 2; });
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(report.moves, 2u);
    EXPECT_EQ(report.stopped, 1);
    EXPECT_VALID(arena);
}

void what_a_callback_throws_comes_out_behind_the_call()
{
    cuarena::arena arena("pool=1MiB");
    std::vector<cuarena::block> blocks = holed(arena);
    const cuarena_compact_options_t options = one_by_one();
    int calls = 0;
    auto throwing = [&](cuarena::relocations) {
        calls++;
        throw std::string("from the callback");
    };
    try {
        (void)arena.try_compact(&options, throwing);
        EXPECT_NOT_REACHED();
    } catch (const std::string &caught) {
        EXPECT_EQ(caught, "from the callback");
    }
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(arena.stats().moves, 1u);
    EXPECT_VALID(arena);
    EXPECT_EQ(arena.compact().moves, 2u);
    EXPECT_VALID(arena);
}

void a_kept_callback_hears_of_moves_that_nobody_asked_for()
{
    cuarena::arena arena("pool=1MiB");
    std::vector<cuarena::block> blocks = holed(arena);
    std::size_t told = 0;
    auto callback = [&](cuarena::relocations moved) noexcept { told += moved.size(); };
    arena.set_relocation_callback(callback);
    cuarena::check(cuarena_resize_pool(arena.get(), 3 * mib / 8));
    EXPECT_EQ(told, 3u);
    EXPECT_VALID(arena);
}

/* ---- Values ------------------------------------------------------------ */

/* Counts those that live; the one of that number does not come to be. */
struct counted {
    static inline int live = 0;
    static inline int failing = -1;

    explicit counted(int number = 0) : value(number)
    {
        if (live == failing)
            throw std::runtime_error("not this one");
        live++;
    }
    counted(const counted &) = delete;
    ~counted() { live--; }

    int value;
};

void unique_pointers_make_and_end_objects()
{
    cuarena::arena arena("pool=1MiB");
    {
        cuarena::unique_ptr<counted> one = arena.make_unique<counted>(5);
        EXPECT_EQ(one->value, 5);
        cuarena::unique_ptr<counted[]> many = arena.make_unique<counted[]>(9);
        EXPECT_EQ(counted::live, 10);
        EXPECT_EQ(many.get_deleter().count(), 9u);
        EXPECT_EQ(arena.stats().live_blocks, 2u);
        EXPECT(arena.make_unique<counted[]>(0) == nullptr);
    }
    EXPECT_EQ(counted::live, 0);
    EXPECT_EQ(arena.stats().live_blocks, 0u);
    EXPECT_VALID(arena);
}

void a_constructor_that_throws_leaves_nothing()
{
    cuarena::arena arena("pool=1MiB");
    for (int failing : {0, 4}) {
        counted::failing = failing;
        try {
            (void)arena.try_make_unique<counted[]>(9);
            EXPECT_NOT_REACHED();
        } catch (const std::runtime_error &caught) {
            EXPECT_EQ(std::string(caught.what()), "not this one");
        }
        EXPECT_EQ(counted::live, 0);
        EXPECT_EQ(arena.stats().live_blocks, 0u);
    }
    counted::failing = -1;
    EXPECT_VALID(arena);
}

void values_are_aligned_as_their_type()
{
    struct alignas(4096) page {
        char bytes[4096];
    };
    cuarena::arena arena("pool=1MiB,alignment=8");
    cuarena::block odd = arena.make_block(8);
    auto pages = arena.make_unique<page[]>(3);
    auto buffer = arena.make_buffer<page>(3);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pages.get()) % 4096, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 4096, 0u);
    EXPECT_VALID(arena);
}

void a_count_beyond_64_bits_is_refused()
{
    cuarena::arena arena("pool=1MiB");
    const std::size_t most = SIZE_MAX / 2;
    EXPECT_EQ(arena.try_make_buffer<double>(most).code(), status::out_of_memory);
    EXPECT_EQ(thrown<cuarena::bad_alloc>([&] { (void)arena.make_unique<double[]>(most); }),
              status::out_of_memory);
    auto buffer = arena.make_buffer<double>(10);
    EXPECT_EQ(buffer.try_resize(most), status::out_of_memory);
    EXPECT_EQ(buffer.size(), 10u);
    EXPECT_VALID(arena);
}

void a_buffer_keeps_its_contents_when_it_grows()
{
    cuarena::arena arena("pool=1MiB");
    auto buffer = arena.make_buffer<int>(10);
    buffer.data()[9] = 99;
    auto behind = arena.make_buffer<int>(10);
    buffer.resize(10000);
    EXPECT_EQ(buffer.data()[9], 99);
    EXPECT_EQ(buffer.size(), 10000u);
    arena.free(buffer.release());
    EXPECT(buffer.data() == nullptr);
    EXPECT_EQ(arena.stats().live_blocks, 1u);
    EXPECT_VALID(arena);
}

void a_buffer_of_no_values_keeps_what_it_was_asked_for()
{
    struct alignas(4096) page {
        char bytes[4096];
    };
    cuarena::arena arena("pool=1MiB,stable=256KiB");
    const cuarena_tag_t tag = arena.tag("pages");
    const auto front = arena.alloc(8); /* so that not every address is aligned */
    auto buffer = arena.make_buffer<page>(0, cuarena::request().tag(tag).stable());
    for (int i = 0; i < 2; i++) {
        buffer.resize(2);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % alignof(page), 0u);
        cuarena_stats_t stats;
        cuarena_stats_init(&stats);
        cuarena::check(cuarena_tag_stats(arena.get(), tag, &stats));
        EXPECT_EQ(stats.live_bytes, 2 * sizeof(page));
        EXPECT_EQ(arena.stats(CUARENA_REGION_STABLE).live_blocks, 1u);
        buffer.resize(0);
        EXPECT(!buffer.data());
    }
    arena.free(front);
    EXPECT_VALID(arena);
}

void a_resize_beyond_64_bits_says_so_whatever_failed_before()
{
    cuarena::arena arena("pool=1MiB");
    auto buffer = arena.make_buffer<double>(2);
    EXPECT(!arena.try_alloc(7 << 20));
    try {
        buffer.resize(SIZE_MAX / 4);
        EXPECT(false); /* it throws */
    } catch (const cuarena::bad_alloc &caught) {
        EXPECT_EQ(std::string(caught.what()), "so many values have more than 2^64 bytes");
    }
    EXPECT_EQ(buffer.size(), 2u);
}

void an_empty_arena_object_says_that_it_is_empty()
{
    cuarena::arena arena;
    const auto made = arena.try_make_unique<int>(5);
    EXPECT_EQ(made.code(), status::bad_argument);
    EXPECT(std::strstr(made.why(), "empty"));
    try {
        cuarena::memory_resource resource(arena);
        EXPECT(false); /* it throws */
    } catch (const cuarena::error &caught) {
        EXPECT_EQ(caught.code(), status::bad_argument);
    }
}

/* Streams on which nothing is ever queued; that of a thread is another one on each. */
cuarena_status_t identify(void *, cuarena_stream_t stream, cuarena_stream_info_t *info) noexcept
{
    static thread_local char own;
    *info = {};
    info->per_thread = stream == CUARENA_STREAM_PER_THREAD;
    info->id = info->per_thread ? reinterpret_cast<std::uintptr_t>(&own)
                                : reinterpret_cast<std::uintptr_t>(stream);
    return CUARENA_OK;
}

cuarena_status_t record_event(void *, cuarena_stream_t, void **event) noexcept
{
    static char the;
    *event = &the;
    return CUARENA_OK;
}

cuarena_status_t query_event(void *, void *) noexcept
{
    return CUARENA_OK;
}

cuarena_status_t wait_event(void *, void *, cuarena_stream_t, std::int32_t) noexcept
{
    return CUARENA_OK;
}

void end_event(void *, void *) noexcept
{
}

/* Not on that of the thread on which the owner ends. */
void what_a_thread_allocated_on_its_default_stream_is_not_freed_on_anothers()
{
    counted_memory memory;
    cuarena::arena arena = memory.arena_with([](cuarena_memory_ops_t &ops) {
        ops.identify = identify;
        ops.record_event = record_event;
        ops.query_event = query_event;
        ops.wait_event = wait_event;
        ops.end_event = end_event;
    });
    const auto how = cuarena::request().on(CUARENA_STREAM_PER_THREAD);
    cuarena::block block = arena.make_block(1000, how);
    auto buffer = arena.make_buffer<char>(1000, how);
    std::thread([&, held = std::move(block), kept = std::move(buffer)]() mutable {
        cuarena_stats_t stats;
        held.free();
        kept.free();
        cuarena_stats_init(&stats);
        cuarena::check(cuarena_stream_stats(arena.get(), CUARENA_STREAM_LEGACY, &stats));
        EXPECT_EQ(stats.free_bytes, 2048u);
    }).join();
    EXPECT_EQ(arena.stats().live_blocks, 0u);
    EXPECT_VALID(arena);
    arena.release_stream(CUARENA_STREAM_PER_THREAD);
}

void objects_want_memory_that_the_cpu_reaches()
{
    cuarena::arena arena("memory=none,pool=1MiB");
    EXPECT(!arena.host_readable());
    EXPECT_EQ(arena.try_make_unique<int>(1).code(), status::unsupported);
    EXPECT_EQ(arena.try_make_unique<int[]>(9).code(), status::unsupported);
    EXPECT_EQ(arena.make_buffer<int>(9).size(), 9u);
    try {
        cuarena::memory_resource resource(arena);
        EXPECT_NOT_REACHED();
    } catch (const cuarena::error &caught) {
        EXPECT_EQ(caught.code(), status::unsupported);
        EXPECT(std::strstr(caught.what(), "pageable") != nullptr);
    }
    EXPECT_EQ(arena.stats().allocs, 1u);
    EXPECT_VALID(arena);
}

/* ---- Streams ----------------------------------------------------------- */

void what_was_allocated_on_a_stream_is_freed_on_it()
{
    char handles[2];
    const auto first = reinterpret_cast<cuarena_stream_t>(&handles[0]);
    const auto second = reinterpret_cast<cuarena_stream_t>(&handles[1]);
    cuarena::arena arena("memory=none,pool=1MiB");
    {
        const auto on_first = cuarena::request().on(first);
        cuarena::block block = arena.make_block(1000, on_first);
        cuarena::buffer<int> buffer = arena.make_buffer<int>(250, on_first);
        cuarena::block other = arena.make_block(1000, on_first);
        other.set_stream(second);
        (void)block.pin<int>(first);
    }
    for (cuarena_stream_t stream : {first, second}) {
        cuarena_stats_t stats;
        cuarena_stats_init(&stats);
        cuarena::check(cuarena_stream_stats(arena.get(), stream, &stats));
        EXPECT_EQ(stats.free_bytes, stream == first ? 2048u : 1024u);
        arena.release_stream(stream);
    }
    EXPECT_VALID(arena);
}

/* On the stand-in driver, where make check runs this. */
void a_device_serves_blocks_and_buffers_but_no_objects()
{
    auto made = cuarena::arena::try_create("memory=device,pool=16MiB");
    if (made.code() == status::no_device) {
        std::cout << "  skipped: no device" << std::endl;
        return;
    }
    cuarena::arena arena = made.value();
    EXPECT(!arena.host_readable());
    EXPECT_EQ(arena.try_make_unique<int>(1).code(), status::unsupported);
    const cuarena::request on_default = cuarena::request().on(nullptr);
    std::vector<cuarena::block> blocks;
    for (int i = 0; i < 4; i++)
        blocks.push_back(arena.make_block(mib, on_default));
    blocks.erase(blocks.begin());
    EXPECT(blocks[0].pin(nullptr).data() != nullptr);
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = nullptr;
    EXPECT_EQ(arena.compact(&options).moves, 3u);
    EXPECT_EQ(arena.make_buffer<float>(1000, on_default).size(), 1000u);
    EXPECT_VALID(arena);
}

/* ---- Containers -------------------------------------------------------- */

void containers_live_in_an_arena()
{
    cuarena::arena arena("pool=1MiB");
    cuarena::memory_resource resource(arena, arena.tag("containers"));
    {
        std::pmr::vector<std::pmr::string> words(&resource);
        for (int i = 0; i < 100; i++)
            words.emplace_back(std::size_t{100}, static_cast<char>('a' + i % 26));
        std::pmr::map<int, int> squares(&resource);
        for (int i = 0; i < 100; i++)
            squares[i] = i * i;
        EXPECT_EQ(words[27], std::pmr::string(100, 'b'));
        EXPECT_EQ(squares[99], 9801);
        cuarena_stats_t stats;
        cuarena_stats_init(&stats);
        cuarena::check(cuarena_tag_stats(arena.get(), 1, &stats));
        EXPECT_EQ(stats.live_blocks, 201u);
        EXPECT_VALID(arena);
    }
    EXPECT_EQ(arena.stats().live_blocks, 0u);
    arena.destroy();
}

void a_resource_honours_alignment_and_gives_an_address_for_nothing()
{
    cuarena::arena arena("pool=1MiB,alignment=8");
    cuarena::memory_resource resource(arena);
    for (std::size_t alignment = 1; alignment <= 65536; alignment *= 2) {
        void *odd = resource.allocate(8, 8);
        void *pointer = resource.allocate(24, alignment);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % alignment, 0u);
        resource.deallocate(pointer, 24, alignment);
        resource.deallocate(odd, 8, 8);
    }
    void *nothing = resource.allocate(0);
    EXPECT(nothing != nullptr);
    resource.deallocate(nothing, 0);
    EXPECT_EQ(arena.stats().live_blocks, 0u);
    EXPECT_VALID(arena);
}

void resources_of_one_arena_are_equal()
{
    cuarena::arena arena("pool=1MiB");
    cuarena::arena other("pool=1MiB");
    cuarena::memory_resource first(arena);
    cuarena::memory_resource second(arena, arena.tag("tagged"));
    cuarena::memory_resource third(other);
    EXPECT(first == second);
    EXPECT(first != third);
    EXPECT(first != *std::pmr::new_delete_resource());
    std::pmr::vector<int> from({1, 2, 3}, &first);
    const int *data = from.data();
    std::pmr::vector<int> to(std::move(from), &second);
    EXPECT_EQ(to.data(), data);
}

void a_container_that_finds_no_room_throws_bad_alloc()
{
    cuarena::arena arena("pool=1MiB");
    cuarena::memory_resource resource(arena);
    std::pmr::vector<char> vector(&resource);
    try {
        vector.resize(2 * mib);
        EXPECT_NOT_REACHED();
    } catch (const std::bad_alloc &) {
    }
    vector.resize(1000);
    EXPECT_VALID(arena);
}

/* ---- Programs of several parts ----------------------------------------- */

void code_without_exceptions_stays_apart_from_code_with()
{
    other_variant_tells_statuses();
    cuarena::arena arena("pool=1MiB");
    EXPECT_EQ(thrown<cuarena::bad_alloc>([&] { (void)arena.alloc(2 * mib); }),
              status::out_of_memory);
}

void threads_share_an_arena()
{
    cuarena::arena arena("pool=4MiB");
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&arena] {
            for (int round = 0; round < 500; round++) {
                cuarena::block block = arena.make_block(1000);
                auto values = arena.make_unique<int[]>(100);
                block.pin<int>()[0] = values[99];
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQ(arena.stats().live_blocks, 0u);
    EXPECT_EQ(arena.stats().allocs, 4000u);
    EXPECT_VALID(arena);
}

struct test {
    const char *name;
    void (*run)();
};

#define TEST(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
const test tests[] = {
    TEST(short_of_bytes_is_a_bad_alloc_with_the_last_error),
    TEST(a_wrong_option_is_a_runtime_error_that_names_it),
    TEST(statuses_are_error_codes),
    TEST(an_arena_ends_with_its_object),
    TEST(an_arena_ends_with_the_last_block_that_outlives_it),
    TEST(moving_an_arena_leaves_what_knows_it),
    TEST(destroy_refuses_while_a_block_lives_and_changes_nothing),
    TEST(forced_destruction_ends_what_was_released),
    TEST(a_block_frees_itself_once),
    TEST(a_stale_block_says_so),
    TEST(a_pin_holds_until_its_end),
    TEST(a_pin_of_a_type_with_more_alignment_is_refused_and_not_kept),
    TEST(compaction_tells_a_lambda_and_keeps_contents),
    TEST(a_callback_that_says_false_stops),
    TEST(what_a_callback_throws_comes_out_behind_the_call),
    TEST(a_kept_callback_hears_of_moves_that_nobody_asked_for),
    TEST(unique_pointers_make_and_end_objects),
    TEST(a_constructor_that_throws_leaves_nothing),
    TEST(values_are_aligned_as_their_type),
    TEST(a_count_beyond_64_bits_is_refused),
    TEST(a_buffer_keeps_its_contents_when_it_grows),
    TEST(a_buffer_of_no_values_keeps_what_it_was_asked_for),
    TEST(a_resize_beyond_64_bits_says_so_whatever_failed_before),
    TEST(an_empty_arena_object_says_that_it_is_empty),
    TEST(what_a_thread_allocated_on_its_default_stream_is_not_freed_on_anothers),
    TEST(objects_want_memory_that_the_cpu_reaches),
    TEST(what_was_allocated_on_a_stream_is_freed_on_it),
    TEST(a_device_serves_blocks_and_buffers_but_no_objects),
    TEST(containers_live_in_an_arena),
    TEST(a_resource_honours_alignment_and_gives_an_address_for_nothing),
    TEST(resources_of_one_arena_are_equal),
    TEST(a_container_that_finds_no_room_throws_bad_alloc),
    TEST(code_without_exceptions_stays_apart_from_code_with),
    TEST(threads_share_an_arena),
};

} // namespace

int main(int argc, char **argv)
{
    if (argc > 1 && std::strcmp(argv[1], "abort") == 0)
        other_variant_aborts();
    for (const test &each : tests) {
        std::cout << each.name << std::endl;
        each.run();
    }
    std::cout << std::size(tests) << " passed" << std::endl;
}
