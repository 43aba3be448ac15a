/*
 * Exports of device memory between two processes: this program starts itself anew, sends it the
 * descriptors, and the other process maps what they stand for, looks at the bytes, and writes
 * others. Runs on the stand-in driver and on a real one.
 */
#include "support/cuda_kinds.h"
#include "support/cuda_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define POOL MIB(32)
#define MOST_PIECES 16
#define SOCKET 3 /* of the other process */

/* What is sent: the pieces, their descriptors beside them, and the seeds of
 * the contents that are expected and written. */
typedef struct offer {
    uint64_t count;
    uint64_t expected_seed;
    uint64_t written_seed;
    cuarena_export_piece_t pieces[MOST_PIECES];
} offer_t;

/* ---- Sending --------------------------------------------------------------
 */

static void send_offer(int socket_fd, const offer_t *offer)
{
    int fds[MOST_PIECES];
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof fds)];
    size_t fds_bytes = offer->count * sizeof fds[0];
    for (size_t i = 0; i < offer->count; i++)
        fds[i] = offer->pieces[i].fd;
    struct iovec bytes = {(void *)(uintptr_t)offer, sizeof *offer};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = room,
                             .msg_controllen = CMSG_SPACE(fds_bytes)};
    memset(room, 0, sizeof room);
    struct cmsghdr *control = CMSG_FIRSTHDR(&message);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(fds_bytes);
    memcpy(CMSG_DATA(control), fds, fds_bytes);
    ck_assert_int_eq(sendmsg(socket_fd, &message, 0), (int)sizeof *offer);
}

/* The descriptors are of this process then. */
static void receive_offer(int socket_fd, offer_t *offer)
{
    int fds[MOST_PIECES];
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof fds)];
    struct iovec bytes = {offer, sizeof *offer};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    ck_assert_int_eq(recvmsg(socket_fd, &message, 0), (int)sizeof *offer);
    const struct cmsghdr *control = CMSG_FIRSTHDR(&message);
    ck_assert_ptr_nonnull(control);
    ck_assert_int_eq(control->cmsg_type, SCM_RIGHTS);
    memcpy(fds, CMSG_DATA(control), offer->count * sizeof fds[0]);
    for (size_t i = 0; i < offer->count; i++)
        offer->pieces[i].fd = fds[i];
}

/* ---- The other process ----------------------------------------------------
 */

typedef struct import {
    cuai_cu_handle_t handle;
    cuai_cu_pointer_t address;
} import_t;

