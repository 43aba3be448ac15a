/*
 * C++: an arena, blocks and containers that give back what they took. A call that fails throws; its
 * twin whose name begins with try_ returns a status.
 */
#include <cuarena.hpp>

#include <iostream>
#include <memory_resource>
#include <string>
#include <vector>

namespace
{

constexpr std::uint64_t mib = 1 << 20;

void print_live(const cuarena::arena &pool, const char *when)
{
    std::cout << when << ": " << pool.stats().live_blocks << " blocks live\n";
}

/* Blocks are named by ids; an address is good while it is pinned. */
void move_blocks(const cuarena::arena &pool)
{
    cuarena::block first = pool.make_block(3 * mib);
    cuarena::block second = pool.make_block(3 * mib);
    {
        cuarena::pinned<int> values = second.pin<int>();
        values[0] = 42;
    }
    first.free();

    /* 5 MiB of 5 are free, but not together. */
    const auto refused = pool.try_make_block(5 * mib);
    std::cout << "5 MiB: " << cuarena::name(refused.code()) << '\n';
    pool.compact(nullptr,
                 [](cuarena::relocations moved) { std::cout << moved.size() << " block moved\n"; });
    cuarena::block large = pool.make_block(5 * mib);
    std::cout << "5 MiB after compaction: CUARENA_OK; the value is still " << second.pin<int>()[0]
              << '\n';
}

/* Memory that the CPU reaches serves objects and standard containers. */
void keep_objects(const cuarena::arena &pool)
{
    auto table = pool.make_unique<double[]>(1000);
    cuarena::memory_resource resource(pool, pool.tag("words"));
    std::pmr::vector<std::pmr::string> words(&resource);
    words.emplace_back("a word that is too long to lie in the string itself");
    std::cout << "table[999] = " << table[999] << ", " << words[0] << '\n';
    print_live(pool, "a table, a vector, a string");
}

} // namespace

int main()
{
    try {
        cuarena::arena pool("pool=8MiB");
        move_blocks(pool);
        keep_objects(pool);
        print_live(pool, "at the end");
        cuarena::block never = pool.make_block(16 * mib);
    } catch (const std::bad_alloc &caught) {
        std::cout << "std::bad_alloc: " << caught.what() << '\n';
        return EXIT_SUCCESS;
    } catch (const cuarena::error &caught) {
        std::cerr << cuarena::name(caught.code()) << ": " << caught.what() << '\n';
    }
    return EXIT_FAILURE;
}
