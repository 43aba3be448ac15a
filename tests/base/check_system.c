/*
 * What is available, read from made-up files of /proc and /sys.
 *
 * Looks inside, since only there the files have another root (base/system.h).
 */
#include "support/base_support.h"
#include "support/expect.h"

#include "base/bits.h"
#include "base/system.h"

#include <errno.h>
#include <string.h>

/* Every tree says that 1000 KiB are available, unless a group leaves less. */
static file_tree_t tree;

static void open_tree(void)
{
    file_tree_open(&tree);
    file_tree_write(&tree, "/proc/meminfo",
                    "MemTotal:        4000 kB\n"
                    "MemFree:          500 kB\n"
                    "MemAvailable:    1000 kB\n");
}

static void close_tree(void)
{
    file_tree_close(&tree);
}

static void put(const char *path, const char *text)
{
    file_tree_write(&tree, path, text);
}

static uint64_t available(void)
{
    uint64_t bytes = 0;
    expect_ok(cuai_system_available(tree.root, &bytes));
    return bytes;
}

static uint64_t total(void)
{
    uint64_t bytes = 0;
    expect_ok(cuai_system_total(tree.root, &bytes));
    return bytes;
}

#define KERNEL_SAYS (1000 * CUAI_KIB)
#define KERNEL_HAS (4000 * CUAI_KIB)

/* ---- The kernel -------------------------------------------------------- */

START_TEST(available_without_groups)
{
    expect_u64(available(), KERNEL_SAYS);
    expect_u64(total(), KERNEL_HAS);
}
END_TEST

START_TEST(available_without_meminfo)
{
    uint64_t bytes = 7;
    cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    expect_status(cuai_system_available("/nowhere", &bytes), CUARENA_DRIVER);
    expect_message("/nowhere/proc/meminfo");
    expect_ok(cuarena_last_error_info(&info));
    ck_assert_int_eq(info.driver_code, ENOENT);
    expect_u64(bytes, 7);
}
END_TEST

START_TEST(available_without_the_line)
{
    static const char *const texts[] = {"",
                                        "MemTotal: 4000 kB\n",
                                        "XMemAvailable: 1 kB\n",
                                        "MemAvailable: many\n",
                                        "MemAvailable: 99999999999999999999 kB\n",
                                        "MemAvailable: 18446744073709551615 kB\n"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        uint64_t bytes = 7;
        put("/proc/meminfo", texts[i]);
        expect_status(cuai_system_available(tree.root, &bytes), CUARENA_DRIVER);
        expect_message("MemAvailable");
        expect_u64(bytes, 7);
    }
}
END_TEST

START_TEST(available_of_this_machine)
{
    uint64_t bytes = 0;
    uint64_t all = 0;
    expect_ok(cuai_system_available("", &bytes));
    expect_ok(cuai_system_total("", &all));
    expect_between(bytes, 1, all);
    expect_between(all, 1, UINT64_C(1) << 50);
    ck_assert(cuai_is_power_of_two(cuai_system_page()));
}
END_TEST

/* ---- Control groups ---------------------------------------------------- */

#define V1 "/sys/fs/cgroup/memory"
#define V2 "/sys/fs/cgroup"
#define ANY 0
#define MOST_FILES 6

typedef struct group_row {
    const char *name;
    const char *groups; /* /proc/self/cgroup */
    const char *files[MOST_FILES][2];
    uint64_t available;
    uint64_t total;
} group_row_t;