static import_t map_piece(const cuarena_export_piece_t *piece)
{
    const cuda_test_t *cuda = cuda_test();
    const cuai_cu_access_t access = {.location = {CUAI_CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                     .flags = CUAI_CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    const size_t bytes = piece->handle_bytes;
    import_t import = {0, 0};
    expect_cu(cuda->cuMemImportFromShareableHandle(&import.handle, (void *)(uintptr_t)piece->fd,
                                                   CUAI_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    expect_cu(cuda->cuMemAddressReserve(&import.address, bytes, 0, 0, 0));
    expect_cu(cuda->cuMemMap(import.address, bytes, 0, import.handle, 0));
    expect_cu(cuda->cuMemSetAccess(import.address, bytes, &access, 1));
    return import;
}

static void unmap_piece(const cuarena_export_piece_t *piece, import_t import)
{
    const cuda_test_t *cuda = cuda_test();
    expect_cu(cuda->cuMemUnmap(import.address, piece->handle_bytes));
    expect_cu(cuda->cuMemAddressFree(import.address, piece->handle_bytes));
    expect_cu(cuda->cuMemRelease(import.handle));
    ck_assert_int_eq(close(piece->fd), 0);
}

/* Looks at the block's bytes, piece by piece, and writes others. */
static void check_and_write(const offer_t *offer, const import_t *imports, uint64_t bytes)
{
    const cuda_test_t *cuda = cuda_test();
    char *seen = malloc(bytes);
    ck_assert_ptr_nonnull(seen);
    uint64_t at = 0;
    for (size_t i = 0; i < offer->count; i++) {
        const cuarena_export_piece_t *piece = &offer->pieces[i];
        expect_cu(cuda->cuMemcpyDtoH(seen + at, imports[i].address + piece->offset, piece->bytes));
        at += piece->bytes;
    }
    expect_u64(painted_until(seen, bytes, offer->expected_seed), bytes);
    paint_bytes(seen, bytes, offer->written_seed);
    at = 0;
    for (size_t i = 0; i < offer->count; i++) {
        const cuarena_export_piece_t *piece = &offer->pieces[i];
        expect_cu(cuda->cuMemcpyHtoD(imports[i].address + piece->offset, seen + at, piece->bytes));
        at += piece->bytes;
    }
    expect_cu(cuda->cuCtxSynchronize());
    free(seen);
}

START_TEST(play_the_other_process)
{
    offer_t offer;
    import_t imports[MOST_PIECES];
    uint64_t bytes = 0;
    receive_offer(SOCKET, &offer);
    (void)cuda_test_use_device(0);
    for (size_t i = 0; i < offer.count; i++) {
        imports[i] = map_piece(&offer.pieces[i]);
        bytes += offer.pieces[i].bytes;
    }
    check_and_write(&offer, imports, bytes);
    for (size_t i = 0; i < offer.count; i++)
        unmap_piece(&offer.pieces[i], imports[i]);
}
END_TEST

/* ---- This process ---------------------------------------------------------
 */

typedef struct other {
    pid_t pid;
    int socket_fd;
} other_t;

/* Before this process uses the driver. */
static other_t start_other(void)
{
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], SOCKET);
        execl("/proc/self/exe", "check_device_export", "other", (char *)NULL);
        _exit(127);
    }
    ck_assert_int_gt(pid, 0);
    close(ends[1]);
    return (other_t){pid, ends[0]};
}

static void expect_other_ended_well(const other_t *other)
{
    int status = 0;
    ck_assert_int_eq(waitpid(other->pid, &status, 0), other->pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the other process ended with %d",
                  status);
    close(other->socket_fd);
}

static fixture_t *open_exporting(fixture_t *f, uint64_t handle)
{
    fixture_prepare(f, &cuda_kinds[CUDA_POOL_VMM], POOL);
    f->config.fd = CUARENA_PROPERTY_REQUIRE;
    f->config.handle_bytes = handle;
    fixture_create(f);
    return f;
}

static size_t count_pieces(fixture_t *f, cuarena_block_t block)
{
    size_t count = 0;
    cuarena_export_options_t options;
    cuarena_export_options_init(&options);
    options.share_handles = 1;
    expect_ok(cuarena_export(f->arena, block, &options, NULL, 0, &count, NULL));
    return count;
}

/* Shares a block with the other process and takes its answer. */
static void share(fixture_t *f, cuarena_block_t block, uint64_t bytes, const other_t *other,
                  bool free_meanwhile)
{
    offer_t offer = {.expected_seed = 5, .written_seed = 6};
    cuarena_export_t *one = NULL;
    cuarena_export_options_t options;
    size_t count = 0;
    void *address = NULL;
    cuarena_export_options_init(&options);
    options.share_handles = 1;
    expect_ok(cuarena_block_pin(f->arena, block, &address));
    paint(f, address, bytes, 5);
    expect_ok(cuarena_export(f->arena, block, &options, offer.pieces, MOST_PIECES, &count, &one));
    expect_ok(cuarena_block_unpin(f->arena, block));
    offer.count = count;
    if (free_meanwhile)
        free_block(f, block);
    send_offer(other->socket_fd, &offer);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(close(offer.pieces[i].fd), 0);
    expect_other_ended_well(other);
    expect_painted(f, address, bytes, 6);
    step_ok(f, cuarena_export_close(f->arena, &one));
    if (!free_meanwhile)
        free_block(f, block);
}

START_TEST(a_block_of_one_handle)
{
    other_t other = start_other();
    fixture_t *f = open_exporting(new_fixture(fixture_close), MIB(2));
    cuarena_block_t block = 0;
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.dedicated = 1;
    step_ok(f, cuarena_block_alloc_with(f->arena, MIB(2), &request, &block));
    expect_u64(count_pieces(f, block), 1);
    share(f, block, MIB(2), &other, false);
}
END_TEST

/* Begins and ends in the middle of handles. */
START_TEST(a_block_across_handles)
{
    other_t other = start_other();
    fixture_t *f = open_exporting(new_fixture(fixture_close), MIB(4));
    cuarena_block_t block = alloc_above_a_hole(f, MIB(1), POOL - MIB(1));
    step_ok(f, cuarena_block_resize(f->arena, block, MIB(10)));
    expect_u64(count_pieces(f, block), 3);
    share(f, block, MIB(10), &other, false);
}
END_TEST

START_TEST(a_block_that_is_freed_meanwhile)
{
    other_t other = start_other();
    fixture_t *f = open_exporting(new_fixture(fixture_close), MIB(2));
    cuarena_block_t block = alloc_block(f, MIB(6));
    share(f, block, MIB(6), &other, true);
    expect_u64(live_bytes(f), 0);
}
END_TEST

START_TEST(without_fd_nothing_is_exported)
{
    size_t count = 77;
    cuarena_properties_t properties;
    cuarena_properties_init(&properties);
    fixture_t *f = opened(&cuda_kinds[_i], POOL);
    expect_ok(cuarena_properties(f->arena, &properties));
    ck_assert_int_eq(properties.fd, 0);
    cuarena_block_t block = alloc_block(f, MIB(2));
    expect_status(cuarena_export(f->arena, block, NULL, NULL, 0, &count, NULL),
                  CUARENA_UNSUPPORTED);
    expect_u64(count, 77);
    free_block(f, block);
}
END_TEST

int main(int argc, char **argv)
{
    bool other = argc > 1 && strcmp(argv[1], "other") == 0;
    Suite *suite = suite_create(other ? "the other process" : "exports");
    cuda_kinds_ready();
    if (other) {
        suite_add_list(suite, "other", TEST_LIST(play_the_other_process));
        setenv("CK_FORK", "no", 1);
        return suite_main(suite);
    }
    suite_add_list(
        suite, "between processes",
        TEST_LIST(a_block_of_one_handle, a_block_across_handles, a_block_that_is_freed_meanwhile));
    tcase_add_loop_test(new_case(suite, "fd off"), without_fd_nothing_is_exported, 0,
                        CUDA_KIND_COUNT);
    return cuda_kinds_main(suite);
}