static const group_row_t group_rows[] = {
    {"it leaves less",
     "0::/a\n",
     {{V2 "/a/memory.max", "500000\n"}, {V2 "/a/memory.current", "200000\n"}},
     300000,
     500000},
    {"it leaves more",
     "0::/a\n",
     {{V2 "/a/memory.max", "50000000\n"}, {V2 "/a/memory.current", "200000\n"}},
     KERNEL_SAYS,
     ANY},
    {"it has no limit",
     "0::/a\n",
     {{V2 "/a/memory.max", "max\n"}, {V2 "/a/memory.current", "200000\n"}},
     KERNEL_SAYS,
     ANY},
    {"its inactive file cache counts as left",
     "0::/a\n",
     {{V2 "/a/memory.max", "500000\n"},
      {V2 "/a/memory.current", "400000\n"},
      {V2 "/a/memory.stat", "anon 1\nfile 2\ninactive_anon 3\n"
                            "inactive_file 100000\nactive_file 5\n"}},
     200000,
     ANY},
    {"its inactive file cache is more than it uses",
     "0::/a\n",
     {{V2 "/a/memory.max", "500000\n"},
      {V2 "/a/memory.current", "400000\n"},
      {V2 "/a/memory.stat", "inactive_file 900000\n"}},
     500000,
     ANY},
    {"above its limit it leaves nothing",
     "0::/a\n",
     {{V2 "/a/memory.max", "500000\n"}, {V2 "/a/memory.current", "500001\n"}},
     0,
     ANY},
    {"the one above leaves least",
     "0::/a/b/c\n",
     {{V2 "/a/memory.max", "300000\n"},
      {V2 "/a/memory.current", "200000\n"},
      {V2 "/a/b/memory.max", "max\n"},
      {V2 "/a/b/memory.current", "200000\n"},
      {V2 "/a/b/c/memory.max", "900000\n"},
      {V2 "/a/b/c/memory.current", "200000\n"}},
     100000,
     ANY},
    {"the root of a container",
     "0::/\n",
     {{V2 "/memory.max", "300000\n"}, {V2 "/memory.current", "100000\n"}},
     200000,
     ANY},
    {"a name that only the outside knows",
     "0::/docker/0123\n",
     {{V2 "/memory.max", "300000\n"}, {V2 "/memory.current", "100000\n"}},
     200000,
     ANY},
    {"version 1: it leaves less",
     "3:cpu,cpuacct:/x\n2:hugetlb,memory:/a/b\n1:name=systemd:/y\n0::/z\n",
     {{V1 "/memory.limit_in_bytes", "9223372036854771712\n"},
      {V1 "/memory.usage_in_bytes", "1\n"},
      {V1 "/a/memory.limit_in_bytes", "400000\n"},
      {V1 "/a/memory.usage_in_bytes", "300000\n"},
      {V1 "/a/memory.stat", "inactive_file 7\ntotal_inactive_file 50000\n"}},
     150000,
     400000},
    {"version 1: of another controller",
     "2:memoryx:/a\n1:xmemory,cpu:/a\n",
     {{V1 "/a/memory.limit_in_bytes", "4\n"}, {V1 "/a/memory.usage_in_bytes", "3\n"}},
     KERNEL_SAYS,
     ANY},
    {"both versions",
     "0::/a\n",
     {{V2 "/unified/a/memory.max", "30000\n"}, {V2 "/unified/a/memory.current", "10000\n"}},
     20000,
     30000},
};

START_TEST(each_group)
{
    const group_row_t *row = &group_rows[_i];
    put("/proc/self/cgroup", row->groups);
    for (size_t i = 0; i < MOST_FILES && row->files[i][0] != NULL; i++)
        put(row->files[i][0], row->files[i][1]);
    expect_u64_at(available(), row->available, row->name, __FILE__, __LINE__);
    if (row->total != ANY)
        expect_u64_at(total(), row->total, row->name, __FILE__, __LINE__);
}
END_TEST

/* ---- Files that make no sense ------------------------------------------ */

START_TEST(group_files_that_make_no_sense)
{
    static const char *const lists[] = {
        "", "\n\n", "0:", "::", "a", "0::", "0:memory", "0:memory:"};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        put("/proc/self/cgroup", lists[i]);
        expect_u64(available(), KERNEL_SAYS);
    }
    put("/proc/self/cgroup", "0::/a\n");
    put(V2 "/a/memory.max", "12\n");
    expect_u64(available(), KERNEL_SAYS);
    put(V2 "/a/memory.current", "what\n");
    expect_u64(available(), KERNEL_SAYS);
}
END_TEST

START_TEST(group_name_that_is_too_long)
{
    char list[6000];
    memset(list, 'x', sizeof(list));
    memcpy(list, "0::/", 4);
    list[sizeof(list) - 1] = '\0';
    put("/proc/self/cgroup", list);
    expect_u64(available(), KERNEL_SAYS);
}
END_TEST

static TCase *add_tests(Suite *suite, const char *name, const TTest *const *tests)
{
    TCase *tcase = suite_add_list(suite, name, tests);
    tcase_add_checked_fixture(tcase, open_tree, close_tree);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("system");
    add_tests(suite, "kernel",
              TEST_LIST(available_without_groups, available_without_meminfo,
                        available_without_the_line, available_of_this_machine));
    TCase *groups = add_tests(suite, "groups", TEST_LIST(NULL));
    tcase_add_loop_test(groups, each_group, 0, (int)COUNT_OF(group_rows));
    add_tests(suite, "nonsense",
              TEST_LIST(group_files_that_make_no_sense, group_name_that_is_too_long));
    return suite_main(suite);
}
