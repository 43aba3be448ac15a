// Made of include/cuarena.h by rust/scripts/bindings: do not edit.

pub const CUARENA_VERSION_MAJOR: u32 = 0;
pub const CUARENA_VERSION_MINOR: u32 = 1;
pub const CUARENA_VERSION_PATCH: u32 = 0;
pub const CUARENA_OK: i32 = 0;
pub const CUARENA_BAD_ARGUMENT: i32 = 1;
pub const CUARENA_OUT_OF_MEMORY: i32 = 2;
pub const CUARENA_FRAGMENTED: i32 = 3;
pub const CUARENA_LIMIT: i32 = 4;
pub const CUARENA_NO_DEVICE: i32 = 5;
pub const CUARENA_DRIVER: i32 = 6;
pub const CUARENA_LOST: i32 = 7;
pub const CUARENA_UNSUPPORTED: i32 = 8;
pub const CUARENA_STALE: i32 = 9;
pub const CUARENA_BUSY: i32 = 10;
pub const CUARENA_REENTERED: i32 = 11;
pub const CUARENA_CORRUPT: i32 = 12;
pub const CUARENA_LOG_OFF: i32 = 0;
pub const CUARENA_LOG_ERROR: i32 = 1;
pub const CUARENA_LOG_WARN: i32 = 2;
pub const CUARENA_LOG_INFO: i32 = 3;
pub const CUARENA_LOG_DEBUG: i32 = 4;
pub const CUARENA_HEAP_MAX_OFFSET: u64 = 4503599627370496;
pub const CUARENA_HEAP_MAX_SEGMENT: u64 = 281474976710656;
pub const CUARENA_HEAP_MAX_BLOCKS: u64 = 67108864;
pub const CUARENA_HEAP_MAX_HEAPS: u32 = 32767;
pub const CUARENA_HEAP_MAX_FREELISTS: u32 = 4096;
pub const CUARENA_HEAP_MAX_TAGS: u32 = 4096;
pub const CUARENA_HEAP_MAX_PINS: u32 = 65535;
pub const CUARENA_HEAP_MAX_OWNER: u32 = 127;
pub const CUARENA_PLACEMENT_DEFAULT: i32 = 0;
pub const CUARENA_PLACEMENT_BEST: i32 = 1;
pub const CUARENA_PLACEMENT_LOW: i32 = 2;
pub const CUARENA_HEAP_FLAGS: u32 = 255;
pub const CUARENA_ENTRY_BLOCK: i32 = 1;
pub const CUARENA_ENTRY_RANGE: i32 = 2;
pub const CUARENA_ENTRY_GAP: i32 = 3;
pub const CUARENA_ENTRY_CACHED: i32 = 4;
pub const CUARENA_REGION_DYNAMIC: i32 = 0;
pub const CUARENA_REGION_STABLE: i32 = 1;
pub const CUARENA_REGION_COUNT: i32 = 2;
pub const CUARENA_REGION_ALL: i32 = -1;
pub const CUARENA_MEMORY_PRESET: i32 = 0;
pub const CUARENA_MEMORY_PAGEABLE: i32 = 1;
pub const CUARENA_MEMORY_NONE: i32 = 2;
pub const CUARENA_MEMORY_DEVICE: i32 = 3;
pub const CUARENA_MEMORY_MANAGED: i32 = 4;
pub const CUARENA_MEMORY_PINNED: i32 = 5;
pub const CUARENA_MEMORY_BYTES: i32 = 6;
pub const CUARENA_MEMORY_CUSTOM: i32 = 7;
pub const CUARENA_MEMORY_HOST_READABLE: u32 = 1;
pub const CUARENA_MEMORY_TOUCHES: u32 = 2;
pub const CUARENA_MEMORY_COMES_ZEROED: u32 = 4;
pub const CUARENA_EVENT_ALLOC: i32 = 1;
pub const CUARENA_EVENT_FREE: i32 = 2;
pub const CUARENA_EVENT_RESIZE: i32 = 3;
pub const CUARENA_EVENT_GROW: i32 = 4;
pub const CUARENA_EVENT_TRIM: i32 = 5;
pub const CUARENA_EVENT_COMPACT: i32 = 6;
pub const CUARENA_EVENT_FAIL: i32 = 7;
pub const CUARENA_EVENT_RESET: i32 = 8;
pub const CUARENA_STEP_JOIN: i32 = 0;
pub const CUARENA_STEP_STEAL: i32 = 1;
pub const CUARENA_STEP_RECLAIM: i32 = 2;
pub const CUARENA_STEP_GROW: i32 = 3;
pub const CUARENA_STEP_CACHE: i32 = 4;
pub const CUARENA_STEP_WAIT: i32 = 5;
pub const CUARENA_STEP_TRIM: i32 = 6;
pub const CUARENA_STEP_HANDLER: i32 = 7;
pub const CUARENA_STEP_COMPACT: i32 = 8;
pub const CUARENA_STEP_COUNT: i32 = 9;
pub const CUARENA_AMOUNT_BYTES: i32 = 0;
pub const CUARENA_AMOUNT_PERCENT: i32 = 1;
pub const CUARENA_AMOUNT_AUTO: i32 = 2;
pub const CUARENA_PRESET_POOL: i32 = 0;
pub const CUARENA_PRESET_GROW: i32 = 1;
pub const CUARENA_PRESET_BFC: i32 = 2;
pub const CUARENA_PRESET_MLX_CPU: i32 = 3;
pub const CUARENA_PRESET_MLX_CUDA: i32 = 4;
pub const CUARENA_PRESET_CUPY_POOL: i32 = 5;
pub const CUARENA_PRESET_DRIVER_POOL: i32 = 6;
pub const CUARENA_GROW_NONE: i32 = 0;
pub const CUARENA_GROW_EXACT: i32 = 1;
pub const CUARENA_GROW_DOUBLING: i32 = 2;
pub const CUARENA_UNKNOWN_ERROR: i32 = 0;
pub const CUARENA_UNKNOWN_WARN: i32 = 1;
pub const CUARENA_BACKING_AUTO: i32 = 0;
pub const CUARENA_BACKING_VMM: i32 = 1;
pub const CUARENA_BACKING_MALLOC: i32 = 2;
pub const CUARENA_BACKING_ASYNC: i32 = 3;
pub const CUARENA_SEGMENTS_SHARED: i32 = 0;
pub const CUARENA_SEGMENTS_EACH: i32 = 1;
pub const CUARENA_DRIVER_POOL_CURRENT: i32 = 0;
pub const CUARENA_DRIVER_POOL_DEFAULT: i32 = 1;
pub const CUARENA_DRIVER_POOL_OWN: i32 = 2;
pub const CUARENA_DRIVER_POOL_EXTERNAL: i32 = 3;
pub const CUARENA_PROPERTY_OFF: i32 = 0;
pub const CUARENA_PROPERTY_TRY: i32 = 1;
pub const CUARENA_PROPERTY_REQUIRE: i32 = 2;
pub const CUARENA_BYTES_HOST: i32 = 0;
pub const CUARENA_BYTES_DEVICE: i32 = 1;
pub const CUARENA_BYTES_MANAGED: i32 = 2;
pub const CUARENA_BYTES_PINNED: i32 = 3;
pub const CUARENA_EVENTS_LATE: i32 = 0;
pub const CUARENA_EVENTS_EAGER: i32 = 1;
pub const CUARENA_STEAL_WAIT: i32 = 0;
pub const CUARENA_STEAL_IDLE: i32 = 1;
pub const CUARENA_STEAL_NEVER: i32 = 2;
pub const CUARENA_KEEP_ALL: i32 = 0;
pub const CUARENA_KEEP_CACHE: i32 = 1;
pub const CUARENA_KEEP_NONE: i32 = 2;
pub const CUARENA_CACHE_STRICT: i32 = 0;
pub const CUARENA_CACHE_LATE: i32 = 1;
pub const CUARENA_SOFT_STORE: i32 = 0;
pub const CUARENA_SOFT_ENFORCE: i32 = 1;
pub const CUARENA_ZERO_NEVER: i32 = 0;
pub const CUARENA_ZERO_CREATE: i32 = 1;
pub const CUARENA_ZERO_ALLOC: i32 = 2;
pub const CUARENA_ZERO_FREE: i32 = 3;
pub const CUARENA_TEXT_STATS: i32 = 0;
pub const CUARENA_TEXT_ORT: i32 = 1;
pub const CUARENA_MAX_PEAK_SCOPES: u32 = 16;
pub const CUARENA_LIMIT_RESERVED: i32 = 0;
pub const CUARENA_LIMIT_LIVE: i32 = 1;
pub const CUARENA_LIMIT_CACHED: i32 = 2;
pub const CUARENA_LIMIT_SOFT: i32 = 3;
pub const CUARENA_LIMIT_THRESHOLD: i32 = 4;
pub const CUARENA_MAX_STREAMS: u32 = 126;
pub const CUARENA_SCOPE_BARE: i32 = 0;
pub const CUARENA_SCOPE_ENVIRONMENT: i32 = 1;
pub const CUARENA_SCOPE_SESSION: i32 = 2;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_arena {
    _unused: [u8; 0],
}
#[doc = " An arena: see arena.h."]
pub type cuarena_t = cuarena_arena;
#[doc = " What a call came to, grouped by what the caller can do about it. A failed call leaves every block\n as it was, with its contents, place and size, and every output. What it leaves besides, its\n description says: a request that is refused, what was tried for it (oom.h)."]
pub type cuarena_status_t = i32;
#[doc = " Why the last failing call of this thread failed. Members that do not apply are 0. A successful\n call leaves it as it is."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_error_info {
    pub struct_size: usize,
    pub status: cuarena_status_t,
    #[doc = " errno, the driver's code, or what a caller's own\n memory answered; 0 if none"]
    pub driver_code: i32,
    #[doc = " what the call asked for"]
    pub asked_bytes: u64,
    #[doc = " the limit or capacity that it met"]
    pub limit_bytes: u64,
    #[doc = " what the arena held from its memory"]
    pub reserved_bytes: u64,
    #[doc = " free in the region asked, and what a trimmed pool\n may take again; of create, what the memory had\n available"]
    pub free_bytes: u64,
    #[doc = " the largest free range there, exact"]
    pub largest_bytes: u64,
    #[doc = " one line: the value, what would be accepted"]
    pub message: [::core::ffi::c_char; 256usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_error_info"][::core::mem::size_of::<cuarena_error_info>() - 312usize];
    ["Alignment of cuarena_error_info"][::core::mem::align_of::<cuarena_error_info>() - 8usize];
    ["Offset of field: cuarena_error_info::struct_size"]
        [::core::mem::offset_of!(cuarena_error_info, struct_size) - 0usize];
    ["Offset of field: cuarena_error_info::status"]
        [::core::mem::offset_of!(cuarena_error_info, status) - 8usize];
    ["Offset of field: cuarena_error_info::driver_code"]
        [::core::mem::offset_of!(cuarena_error_info, driver_code) - 12usize];
    ["Offset of field: cuarena_error_info::asked_bytes"]
        [::core::mem::offset_of!(cuarena_error_info, asked_bytes) - 16usize];
    ["Offset of field: cuarena_error_info::limit_bytes"]
        [::core::mem::offset_of!(cuarena_error_info, limit_bytes) - 24usize];
    ["Offset of field: cuarena_error_info::reserved_bytes"]
        [::core::mem::offset_of!(cuarena_error_info, reserved_bytes) - 32usize];
    ["Offset of field: cuarena_error_info::free_bytes"]
        [::core::mem::offset_of!(cuarena_error_info, free_bytes) - 40usize];
    ["Offset of field: cuarena_error_info::largest_bytes"]
        [::core::mem::offset_of!(cuarena_error_info, largest_bytes) - 48usize];
    ["Offset of field: cuarena_error_info::message"]
        [::core::mem::offset_of!(cuarena_error_info, message) - 56usize];
};
#[doc = " Why the last failing call of this thread failed. Members that do not apply are 0. A successful\n call leaves it as it is."]
pub type cuarena_error_info_t = cuarena_error_info;
#[doc = " Gets one line, without a newline, valid during the call only. Called with\n no lock held, from whichever thread logs; lines that its own calls of the library would make are\n left out. It must return: not by longjmp, nor by an exception."]
pub type cuarena_log_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        level: i32,
        line: *const ::core::ffi::c_char,
    ),
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_heap {
    _unused: [u8; 0],
}
pub type cuarena_heap_t = cuarena_heap;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_heap_plan {
    _unused: [u8; 0],
}
pub type cuarena_heap_plan_t = cuarena_heap_plan;
#[doc = " Names a block for as long as it lives; 0 names none. It tells a heap, a slot and how often the\n slot was used, so a stale id and one of another heap are told from a live one: for certain if\n both heaps live, whatever their number. Of a heap that has ended too, until its bits are used up:\n 2^48 ids of heaps that had the same one of 32767 numbers, which are given in turn."]
pub type cuarena_block_t = u64;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_heap_config {
    pub struct_size: usize,
    #[doc = " power of two from 8; default 256"]
    pub granule: u64,
    #[doc = " 1 to CUARENA_HEAP_MAX_BLOCKS, the default"]
    pub max_blocks: u64,
    #[doc = " 0 (default): a rest is always split off;\n N: if it has N bytes or is as large as the\n request; UINT64_MAX: never"]
    pub split_threshold: u64,
    #[doc = " CUARENA_PLACEMENT_..."]
    pub placement: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_heap_config"][::core::mem::size_of::<cuarena_heap_config>() - 40usize];
    ["Alignment of cuarena_heap_config"][::core::mem::align_of::<cuarena_heap_config>() - 8usize];
    ["Offset of field: cuarena_heap_config::struct_size"]
        [::core::mem::offset_of!(cuarena_heap_config, struct_size) - 0usize];
    ["Offset of field: cuarena_heap_config::granule"]
        [::core::mem::offset_of!(cuarena_heap_config, granule) - 8usize];
    ["Offset of field: cuarena_heap_config::max_blocks"]
        [::core::mem::offset_of!(cuarena_heap_config, max_blocks) - 16usize];
    ["Offset of field: cuarena_heap_config::split_threshold"]
        [::core::mem::offset_of!(cuarena_heap_config, split_threshold) - 24usize];
    ["Offset of field: cuarena_heap_config::placement"]
        [::core::mem::offset_of!(cuarena_heap_config, placement) - 32usize];
};
pub type cuarena_heap_config_t = cuarena_heap_config;
#[doc = " Gives the same stretch to the heap as one live block that fills it: for dedicated and adopted\n bytes. The block has the pins and tag of `request`, whose size says how much of it was asked for."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_heap_request {
    #[doc = " rounded up to the granule; not 0"]
    pub size: u64,
    #[doc = " 0: the granule; else a power of two"]
    pub alignment: u64,
    #[doc = " served from this free list's ranges"]
    pub freelist: u32,
    #[doc = " kept with the block"]
    pub tag: u16,
    #[doc = " the pins that it is born with"]
    pub pins: u16,
    #[doc = " bits of the caller's own, kept with the block:\n CUARENA_HEAP_FLAGS of them"]
    pub flags: u16,
    #[doc = " 1: as low as a bounded look finds"]
    pub low: u16,
    #[doc = " whose it is: a number of the caller's, kept with the\n block; at most CUARENA_HEAP_MAX_OWNER"]
    pub owner: u16,
    #[doc = " 0"]
    pub zero: u16,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_heap_request"][::core::mem::size_of::<cuarena_heap_request>() - 32usize];
    ["Alignment of cuarena_heap_request"][::core::mem::align_of::<cuarena_heap_request>() - 8usize];
    ["Offset of field: cuarena_heap_request::size"]
        [::core::mem::offset_of!(cuarena_heap_request, size) - 0usize];
    ["Offset of field: cuarena_heap_request::alignment"]
        [::core::mem::offset_of!(cuarena_heap_request, alignment) - 8usize];
    ["Offset of field: cuarena_heap_request::freelist"]
        [::core::mem::offset_of!(cuarena_heap_request, freelist) - 16usize];
    ["Offset of field: cuarena_heap_request::tag"]
        [::core::mem::offset_of!(cuarena_heap_request, tag) - 20usize];
    ["Offset of field: cuarena_heap_request::pins"]
        [::core::mem::offset_of!(cuarena_heap_request, pins) - 22usize];
    ["Offset of field: cuarena_heap_request::flags"]
        [::core::mem::offset_of!(cuarena_heap_request, flags) - 24usize];
    ["Offset of field: cuarena_heap_request::low"]
        [::core::mem::offset_of!(cuarena_heap_request, low) - 26usize];
    ["Offset of field: cuarena_heap_request::owner"]
        [::core::mem::offset_of!(cuarena_heap_request, owner) - 28usize];
    ["Offset of field: cuarena_heap_request::zero"]
        [::core::mem::offset_of!(cuarena_heap_request, zero) - 30usize];
};
#[doc = " What a request asks. Frozen: set all members, or begin with {0}."]
pub type cuarena_heap_request_t = cuarena_heap_request;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_heap_entry {
    #[doc = " CUARENA_ENTRY_..."]
    pub kind: i32,
    #[doc = " of a range; of a block its owner"]
    pub freelist: u32,
    #[doc = " first byte"]
    pub offset: u64,
    #[doc = " bytes taken"]
    pub size: u64,
    #[doc = " its id, 0 for ranges and gaps"]
    pub block: cuarena_block_t,
    #[doc = " bytes asked for, 0 for ranges and gaps"]
    pub requested: u64,
    #[doc = " the block's, 0 for ranges and gaps"]
    pub alignment: u64,
    #[doc = " the block's"]
    pub tag: u16,
    #[doc = " the block's"]
    pub pins: u16,
    #[doc = " the caller's bits of the block"]
    pub flags: u16,
    #[doc = " 1 while a plan under way holds it"]
    pub moving: u16,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_heap_entry"][::core::mem::size_of::<cuarena_heap_entry>() - 56usize];
    ["Alignment of cuarena_heap_entry"][::core::mem::align_of::<cuarena_heap_entry>() - 8usize];
    ["Offset of field: cuarena_heap_entry::kind"]
        [::core::mem::offset_of!(cuarena_heap_entry, kind) - 0usize];
    ["Offset of field: cuarena_heap_entry::freelist"]
        [::core::mem::offset_of!(cuarena_heap_entry, freelist) - 4usize];
    ["Offset of field: cuarena_heap_entry::offset"]
        [::core::mem::offset_of!(cuarena_heap_entry, offset) - 8usize];
    ["Offset of field: cuarena_heap_entry::size"]
        [::core::mem::offset_of!(cuarena_heap_entry, size) - 16usize];
    ["Offset of field: cuarena_heap_entry::block"]
        [::core::mem::offset_of!(cuarena_heap_entry, block) - 24usize];
    ["Offset of field: cuarena_heap_entry::requested"]
        [::core::mem::offset_of!(cuarena_heap_entry, requested) - 32usize];
    ["Offset of field: cuarena_heap_entry::alignment"]
        [::core::mem::offset_of!(cuarena_heap_entry, alignment) - 40usize];
    ["Offset of field: cuarena_heap_entry::tag"]
        [::core::mem::offset_of!(cuarena_heap_entry, tag) - 48usize];
    ["Offset of field: cuarena_heap_entry::pins"]
        [::core::mem::offset_of!(cuarena_heap_entry, pins) - 50usize];
    ["Offset of field: cuarena_heap_entry::flags"]
        [::core::mem::offset_of!(cuarena_heap_entry, flags) - 52usize];
    ["Offset of field: cuarena_heap_entry::moving"]
        [::core::mem::offset_of!(cuarena_heap_entry, moving) - 54usize];
};
pub type cuarena_heap_entry_t = cuarena_heap_entry;
#[doc = " ---- Knowing -----------------------------------------------------------"]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_heap_stats {
    pub struct_size: usize,
    #[doc = " all segments"]
    pub capacity_bytes: u64,
    #[doc = " blocks, as taken"]
    pub live_bytes: u64,
    #[doc = " blocks, as asked for"]
    pub requested_bytes: u64,
    #[doc = " ranges of every free list"]
    pub free_bytes: u64,
    #[doc = " at least this much is in one idle range;\n the largest is less than 1/32 above it"]
    pub largest_bytes: u64,
    pub live_blocks: u64,
    pub ranges: u64,
    pub segments: u64,
    #[doc = " since creation or the last reset"]
    pub peak_live_bytes: u64,
    pub peak_requested_bytes: u64,
    pub peak_live_blocks: u64,
    pub allocs: u64,
    pub frees: u64,
    #[doc = " refusals that searched a class to its end"]
    pub full_searches: u64,
    #[doc = " ranges looked at for all requests so far"]
    pub search_steps: u64,
    #[doc = " of the look-up by offset, ever"]
    pub longest_probe: u64,
    #[doc = " of the host, that records, look-up and\n indexes use or have used"]
    pub bookkeeping_bytes: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_heap_stats"][::core::mem::size_of::<cuarena_heap_stats>() - 144usize];
    ["Alignment of cuarena_heap_stats"][::core::mem::align_of::<cuarena_heap_stats>() - 8usize];
    ["Offset of field: cuarena_heap_stats::struct_size"]
        [::core::mem::offset_of!(cuarena_heap_stats, struct_size) - 0usize];
    ["Offset of field: cuarena_heap_stats::capacity_bytes"]
        [::core::mem::offset_of!(cuarena_heap_stats, capacity_bytes) - 8usize];
    ["Offset of field: cuarena_heap_stats::live_bytes"]
        [::core::mem::offset_of!(cuarena_heap_stats, live_bytes) - 16usize];
    ["Offset of field: cuarena_heap_stats::requested_bytes"]
        [::core::mem::offset_of!(cuarena_heap_stats, requested_bytes) - 24usize];
    ["Offset of field: cuarena_heap_stats::free_bytes"]
        [::core::mem::offset_of!(cuarena_heap_stats, free_bytes) - 32usize];
    ["Offset of field: cuarena_heap_stats::largest_bytes"]
        [::core::mem::offset_of!(cuarena_heap_stats, largest_bytes) - 40usize];
    ["Offset of field: cuarena_heap_stats::live_blocks"]
        [::core::mem::offset_of!(cuarena_heap_stats, live_blocks) - 48usize];
    ["Offset of field: cuarena_heap_stats::ranges"]
        [::core::mem::offset_of!(cuarena_heap_stats, ranges) - 56usize];
    ["Offset of field: cuarena_heap_stats::segments"]
        [::core::mem::offset_of!(cuarena_heap_stats, segments) - 64usize];
    ["Offset of field: cuarena_heap_stats::peak_live_bytes"]
        [::core::mem::offset_of!(cuarena_heap_stats, peak_live_bytes) - 72usize];
    ["Offset of field: cuarena_heap_stats::peak_requested_bytes"]
        [::core::mem::offset_of!(cuarena_heap_stats, peak_requested_bytes) - 80usize];
    ["Offset of field: cuarena_heap_stats::peak_live_blocks"]
        [::core::mem::offset_of!(cuarena_heap_stats, peak_live_blocks) - 88usize];
    ["Offset of field: cuarena_heap_stats::allocs"]
        [::core::mem::offset_of!(cuarena_heap_stats, allocs) - 96usize];
    ["Offset of field: cuarena_heap_stats::frees"]
        [::core::mem::offset_of!(cuarena_heap_stats, frees) - 104usize];
    ["Offset of field: cuarena_heap_stats::full_searches"]
        [::core::mem::offset_of!(cuarena_heap_stats, full_searches) - 112usize];
    ["Offset of field: cuarena_heap_stats::search_steps"]
        [::core::mem::offset_of!(cuarena_heap_stats, search_steps) - 120usize];
    ["Offset of field: cuarena_heap_stats::longest_probe"]
        [::core::mem::offset_of!(cuarena_heap_stats, longest_probe) - 128usize];
    ["Offset of field: cuarena_heap_stats::bookkeeping_bytes"]
        [::core::mem::offset_of!(cuarena_heap_stats, bookkeeping_bytes) - 136usize];
};
#[doc = " ---- Knowing -----------------------------------------------------------"]
pub type cuarena_heap_stats_t = cuarena_heap_stats;
#[doc = " One move of one block, of `bytes`. Moves are listed so that none writes\n over the source of a later one; each may overlap itself. Frozen."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_heap_move {
    pub block: cuarena_block_t,
    pub from: u64,
    pub to: u64,
    pub bytes: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_heap_move"][::core::mem::size_of::<cuarena_heap_move>() - 32usize];
    ["Alignment of cuarena_heap_move"][::core::mem::align_of::<cuarena_heap_move>() - 8usize];
    ["Offset of field: cuarena_heap_move::block"]
        [::core::mem::offset_of!(cuarena_heap_move, block) - 0usize];
    ["Offset of field: cuarena_heap_move::from"]
        [::core::mem::offset_of!(cuarena_heap_move, from) - 8usize];
    ["Offset of field: cuarena_heap_move::to"]
        [::core::mem::offset_of!(cuarena_heap_move, to) - 16usize];
    ["Offset of field: cuarena_heap_move::bytes"]
        [::core::mem::offset_of!(cuarena_heap_move, bytes) - 24usize];
};
#[doc = " One move of one block, of `bytes`. Moves are listed so that none writes\n over the source of a later one; each may overlap itself. Frozen."]
pub type cuarena_heap_move_t = cuarena_heap_move;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_heap_plan_options {
    pub struct_size: usize,
    #[doc = " 0: all the way; N: until N bytes fit"]
    pub goal_bytes: u64,
    #[doc = " of those N bytes; 0: the granule"]
    pub goal_alignment: u64,
    #[doc = " most bytes to move; UINT64_MAX by default"]
    pub max_bytes: u64,
    #[doc = " most blocks to move; UINT64_MAX by default"]
    pub max_moves: u64,
    #[doc = " its ranges count as free, like those of free list\n 0: commit to it; 0 by default"]
    pub freelist: u32,
    #[doc = " 0"]
    pub zero: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_heap_plan_options"]
        [::core::mem::size_of::<cuarena_heap_plan_options>() - 48usize];
    ["Alignment of cuarena_heap_plan_options"]
        [::core::mem::align_of::<cuarena_heap_plan_options>() - 8usize];
    ["Offset of field: cuarena_heap_plan_options::struct_size"]
        [::core::mem::offset_of!(cuarena_heap_plan_options, struct_size) - 0usize];
    ["Offset of field: cuarena_heap_plan_options::goal_bytes"]
        [::core::mem::offset_of!(cuarena_heap_plan_options, goal_bytes) - 8usize];
    ["Offset of field: cuarena_heap_plan_options::goal_alignment"]
        [::core::mem::offset_of!(cuarena_heap_plan_options, goal_alignment) - 16usize];
    ["Offset of field: cuarena_heap_plan_options::max_bytes"]
        [::core::mem::offset_of!(cuarena_heap_plan_options, max_bytes) - 24usize];
    ["Offset of field: cuarena_heap_plan_options::max_moves"]
        [::core::mem::offset_of!(cuarena_heap_plan_options, max_moves) - 32usize];
    ["Offset of field: cuarena_heap_plan_options::freelist"]
        [::core::mem::offset_of!(cuarena_heap_plan_options, freelist) - 40usize];
    ["Offset of field: cuarena_heap_plan_options::zero"]
        [::core::mem::offset_of!(cuarena_heap_plan_options, zero) - 44usize];
};
pub type cuarena_heap_plan_options_t = cuarena_heap_plan_options;
#[doc = " Names the purpose of blocks; 0: none. Registered once per arena."]
pub type cuarena_tag_t = u16;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_request {
    pub struct_size: usize,
    #[doc = " CUARENA_REGION_DYNAMIC or _STABLE; an arena without a\n stable region has stable blocks in its dynamic one,\n low and pinned for good: cuarena_block_info tells\n STABLE of them, statistics count them as dynamic"]
    pub region: i32,
    #[doc = " 1: the block's bytes read as 0"]
    pub zeroed: i32,
    #[doc = " 1: a segment of its own, outside growth, given back\n when it is freed, in a capture session after its\n release; counts toward the limits. All blocks are\n with segments=each"]
    pub dedicated: i32,
    pub tag: cuarena_tag_t,
    #[doc = " 0: the arena's; else a power of two"]
    pub alignment: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_request"][::core::mem::size_of::<cuarena_request>() - 32usize];
    ["Alignment of cuarena_request"][::core::mem::align_of::<cuarena_request>() - 8usize];
    ["Offset of field: cuarena_request::struct_size"]
        [::core::mem::offset_of!(cuarena_request, struct_size) - 0usize];
    ["Offset of field: cuarena_request::region"]
        [::core::mem::offset_of!(cuarena_request, region) - 8usize];
    ["Offset of field: cuarena_request::zeroed"]
        [::core::mem::offset_of!(cuarena_request, zeroed) - 12usize];
    ["Offset of field: cuarena_request::dedicated"]
        [::core::mem::offset_of!(cuarena_request, dedicated) - 16usize];
    ["Offset of field: cuarena_request::tag"]
        [::core::mem::offset_of!(cuarena_request, tag) - 20usize];
    ["Offset of field: cuarena_request::alignment"]
        [::core::mem::offset_of!(cuarena_request, alignment) - 24usize];
};
pub type cuarena_request_t = cuarena_request;
#[doc = " What is known of a block. Frozen."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_block_info {
    pub block: cuarena_block_t,
    #[doc = " NULL if empty; good while pinned"]
    pub address: *mut ::core::ffi::c_void,
    #[doc = " bytes asked for"]
    pub requested: u64,
    #[doc = " bytes taken"]
    pub allocated: u64,
    pub alignment: u64,
    pub region: i32,
    pub tag: cuarena_tag_t,
    pub pins: u16,
    #[doc = " 1: made by the pointer calls"]
    pub pointer: u8,
    pub dedicated: u8,
    pub adopted: u8,
    pub moving: u8,
    pub zero: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_block_info"][::core::mem::size_of::<cuarena_block_info>() - 56usize];
    ["Alignment of cuarena_block_info"][::core::mem::align_of::<cuarena_block_info>() - 8usize];
    ["Offset of field: cuarena_block_info::block"]
        [::core::mem::offset_of!(cuarena_block_info, block) - 0usize];
    ["Offset of field: cuarena_block_info::address"]
        [::core::mem::offset_of!(cuarena_block_info, address) - 8usize];
    ["Offset of field: cuarena_block_info::requested"]
        [::core::mem::offset_of!(cuarena_block_info, requested) - 16usize];
    ["Offset of field: cuarena_block_info::allocated"]
        [::core::mem::offset_of!(cuarena_block_info, allocated) - 24usize];
    ["Offset of field: cuarena_block_info::alignment"]
        [::core::mem::offset_of!(cuarena_block_info, alignment) - 32usize];
    ["Offset of field: cuarena_block_info::region"]
        [::core::mem::offset_of!(cuarena_block_info, region) - 40usize];
    ["Offset of field: cuarena_block_info::tag"]
        [::core::mem::offset_of!(cuarena_block_info, tag) - 44usize];
    ["Offset of field: cuarena_block_info::pins"]
        [::core::mem::offset_of!(cuarena_block_info, pins) - 46usize];
    ["Offset of field: cuarena_block_info::pointer"]
        [::core::mem::offset_of!(cuarena_block_info, pointer) - 48usize];
    ["Offset of field: cuarena_block_info::dedicated"]
        [::core::mem::offset_of!(cuarena_block_info, dedicated) - 49usize];
    ["Offset of field: cuarena_block_info::adopted"]
        [::core::mem::offset_of!(cuarena_block_info, adopted) - 50usize];
    ["Offset of field: cuarena_block_info::moving"]
        [::core::mem::offset_of!(cuarena_block_info, moving) - 51usize];
    ["Offset of field: cuarena_block_info::zero"]
        [::core::mem::offset_of!(cuarena_block_info, zero) - 52usize];
};
#[doc = " What is known of a block. Frozen."]
pub type cuarena_block_info_t = cuarena_block_info;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CUstream_st {
    _unused: [u8; 0],
}
#[doc = " A stream of the device: cudaStream_t and CUstream pass without a cast. NULL is the legacy default\n stream.\n\n The default streams are those of the arena's own context, whatever context is current; in host\n memory those of the context that is current when the first of them is passed, and of no other.\n The context of every stream that was passed outlives the arena: a primary one the arena holds,\n one that the\n caller created is the caller's."]
pub type cuarena_stream_t = *mut CUstream_st;
#[doc = " What is known of a stream. Frozen."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_stream_info {
    #[doc = " no other stream ever has it, unlike the handle"]
    pub id: u64,
    #[doc = " CUcontext; NULL where there is none"]
    pub context: *mut ::core::ffi::c_void,
    #[doc = " ordinal; -1 where there is none"]
    pub device: i32,
    #[doc = " 1: the handle is another stream on each thread"]
    pub per_thread: i32,
    #[doc = " 1: into a graph, now"]
    pub capturing: i32,
    pub zero: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_stream_info"][::core::mem::size_of::<cuarena_stream_info>() - 32usize];
    ["Alignment of cuarena_stream_info"][::core::mem::align_of::<cuarena_stream_info>() - 8usize];
    ["Offset of field: cuarena_stream_info::id"]
        [::core::mem::offset_of!(cuarena_stream_info, id) - 0usize];
    ["Offset of field: cuarena_stream_info::context"]
        [::core::mem::offset_of!(cuarena_stream_info, context) - 8usize];
    ["Offset of field: cuarena_stream_info::device"]
        [::core::mem::offset_of!(cuarena_stream_info, device) - 16usize];
    ["Offset of field: cuarena_stream_info::per_thread"]
        [::core::mem::offset_of!(cuarena_stream_info, per_thread) - 20usize];
    ["Offset of field: cuarena_stream_info::capturing"]
        [::core::mem::offset_of!(cuarena_stream_info, capturing) - 24usize];
    ["Offset of field: cuarena_stream_info::zero"]
        [::core::mem::offset_of!(cuarena_stream_info, zero) - 28usize];
};
#[doc = " What is known of a stream. Frozen."]
pub type cuarena_stream_info_t = cuarena_stream_info;
#[doc = " One stretch of addresses that a memory gave. The arena keeps it and hands\n it to every further call; the memory may change `cookie` at any time."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_memory_segment {
    #[doc = " of the first byte; never 0"]
    pub address: u64,
    #[doc = " usable from there; holes count"]
    pub bytes: u64,
    #[doc = " addresses set aside, >= bytes: how far `grow`\n may go in place"]
    pub address_bytes: u64,
    #[doc = " the memory's own"]
    pub cookie: *mut ::core::ffi::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_memory_segment"][::core::mem::size_of::<cuarena_memory_segment>() - 32usize];
    ["Alignment of cuarena_memory_segment"]
        [::core::mem::align_of::<cuarena_memory_segment>() - 8usize];
    ["Offset of field: cuarena_memory_segment::address"]
        [::core::mem::offset_of!(cuarena_memory_segment, address) - 0usize];
    ["Offset of field: cuarena_memory_segment::bytes"]
        [::core::mem::offset_of!(cuarena_memory_segment, bytes) - 8usize];
    ["Offset of field: cuarena_memory_segment::address_bytes"]
        [::core::mem::offset_of!(cuarena_memory_segment, address_bytes) - 16usize];
    ["Offset of field: cuarena_memory_segment::cookie"]
        [::core::mem::offset_of!(cuarena_memory_segment, cookie) - 24usize];
};
#[doc = " One stretch of addresses that a memory gave. The arena keeps it and hands\n it to every further call; the memory may change `cookie` at any time."]
pub type cuarena_memory_segment_t = cuarena_memory_segment;
#[doc = " One relocation of a list that `relocate` executes. Frozen."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_relocation {
    #[doc = " 0 for memory functions: runs of blocks"]
    pub block: cuarena_block_t,
    pub from: *mut ::core::ffi::c_void,
    pub to: *mut ::core::ffi::c_void,
    pub bytes: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_relocation"][::core::mem::size_of::<cuarena_relocation>() - 32usize];
    ["Alignment of cuarena_relocation"][::core::mem::align_of::<cuarena_relocation>() - 8usize];
    ["Offset of field: cuarena_relocation::block"]
        [::core::mem::offset_of!(cuarena_relocation, block) - 0usize];
    ["Offset of field: cuarena_relocation::from"]
        [::core::mem::offset_of!(cuarena_relocation, from) - 8usize];
    ["Offset of field: cuarena_relocation::to"]
        [::core::mem::offset_of!(cuarena_relocation, to) - 16usize];
    ["Offset of field: cuarena_relocation::bytes"]
        [::core::mem::offset_of!(cuarena_relocation, bytes) - 24usize];
};
#[doc = " One relocation of a list that `relocate` executes. Frozen."]
pub type cuarena_relocation_t = cuarena_relocation;
#[doc = " One handle behind a range of bytes, for another process. Frozen."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_export_piece {
    #[doc = " the handle's descriptor: the caller's to close"]
    pub fd: i32,
    #[doc = " 0"]
    pub zero: i32,
    #[doc = " the whole handle, which is mapped at once"]
    pub handle_bytes: u64,
    #[doc = " of the piece in its handle"]
    pub offset: u64,
    #[doc = " of the piece"]
    pub bytes: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_export_piece"][::core::mem::size_of::<cuarena_export_piece>() - 32usize];
    ["Alignment of cuarena_export_piece"][::core::mem::align_of::<cuarena_export_piece>() - 8usize];
    ["Offset of field: cuarena_export_piece::fd"]
        [::core::mem::offset_of!(cuarena_export_piece, fd) - 0usize];
    ["Offset of field: cuarena_export_piece::zero"]
        [::core::mem::offset_of!(cuarena_export_piece, zero) - 4usize];
    ["Offset of field: cuarena_export_piece::handle_bytes"]
        [::core::mem::offset_of!(cuarena_export_piece, handle_bytes) - 8usize];
    ["Offset of field: cuarena_export_piece::offset"]
        [::core::mem::offset_of!(cuarena_export_piece, offset) - 16usize];
    ["Offset of field: cuarena_export_piece::bytes"]
        [::core::mem::offset_of!(cuarena_export_piece, bytes) - 24usize];
};
#[doc = " One handle behind a range of bytes, for another process. Frozen."]
pub type cuarena_export_piece_t = cuarena_export_piece;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_memory_ops {
    pub struct_size: usize,
    #[doc = " for messages; static text"]
    pub name: *const ::core::ffi::c_char,
    #[doc = " CUARENA_MEMORY_... bits"]
    pub properties: u32,
    #[doc = " 0"]
    pub zero: u32,
    #[doc = " power of two: what segments are multiples of"]
    pub granularity: u64,
    #[doc = " power of two: what every address it gives is a\n multiple of; at least the arena's granule"]
    pub alignment: u64,
    #[doc = " power of two from the granule to granularity:\n what a segment may be a multiple of that keeps\n its length; 0: as granularity"]
    pub least_bytes: u64,
    #[doc = " How many bytes could be had now (at most, as far as known); for sizes given as \"auto\". NULL:\n such sizes are BAD_ARGUMENT."]
    pub available: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            bytes_out: *mut u64,
        ) -> cuarena_status_t,
    >,
    #[doc = " A new segment of `bytes`. The caller would like addresses to be set aside for `address_bytes`\n (>= bytes): a memory that has not so many sets fewer aside, down to `bytes`, and does not\n fail for want of the rest."]
    pub get: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            bytes: u64,
            address_bytes: u64,
            segment_out: *mut cuarena_memory_segment_t,
        ) -> cuarena_status_t,
    >,
    #[doc = " Ends a segment. Nothing in it is in use."]
    pub give_back: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            segment: *mut cuarena_memory_segment_t,
        ),
    >,
    #[doc = " Lengthens or shortens the usable part in place, within\n address_bytes. NULL: segments keep their length."]
    pub grow: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            segment: *mut cuarena_memory_segment_t,
            new_bytes: u64,
        ) -> cuarena_status_t,
    >,
    pub shrink: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            segment: *mut cuarena_memory_segment_t,
            new_bytes: u64,
        ),
    >,
    #[doc = " Takes the backing of [offset, offset + bytes) away, leaving a hole of unusable addresses, and\n puts backing under it again. Both or neither; NULL: there are no holes."]
    pub punch: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            segment: *mut cuarena_memory_segment_t,
            offset: u64,
            bytes: u64,
        ),
    >,
    pub fill: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            segment: *mut cuarena_memory_segment_t,
            offset: u64,
            bytes: u64,
        ) -> cuarena_status_t,
    >,
    #[doc = " Executes the list in order on `stream`, which is CUARENA_NO_STREAM if\n all is to be done on return; source and destination of one entry may overlap. `done_out`\n tells how many entries were queued or done when it fails (0: nothing was touched). NULL:\n nothing moves. Where the CPU does it (pageable, bytes of the host) the call waits for the\n work of `stream` so far, and all is done on return."]
    pub relocate: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            list: *const cuarena_relocation_t,
            count: usize,
            stream: cuarena_stream_t,
            done_out: *mut usize,
        ) -> cuarena_status_t,
    >,
    #[doc = " Sets bytes to 0 on `stream`, likewise. NULL: zeroing is UNSUPPORTED."]
    pub zero_bytes: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            address: *mut ::core::ffi::c_void,
            bytes: u64,
            stream: cuarena_stream_t,
        ) -> cuarena_status_t,
    >,
    #[doc = " Streams. All NULL: everything the memory does is done when the call returns, and no stream\n uses it.\n\n `identify` tells what a handle that the caller has just passed stands for; BAD_ARGUMENT, put\n into words, for one whose work could not use\n these bytes. `mark` records the work of `stream` so far: in a new\n event if *event is NULL, else in that one, which then means this\n moment; with CUARENA_NO_STREAM the work of all streams that could use\n its bytes, in a new event, or UNSUPPORTED: the arena then marks each stream that it knows and\n that was not released, and refuses what would need an event of another thread's default\n stream. Of a stream that is being captured `mark` says BUSY, and so do `wait`, `relocate` and\n `zero_bytes` on it, with nothing recorded, queued or touched. `query` says OK when that work\n is done, else BUSY; `wait` makes `stream` wait for it, or the caller with host = 1 (stream is\n CUARENA_NO_STREAM then). `unmark` ends a event, done or not."]
    pub identify: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            stream: cuarena_stream_t,
            info_out: *mut cuarena_stream_info_t,
        ) -> cuarena_status_t,
    >,
    pub mark: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            stream: cuarena_stream_t,
            event: *mut *mut ::core::ffi::c_void,
        ) -> cuarena_status_t,
    >,
    pub query: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            event: *mut ::core::ffi::c_void,
        ) -> cuarena_status_t,
    >,
    pub wait: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            event: *mut ::core::ffi::c_void,
            stream: cuarena_stream_t,
            host: i32,
        ) -> cuarena_status_t,
    >,
    pub unmark: ::core::option::Option<
        unsafe extern "C" fn(user: *mut ::core::ffi::c_void, event: *mut ::core::ffi::c_void),
    >,
    #[doc = " Tells the handles behind [offset, offset + bytes) of a segment, in order, each with a\n descriptor of its own that the caller will close; offset and bytes are multiples of the\n arena's granule. `pieces` NULL: only their count. More than `capacity`: BAD_ARGUMENT. May be\n called beside other functions for the segment. NULL: blocks cannot be exported."]
    pub export_range: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            segment: *const cuarena_memory_segment_t,
            offset: u64,
            bytes: u64,
            pieces: *mut cuarena_export_piece_t,
            capacity: usize,
            count_out: *mut usize,
        ) -> cuarena_status_t,
    >,
    #[doc = " Called once, after the last segment was given back. May be NULL."]
    pub end: ::core::option::Option<unsafe extern "C" fn(user: *mut ::core::ffi::c_void)>,
    #[doc = " As `zero_bytes`, on a stream of an open capture session: while it is being captured the graph\n sets the bytes to 0, at each launch; BUSY if its capture has failed. NULL: a `zeroed` request\n on such a stream is UNSUPPORTED, unless the CPU touches the memory: then it is `zero_bytes`\n without a stream."]
    pub zero_captured: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            address: *mut ::core::ffi::c_void,
            bytes: u64,
            stream: cuarena_stream_t,
        ) -> cuarena_status_t,
    >,
    #[doc = " As `get` with address_bytes = bytes and `give_back`, at a point of `stream`, which is never\n CUARENA_NO_STREAM: the bytes are good for what the stream is given from here on, and go back\n behind what it was given\n so far, without a wait of the caller. A segment of either kind of get may go back either way.\n Of a stream that is being captured get_on says BUSY, and the arena calls `get`; give_on is\n `give_back` then, and the arena asks `identify` before. Like that, it must not fail. Both or\n neither; NULL: the bytes have no order, and a dedicated block that is freed on a stream waits\n for an event."]
    pub get_on: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            bytes: u64,
            stream: cuarena_stream_t,
            segment_out: *mut cuarena_memory_segment_t,
        ) -> cuarena_status_t,
    >,
    pub give_on: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            segment: *mut cuarena_memory_segment_t,
            stream: cuarena_stream_t,
        ),
    >,
    #[doc = " How many bytes there are in all, whoever has them now; for sizes given as a percentage. NULL:\n such sizes are BAD_ARGUMENT."]
    pub total: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            bytes_out: *mut u64,
        ) -> cuarena_status_t,
    >,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_memory_ops"][::core::mem::size_of::<cuarena_memory_ops>() - 208usize];
    ["Alignment of cuarena_memory_ops"][::core::mem::align_of::<cuarena_memory_ops>() - 8usize];
    ["Offset of field: cuarena_memory_ops::struct_size"]
        [::core::mem::offset_of!(cuarena_memory_ops, struct_size) - 0usize];
    ["Offset of field: cuarena_memory_ops::name"]
        [::core::mem::offset_of!(cuarena_memory_ops, name) - 8usize];
    ["Offset of field: cuarena_memory_ops::properties"]
        [::core::mem::offset_of!(cuarena_memory_ops, properties) - 16usize];
    ["Offset of field: cuarena_memory_ops::zero"]
        [::core::mem::offset_of!(cuarena_memory_ops, zero) - 20usize];
    ["Offset of field: cuarena_memory_ops::granularity"]
        [::core::mem::offset_of!(cuarena_memory_ops, granularity) - 24usize];
    ["Offset of field: cuarena_memory_ops::alignment"]
        [::core::mem::offset_of!(cuarena_memory_ops, alignment) - 32usize];
    ["Offset of field: cuarena_memory_ops::least_bytes"]
        [::core::mem::offset_of!(cuarena_memory_ops, least_bytes) - 40usize];
    ["Offset of field: cuarena_memory_ops::available"]
        [::core::mem::offset_of!(cuarena_memory_ops, available) - 48usize];
    ["Offset of field: cuarena_memory_ops::get"]
        [::core::mem::offset_of!(cuarena_memory_ops, get) - 56usize];
    ["Offset of field: cuarena_memory_ops::give_back"]
        [::core::mem::offset_of!(cuarena_memory_ops, give_back) - 64usize];
    ["Offset of field: cuarena_memory_ops::grow"]
        [::core::mem::offset_of!(cuarena_memory_ops, grow) - 72usize];
    ["Offset of field: cuarena_memory_ops::shrink"]
        [::core::mem::offset_of!(cuarena_memory_ops, shrink) - 80usize];
    ["Offset of field: cuarena_memory_ops::punch"]
        [::core::mem::offset_of!(cuarena_memory_ops, punch) - 88usize];
    ["Offset of field: cuarena_memory_ops::fill"]
        [::core::mem::offset_of!(cuarena_memory_ops, fill) - 96usize];
    ["Offset of field: cuarena_memory_ops::relocate"]
        [::core::mem::offset_of!(cuarena_memory_ops, relocate) - 104usize];
    ["Offset of field: cuarena_memory_ops::zero_bytes"]
        [::core::mem::offset_of!(cuarena_memory_ops, zero_bytes) - 112usize];
    ["Offset of field: cuarena_memory_ops::identify"]
        [::core::mem::offset_of!(cuarena_memory_ops, identify) - 120usize];
    ["Offset of field: cuarena_memory_ops::mark"]
        [::core::mem::offset_of!(cuarena_memory_ops, mark) - 128usize];
    ["Offset of field: cuarena_memory_ops::query"]
        [::core::mem::offset_of!(cuarena_memory_ops, query) - 136usize];
    ["Offset of field: cuarena_memory_ops::wait"]
        [::core::mem::offset_of!(cuarena_memory_ops, wait) - 144usize];
    ["Offset of field: cuarena_memory_ops::unmark"]
        [::core::mem::offset_of!(cuarena_memory_ops, unmark) - 152usize];
    ["Offset of field: cuarena_memory_ops::export_range"]
        [::core::mem::offset_of!(cuarena_memory_ops, export_range) - 160usize];
    ["Offset of field: cuarena_memory_ops::end"]
        [::core::mem::offset_of!(cuarena_memory_ops, end) - 168usize];
    ["Offset of field: cuarena_memory_ops::zero_captured"]
        [::core::mem::offset_of!(cuarena_memory_ops, zero_captured) - 176usize];
    ["Offset of field: cuarena_memory_ops::get_on"]
        [::core::mem::offset_of!(cuarena_memory_ops, get_on) - 184usize];
    ["Offset of field: cuarena_memory_ops::give_on"]
        [::core::mem::offset_of!(cuarena_memory_ops, give_on) - 192usize];
    ["Offset of field: cuarena_memory_ops::total"]
        [::core::mem::offset_of!(cuarena_memory_ops, total) - 200usize];
};
pub type cuarena_memory_ops_t = cuarena_memory_ops;
#[doc = " Gets a batch of relocations once, after their copies were queued (on host memory: done) and the\n blocks have their new addresses. Ordered so that no\n new range overlaps the old range of a later one. Legal in it: everything\n but compact, reset, resize_pool, trim and destroy of the same arena (REENTERED). Non-zero: no\n further batch; the one reported is done. It must return: not by longjmp, nor by an exception,\n after which the arena would be compacting for ever."]
pub type cuarena_relocation_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        list: *const cuarena_relocation_t,
        count: usize,
    ) -> i32,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_compact_options {
    pub struct_size: usize,
    #[doc = " 0: all the way; N: until N bytes fit"]
    pub goal_bytes: u64,
    #[doc = " of those; 0: the arena's"]
    pub goal_alignment: u64,
    #[doc = " most bytes moved; UINT64_MAX"]
    pub max_bytes: u64,
    #[doc = " most blocks moved; UINT64_MAX"]
    pub max_moves: u64,
    #[doc = " most blocks per batch, of those without a\n goal; UINT64_MAX"]
    pub batch_moves: u64,
    #[doc = " 1: the callback also gets, in a last batch,\n every block without pins that stayed, with\n from = to"]
    pub report_unmoved: i32,
    #[doc = " 0"]
    pub zero: i32,
    #[doc = " the copies are queued on it; NO_STREAM: they\n are done on return"]
    pub stream: cuarena_stream_t,
    #[doc = " others that use blocks which were"]
    pub streams: *const cuarena_stream_t,
    #[doc = " allocated without a stream"]
    pub stream_count: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_compact_options"]
        [::core::mem::size_of::<cuarena_compact_options>() - 80usize];
    ["Alignment of cuarena_compact_options"]
        [::core::mem::align_of::<cuarena_compact_options>() - 8usize];
    ["Offset of field: cuarena_compact_options::struct_size"]
        [::core::mem::offset_of!(cuarena_compact_options, struct_size) - 0usize];
    ["Offset of field: cuarena_compact_options::goal_bytes"]
        [::core::mem::offset_of!(cuarena_compact_options, goal_bytes) - 8usize];
    ["Offset of field: cuarena_compact_options::goal_alignment"]
        [::core::mem::offset_of!(cuarena_compact_options, goal_alignment) - 16usize];
    ["Offset of field: cuarena_compact_options::max_bytes"]
        [::core::mem::offset_of!(cuarena_compact_options, max_bytes) - 24usize];
    ["Offset of field: cuarena_compact_options::max_moves"]
        [::core::mem::offset_of!(cuarena_compact_options, max_moves) - 32usize];
    ["Offset of field: cuarena_compact_options::batch_moves"]
        [::core::mem::offset_of!(cuarena_compact_options, batch_moves) - 40usize];
    ["Offset of field: cuarena_compact_options::report_unmoved"]
        [::core::mem::offset_of!(cuarena_compact_options, report_unmoved) - 48usize];
    ["Offset of field: cuarena_compact_options::zero"]
        [::core::mem::offset_of!(cuarena_compact_options, zero) - 52usize];
    ["Offset of field: cuarena_compact_options::stream"]
        [::core::mem::offset_of!(cuarena_compact_options, stream) - 56usize];
    ["Offset of field: cuarena_compact_options::streams"]
        [::core::mem::offset_of!(cuarena_compact_options, streams) - 64usize];
    ["Offset of field: cuarena_compact_options::stream_count"]
        [::core::mem::offset_of!(cuarena_compact_options, stream_count) - 72usize];
};
pub type cuarena_compact_options_t = cuarena_compact_options;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_compact_report {
    pub struct_size: usize,
    #[doc = " blocks moved"]
    pub moves: u64,
    #[doc = " copies made of them"]
    pub runs: u64,
    pub bytes_moved: u64,
    pub batches: u64,
    #[doc = " free range, exact"]
    pub largest_before: u64,
    pub largest_after: u64,
    #[doc = " 1: the callback stopped it"]
    pub stopped: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_compact_report"][::core::mem::size_of::<cuarena_compact_report>() - 64usize];
    ["Alignment of cuarena_compact_report"]
        [::core::mem::align_of::<cuarena_compact_report>() - 8usize];
    ["Offset of field: cuarena_compact_report::struct_size"]
        [::core::mem::offset_of!(cuarena_compact_report, struct_size) - 0usize];
    ["Offset of field: cuarena_compact_report::moves"]
        [::core::mem::offset_of!(cuarena_compact_report, moves) - 8usize];
    ["Offset of field: cuarena_compact_report::runs"]
        [::core::mem::offset_of!(cuarena_compact_report, runs) - 16usize];
    ["Offset of field: cuarena_compact_report::bytes_moved"]
        [::core::mem::offset_of!(cuarena_compact_report, bytes_moved) - 24usize];
    ["Offset of field: cuarena_compact_report::batches"]
        [::core::mem::offset_of!(cuarena_compact_report, batches) - 32usize];
    ["Offset of field: cuarena_compact_report::largest_before"]
        [::core::mem::offset_of!(cuarena_compact_report, largest_before) - 40usize];
    ["Offset of field: cuarena_compact_report::largest_after"]
        [::core::mem::offset_of!(cuarena_compact_report, largest_after) - 48usize];
    ["Offset of field: cuarena_compact_report::stopped"]
        [::core::mem::offset_of!(cuarena_compact_report, stopped) - 56usize];
};
pub type cuarena_compact_report_t = cuarena_compact_report;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_event {
    pub struct_size: usize,
    pub kind: i32,
    #[doc = " of FAIL"]
    pub status: cuarena_status_t,
    #[doc = " 0 where none"]
    pub block: cuarena_block_t,
    #[doc = " NULL where none"]
    pub address: *mut ::core::ffi::c_void,
    #[doc = " requested; or taken, given back, moved"]
    pub bytes: u64,
    pub tag: cuarena_tag_t,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_event"][::core::mem::size_of::<cuarena_event>() - 48usize];
    ["Alignment of cuarena_event"][::core::mem::align_of::<cuarena_event>() - 8usize];
    ["Offset of field: cuarena_event::struct_size"]
        [::core::mem::offset_of!(cuarena_event, struct_size) - 0usize];
    ["Offset of field: cuarena_event::kind"][::core::mem::offset_of!(cuarena_event, kind) - 8usize];
    ["Offset of field: cuarena_event::status"]
        [::core::mem::offset_of!(cuarena_event, status) - 12usize];
    ["Offset of field: cuarena_event::block"]
        [::core::mem::offset_of!(cuarena_event, block) - 16usize];
    ["Offset of field: cuarena_event::address"]
        [::core::mem::offset_of!(cuarena_event, address) - 24usize];
    ["Offset of field: cuarena_event::bytes"]
        [::core::mem::offset_of!(cuarena_event, bytes) - 32usize];
    ["Offset of field: cuarena_event::tag"][::core::mem::offset_of!(cuarena_event, tag) - 40usize];
};
pub type cuarena_event_t = cuarena_event;
#[doc = " Called after the fact with no lock held; everything is legal in it but to destroy the arena\n (REENTERED), and the events of its own calls reach it too. In that of a compaction's batch what\n is not legal in a relocation callback is not either. Events of different threads may come in\n another order than they happened. It must return: not by longjmp, nor by an exception."]
pub type cuarena_event_fn = ::core::option::Option<
    unsafe extern "C" fn(user: *mut ::core::ffi::c_void, event: *const cuarena_event_t),
>;
#[doc = " What was tried for a request that is refused stays done: free bytes given back to the memory,\n cached blocks ended, waits of streams, what the handler did, and moves, which were reported.\n Nothing is given back or ended for one that would not fit beside the blocks that live. The steps\n are below; the error lists those that were tried, names the memory that had no more with its\n code (errno, the driver's, or what a caller's own function answered), and says why compaction\n brought nothing.\n\n The handler: asked when nothing else helps, before compact_on_oom, but not for more bytes than\n the limit of held ones and all that is held: 1 says that something was freed and the request is\n tried again, 0 that nothing was, and then it is not asked again for this request. It is given up\n on when it says 1 sixteen times for one request without enough room appearing.\n\n Called with no lock held, so others go on meanwhile, and several threads may be in it at once; on\n one thread it is not entered twice: a request that is made in it and finds no room fails without\n it. Any call of the arena is legal in it but to destroy it (REENTERED). It must return: not by\n longjmp, nor by an exception. cuarena_step_stats counts every step of running out, and the log\n tells them (debug)."]
pub type cuarena_oom_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        arena: *mut cuarena_t,
        asked_bytes: u64,
        attempt: i32,
    ) -> i32,
>;
#[doc = " One step, since the arena was made. Frozen."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_step_stats {
    #[doc = " as errors and the log call it; static text"]
    pub name: *const ::core::ffi::c_char,
    #[doc = " it had something to do"]
    pub tried: u64,
    #[doc = " requests that had room then, and went no further"]
    pub served: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_step_stats"][::core::mem::size_of::<cuarena_step_stats>() - 24usize];
    ["Alignment of cuarena_step_stats"][::core::mem::align_of::<cuarena_step_stats>() - 8usize];
    ["Offset of field: cuarena_step_stats::name"]
        [::core::mem::offset_of!(cuarena_step_stats, name) - 0usize];
    ["Offset of field: cuarena_step_stats::tried"]
        [::core::mem::offset_of!(cuarena_step_stats, tried) - 8usize];
    ["Offset of field: cuarena_step_stats::served"]
        [::core::mem::offset_of!(cuarena_step_stats, served) - 16usize];
};
#[doc = " One step, since the arena was made. Frozen."]
pub type cuarena_step_stats_t = cuarena_step_stats;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_amount {
    #[doc = " CUARENA_AMOUNT_..."]
    pub unit: i32,
    #[doc = " 0"]
    pub zero: i32,
    pub value: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_amount"][::core::mem::size_of::<cuarena_amount>() - 16usize];
    ["Alignment of cuarena_amount"][::core::mem::align_of::<cuarena_amount>() - 8usize];
    ["Offset of field: cuarena_amount::unit"]
        [::core::mem::offset_of!(cuarena_amount, unit) - 0usize];
    ["Offset of field: cuarena_amount::zero"]
        [::core::mem::offset_of!(cuarena_amount, zero) - 4usize];
    ["Offset of field: cuarena_amount::value"]
        [::core::mem::offset_of!(cuarena_amount, value) - 8usize];
};
pub type cuarena_amount_t = cuarena_amount;
#[doc = " Filled by cuarena_config_init, then by hand, by cuarena_config_set or by cuarena_config_parse.\n docs/options.md lists key, range and default of each.\n\n A member that decides nothing beside the others, such as `pool` with a preset that grows or\n `cache_page` without a cache, is an error that names it, unless it has the value that it would\n have anyway."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_config {
    pub struct_size: usize,
    #[doc = " CUARENA_PRESET_..."]
    pub preset: i32,
    #[doc = " CUARENA_MEMORY_...; as the preset says"]
    pub memory: i32,
    #[doc = " size of a fixed pool; auto-512MiB. Bytes are\n rounded up to `alignment`, others down to what\n the memory gives in multiples of"]
    pub pool: cuarena_amount_t,
    #[doc = " of those, the stable region; 0 bytes"]
    pub stable: cuarena_amount_t,
    #[doc = " most bytes held; auto"]
    pub limit: cuarena_amount_t,
    #[doc = " addresses set aside for growing in place, fewer\n where the process has few; 0: the limit, or\n else a pool's size, or all of the memory"]
    pub address_bytes: u64,
    #[doc = " the granule: power of two from 8; as the preset\n says, mostly 256"]
    pub alignment: u64,
    #[doc = " see cuarena_heap_config_t; as the preset says:\n CUARENA_BYTES_PRESET"]
    pub split_threshold: u64,
    #[doc = " most live blocks; 2^26"]
    pub max_blocks: u64,
    #[doc = " CUARENA_GROW_...; as the preset says: -1"]
    pub grow: i32,
    #[doc = " CUARENA_ZERO_...; never"]
    pub zero: i32,
    #[doc = " CUARENA_PLACEMENT_...; as the preset says: -1"]
    pub placement: i32,
    #[doc = " 1: a step of running out; 0"]
    pub compact_on_oom: i32,
    #[doc = " memory = bytes: what the caller owns, at least until destroy. The arena may give out every\n byte from the first multiple of `alignment`."]
    pub bytes: *mut ::core::ffi::c_void,
    pub bytes_size: u64,
    #[doc = " CUARENA_BYTES_...; host"]
    pub bytes_kind: i32,
    #[doc = " ordinal; 0"]
    pub device: i32,
    #[doc = " CUcontext, instead of the ordinal's primary one"]
    pub context: *mut ::core::ffi::c_void,
    #[doc = " CUARENA_BACKING_... of device memory; auto"]
    pub backing: i32,
    #[doc = " CUARENA_PROPERTY_...: blocks can be exported"]
    pub fd: i32,
    #[doc = " ... network cards can reach them"]
    pub rdma: i32,
    #[doc = " ... they can be exported to other hosts"]
    pub fabric: i32,
    #[doc = " ... the other devices can reach them"]
    pub peers: i32,
    #[doc = " of a vmm handle; 0: as the arena thinks best"]
    pub handle_bytes: u64,
    #[doc = " pinned: the device can reach it; 1"]
    pub mapped: i32,
    #[doc = " pinned: fast to write, slow to read; 0"]
    pub write_combined: i32,
    #[doc = " pinned: for every context; 1"]
    pub portable: i32,
    #[doc = " pinned, managed, pageable: the CPU does not touch\n blocks that streams use; 0"]
    pub device_only: i32,
    #[doc = " CUARENA_EVENTS_...; late"]
    pub events: i32,
    #[doc = " memory = custom: copied at creation; `ops_user` stays the caller's."]
    pub ops: *const cuarena_memory_ops_t,
    pub ops_user: *mut ::core::ffi::c_void,
    #[doc = " for logs and messages; may be empty"]
    pub name: [::core::ffi::c_char; 32usize],
    #[doc = " CUARENA_STEAL_...; as the preset says: -1"]
    pub steal: i32,
    #[doc = " the first chunk; 1 MiB"]
    pub initial_chunk: u64,
    #[doc = " the next one after a trim; 2 MiB"]
    pub growth_after_trim: u64,
    #[doc = " chunks double to this at most; 1 GiB"]
    pub max_doubling: u64,
    #[doc = " an arena that grows takes initial_chunk at\n once: 1; nothing before it must: 0"]
    pub take_first: i32,
    #[doc = " CUARENA_UNKNOWN_...; error"]
    pub unknown_keys: i32,
    #[doc = " 1: segments are lengthened, shortened and punched\n where the memory can; 0: each keeps its length, and\n goes back whole; as the preset says: -1"]
    pub in_place: i32,
    #[doc = " CUARENA_SEGMENTS_...; as the preset says: -1"]
    pub segments: i32,
    #[doc = " CUARENA_DRIVER_POOL_...; current"]
    pub driver_pool: i32,
    #[doc = " a CUmemoryPool, as a number; 0"]
    pub driver_pool_handle: u64,
    #[doc = " most bytes of an own one; 0: no end"]
    pub driver_pool_max: u64,
    #[doc = " what the pool keeps when it gives back;\n CUARENA_BYTES_UNCHANGED: stays as it is;\n as the preset says: CUARENA_BYTES_PRESET"]
    pub release_threshold: u64,
    #[doc = " 1: the pool becomes the device's current\n one, for the whole process; 0"]
    pub make_current: i32,
    #[doc = " 1: the pool's threshold is a limit too, see\n CUARENA_LIMIT_THRESHOLD; 0"]
    pub threshold_limits: i32,
    #[doc = " what cuarena_shared_shrink leaves; 0 bytes"]
    pub keep_on_trim: u64,
    #[doc = " CUARENA_KEEP_...; as the preset says: -1"]
    pub keep: i32,
    #[doc = " CUARENA_CACHE_...; as the preset says: -1"]
    pub cache_bound: i32,
    #[doc = " most bytes cached; auto: as the preset\n says, or else the soft limit"]
    pub cache_limit: cuarena_amount_t,
    #[doc = " a cached block serves requests that are\n smaller by less than two of these"]
    pub cache_page: u64,
    #[doc = " auto: as the preset says, or else none"]
    pub soft_limit: cuarena_amount_t,
    #[doc = " CUARENA_SOFT_...; as the preset says: -1"]
    pub soft_limit_rule: i32,
    #[doc = " sizes below it: to a power of two"]
    pub round_powers: u64,
    #[doc = " the others: to a multiple of it"]
    pub round_to: u64,
    #[doc = " blocks are aligned to the least power of two that\n they fit in, of this at most; 0: the granule"]
    pub natural: u64,
    #[doc = " 1: of device memory an arena with a pool of\n the driver's of its own; 0"]
    pub use_cuda_mempool: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_config"][::core::mem::size_of::<cuarena_config>() - 432usize];
    ["Alignment of cuarena_config"][::core::mem::align_of::<cuarena_config>() - 8usize];
    ["Offset of field: cuarena_config::struct_size"]
        [::core::mem::offset_of!(cuarena_config, struct_size) - 0usize];
    ["Offset of field: cuarena_config::preset"]
        [::core::mem::offset_of!(cuarena_config, preset) - 8usize];
    ["Offset of field: cuarena_config::memory"]
        [::core::mem::offset_of!(cuarena_config, memory) - 12usize];
    ["Offset of field: cuarena_config::pool"]
        [::core::mem::offset_of!(cuarena_config, pool) - 16usize];
    ["Offset of field: cuarena_config::stable"]
        [::core::mem::offset_of!(cuarena_config, stable) - 32usize];
    ["Offset of field: cuarena_config::limit"]
        [::core::mem::offset_of!(cuarena_config, limit) - 48usize];
    ["Offset of field: cuarena_config::address_bytes"]
        [::core::mem::offset_of!(cuarena_config, address_bytes) - 64usize];
    ["Offset of field: cuarena_config::alignment"]
        [::core::mem::offset_of!(cuarena_config, alignment) - 72usize];
    ["Offset of field: cuarena_config::split_threshold"]
        [::core::mem::offset_of!(cuarena_config, split_threshold) - 80usize];
    ["Offset of field: cuarena_config::max_blocks"]
        [::core::mem::offset_of!(cuarena_config, max_blocks) - 88usize];
    ["Offset of field: cuarena_config::grow"]
        [::core::mem::offset_of!(cuarena_config, grow) - 96usize];
    ["Offset of field: cuarena_config::zero"]
        [::core::mem::offset_of!(cuarena_config, zero) - 100usize];
    ["Offset of field: cuarena_config::placement"]
        [::core::mem::offset_of!(cuarena_config, placement) - 104usize];
    ["Offset of field: cuarena_config::compact_on_oom"]
        [::core::mem::offset_of!(cuarena_config, compact_on_oom) - 108usize];
    ["Offset of field: cuarena_config::bytes"]
        [::core::mem::offset_of!(cuarena_config, bytes) - 112usize];
    ["Offset of field: cuarena_config::bytes_size"]
        [::core::mem::offset_of!(cuarena_config, bytes_size) - 120usize];
    ["Offset of field: cuarena_config::bytes_kind"]
        [::core::mem::offset_of!(cuarena_config, bytes_kind) - 128usize];
    ["Offset of field: cuarena_config::device"]
        [::core::mem::offset_of!(cuarena_config, device) - 132usize];
    ["Offset of field: cuarena_config::context"]
        [::core::mem::offset_of!(cuarena_config, context) - 136usize];
    ["Offset of field: cuarena_config::backing"]
        [::core::mem::offset_of!(cuarena_config, backing) - 144usize];
    ["Offset of field: cuarena_config::fd"][::core::mem::offset_of!(cuarena_config, fd) - 148usize];
    ["Offset of field: cuarena_config::rdma"]
        [::core::mem::offset_of!(cuarena_config, rdma) - 152usize];
    ["Offset of field: cuarena_config::fabric"]
        [::core::mem::offset_of!(cuarena_config, fabric) - 156usize];
    ["Offset of field: cuarena_config::peers"]
        [::core::mem::offset_of!(cuarena_config, peers) - 160usize];
    ["Offset of field: cuarena_config::handle_bytes"]
        [::core::mem::offset_of!(cuarena_config, handle_bytes) - 168usize];
    ["Offset of field: cuarena_config::mapped"]
        [::core::mem::offset_of!(cuarena_config, mapped) - 176usize];
    ["Offset of field: cuarena_config::write_combined"]
        [::core::mem::offset_of!(cuarena_config, write_combined) - 180usize];
    ["Offset of field: cuarena_config::portable"]
        [::core::mem::offset_of!(cuarena_config, portable) - 184usize];
    ["Offset of field: cuarena_config::device_only"]
        [::core::mem::offset_of!(cuarena_config, device_only) - 188usize];
    ["Offset of field: cuarena_config::events"]
        [::core::mem::offset_of!(cuarena_config, events) - 192usize];
    ["Offset of field: cuarena_config::ops"]
        [::core::mem::offset_of!(cuarena_config, ops) - 200usize];
    ["Offset of field: cuarena_config::ops_user"]
        [::core::mem::offset_of!(cuarena_config, ops_user) - 208usize];
    ["Offset of field: cuarena_config::name"]
        [::core::mem::offset_of!(cuarena_config, name) - 216usize];
    ["Offset of field: cuarena_config::steal"]
        [::core::mem::offset_of!(cuarena_config, steal) - 248usize];
    ["Offset of field: cuarena_config::initial_chunk"]
        [::core::mem::offset_of!(cuarena_config, initial_chunk) - 256usize];
    ["Offset of field: cuarena_config::growth_after_trim"]
        [::core::mem::offset_of!(cuarena_config, growth_after_trim) - 264usize];
    ["Offset of field: cuarena_config::max_doubling"]
        [::core::mem::offset_of!(cuarena_config, max_doubling) - 272usize];
    ["Offset of field: cuarena_config::take_first"]
        [::core::mem::offset_of!(cuarena_config, take_first) - 280usize];
    ["Offset of field: cuarena_config::unknown_keys"]
        [::core::mem::offset_of!(cuarena_config, unknown_keys) - 284usize];
    ["Offset of field: cuarena_config::in_place"]
        [::core::mem::offset_of!(cuarena_config, in_place) - 288usize];
    ["Offset of field: cuarena_config::segments"]
        [::core::mem::offset_of!(cuarena_config, segments) - 292usize];
    ["Offset of field: cuarena_config::driver_pool"]
        [::core::mem::offset_of!(cuarena_config, driver_pool) - 296usize];
    ["Offset of field: cuarena_config::driver_pool_handle"]
        [::core::mem::offset_of!(cuarena_config, driver_pool_handle) - 304usize];
    ["Offset of field: cuarena_config::driver_pool_max"]
        [::core::mem::offset_of!(cuarena_config, driver_pool_max) - 312usize];
    ["Offset of field: cuarena_config::release_threshold"]
        [::core::mem::offset_of!(cuarena_config, release_threshold) - 320usize];
    ["Offset of field: cuarena_config::make_current"]
        [::core::mem::offset_of!(cuarena_config, make_current) - 328usize];
    ["Offset of field: cuarena_config::threshold_limits"]
        [::core::mem::offset_of!(cuarena_config, threshold_limits) - 332usize];
    ["Offset of field: cuarena_config::keep_on_trim"]
        [::core::mem::offset_of!(cuarena_config, keep_on_trim) - 336usize];
    ["Offset of field: cuarena_config::keep"]
        [::core::mem::offset_of!(cuarena_config, keep) - 344usize];
    ["Offset of field: cuarena_config::cache_bound"]
        [::core::mem::offset_of!(cuarena_config, cache_bound) - 348usize];
    ["Offset of field: cuarena_config::cache_limit"]
        [::core::mem::offset_of!(cuarena_config, cache_limit) - 352usize];
    ["Offset of field: cuarena_config::cache_page"]
        [::core::mem::offset_of!(cuarena_config, cache_page) - 368usize];
    ["Offset of field: cuarena_config::soft_limit"]
        [::core::mem::offset_of!(cuarena_config, soft_limit) - 376usize];
    ["Offset of field: cuarena_config::soft_limit_rule"]
        [::core::mem::offset_of!(cuarena_config, soft_limit_rule) - 392usize];
    ["Offset of field: cuarena_config::round_powers"]
        [::core::mem::offset_of!(cuarena_config, round_powers) - 400usize];
    ["Offset of field: cuarena_config::round_to"]
        [::core::mem::offset_of!(cuarena_config, round_to) - 408usize];
    ["Offset of field: cuarena_config::natural"]
        [::core::mem::offset_of!(cuarena_config, natural) - 416usize];
    ["Offset of field: cuarena_config::use_cuda_mempool"]
        [::core::mem::offset_of!(cuarena_config, use_cuda_mempool) - 424usize];
};
#[doc = " Filled by cuarena_config_init, then by hand, by cuarena_config_set or by cuarena_config_parse.\n docs/options.md lists key, range and default of each.\n\n A member that decides nothing beside the others, such as `pool` with a preset that grows or\n `cache_page` without a cache, is an error that names it, unless it has the value that it would\n have anyway."]
pub type cuarena_config_t = cuarena_config;
#[doc = " One row of the options table; BAD_ARGUMENT past the last. Static text."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_option_info {
    pub struct_size: usize,
    pub key: *const ::core::ffi::c_char,
    #[doc = " amount, bytes, count, choice, flag, text"]
    pub type_: *const ::core::ffi::c_char,
    #[doc = " range or choices"]
    pub accepted: *const ::core::ffi::c_char,
    #[doc = " accepted by cuarena_config_set"]
    pub default_text: *const ::core::ffi::c_char,
    #[doc = " one sentence"]
    pub help: *const ::core::ffi::c_char,
    #[doc = " ONNX Runtime's; NULL: none"]
    pub ort_names: *const ::core::ffi::c_char,
    #[doc = " range of the number behind these"]
    pub ort_accepted: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_option_info"][::core::mem::size_of::<cuarena_option_info>() - 64usize];
    ["Alignment of cuarena_option_info"][::core::mem::align_of::<cuarena_option_info>() - 8usize];
    ["Offset of field: cuarena_option_info::struct_size"]
        [::core::mem::offset_of!(cuarena_option_info, struct_size) - 0usize];
    ["Offset of field: cuarena_option_info::key"]
        [::core::mem::offset_of!(cuarena_option_info, key) - 8usize];
    ["Offset of field: cuarena_option_info::type_"]
        [::core::mem::offset_of!(cuarena_option_info, type_) - 16usize];
    ["Offset of field: cuarena_option_info::accepted"]
        [::core::mem::offset_of!(cuarena_option_info, accepted) - 24usize];
    ["Offset of field: cuarena_option_info::default_text"]
        [::core::mem::offset_of!(cuarena_option_info, default_text) - 32usize];
    ["Offset of field: cuarena_option_info::help"]
        [::core::mem::offset_of!(cuarena_option_info, help) - 40usize];
    ["Offset of field: cuarena_option_info::ort_names"]
        [::core::mem::offset_of!(cuarena_option_info, ort_names) - 48usize];
    ["Offset of field: cuarena_option_info::ort_accepted"]
        [::core::mem::offset_of!(cuarena_option_info, ort_accepted) - 56usize];
};
#[doc = " One row of the options table; BAD_ARGUMENT past the last. Static text."]
pub type cuarena_option_info_t = cuarena_option_info;
#[doc = " ---- What there is now ---------------------------------------------------"]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_stats {
    pub struct_size: usize,
    #[doc = " from the memory; only for REGION_ALL"]
    pub reserved_bytes: u64,
    #[doc = " blocks and ranges together"]
    pub capacity_bytes: u64,
    #[doc = " blocks, as taken"]
    pub live_bytes: u64,
    #[doc = " blocks, as asked for"]
    pub requested_bytes: u64,
    pub free_bytes: u64,
    #[doc = " free range, to within 1/32 below; of what was\n freed on streams, what is idle"]
    pub largest_bytes: u64,
    pub live_blocks: u64,
    #[doc = " peaks: since creation or reset_peaks"]
    pub peak_reserved_bytes: u64,
    pub peak_live_bytes: u64,
    pub peak_requested_bytes: u64,
    pub peak_live_blocks: u64,
    pub allocs: u64,
    pub frees: u64,
    #[doc = " requests refused; only for REGION_ALL, and the"]
    pub failed: u64,
    #[doc = " counts below too"]
    pub grows: u64,
    pub trims: u64,
    pub compactions: u64,
    pub moves: u64,
    pub bytes_moved: u64,
    pub oom_handler_calls: u64,
    pub segments: u64,
    #[doc = " dedicated and adopted, part of live_bytes"]
    pub dedicated_bytes: u64,
    #[doc = " of the host: see heap.h; ALL also counts\n the arena and its streams"]
    pub bookkeeping_bytes: u64,
    #[doc = " requests served from another stream's free list"]
    pub steals: u64,
    #[doc = " waits of one stream for another, queued"]
    pub stream_waits: u64,
    #[doc = " waits of a calling thread for a stream"]
    pub host_waits: u64,
    #[doc = " capture sessions; only for REGION_ALL"]
    pub captures: u64,
    #[doc = " private to them, live or free"]
    pub captured_bytes: u64,
    #[doc = " of its functions that reach the driver, or\n would where there is none: to take, give back,\n move, zero and export bytes, to identify and\n mark streams, to ask and to wait for marks"]
    pub memory_calls: u64,
    #[doc = " what the driver was called for by the memory\n since it was opened; 0 without a driver. None\n to allocate from bytes that are held or to free,\n but: some 10 at the first sight of a stream, at\n most 20 for a zeroed request, at most 30 for\n bytes of another stream (record, ask, wait),\n some 10 for a free with events=eager, or on the\n default stream of a thread if other streams are\n known, for each stream that was recorded to use\n the block, and for the first free after a\n compaction"]
    pub driver_calls: u64,
    #[doc = " free stretches, of all free lists: two that touch\n are one if they are of the same free list; also of a\n region; 0 with segments=each, whose free bytes\n are the memory's, which does not tell"]
    pub free_ranges: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_stats"][::core::mem::size_of::<cuarena_stats>() - 256usize];
    ["Alignment of cuarena_stats"][::core::mem::align_of::<cuarena_stats>() - 8usize];
    ["Offset of field: cuarena_stats::struct_size"]
        [::core::mem::offset_of!(cuarena_stats, struct_size) - 0usize];
    ["Offset of field: cuarena_stats::reserved_bytes"]
        [::core::mem::offset_of!(cuarena_stats, reserved_bytes) - 8usize];
    ["Offset of field: cuarena_stats::capacity_bytes"]
        [::core::mem::offset_of!(cuarena_stats, capacity_bytes) - 16usize];
    ["Offset of field: cuarena_stats::live_bytes"]
        [::core::mem::offset_of!(cuarena_stats, live_bytes) - 24usize];
    ["Offset of field: cuarena_stats::requested_bytes"]
        [::core::mem::offset_of!(cuarena_stats, requested_bytes) - 32usize];
    ["Offset of field: cuarena_stats::free_bytes"]
        [::core::mem::offset_of!(cuarena_stats, free_bytes) - 40usize];
    ["Offset of field: cuarena_stats::largest_bytes"]
        [::core::mem::offset_of!(cuarena_stats, largest_bytes) - 48usize];
    ["Offset of field: cuarena_stats::live_blocks"]
        [::core::mem::offset_of!(cuarena_stats, live_blocks) - 56usize];
    ["Offset of field: cuarena_stats::peak_reserved_bytes"]
        [::core::mem::offset_of!(cuarena_stats, peak_reserved_bytes) - 64usize];
    ["Offset of field: cuarena_stats::peak_live_bytes"]
        [::core::mem::offset_of!(cuarena_stats, peak_live_bytes) - 72usize];
    ["Offset of field: cuarena_stats::peak_requested_bytes"]
        [::core::mem::offset_of!(cuarena_stats, peak_requested_bytes) - 80usize];
    ["Offset of field: cuarena_stats::peak_live_blocks"]
        [::core::mem::offset_of!(cuarena_stats, peak_live_blocks) - 88usize];
    ["Offset of field: cuarena_stats::allocs"]
        [::core::mem::offset_of!(cuarena_stats, allocs) - 96usize];
    ["Offset of field: cuarena_stats::frees"]
        [::core::mem::offset_of!(cuarena_stats, frees) - 104usize];
    ["Offset of field: cuarena_stats::failed"]
        [::core::mem::offset_of!(cuarena_stats, failed) - 112usize];
    ["Offset of field: cuarena_stats::grows"]
        [::core::mem::offset_of!(cuarena_stats, grows) - 120usize];
    ["Offset of field: cuarena_stats::trims"]
        [::core::mem::offset_of!(cuarena_stats, trims) - 128usize];
    ["Offset of field: cuarena_stats::compactions"]
        [::core::mem::offset_of!(cuarena_stats, compactions) - 136usize];
    ["Offset of field: cuarena_stats::moves"]
        [::core::mem::offset_of!(cuarena_stats, moves) - 144usize];
    ["Offset of field: cuarena_stats::bytes_moved"]
        [::core::mem::offset_of!(cuarena_stats, bytes_moved) - 152usize];
    ["Offset of field: cuarena_stats::oom_handler_calls"]
        [::core::mem::offset_of!(cuarena_stats, oom_handler_calls) - 160usize];
    ["Offset of field: cuarena_stats::segments"]
        [::core::mem::offset_of!(cuarena_stats, segments) - 168usize];
    ["Offset of field: cuarena_stats::dedicated_bytes"]
        [::core::mem::offset_of!(cuarena_stats, dedicated_bytes) - 176usize];
    ["Offset of field: cuarena_stats::bookkeeping_bytes"]
        [::core::mem::offset_of!(cuarena_stats, bookkeeping_bytes) - 184usize];
    ["Offset of field: cuarena_stats::steals"]
        [::core::mem::offset_of!(cuarena_stats, steals) - 192usize];
    ["Offset of field: cuarena_stats::stream_waits"]
        [::core::mem::offset_of!(cuarena_stats, stream_waits) - 200usize];
    ["Offset of field: cuarena_stats::host_waits"]
        [::core::mem::offset_of!(cuarena_stats, host_waits) - 208usize];
    ["Offset of field: cuarena_stats::captures"]
        [::core::mem::offset_of!(cuarena_stats, captures) - 216usize];
    ["Offset of field: cuarena_stats::captured_bytes"]
        [::core::mem::offset_of!(cuarena_stats, captured_bytes) - 224usize];
    ["Offset of field: cuarena_stats::memory_calls"]
        [::core::mem::offset_of!(cuarena_stats, memory_calls) - 232usize];
    ["Offset of field: cuarena_stats::driver_calls"]
        [::core::mem::offset_of!(cuarena_stats, driver_calls) - 240usize];
    ["Offset of field: cuarena_stats::free_ranges"]
        [::core::mem::offset_of!(cuarena_stats, free_ranges) - 248usize];
};
#[doc = " ---- What there is now ---------------------------------------------------"]
pub type cuarena_stats_t = cuarena_stats;
#[doc = " What a walk finds. Cost: blocks and ranges of the region, under the lock."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_inspection {
    pub struct_size: usize,
    pub free_bytes: u64,
    #[doc = " free range, exact"]
    pub largest_bytes: u64,
    pub ranges: u64,
    pub pinned_blocks: u64,
    pub pinned_bytes: u64,
    pub movable_blocks: u64,
    pub movable_bytes: u64,
    #[doc = " 1 - largest / free; 0 if nothing is free"]
    pub fragmentation: f64,
    #[doc = " ranges of [2^i, 2^(i+1)) bytes"]
    pub range_counts: [u64; 64usize],
    pub range_bytes: [u64; 64usize],
    #[doc = " blocks likewise, by bytes taken"]
    pub block_counts: [u64; 64usize],
    pub block_bytes: [u64; 64usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_inspection"][::core::mem::size_of::<cuarena_inspection>() - 2120usize];
    ["Alignment of cuarena_inspection"][::core::mem::align_of::<cuarena_inspection>() - 8usize];
    ["Offset of field: cuarena_inspection::struct_size"]
        [::core::mem::offset_of!(cuarena_inspection, struct_size) - 0usize];
    ["Offset of field: cuarena_inspection::free_bytes"]
        [::core::mem::offset_of!(cuarena_inspection, free_bytes) - 8usize];
    ["Offset of field: cuarena_inspection::largest_bytes"]
        [::core::mem::offset_of!(cuarena_inspection, largest_bytes) - 16usize];
    ["Offset of field: cuarena_inspection::ranges"]
        [::core::mem::offset_of!(cuarena_inspection, ranges) - 24usize];
    ["Offset of field: cuarena_inspection::pinned_blocks"]
        [::core::mem::offset_of!(cuarena_inspection, pinned_blocks) - 32usize];
    ["Offset of field: cuarena_inspection::pinned_bytes"]
        [::core::mem::offset_of!(cuarena_inspection, pinned_bytes) - 40usize];
    ["Offset of field: cuarena_inspection::movable_blocks"]
        [::core::mem::offset_of!(cuarena_inspection, movable_blocks) - 48usize];
    ["Offset of field: cuarena_inspection::movable_bytes"]
        [::core::mem::offset_of!(cuarena_inspection, movable_bytes) - 56usize];
    ["Offset of field: cuarena_inspection::fragmentation"]
        [::core::mem::offset_of!(cuarena_inspection, fragmentation) - 64usize];
    ["Offset of field: cuarena_inspection::range_counts"]
        [::core::mem::offset_of!(cuarena_inspection, range_counts) - 72usize];
    ["Offset of field: cuarena_inspection::range_bytes"]
        [::core::mem::offset_of!(cuarena_inspection, range_bytes) - 584usize];
    ["Offset of field: cuarena_inspection::block_counts"]
        [::core::mem::offset_of!(cuarena_inspection, block_counts) - 1096usize];
    ["Offset of field: cuarena_inspection::block_bytes"]
        [::core::mem::offset_of!(cuarena_inspection, block_bytes) - 1608usize];
};
#[doc = " What a walk finds. Cost: blocks and ranges of the region, under the lock."]
pub type cuarena_inspection_t = cuarena_inspection;
#[doc = " The figures of ONNX Runtime's arenas, each moved by the same things. Reserve is there what\n `dedicated` is here; bytes that were adopted count as a Reserve too. What is above INT64_MAX is\n INT64_MAX, such as a limit of none.\n\n A region of theirs is what one growth took. Where a memory grows in place, trim may give several\n growths back as one piece, which counts as one, or as all that there were when nothing is left.\n\n Where blocks are pieces of a driver's pool they count as its allocator there does: in use is what\n was asked for, total_allocated_bytes what the pool has of its device, which the driver is asked\n for (DRIVER), shrinkages are trims, and there are neither extensions nor Reserves."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_ort_stats {
    pub struct_size: usize,
    #[doc = " blocks ever, Reserves too"]
    pub num_allocs: i64,
    #[doc = " ... those alone"]
    pub num_reserves: i64,
    #[doc = " growths less those given back"]
    pub num_arena_extensions: i64,
    #[doc = " growths given back"]
    pub num_arena_shrinkages: i64,
    #[doc = " of blocks, as taken"]
    pub bytes_in_use: i64,
    #[doc = " of blocks, as asked for"]
    pub bytes_requested_in_use: i64,
    #[doc = " held, and adopted"]
    pub total_allocated_bytes: i64,
    #[doc = " of live Reserves, as taken"]
    pub reserved_bytes: i64,
    #[doc = " ever, whatever scopes and resets"]
    pub max_bytes_in_use: i64,
    #[doc = " the largest block ever, as taken"]
    pub max_alloc_size: i64,
    #[doc = " most bytes held: the limit or the pool"]
    pub bytes_limit: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_ort_stats"][::core::mem::size_of::<cuarena_ort_stats>() - 96usize];
    ["Alignment of cuarena_ort_stats"][::core::mem::align_of::<cuarena_ort_stats>() - 8usize];
    ["Offset of field: cuarena_ort_stats::struct_size"]
        [::core::mem::offset_of!(cuarena_ort_stats, struct_size) - 0usize];
    ["Offset of field: cuarena_ort_stats::num_allocs"]
        [::core::mem::offset_of!(cuarena_ort_stats, num_allocs) - 8usize];
    ["Offset of field: cuarena_ort_stats::num_reserves"]
        [::core::mem::offset_of!(cuarena_ort_stats, num_reserves) - 16usize];
    ["Offset of field: cuarena_ort_stats::num_arena_extensions"]
        [::core::mem::offset_of!(cuarena_ort_stats, num_arena_extensions) - 24usize];
    ["Offset of field: cuarena_ort_stats::num_arena_shrinkages"]
        [::core::mem::offset_of!(cuarena_ort_stats, num_arena_shrinkages) - 32usize];
    ["Offset of field: cuarena_ort_stats::bytes_in_use"]
        [::core::mem::offset_of!(cuarena_ort_stats, bytes_in_use) - 40usize];
    ["Offset of field: cuarena_ort_stats::bytes_requested_in_use"]
        [::core::mem::offset_of!(cuarena_ort_stats, bytes_requested_in_use) - 48usize];
    ["Offset of field: cuarena_ort_stats::total_allocated_bytes"]
        [::core::mem::offset_of!(cuarena_ort_stats, total_allocated_bytes) - 56usize];
    ["Offset of field: cuarena_ort_stats::reserved_bytes"]
        [::core::mem::offset_of!(cuarena_ort_stats, reserved_bytes) - 64usize];
    ["Offset of field: cuarena_ort_stats::max_bytes_in_use"]
        [::core::mem::offset_of!(cuarena_ort_stats, max_bytes_in_use) - 72usize];
    ["Offset of field: cuarena_ort_stats::max_alloc_size"]
        [::core::mem::offset_of!(cuarena_ort_stats, max_alloc_size) - 80usize];
    ["Offset of field: cuarena_ort_stats::bytes_limit"]
        [::core::mem::offset_of!(cuarena_ort_stats, bytes_limit) - 88usize];
};
#[doc = " The figures of ONNX Runtime's arenas, each moved by the same things. Reserve is there what\n `dedicated` is here; bytes that were adopted count as a Reserve too. What is above INT64_MAX is\n INT64_MAX, such as a limit of none.\n\n A region of theirs is what one growth took. Where a memory grows in place, trim may give several\n growths back as one piece, which counts as one, or as all that there were when nothing is left.\n\n Where blocks are pieces of a driver's pool they count as its allocator there does: in use is what\n was asked for, total_allocated_bytes what the pool has of its device, which the driver is asked\n for (DRIVER), shrinkages are trims, and there are neither extensions nor Reserves."]
pub type cuarena_ort_stats_t = cuarena_ort_stats;
#[doc = " Gets one figure; both texts are valid during the call only. It may be left by longjmp or an\n exception: nothing is under way."]
pub type cuarena_pair_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        key: *const ::core::ffi::c_char,
        value: *const ::core::ffi::c_char,
    ),
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_peaks {
    pub struct_size: usize,
    #[doc = " only of the whole"]
    pub reserved_bytes: u64,
    pub live_bytes: u64,
    pub requested_bytes: u64,
    pub live_blocks: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_peaks"][::core::mem::size_of::<cuarena_peaks>() - 40usize];
    ["Alignment of cuarena_peaks"][::core::mem::align_of::<cuarena_peaks>() - 8usize];
    ["Offset of field: cuarena_peaks::struct_size"]
        [::core::mem::offset_of!(cuarena_peaks, struct_size) - 0usize];
    ["Offset of field: cuarena_peaks::reserved_bytes"]
        [::core::mem::offset_of!(cuarena_peaks, reserved_bytes) - 8usize];
    ["Offset of field: cuarena_peaks::live_bytes"]
        [::core::mem::offset_of!(cuarena_peaks, live_bytes) - 16usize];
    ["Offset of field: cuarena_peaks::requested_bytes"]
        [::core::mem::offset_of!(cuarena_peaks, requested_bytes) - 24usize];
    ["Offset of field: cuarena_peaks::live_blocks"]
        [::core::mem::offset_of!(cuarena_peaks, live_blocks) - 32usize];
};
pub type cuarena_peaks_t = cuarena_peaks;
#[doc = " The arena may be destroyed in it. `arena` is that which was retired. It must return: not by\n longjmp, nor by an exception."]
pub type cuarena_retired_fn = ::core::option::Option<
    unsafe extern "C" fn(user: *mut ::core::ffi::c_void, arena: *mut cuarena_t),
>;
#[doc = " Figures of the cache; of an arena without one the cached ones are 0."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_cache_stats {
    pub struct_size: usize,
    #[doc = " of live blocks, as taken"]
    pub active_bytes: u64,
    pub cached_bytes: u64,
    pub cached_blocks: u64,
    #[doc = " since creation or cuarena_reset_peaks"]
    pub peak_active_bytes: u64,
    #[doc = " likewise"]
    pub peak_cached_bytes: u64,
    #[doc = " requests served from the cache, ever"]
    pub hits: u64,
    #[doc = " ... that could have been"]
    pub misses: u64,
    #[doc = " cached blocks that ended, ever"]
    pub evicted_blocks: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_cache_stats"][::core::mem::size_of::<cuarena_cache_stats>() - 72usize];
    ["Alignment of cuarena_cache_stats"][::core::mem::align_of::<cuarena_cache_stats>() - 8usize];
    ["Offset of field: cuarena_cache_stats::struct_size"]
        [::core::mem::offset_of!(cuarena_cache_stats, struct_size) - 0usize];
    ["Offset of field: cuarena_cache_stats::active_bytes"]
        [::core::mem::offset_of!(cuarena_cache_stats, active_bytes) - 8usize];
    ["Offset of field: cuarena_cache_stats::cached_bytes"]
        [::core::mem::offset_of!(cuarena_cache_stats, cached_bytes) - 16usize];
    ["Offset of field: cuarena_cache_stats::cached_blocks"]
        [::core::mem::offset_of!(cuarena_cache_stats, cached_blocks) - 24usize];
    ["Offset of field: cuarena_cache_stats::peak_active_bytes"]
        [::core::mem::offset_of!(cuarena_cache_stats, peak_active_bytes) - 32usize];
    ["Offset of field: cuarena_cache_stats::peak_cached_bytes"]
        [::core::mem::offset_of!(cuarena_cache_stats, peak_cached_bytes) - 40usize];
    ["Offset of field: cuarena_cache_stats::hits"]
        [::core::mem::offset_of!(cuarena_cache_stats, hits) - 48usize];
    ["Offset of field: cuarena_cache_stats::misses"]
        [::core::mem::offset_of!(cuarena_cache_stats, misses) - 56usize];
    ["Offset of field: cuarena_cache_stats::evicted_blocks"]
        [::core::mem::offset_of!(cuarena_cache_stats, evicted_blocks) - 64usize];
};
#[doc = " Figures of the cache; of an arena without one the cached ones are 0."]
pub type cuarena_cache_stats_t = cuarena_cache_stats;
#[doc = " Waits of the program's own. A program that lets one stream wait for another, or waits for one\n itself, can tell the arena, which then need not do so again:\n\n   cuarena_stream_mark(arena, producer, &mark);\n   cudaEventRecord(event, producer);\n   cudaStreamWaitEvent(waiter, event);\n   cuarena_stream_waited(arena, waiter, producer, mark);\n\n What was freed on the producer before the mark may then serve the waiter at once and, with\n CUARENA_NO_STREAM as the waiter, which stands for the caller, everybody. A mark is a number that\n needs no end. Waits pass on: who waits for the waiter later has waited for the producer too."]
pub type cuarena_mark_t = u64;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_capture {
    _unused: [u8; 0],
}
#[doc = " A session that was not released. Any thread may pass it."]
pub type cuarena_capture_t = cuarena_capture;
#[doc = " Of an arena's memory, from its creation on. Members about a device are 0, NULL or -1 where there\n is none."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_properties {
    pub struct_size: usize,
    #[doc = " CUARENA_MEMORY_..."]
    pub memory: i32,
    #[doc = " CUARENA_BYTES_..., of memory = bytes"]
    pub bytes_kind: i32,
    #[doc = " CUARENA_BACKING_..., never AUTO; 0: none"]
    pub backing: i32,
    #[doc = " ordinal; -1"]
    pub device: i32,
    #[doc = " 1: blocks can be exported"]
    pub fd: i32,
    #[doc = " 1: network cards can reach the bytes"]
    pub rdma: i32,
    #[doc = " 1: handles can go to other hosts"]
    pub fabric: i32,
    #[doc = " how many other devices reach the bytes"]
    pub peers: i32,
    #[doc = " 1: the CPU does"]
    pub host_readable: i32,
    #[doc = " 1: one kernel moves a whole list"]
    pub relocation_kernel: i32,
    #[doc = " compute capability"]
    pub compute_major: i32,
    pub compute_minor: i32,
    #[doc = " what it gives and takes back in multiples of"]
    pub granularity: u64,
    #[doc = " of a vmm handle; 0 without"]
    pub handle_bytes: u64,
    #[doc = " CUcontext"]
    pub context: *mut ::core::ffi::c_void,
    #[doc = " what addresses and sizes of blocks are multiples\n of, whoever configured the arena"]
    pub granule_bytes: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_properties"][::core::mem::size_of::<cuarena_properties>() - 88usize];
    ["Alignment of cuarena_properties"][::core::mem::align_of::<cuarena_properties>() - 8usize];
    ["Offset of field: cuarena_properties::struct_size"]
        [::core::mem::offset_of!(cuarena_properties, struct_size) - 0usize];
    ["Offset of field: cuarena_properties::memory"]
        [::core::mem::offset_of!(cuarena_properties, memory) - 8usize];
    ["Offset of field: cuarena_properties::bytes_kind"]
        [::core::mem::offset_of!(cuarena_properties, bytes_kind) - 12usize];
    ["Offset of field: cuarena_properties::backing"]
        [::core::mem::offset_of!(cuarena_properties, backing) - 16usize];
    ["Offset of field: cuarena_properties::device"]
        [::core::mem::offset_of!(cuarena_properties, device) - 20usize];
    ["Offset of field: cuarena_properties::fd"]
        [::core::mem::offset_of!(cuarena_properties, fd) - 24usize];
    ["Offset of field: cuarena_properties::rdma"]
        [::core::mem::offset_of!(cuarena_properties, rdma) - 28usize];
    ["Offset of field: cuarena_properties::fabric"]
        [::core::mem::offset_of!(cuarena_properties, fabric) - 32usize];
    ["Offset of field: cuarena_properties::peers"]
        [::core::mem::offset_of!(cuarena_properties, peers) - 36usize];
    ["Offset of field: cuarena_properties::host_readable"]
        [::core::mem::offset_of!(cuarena_properties, host_readable) - 40usize];
    ["Offset of field: cuarena_properties::relocation_kernel"]
        [::core::mem::offset_of!(cuarena_properties, relocation_kernel) - 44usize];
    ["Offset of field: cuarena_properties::compute_major"]
        [::core::mem::offset_of!(cuarena_properties, compute_major) - 48usize];
    ["Offset of field: cuarena_properties::compute_minor"]
        [::core::mem::offset_of!(cuarena_properties, compute_minor) - 52usize];
    ["Offset of field: cuarena_properties::granularity"]
        [::core::mem::offset_of!(cuarena_properties, granularity) - 56usize];
    ["Offset of field: cuarena_properties::handle_bytes"]
        [::core::mem::offset_of!(cuarena_properties, handle_bytes) - 64usize];
    ["Offset of field: cuarena_properties::context"]
        [::core::mem::offset_of!(cuarena_properties, context) - 72usize];
    ["Offset of field: cuarena_properties::granule_bytes"]
        [::core::mem::offset_of!(cuarena_properties, granule_bytes) - 80usize];
};
#[doc = " Of an arena's memory, from its creation on. Members about a device are 0, NULL or -1 where there\n is none."]
pub type cuarena_properties_t = cuarena_properties;
#[doc = " With backing=async bytes come from a pool of the driver's: the device's current one when the\n arena is made, its default one, one of the caller's, or one that the arena makes (option\n driver_pool). preset=driver-pool makes each block such a piece, rounded up to 512 bytes, as\n CuPy's MemoryAsyncPool and ONNX Runtime's allocator for CUDA pools do:\n\n   cuarena_alloc_on(A)   the driver's allocation at this point of A; nothing\n                         waits\n   cuarena_alloc         ... on a stream of the arena's own, which the caller\n                         waits for: good for everybody\n   cuarena_free_on(B)    freed at this point of B, which need not be A; where\n                         other streams were recorded as using the block, when\n                         they are done\n   cuarena_free          freed now: the block is idle\n   cuarena_trim          gives back what the pool has free, until `keep_bytes`\n                         are left; waits for nothing\n\n On a stream that is being captured, outside a capture session, a free is BUSY. Such blocks keep\n their size: a resize is UNSUPPORTED, and they are not moved. When the driver has no more the\n request's stream is waited for, or without one all work, twice at most, and it is asked again;\n what it says of other things is not. Bytes held, by which CUARENA_LIMIT_RESERVED goes, are those\n of the arena's blocks; what the pool has is told here.\n\n All of this is UNSUPPORTED where the device has no pools, and for arenas that use none."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_driver_pool_stats {
    pub struct_size: usize,
    #[doc = " of live pieces, whoever has them"]
    pub used_bytes: u64,
    #[doc = " that the pool has of its device"]
    pub total_bytes: u64,
    #[doc = " total less used"]
    pub free_bytes: u64,
    #[doc = " since the pool was made, or a reset"]
    pub peak_used_bytes: u64,
    #[doc = " likewise"]
    pub peak_total_bytes: u64,
    #[doc = " UINT64_MAX: nothing is given back"]
    pub release_threshold: u64,
    #[doc = " the CUmemoryPool, as a number"]
    pub handle: u64,
    #[doc = " ordinal"]
    pub device: i32,
    #[doc = " 1: it ends with the arena"]
    pub own: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_driver_pool_stats"]
        [::core::mem::size_of::<cuarena_driver_pool_stats>() - 72usize];
    ["Alignment of cuarena_driver_pool_stats"]
        [::core::mem::align_of::<cuarena_driver_pool_stats>() - 8usize];
    ["Offset of field: cuarena_driver_pool_stats::struct_size"]
        [::core::mem::offset_of!(cuarena_driver_pool_stats, struct_size) - 0usize];
    ["Offset of field: cuarena_driver_pool_stats::used_bytes"]
        [::core::mem::offset_of!(cuarena_driver_pool_stats, used_bytes) - 8usize];
    ["Offset of field: cuarena_driver_pool_stats::total_bytes"]
        [::core::mem::offset_of!(cuarena_driver_pool_stats, total_bytes) - 16usize];
    ["Offset of field: cuarena_driver_pool_stats::free_bytes"]
        [::core::mem::offset_of!(cuarena_driver_pool_stats, free_bytes) - 24usize];
    ["Offset of field: cuarena_driver_pool_stats::peak_used_bytes"]
        [::core::mem::offset_of!(cuarena_driver_pool_stats, peak_used_bytes) - 32usize];
    ["Offset of field: cuarena_driver_pool_stats::peak_total_bytes"]
        [::core::mem::offset_of!(cuarena_driver_pool_stats, peak_total_bytes) - 40usize];
    ["Offset of field: cuarena_driver_pool_stats::release_threshold"]
        [::core::mem::offset_of!(cuarena_driver_pool_stats, release_threshold) - 48usize];
    ["Offset of field: cuarena_driver_pool_stats::handle"]
        [::core::mem::offset_of!(cuarena_driver_pool_stats, handle) - 56usize];
    ["Offset of field: cuarena_driver_pool_stats::device"]
        [::core::mem::offset_of!(cuarena_driver_pool_stats, device) - 64usize];
    ["Offset of field: cuarena_driver_pool_stats::own"]
        [::core::mem::offset_of!(cuarena_driver_pool_stats, own) - 68usize];
};
#[doc = " With backing=async bytes come from a pool of the driver's: the device's current one when the\n arena is made, its default one, one of the caller's, or one that the arena makes (option\n driver_pool). preset=driver-pool makes each block such a piece, rounded up to 512 bytes, as\n CuPy's MemoryAsyncPool and ONNX Runtime's allocator for CUDA pools do:\n\n   cuarena_alloc_on(A)   the driver's allocation at this point of A; nothing\n                         waits\n   cuarena_alloc         ... on a stream of the arena's own, which the caller\n                         waits for: good for everybody\n   cuarena_free_on(B)    freed at this point of B, which need not be A; where\n                         other streams were recorded as using the block, when\n                         they are done\n   cuarena_free          freed now: the block is idle\n   cuarena_trim          gives back what the pool has free, until `keep_bytes`\n                         are left; waits for nothing\n\n On a stream that is being captured, outside a capture session, a free is BUSY. Such blocks keep\n their size: a resize is UNSUPPORTED, and they are not moved. When the driver has no more the\n request's stream is waited for, or without one all work, twice at most, and it is asked again;\n what it says of other things is not. Bytes held, by which CUARENA_LIMIT_RESERVED goes, are those\n of the arena's blocks; what the pool has is told here.\n\n All of this is UNSUPPORTED where the device has no pools, and for arenas that use none."]
pub type cuarena_driver_pool_stats_t = cuarena_driver_pool_stats;
#[doc = " One of the driver's pools. Frozen."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_driver_pool_choice {
    #[doc = " CUARENA_DRIVER_POOL_..."]
    pub kind: i32,
    #[doc = " 0"]
    pub zero: i32,
    #[doc = " of CUARENA_DRIVER_POOL_EXTERNAL; else 0"]
    pub handle: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_driver_pool_choice"]
        [::core::mem::size_of::<cuarena_driver_pool_choice>() - 16usize];
    ["Alignment of cuarena_driver_pool_choice"]
        [::core::mem::align_of::<cuarena_driver_pool_choice>() - 8usize];
    ["Offset of field: cuarena_driver_pool_choice::kind"]
        [::core::mem::offset_of!(cuarena_driver_pool_choice, kind) - 0usize];
    ["Offset of field: cuarena_driver_pool_choice::zero"]
        [::core::mem::offset_of!(cuarena_driver_pool_choice, zero) - 4usize];
    ["Offset of field: cuarena_driver_pool_choice::handle"]
        [::core::mem::offset_of!(cuarena_driver_pool_choice, handle) - 8usize];
};
#[doc = " One of the driver's pools. Frozen."]
pub type cuarena_driver_pool_choice_t = cuarena_driver_pool_choice;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_export {
    _unused: [u8; 0],
}
#[doc = " An export that was not closed."]
pub type cuarena_export_t = cuarena_export;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_export_options {
    pub struct_size: usize,
    #[doc = " 1: other blocks may have bytes in the same\n handles, which the importer then reaches too"]
    pub share_handles: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_export_options"][::core::mem::size_of::<cuarena_export_options>() - 16usize];
    ["Alignment of cuarena_export_options"]
        [::core::mem::align_of::<cuarena_export_options>() - 8usize];
    ["Offset of field: cuarena_export_options::struct_size"]
        [::core::mem::offset_of!(cuarena_export_options, struct_size) - 0usize];
    ["Offset of field: cuarena_export_options::share_handles"]
        [::core::mem::offset_of!(cuarena_export_options, share_handles) - 8usize];
};
pub type cuarena_export_options_t = cuarena_export_options;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_driver_info {
    pub struct_size: usize,
    #[doc = " of CUDA: 12040 is 12.4"]
    pub version: i32,
    #[doc = " at least 1"]
    pub device_count: i32,
    #[doc = " the file that was opened, cut if it is longer"]
    pub library: [::core::ffi::c_char; 256usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_driver_info"][::core::mem::size_of::<cuarena_driver_info>() - 272usize];
    ["Alignment of cuarena_driver_info"][::core::mem::align_of::<cuarena_driver_info>() - 8usize];
    ["Offset of field: cuarena_driver_info::struct_size"]
        [::core::mem::offset_of!(cuarena_driver_info, struct_size) - 0usize];
    ["Offset of field: cuarena_driver_info::version"]
        [::core::mem::offset_of!(cuarena_driver_info, version) - 8usize];
    ["Offset of field: cuarena_driver_info::device_count"]
        [::core::mem::offset_of!(cuarena_driver_info, device_count) - 12usize];
    ["Offset of field: cuarena_driver_info::library"]
        [::core::mem::offset_of!(cuarena_driver_info, library) - 16usize];
};
pub type cuarena_driver_info_t = cuarena_driver_info;
#[doc = " Flags are 0 or 1."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_device_info {
    pub struct_size: usize,
    pub name: [::core::ffi::c_char; 96usize],
    #[doc = " compute capability"]
    pub compute_major: i32,
    pub compute_minor: i32,
    pub multiprocessors: i32,
    #[doc = " backing vmm can be had"]
    pub vmm: i32,
    #[doc = " ... with blocks that can be exported"]
    pub fd: i32,
    #[doc = " ... that network cards reach"]
    pub rdma: i32,
    #[doc = " ... to other hosts, if the system lets it"]
    pub fabric: i32,
    #[doc = " backing async can be had"]
    pub pools: i32,
    #[doc = " managed memory can be had"]
    pub managed: i32,
    #[doc = " ... and touched by the CPU while the device runs"]
    pub concurrent: i32,
    pub total_bytes: u64,
    #[doc = " now, in all processes"]
    pub free_bytes: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_device_info"][::core::mem::size_of::<cuarena_device_info>() - 160usize];
    ["Alignment of cuarena_device_info"][::core::mem::align_of::<cuarena_device_info>() - 8usize];
    ["Offset of field: cuarena_device_info::struct_size"]
        [::core::mem::offset_of!(cuarena_device_info, struct_size) - 0usize];
    ["Offset of field: cuarena_device_info::name"]
        [::core::mem::offset_of!(cuarena_device_info, name) - 8usize];
    ["Offset of field: cuarena_device_info::compute_major"]
        [::core::mem::offset_of!(cuarena_device_info, compute_major) - 104usize];
    ["Offset of field: cuarena_device_info::compute_minor"]
        [::core::mem::offset_of!(cuarena_device_info, compute_minor) - 108usize];
    ["Offset of field: cuarena_device_info::multiprocessors"]
        [::core::mem::offset_of!(cuarena_device_info, multiprocessors) - 112usize];
    ["Offset of field: cuarena_device_info::vmm"]
        [::core::mem::offset_of!(cuarena_device_info, vmm) - 116usize];
    ["Offset of field: cuarena_device_info::fd"]
        [::core::mem::offset_of!(cuarena_device_info, fd) - 120usize];
    ["Offset of field: cuarena_device_info::rdma"]
        [::core::mem::offset_of!(cuarena_device_info, rdma) - 124usize];
    ["Offset of field: cuarena_device_info::fabric"]
        [::core::mem::offset_of!(cuarena_device_info, fabric) - 128usize];
    ["Offset of field: cuarena_device_info::pools"]
        [::core::mem::offset_of!(cuarena_device_info, pools) - 132usize];
    ["Offset of field: cuarena_device_info::managed"]
        [::core::mem::offset_of!(cuarena_device_info, managed) - 136usize];
    ["Offset of field: cuarena_device_info::concurrent"]
        [::core::mem::offset_of!(cuarena_device_info, concurrent) - 140usize];
    ["Offset of field: cuarena_device_info::total_bytes"]
        [::core::mem::offset_of!(cuarena_device_info, total_bytes) - 144usize];
    ["Offset of field: cuarena_device_info::free_bytes"]
        [::core::mem::offset_of!(cuarena_device_info, free_bytes) - 152usize];
};
#[doc = " Flags are 0 or 1."]
pub type cuarena_device_info_t = cuarena_device_info;
#[doc = " What a call found."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_shared_report {
    pub struct_size: usize,
    #[doc = " 1: this call made the arena"]
    pub created: i32,
    #[doc = " options that are in force with another value"]
    pub differs: i32,
    #[doc = " of the arena now, the caller among them"]
    pub holders: u64,
    #[doc = " \"limit: '4GiB' in force, '8GiB' asked; ...\" of as many\n of those as there is room for"]
    pub text: [::core::ffi::c_char; 256usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_shared_report"][::core::mem::size_of::<cuarena_shared_report>() - 280usize];
    ["Alignment of cuarena_shared_report"]
        [::core::mem::align_of::<cuarena_shared_report>() - 8usize];
    ["Offset of field: cuarena_shared_report::struct_size"]
        [::core::mem::offset_of!(cuarena_shared_report, struct_size) - 0usize];
    ["Offset of field: cuarena_shared_report::created"]
        [::core::mem::offset_of!(cuarena_shared_report, created) - 8usize];
    ["Offset of field: cuarena_shared_report::differs"]
        [::core::mem::offset_of!(cuarena_shared_report, differs) - 12usize];
    ["Offset of field: cuarena_shared_report::holders"]
        [::core::mem::offset_of!(cuarena_shared_report, holders) - 16usize];
    ["Offset of field: cuarena_shared_report::text"]
        [::core::mem::offset_of!(cuarena_shared_report, text) - 24usize];
};
#[doc = " What a call found."]
pub type cuarena_shared_report_t = cuarena_shared_report;
extern "C" {
    #[doc = " \"0.1.0\": the version of the library that runs, which may be newer than the header that was\n compiled. Never fails; static text."]
    pub fn cuarena_version_string() -> *const ::core::ffi::c_char;
    #[doc = " \"CUARENA_FRAGMENTED\" and the like, or \"CUARENA_UNKNOWN\". Static text."]
    pub fn cuarena_status_name(status: cuarena_status_t) -> *const ::core::ffi::c_char;
    #[doc = " One sentence that says what the status means. Static text."]
    pub fn cuarena_status_text(status: cuarena_status_t) -> *const ::core::ffi::c_char;
    pub fn cuarena_error_info_init(info: *mut cuarena_error_info_t);
    #[doc = " Copies this thread's last error; BAD_ARGUMENT for NULL or a struct_size\n that no version of the library has had."]
    pub fn cuarena_last_error_info(info: *mut cuarena_error_info_t) -> cuarena_status_t;
    #[doc = " The process-wide log level, CUARENA_LOG_OFF by default (or what the environment's CUARENA_LOG\n says at first use: off, error, warn, info,\n debug; any other word is off, and is told once, as an error).\n\n   error  each call that does not return OK, once, with its message, but for\n          the end of an enumeration and STALE of cuarena_retire; what an arena\n          overcame on its way is none. And what nobody is returned: a device\n          that is lost as bytes are given back.\n   warn   what is probably not meant, such as options that are passed over.\n   info   what an arena does as a whole: create, destroy, reset, trim,\n          compact, resize_pool, the end of cached blocks; resizes of blocks.\n   debug  every allocation and every free, with bytes, address, id and tag;\n          growth; the steps of running out.\n\n Each is one line: control bytes in names, tags and texts of the caller are written as \\x0a and\n the like, in messages of errors too. The calls of heap.h log nothing. Any thread. In a forked\n child a new level reaches the arenas that are made there. Cost: every arena's lock is taken once;\n at level debug no call is short any more, at info no resize."]
    pub fn cuarena_log_set_level(level: i32) -> cuarena_status_t;
    pub fn cuarena_log_level() -> i32;
    #[doc = " NULL: back to the default, which writes to stderr. Set it before other threads log; a line being\n delivered may still reach the old function."]
    pub fn cuarena_log_set_callback(callback: cuarena_log_fn, user: *mut ::core::ffi::c_void);
    pub fn cuarena_heap_config_init(config: *mut cuarena_heap_config_t);
    #[doc = " BAD_ARGUMENT; OUT_OF_MEMORY if the bookkeeping cannot be had; LIMIT if CUARENA_HEAP_MAX_HEAPS\n live."]
    pub fn cuarena_heap_create(
        config: *const cuarena_heap_config_t,
        heap_out: *mut *mut cuarena_heap_t,
    ) -> cuarena_status_t;
    #[doc = " Ends the heap whatever lives in it and clears the handle. Plans made of it are good for\n cuarena_heap_plan_destroy only. NULL is fine."]
    pub fn cuarena_heap_destroy(heap: *mut *mut cuarena_heap_t);
    #[doc = " Gives [offset, offset + size) to the heap as one idle range. Both are multiples of the granule.\n BAD_ARGUMENT if it overlaps a segment."]
    pub fn cuarena_heap_segment_add(
        heap: *mut cuarena_heap_t,
        offset: u64,
        size: u64,
    ) -> cuarena_status_t;
    pub fn cuarena_heap_segment_add_block(
        heap: *mut cuarena_heap_t,
        offset: u64,
        size: u64,
        request: *const cuarena_heap_request,
        block_out: *mut cuarena_block_t,
    ) -> cuarena_status_t;
    #[doc = " Lengthens the segment that begins at `offset` by `bytes` at its end."]
    pub fn cuarena_heap_segment_extend(
        heap: *mut cuarena_heap_t,
        offset: u64,
        bytes: u64,
    ) -> cuarena_status_t;
    #[doc = " Takes [offset, offset + bytes) out of the segment around it: the whole, an end, or the middle,\n which leaves two segments. BUSY unless all of it is one idle range.\n Steps: the records of the segment above it."]
    pub fn cuarena_heap_segment_cut(
        heap: *mut cuarena_heap_t,
        offset: u64,
        bytes: u64,
    ) -> cuarena_status_t;
    #[doc = " Makes one segment of two that touch at `offset`."]
    pub fn cuarena_heap_segment_join(heap: *mut cuarena_heap_t, offset: u64) -> cuarena_status_t;
    #[doc = " OUT_OF_MEMORY: fewer bytes are free in the free list than asked for. FRAGMENTED: enough are free,\n but no range fits; only then is the request's own size\n class searched to its end. LIMIT: max_blocks live already; or blocks, segments, places where\n ranges of two free lists meet, and slots whose ids are used up are more than the records that a\n heap has (four times max_blocks and some thousands, at least 2^17 and at most 2^27)."]
    pub fn cuarena_heap_alloc(
        heap: *mut cuarena_heap_t,
        request: *const cuarena_heap_request_t,
        block_out: *mut cuarena_block_t,
        offset_out: *mut u64,
    ) -> cuarena_status_t;
    #[doc = " The bytes join `freelist`. STALE for an id that names nothing live; BUSY while the block belongs\n to a plan under way. Pins do not keep a block alive."]
    pub fn cuarena_heap_free(
        heap: *mut cuarena_heap_t,
        block: cuarena_block_t,
        freelist: u32,
    ) -> cuarena_status_t;
    #[doc = " Grows or shrinks the block where it stands, into or out of the range after\n it (of `freelist`). FRAGMENTED if it cannot: nothing changed."]
    pub fn cuarena_heap_resize(
        heap: *mut cuarena_heap_t,
        block: cuarena_block_t,
        size: u64,
        freelist: u32,
    ) -> cuarena_status_t;
    #[doc = " Lets two blocks change places: ids, pins and tags stay, offsets and sizes swap. With it a moving\n resize keeps its id."]
    pub fn cuarena_heap_exchange(
        heap: *mut cuarena_heap_t,
        a: cuarena_block_t,
        b: cuarena_block_t,
    ) -> cuarena_status_t;
    #[doc = " The block that begins at `offset`; STALE if none does. Expected constant."]
    pub fn cuarena_heap_find(
        heap: *const cuarena_heap_t,
        offset: u64,
        block_out: *mut cuarena_block_t,
    ) -> cuarena_status_t;
    #[doc = " Only a block without pins moves. BUSY if its count would overflow; or BAD_ARGUMENT if there is no\n pin to end."]
    pub fn cuarena_heap_pin(heap: *mut cuarena_heap_t, block: cuarena_block_t) -> cuarena_status_t;
    pub fn cuarena_heap_unpin(
        heap: *mut cuarena_heap_t,
        block: cuarena_block_t,
    ) -> cuarena_status_t;
    pub fn cuarena_heap_block_info(
        heap: *const cuarena_heap_t,
        block: cuarena_block_t,
        entry_out: *mut cuarena_heap_entry_t,
    ) -> cuarena_status_t;
    #[doc = " Copies up to `capacity` entries in address order and moves `cursor` on; a cursor begins at 0 and\n the walk ended when fewer than `capacity` came. A cursor is good until the heap changes."]
    pub fn cuarena_heap_walk(
        heap: *const cuarena_heap_t,
        cursor: *mut u64,
        entries: *mut cuarena_heap_entry_t,
        capacity: usize,
        count_out: *mut usize,
    ) -> cuarena_status_t;
    #[doc = " OUT_OF_MEMORY, or LIMIT with CUARENA_HEAP_MAX_FREELISTS in use."]
    pub fn cuarena_heap_freelist_create(
        heap: *mut cuarena_heap_t,
        freelist_out: *mut u32,
    ) -> cuarena_status_t;
    #[doc = " Gives every range of the free list to free list 0. Steps: its ranges."]
    pub fn cuarena_heap_freelist_reclaim(
        heap: *mut cuarena_heap_t,
        freelist: u32,
    ) -> cuarena_status_t;
    #[doc = " Gives every range of `from` to `to`, of which neither is free list 0. Steps: the ranges of\n `from`."]
    pub fn cuarena_heap_freelist_merge(
        heap: *mut cuarena_heap_t,
        from: u32,
        to: u32,
    ) -> cuarena_status_t;
    #[doc = " Gives ranges of free list 0 that touch ranges of `freelist` to that free list, until one of its\n ranges has `bytes`; with UINT64_MAX all of them. FRAGMENTED if none gets so many: nothing changed\n then. Steps: the ranges of `freelist`."]
    pub fn cuarena_heap_freelist_absorb(
        heap: *mut cuarena_heap_t,
        freelist: u32,
        bytes: u64,
    ) -> cuarena_status_t;
    #[doc = " Reclaims the free list and ends it. Free list 0 stays."]
    pub fn cuarena_heap_freelist_destroy(
        heap: *mut cuarena_heap_t,
        freelist: u32,
    ) -> cuarena_status_t;
    pub fn cuarena_heap_stats_init(stats: *mut cuarena_heap_stats_t);
    pub fn cuarena_heap_stats(
        heap: *const cuarena_heap_t,
        stats: *mut cuarena_heap_stats_t,
    ) -> cuarena_status_t;
    #[doc = " Sets the peaks to what is now."]
    pub fn cuarena_heap_reset_peaks(heap: *mut cuarena_heap_t);
    #[doc = " The largest range of a free list, exact. Steps: the ranges of its class."]
    pub fn cuarena_heap_largest(
        heap: *const cuarena_heap_t,
        freelist: u32,
        bytes_out: *mut u64,
    ) -> cuarena_status_t;
    #[doc = " Recomputes every counter and link from scratch. CORRUPT if anything disagrees; `text` (may be\n NULL) then says what, in `text_size` bytes.\n Steps: everything there is."]
    pub fn cuarena_heap_validate(
        heap: *const cuarena_heap_t,
        text: *mut ::core::ffi::c_char,
        text_size: usize,
    ) -> cuarena_status_t;
    pub fn cuarena_heap_plan_options_init(options: *mut cuarena_heap_plan_options_t);
    #[doc = " Works out which blocks without pins would slide down, and where to. The heap does not change.\n With a goal it finds the cheapest window (fewest bytes moved) in one pass over the address list;\n FRAGMENTED if no window within\n the limits makes room. A plan may be empty. Steps: blocks and ranges."]
    pub fn cuarena_heap_plan_create(
        heap: *const cuarena_heap_t,
        options: *const cuarena_heap_plan_options_t,
        plan_out: *mut *mut cuarena_heap_plan_t,
    ) -> cuarena_status_t;
    #[doc = " The moves, in the order in which they must be done. They stay until the plan is destroyed."]
    pub fn cuarena_heap_plan_moves(
        plan: *const cuarena_heap_plan_t,
        count_out: *mut usize,
    ) -> *const cuarena_heap_move_t;
    #[doc = " Holds the plan's bytes: until commit or abort its blocks can be neither freed, pinned nor resized\n (BUSY), and its ranges serve nobody. The rest of the heap works on. BUSY if the heap changed\n since the plan was made, or\n while another plan is under way. BAD_ARGUMENT, here and for commit and abort, if the plan was\n made of another heap or of one that has ended, or is not at that point of its life: nothing\n changed."]
    pub fn cuarena_heap_plan_begin(
        heap: *mut cuarena_heap_t,
        plan: *mut cuarena_heap_plan_t,
    ) -> cuarena_status_t;
    #[doc = " The bytes were moved: blocks get their new offsets, what they left joins `freelist`. After a\n successful begin nothing can fail but a free list that is not in use: BAD_ARGUMENT, and the plan\n is still under way."]
    pub fn cuarena_heap_plan_commit(
        heap: *mut cuarena_heap_t,
        plan: *mut cuarena_heap_plan_t,
        freelist: u32,
    ) -> cuarena_status_t;
    #[doc = " Nothing was moved: blocks are as before begin, and so are ranges, but that those of the plan\n belong to the free list of its options."]
    pub fn cuarena_heap_plan_abort(
        heap: *mut cuarena_heap_t,
        plan: *mut cuarena_heap_plan_t,
    ) -> cuarena_status_t;
    #[doc = " Ends the plan and clears the handle; aborts it on the heap that it was made of if it is under way\n there, whichever heap is named: NULL will do. The heap may have ended before. NULL is fine."]
    pub fn cuarena_heap_plan_destroy(
        heap: *mut cuarena_heap_t,
        plan: *mut *mut cuarena_heap_plan_t,
    );
    pub fn cuarena_request_init(request: *mut cuarena_request_t);
    #[doc = " The tag of that name, registered at first use; the name is copied. LIMIT\n past CUARENA_HEAP_MAX_TAGS - 1 of them. Cost: the tags."]
    pub fn cuarena_tag(
        arena: *mut cuarena_t,
        name: *const ::core::ffi::c_char,
        tag_out: *mut cuarena_tag_t,
    ) -> cuarena_status_t;
    #[doc = " Valid until the arena is destroyed."]
    pub fn cuarena_tag_name(
        arena: *mut cuarena_t,
        tag: cuarena_tag_t,
        name_out: *mut *const ::core::ffi::c_char,
    ) -> cuarena_status_t;
    #[doc = " Born without a pin. 0 bytes: a live, empty block."]
    pub fn cuarena_block_alloc(
        arena: *mut cuarena_t,
        bytes: u64,
        block_out: *mut cuarena_block_t,
    ) -> cuarena_status_t;
    pub fn cuarena_block_alloc_with(
        arena: *mut cuarena_t,
        bytes: u64,
        request: *const cuarena_request_t,
        block_out: *mut cuarena_block_t,
    ) -> cuarena_status_t;
    #[doc = " Pinned or not. 0 is OK. A block that is being moved is freed when its move\n is done. Legal on a lost arena."]
    pub fn cuarena_block_free(arena: *mut cuarena_t, block: cuarena_block_t) -> cuarena_status_t;
    #[doc = " Keeps the id; as cuarena_resize otherwise. 0 bytes: the block is empty."]
    pub fn cuarena_block_resize(
        arena: *mut cuarena_t,
        block: cuarena_block_t,
        bytes: u64,
    ) -> cuarena_status_t;
    #[doc = " Holds the block where it is and tells where. An address is good only while the block is pinned.\n Pins count: BUSY at CUARENA_HEAP_MAX_PINS. Waits for a move under way. NULL for an empty\n block."]
    pub fn cuarena_block_pin(
        arena: *mut cuarena_t,
        block: cuarena_block_t,
        pointer_out: *mut *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " Ends one pin. BAD_ARGUMENT if block_pin took none that is left."]
    pub fn cuarena_block_unpin(arena: *mut cuarena_t, block: cuarena_block_t) -> cuarena_status_t;
    #[doc = " The id of the block that begins at `pointer`."]
    pub fn cuarena_block_of(
        arena: *mut cuarena_t,
        pointer: *const ::core::ffi::c_void,
        block_out: *mut cuarena_block_t,
    ) -> cuarena_status_t;
    pub fn cuarena_block_info(
        arena: *mut cuarena_t,
        block: cuarena_block_t,
        info_out: *mut cuarena_block_info_t,
    ) -> cuarena_status_t;
    #[doc = " Copies up to `capacity` live blocks, in no particular order. `cursor`\n begins at 0; the enumeration ended when fewer than `capacity` came. Blocks made or freed\n meanwhile may or may not be seen; no other is missed or seen twice. Cost: the slots passed over."]
    pub fn cuarena_blocks(
        arena: *mut cuarena_t,
        cursor: *mut u64,
        infos: *mut cuarena_block_info_t,
        capacity: usize,
        count_out: *mut usize,
    ) -> cuarena_status_t;
    #[doc = " Counts foreign bytes as a block of this arena: it appears in statistics, limits and enumeration,\n is pinned, and is forgotten, not returned, when it\n is freed. BAD_ARGUMENT if there are none, address or size is no multiple of the granule, or they\n overlap the arena's own or what is adopted already."]
    pub fn cuarena_adopt(
        arena: *mut cuarena_t,
        bytes: *mut ::core::ffi::c_void,
        size: u64,
        tag: cuarena_tag_t,
        block_out: *mut cuarena_block_t,
    ) -> cuarena_status_t;
    #[doc = " All members 0 but struct_size, granularity 4096 and alignment 256."]
    pub fn cuarena_memory_ops_init(ops: *mut cuarena_memory_ops_t);
    pub fn cuarena_compact_options_init(options: *mut cuarena_compact_options_t);
    pub fn cuarena_compact_report_init(report: *mut cuarena_compact_report_t);
    #[doc = " Slides blocks without pins of the dynamic region together. NULL options: all the way; callback\n and report may be NULL. One compaction runs at a time: another thread's waits. FRAGMENTED: a goal\n that no window within the limits reaches; nothing moved. What a trimmed pool gave back it takes\n again if a goal needs that (LIMIT, OUT_OF_MEMORY or DRIVER if that cannot be had); else blocks do\n not move across it. UNSUPPORTED: the memory\n cannot relocate. Cost: blocks and ranges to plan, under the lock; then the bytes moved, without\n it.\n\n With a stream the call does not wait, but on memory that the CPU touches:\n the stream waits for every stream that a moved block was allocated on or is used by\n (cuarena_record_use), moves the bytes, and those streams wait for\n it. Bytes that it vacates are the stream's. For blocks allocated without a stream the caller\n vouches, or names the streams that use them. Without one the call waits for all of these, and for\n what was freed on streams."]
    pub fn cuarena_compact(
        arena: *mut cuarena_t,
        options: *const cuarena_compact_options_t,
        callback: cuarena_relocation_fn,
        user: *mut ::core::ffi::c_void,
        report: *mut cuarena_compact_report_t,
    ) -> cuarena_status_t;
    #[doc = " Who hears of moves that no compact call reports: resize_pool, and the compaction step of running\n out (compact_on_oom). NULL: nobody, and then\n that step moves no pointers, pinned or not: only blocks, whose ids stay\n good."]
    pub fn cuarena_set_relocation_callback(
        arena: *mut cuarena_t,
        callback: cuarena_relocation_fn,
        user: *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    pub fn cuarena_set_event_listener(
        arena: *mut cuarena_t,
        listener: cuarena_event_fn,
        user: *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    pub fn cuarena_set_oom_handler(
        arena: *mut cuarena_t,
        handler: cuarena_oom_fn,
        user: *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " Copies up to `capacity` of them, by their numbers; `count_out` gets how many there are. `steps`\n NULL with capacity 0 only asks."]
    pub fn cuarena_step_stats(
        arena: *mut cuarena_t,
        steps: *mut cuarena_step_stats_t,
        capacity: usize,
        count_out: *mut usize,
    ) -> cuarena_status_t;
    pub fn cuarena_config_init(config: *mut cuarena_config_t);
    #[doc = " Sets one option from text. BAD_ARGUMENT for an unknown key or a value that does not parse or is\n out of range: the message names key, value and what would be accepted; the config is as it was.\n With unknown_keys=warn unknown keys are logged and passed over.\n\n \"arena.\" may stand before any key. ONNX Runtime's names for its arena are keys too:\n extend_strategy (also arena_extend_strategy), initial_chunk_size_bytes, max_dead_bytes_per_chunk,\n initial_growth_chunk_size_bytes, max_power_of_two_extend_bytes, max_mem,\n cuda_mempool_release_threshold, cuda_mempool_bytes_to_keep_on_shrink. Their values are digits, in\n ONNX Runtime's ranges. With use_cuda_mempool=1, which is an option of its own, device memory is\n that of preset=driver-pool and driver_pool=own whatever preset is named; its threshold stays as\n the driver made it, and what is said of chunks is passed over. Pinned memory passes over it and\n the two keys before, as ONNX Runtime's arena of pinned memory does. Other memories refuse it."]
    pub fn cuarena_config_set(
        config: *mut cuarena_config_t,
        key: *const ::core::ffi::c_char,
        value: *const ::core::ffi::c_char,
    ) -> cuarena_status_t;
    #[doc = " \"key=value,key=value\": all of them or, on an error, none."]
    pub fn cuarena_config_parse(
        config: *mut cuarena_config_t,
        text: *const ::core::ffi::c_char,
    ) -> cuarena_status_t;
    #[doc = " The same with the text of the environment's CUARENA_CONF; OK where there is none. No other call\n reads it: a program that wants to be told by it calls this between init and create. Not beside\n changes of the environment."]
    pub fn cuarena_config_environment(config: *mut cuarena_config_t) -> cuarena_status_t;
    #[doc = " The limit from a variable of the environment, NULL: CUPY_GPU_MEMORY_LIMIT,\n as CuPy reads it: digits are bytes; a number of at most three decimals and % are that part of all\n that the memory has; 0 and 0% are no limit. OK, and nothing changed, where there is no such\n variable. BAD_ARGUMENT for any other text: the message names variable, text and what is accepted;\n the config is as it was. Only this call reads the variable. Not beside changes of the\n environment."]
    pub fn cuarena_config_limit_environment(
        config: *mut cuarena_config_t,
        variable: *const ::core::ffi::c_char,
    ) -> cuarena_status_t;
    #[doc = " The value of one option as text that cuarena_config_set accepts under the same key. UNSUPPORTED\n for a value that has none: a memory of the caller's own, or what ONNX Runtime has no number\n for."]
    pub fn cuarena_config_get(
        config: *const cuarena_config_t,
        key: *const ::core::ffi::c_char,
        text: *mut ::core::ffi::c_char,
        text_size: usize,
    ) -> cuarena_status_t;
    #[doc = " Gives what says \"as the preset says\" its value, and the limit of a preset without one: all that\n cuarena_create would do. BAD_ARGUMENT as there; the config is as it was then."]
    pub fn cuarena_config_resolve(config: *mut cuarena_config_t) -> cuarena_status_t;
    #[doc = " Parses an amount as above; BAD_ARGUMENT with the text named."]
    pub fn cuarena_amount_parse(
        text: *const ::core::ffi::c_char,
        amount_out: *mut cuarena_amount_t,
    ) -> cuarena_status_t;
    pub fn cuarena_option_info_init(info: *mut cuarena_option_info_t);
    pub fn cuarena_option_info(index: usize, info: *mut cuarena_option_info_t) -> cuarena_status_t;
    #[doc = " `bytes` of the dynamic region, pinned. 0 bytes: OK, NULL, not counted."]
    pub fn cuarena_alloc(
        arena: *mut cuarena_t,
        bytes: u64,
        pointer_out: *mut *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " NULL request: as cuarena_alloc."]
    pub fn cuarena_alloc_with(
        arena: *mut cuarena_t,
        bytes: u64,
        request: *const cuarena_request_t,
        pointer_out: *mut *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " count * size bytes; BAD_ARGUMENT if that overflows."]
    pub fn cuarena_alloc_array(
        arena: *mut cuarena_t,
        count: u64,
        size: u64,
        request: *const cuarena_request_t,
        pointer_out: *mut *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " The caller says that nothing uses the bytes any more. NULL is OK. Legal on a lost arena."]
    pub fn cuarena_free(
        arena: *mut cuarena_t,
        pointer: *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " Grows or shrinks, in place if it can, else by moving the contents (the\n caller says that nothing uses them now). 0 bytes frees and gives NULL; a\n NULL pointer allocates. BUSY if it would have to move and was pinned by cuarena_block_pin; a\n stable block never moves: FRAGMENTED or OUT_OF_MEMORY. Dedicated and adopted blocks keep their\n size: UNSUPPORTED.\n On failure block and contents are as they were. Cost: the bytes moved."]
    pub fn cuarena_resize(
        arena: *mut cuarena_t,
        pointer: *mut ::core::ffi::c_void,
        bytes: u64,
        pointer_out: *mut *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " Bytes asked for and bytes taken. Either output may be NULL. Legal on a lost arena."]
    pub fn cuarena_size_of(
        arena: *mut cuarena_t,
        pointer: *const ::core::ffi::c_void,
        requested_out: *mut u64,
        allocated_out: *mut u64,
    ) -> cuarena_status_t;
    #[doc = " Ends the pin that a pointer is born with: compaction may move it, and the relocation callback\n tells the new address. BAD_ARGUMENT if it was ended already, or the block is stable."]
    pub fn cuarena_unpin(
        arena: *mut cuarena_t,
        pointer: *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " Takes it again. Waits for a move under way. BAD_ARGUMENT if it is there;\n BUSY at CUARENA_HEAP_MAX_PINS."]
    pub fn cuarena_pin(
        arena: *mut cuarena_t,
        pointer: *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    pub fn cuarena_stats_init(stats: *mut cuarena_stats_t);
    #[doc = " Constant time. For REGION_ALL the peaks are of the whole. A stable request that was served\n without a stable region counts as dynamic."]
    pub fn cuarena_stats(
        arena: *mut cuarena_t,
        region: i32,
        stats: *mut cuarena_stats_t,
    ) -> cuarena_status_t;
    #[doc = " Live, requested, counts and peaks of one tag; the rest is 0."]
    pub fn cuarena_tag_stats(
        arena: *mut cuarena_t,
        tag: cuarena_tag_t,
        stats: *mut cuarena_stats_t,
    ) -> cuarena_status_t;
    #[doc = " Sets every peak, of regions, tags and streams, to what is now. Scopes of peaks are below.\n Cost: the tags and streams."]
    pub fn cuarena_reset_peaks(arena: *mut cuarena_t) -> cuarena_status_t;
    pub fn cuarena_inspection_init(inspection: *mut cuarena_inspection_t);
    pub fn cuarena_inspect(
        arena: *mut cuarena_t,
        region: i32,
        inspection: *mut cuarena_inspection_t,
    ) -> cuarena_status_t;
    #[doc = " Recomputes everything; CORRUPT with the reason in `text` (may be NULL)."]
    pub fn cuarena_validate(
        arena: *mut cuarena_t,
        text: *mut ::core::ffi::c_char,
        text_size: usize,
    ) -> cuarena_status_t;
    pub fn cuarena_ort_stats_init(stats: *mut cuarena_ort_stats_t);
    pub fn cuarena_ort_stats(
        arena: *mut cuarena_t,
        stats: *mut cuarena_ort_stats_t,
    ) -> cuarena_status_t;
    #[doc = " Hands every figure of one moment over, in decimal. No lock is held: any call is legal in the\n function. BAD_ARGUMENT for another `form`."]
    pub fn cuarena_stats_pairs(
        arena: *mut cuarena_t,
        form: i32,
        write: cuarena_pair_fn,
        user: *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " The same as \"key=value\", each with a newline at its end. `needed_out` (may be NULL) gets the\n bytes that this takes, with the zero at its end, also when they are too many: BAD_ARGUMENT then,\n and `text` is as it was. `text` NULL with text_size 0 only asks."]
    pub fn cuarena_stats_text(
        arena: *mut cuarena_t,
        form: i32,
        text: *mut ::core::ffi::c_char,
        text_size: usize,
        needed_out: *mut usize,
    ) -> cuarena_status_t;
    pub fn cuarena_peaks_init(peaks: *mut cuarena_peaks_t);
    #[doc = " Of a region, or with CUARENA_REGION_ALL of the whole arena."]
    pub fn cuarena_peaks_push(arena: *mut cuarena_t, region: i32) -> cuarena_status_t;
    pub fn cuarena_peaks_pop(
        arena: *mut cuarena_t,
        region: i32,
        peaks: *mut cuarena_peaks_t,
    ) -> cuarena_status_t;
    pub fn cuarena_tag_peaks_push(arena: *mut cuarena_t, tag: cuarena_tag_t) -> cuarena_status_t;
    pub fn cuarena_tag_peaks_pop(
        arena: *mut cuarena_t,
        tag: cuarena_tag_t,
        peaks: *mut cuarena_peaks_t,
    ) -> cuarena_status_t;
    #[doc = " STALE if the arena does not know the stream (any more)."]
    pub fn cuarena_stream_peaks_push(
        arena: *mut cuarena_t,
        stream: cuarena_stream_t,
    ) -> cuarena_status_t;
    pub fn cuarena_stream_peaks_pop(
        arena: *mut cuarena_t,
        stream: cuarena_stream_t,
        peaks: *mut cuarena_peaks_t,
    ) -> cuarena_status_t;
    #[doc = " Makes an arena. The preset `pool` takes its bytes now; one that grows takes none but its stable\n region, unless take_first says so.\n BAD_ARGUMENT, OUT_OF_MEMORY, LIMIT (the pool is larger than the limit, or CUARENA_HEAP_MAX_HEAPS\n heaps live; of both the last error has what was asked, the limit if there is one, what was held,\n and as free_bytes what the memory had available), DRIVER, UNSUPPORTED (the memory cannot do what\n the options ask). Cost: the memory's, plus under 1 ms."]
    pub fn cuarena_create(
        config: *const cuarena_config_t,
        arena_out: *mut *mut cuarena_t,
    ) -> cuarena_status_t;
    #[doc = " Ends the arena and clears the handle. BUSY while blocks live: nothing changes, and the log and\n the last error tell the leaks by tag. BUSY too while work on what was freed on streams is under\n way, while a capture session has bytes (capture.h), and for one of the process's shared arenas\n (shared.h). REENTERED from a function of its memory, its relocation callback, its handler of\n running out or its event listener. NULL and a cleared handle are OK."]
    pub fn cuarena_destroy(arena: *mut *mut cuarena_t) -> cuarena_status_t;
    #[doc = " As destroy, ending every block. Waits for the work of its streams; the log tells what could not\n be waited for. BUSY for a shared arena; REENTERED as destroy."]
    pub fn cuarena_destroy_forced(arena: *mut *mut cuarena_t) -> cuarena_status_t;
    #[doc = " The arena is to end with its last block: calls `done` once, at the end of the call that frees it\n or resets the arena, with no lock held and when no other such call is inside the arena. That of a\n listener's or a handler's own comes at the end of the call that it is heard in. For owners that\n the blocks outlive, and that would count these a second time. Retired anew: the last `done`\n counts. NULL takes it back.\n\n What was freed does not live, though its bytes may wait for a stream, a move or an export: then\n the destruction in `done` is BUSY, and `done` has to keep the arena for later. Cached blocks do\n not live. Calls that end no block must have returned before the last one is freed, as before a\n destruction.\n\n STALE: no block lives and nothing is inside, so `done` is not called, and the caller may do at\n once what it would; for NULL, `done` is on its way, or the arena is not retired. BUSY: it is\n shared. `done` is never called by this\n call itself, which may be made under a lock that `done` takes. Cost: constant time; while an\n arena is retired no call has a fast path."]
    pub fn cuarena_retire(
        arena: *mut cuarena_t,
        done: cuarena_retired_fn,
        user: *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " Ends every block, pointer and id at once, in both regions; keeps memory, sizes, tags, limits.\n BUSY while pins taken by cuarena_block_pin exist, exports are open or a capture session has\n bytes; DRIVER if free bytes are to read as 0 and cannot be made so: blocks live on, but their\n contents may be gone. Peaks stay (cuarena_reset_peaks). Nothing\n may use the blocks any more; what was freed on streams is waited for, and all work where\n allocations are such (segments=each).\n REENTERED from a function of its memory or its relocation callback. Cost: the live blocks."]
    pub fn cuarena_reset(arena: *mut cuarena_t) -> cuarena_status_t;
    #[doc = " Makes the pool `bytes` large, rounded up to the arena's alignment as at creation (capacity_bytes\n of cuarena_stats tells; reserved_bytes, what the memory gave for it in its own multiples), its\n stable region as it is. Contents stay, in place where the memory lengthens and shortens what it\n gave (pageable, none, device with backing=vmm, a caller's own that has `grow`), up to what the\n option `addresses`, or a limit, set addresses aside for. Otherwise the memory gives a pool of the\n new size, to which all blocks move: those without pins, reported to the relocation callback;\n while a pointer, a pinned block or a stable one lives it is BUSY. In place a pool that gets\n smaller moves what stands in the part that goes, and is BUSY if that is pinned. So a program that\n is to work alike on all memories has blocks, or unpinned pointers, alone. BAD_ARGUMENT below the\n stable region's size; UNSUPPORTED for a caller's own bytes. A failed call leaves the size; cached\n blocks have ended, and blocks may have moved, which was reported. Waits for what was freed on\n streams if the pool gets smaller, and for all work on its bytes if they move. REENTERED as reset.\n Cost: the bytes moved."]
    pub fn cuarena_resize_pool(arena: *mut cuarena_t, bytes: u64) -> cuarena_status_t;
    #[doc = " Gives unused bytes back to the memory, whole pages from the end and from\n the middle, until no more than `keep_bytes` are held or nothing more is\n free. What a pool gave back it takes again when it needs it. A caller's own bytes stay. What was\n freed on streams counts once it is idle: events are recorded and asked for, none is waited for;\n DRIVER if that fails. REENTERED as reset. Cost: ranges, and the memory's."]
    pub fn cuarena_trim(
        arena: *mut cuarena_t,
        keep_bytes: u64,
        given_back_out: *mut u64,
    ) -> cuarena_status_t;
    #[doc = " Bytes, percent of all that the memory has, this arena's bytes among them, or auto, what is\n available now: one of them, by the type, and BAD_ARGUMENT above 100 %. Below what is held or live\n now is legal:\n it bounds what comes. `old_bytes_out` may be NULL; UINT64_MAX is \"none\". A lower limit of cached\n bytes ends cached blocks at once, the least recently recycled first, unless the cache is bounded\n late (cost: those blocks, and the memory's; REENTERED as trim)."]
    pub fn cuarena_set_limit(
        arena: *mut cuarena_t,
        kind: i32,
        limit: cuarena_amount_t,
        old_bytes_out: *mut u64,
    ) -> cuarena_status_t;
    pub fn cuarena_get_limit(
        arena: *mut cuarena_t,
        kind: i32,
        bytes_out: *mut u64,
    ) -> cuarena_status_t;
    #[doc = " Where the arena's bytes are: the first segment's base and length."]
    pub fn cuarena_base(
        arena: *mut cuarena_t,
        base_out: *mut *mut ::core::ffi::c_void,
        bytes_out: *mut u64,
    ) -> cuarena_status_t;
    #[doc = " Ends cached blocks, those that were cached first, until at least `bytes` of them are gone; all of\n them if `bytes` is nine tenths of the cache or more. Their whole pages go back to the memory;\n `blocks_out` (may be NULL) gets their number. REENTERED from a function of the arena's memory or\n its relocation callback; LOST. Any thread. Cost: these blocks, and the memory's; with streams,\n also the ranges."]
    pub fn cuarena_cache_release(
        arena: *mut cuarena_t,
        bytes: u64,
        blocks_out: *mut u64,
    ) -> cuarena_status_t;
    #[doc = " Ends all cached blocks, and gives their pages back. If any was freed on a stream the call waits\n until what streams freed so far is idle; nothing happens where nothing is cached. DRIVER, BUSY:\n that cannot be waited for, and the cache is as it was. Otherwise as release."]
    pub fn cuarena_cache_clear(arena: *mut cuarena_t, blocks_out: *mut u64) -> cuarena_status_t;
    pub fn cuarena_cache_stats_init(stats: *mut cuarena_cache_stats_t);
    #[doc = " Of one moment. BAD_ARGUMENT for NULL or a struct without its size. Cost: constant."]
    pub fn cuarena_cache_stats(
        arena: *mut cuarena_t,
        stats: *mut cuarena_cache_stats_t,
    ) -> cuarena_status_t;
    #[doc = " As cuarena_alloc_with; `request` may be NULL. Zeroing is queued on the stream."]
    pub fn cuarena_alloc_on(
        arena: *mut cuarena_t,
        bytes: u64,
        stream: cuarena_stream_t,
        request: *const cuarena_request_t,
        pointer_out: *mut *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " See the table above. On an error the block is as it was. Neither OUT_OF_MEMORY nor LIMIT: a\n stream that was not known and cannot be made so is waited for by the caller (host_waits counts\n that, and the log says so at level info), and the bytes are idle then. BUSY if it is being\n captured."]
    pub fn cuarena_free_on(
        arena: *mut cuarena_t,
        pointer: *mut ::core::ffi::c_void,
        stream: cuarena_stream_t,
    ) -> cuarena_status_t;
    #[doc = " As cuarena_resize: where the contents must move, the copy is queued on the stream, and the old\n bytes are freed on it."]
    pub fn cuarena_resize_on(
        arena: *mut cuarena_t,
        pointer: *mut ::core::ffi::c_void,
        bytes: u64,
        stream: cuarena_stream_t,
        pointer_out: *mut *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    pub fn cuarena_block_alloc_on(
        arena: *mut cuarena_t,
        bytes: u64,
        stream: cuarena_stream_t,
        request: *const cuarena_request_t,
        block_out: *mut cuarena_block_t,
    ) -> cuarena_status_t;
    pub fn cuarena_block_free_on(
        arena: *mut cuarena_t,
        block: cuarena_block_t,
        stream: cuarena_stream_t,
    ) -> cuarena_status_t;
    pub fn cuarena_block_resize_on(
        arena: *mut cuarena_t,
        block: cuarena_block_t,
        bytes: u64,
        stream: cuarena_stream_t,
    ) -> cuarena_status_t;
    #[doc = " As cuarena_block_pin; the stream then waits for the block's last move."]
    pub fn cuarena_block_pin_on(
        arena: *mut cuarena_t,
        block: cuarena_block_t,
        stream: cuarena_stream_t,
        pointer_out: *mut *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " The pin ends at this point of the stream: as cuarena_block_unpin and cuarena_block_record_use."]
    pub fn cuarena_block_unpin_on(
        arena: *mut cuarena_t,
        block: cuarena_block_t,
        stream: cuarena_stream_t,
    ) -> cuarena_status_t;
    #[doc = " The block is used on that stream too: when it is freed on a stream, its\n bytes go to nobody before everything queued there until the free is done. Once per block and\n stream is enough. Takes host memory: OUT_OF_MEMORY if there is none. STALE if no such block\n lives."]
    pub fn cuarena_record_use(
        arena: *mut cuarena_t,
        pointer: *const ::core::ffi::c_void,
        stream: cuarena_stream_t,
    ) -> cuarena_status_t;
    pub fn cuarena_block_record_use(
        arena: *mut cuarena_t,
        block: cuarena_block_t,
        stream: cuarena_stream_t,
    ) -> cuarena_status_t;
    #[doc = " The stream is about to be destroyed: records an event behind all its work. Once this has returned\n OK no call touches the handle: calls of other threads that use it now, a compaction that lets it\n wait for instance, are waited for until they have handed it to the driver; the stream's work is\n not. Blocks allocated on it live on; free them without a stream, or on another. OK for a stream\n that the arena does not know; BUSY for one of an open capture session, or one that is being\n captured; DRIVER if the event cannot be recorded: the stream is still known then. Steps: the free\n list's ranges."]
    pub fn cuarena_release_stream(
        arena: *mut cuarena_t,
        stream: cuarena_stream_t,
    ) -> cuarena_status_t;
    #[doc = " Reclaims all that can be: records events on streams whose free lists have bytes without one, and\n takes what is complete; with `wait` = 1 waits until everything freed so far is idle.\n `reclaimed_out` (may be NULL) gets the\n bytes that came to the idle free list. Steps: streams, and the ranges idle."]
    pub fn cuarena_reclaim(
        arena: *mut cuarena_t,
        wait: i32,
        reclaimed_out: *mut u64,
    ) -> cuarena_status_t;
    #[doc = " Gives bytes that were freed on the stream back to the memory, whole pages\n or, where segments keep their length, whole segments, until no more than `keep_bytes` are held or\n no more of them are free; nothing of other\n streams, and nothing that is idle. CUARENA_NO_STREAM: of all streams, and what is idle. Waits for\n the stream, or for each of them, as far as it\n freed something (host_waits counts one for each), and for blocks that other streams use besides.\n What stays is idle or, with steal=never, the\n stream's as before.\n\n OK for a stream that the arena does not know; BUSY for one of an open capture session; DRIVER if\n a wait fails; REENTERED as reset. A caller's own bytes stay. Cost: ranges, and the memory's.\n\n Where blocks are pieces of a driver's pool, it is the pool that keeps `keep_bytes`, once what the\n stream was given so far is done; with CUARENA_NO_STREAM, all work of the device."]
    pub fn cuarena_trim_on(
        arena: *mut cuarena_t,
        stream: cuarena_stream_t,
        keep_bytes: u64,
        given_back_out: *mut u64,
    ) -> cuarena_status_t;
    #[doc = " This moment of the stream. BAD_ARGUMENT for CUARENA_NO_STREAM. Records a event, if something was\n freed on it since the last one. Steps: the free list's ranges."]
    pub fn cuarena_stream_mark(
        arena: *mut cuarena_t,
        stream: cuarena_stream_t,
        mark_out: *mut cuarena_mark_t,
    ) -> cuarena_status_t;
    #[doc = " `waiter` was given a wait for work of `producer` up to `mark` at least. BAD_ARGUMENT for what is\n no mark of that stream; OK for one that was\n released since. No driver call. Steps: streams and, with\n CUARENA_NO_STREAM, the ranges idle."]
    pub fn cuarena_stream_waited(
        arena: *mut cuarena_t,
        waiter: cuarena_stream_t,
        producer: cuarena_stream_t,
        mark: cuarena_mark_t,
    ) -> cuarena_status_t;
    #[doc = " Live, requested, counts and peaks of blocks allocated on that stream, and free_bytes: of its free\n list. STALE if the arena does not know the stream."]
    pub fn cuarena_stream_stats(
        arena: *mut cuarena_t,
        stream: cuarena_stream_t,
        stats: *mut cuarena_stats_t,
    ) -> cuarena_status_t;
    #[doc = " What is allocated on the stream is private from now on. BAD_ARGUMENT for CUARENA_NO_STREAM and\n for the legacy default stream, which cannot be captured. BUSY: the stream is in an open session,\n or its capture has failed. UNSUPPORTED: the memory knows no streams; the arena zeroes what it\n gets\n back, or what it hands out where no graph can. OUT_OF_MEMORY, LIMIT.\n Waits for what other threads' calls give the stream just now. Driver calls: to ask whether the\n stream is captured and, if it is not, to record an event behind what was freed on it. So before\n the capture is the better moment: those bytes can serve the session then. Steps: the free list's\n ranges."]
    pub fn cuarena_capture_begin(
        arena: *mut cuarena_t,
        stream: cuarena_stream_t,
        capture_out: *mut *mut cuarena_capture_t,
    ) -> cuarena_status_t;
    #[doc = " The same for one more stream, which was or will be forked into the capture by an event; OK if it\n is in the session. BAD_ARGUMENT for a session that has ended, and as cuarena_capture_begin."]
    pub fn cuarena_capture_join(
        arena: *mut cuarena_t,
        capture: *mut cuarena_capture_t,
        stream: cuarena_stream_t,
    ) -> cuarena_status_t;
    #[doc = " The streams are ordinary again. Must come after cuStreamEndCapture, also where the capture\n failed: else BUSY. The streams must not be destroyed before. OK if it has ended. Waits for what\n other threads' calls give the streams just now. Steps: private ranges. Driver calls: to ask\n whether the streams are captured, and a wait of those that blocks were moved beside."]
    pub fn cuarena_capture_end(
        arena: *mut cuarena_t,
        capture: *mut cuarena_capture_t,
    ) -> cuarena_status_t;
    #[doc = " The caller's word that the graph is not launched again, and that all its launches were queued on\n the stream or come before what is queued there. The private bytes that are free join the stream's\n free list, and the blocks that live become ordinary blocks of that stream: those that the block\n calls made may move. The stream waits for the session's streams and for those on which private\n blocks were freed or, as recorded, used. With CUARENA_NO_STREAM it is the caller's word that all\n work with private blocks is done: the bytes are idle, and the blocks that live are those of no\n stream.\n\n Ends a session that is open, and clears the handle; NULL and a cleared handle are OK. On an error\n the session is as it was. BUSY: one of the streams is in an open session, or being captured. Does\n not block, but for calls that give the session's streams something to do just now. Steps: the\n blocks of the arena, private ranges. Driver calls: one event and one wait for each stream besides\n the one given; with CUARENA_NO_STREAM, to give the segments of dedicated blocks back that were\n freed."]
    pub fn cuarena_capture_release(
        arena: *mut cuarena_t,
        capture: *mut *mut cuarena_capture_t,
        stream: cuarena_stream_t,
    ) -> cuarena_status_t;
    #[doc = " Live, requested, counts and peaks of private blocks; capacity_bytes: what is private, dedicated\n blocks too; free_bytes: of that; largest_bytes: what is free and was never handed out. The rest\n is 0. Steps: stretches."]
    pub fn cuarena_capture_stats(
        arena: *mut cuarena_t,
        capture: *mut cuarena_capture_t,
        stats: *mut cuarena_stats_t,
    ) -> cuarena_status_t;
    pub fn cuarena_properties_init(properties: *mut cuarena_properties_t);
    pub fn cuarena_properties(
        arena: *mut cuarena_t,
        properties: *mut cuarena_properties_t,
    ) -> cuarena_status_t;
    pub fn cuarena_driver_pool_stats_init(stats: *mut cuarena_driver_pool_stats_t);
    #[doc = " Asks the driver, for one figure after the other. DRIVER, LOST."]
    pub fn cuarena_driver_pool_stats(
        arena: *mut cuarena_t,
        stats: *mut cuarena_driver_pool_stats_t,
    ) -> cuarena_status_t;
    #[doc = " The two peaks begin anew from what is now, for everybody who uses the pool. DRIVER, LOST."]
    pub fn cuarena_driver_pool_reset_peaks(arena: *mut cuarena_t) -> cuarena_status_t;
    #[doc = " Makes an arena on each device that the driver shows, by its number, from one configuration and a\n choice for each: `pools` and `arenas_out` have `count` members. All or, on an error, none.\n BAD_ARGUMENT unless `count` is the number of devices, with both in the message, and for a\n configuration that names a device or a context; otherwise as cuarena_create."]
    pub fn cuarena_create_per_device(
        config: *const cuarena_config_t,
        pools: *const cuarena_driver_pool_choice_t,
        count: usize,
        arenas_out: *mut *mut cuarena_t,
    ) -> cuarena_status_t;
    pub fn cuarena_export_options_init(options: *mut cuarena_export_options_t);
    #[doc = " Tells which handles are behind a block, so that another process of this host can map it:\n cuMemImportFromShareableHandle on each descriptor, then\n cuMemMap of the whole handle; the block's bytes are those at `offset`.\n\n Pieces come in the block's order. Their descriptors belong to the caller: send them (SCM_RIGHTS)\n and close them. `pieces` NULL and `capacity` 0: only the count comes back, and nothing is\n exported.\n\n From now on until cuarena_export_close the block stays where it is and its handles stay mapped,\n also if it is freed meanwhile: its bytes count as live until then. What the importer maps stays\n valid however long it likes; the close says that it no longer minds what becomes of the bytes.\n\n NULL options: the block must be dedicated. BAD_ARGUMENT: it shares its handles, it is empty, or\n there are more pieces than `capacity` (the message has the count). UNSUPPORTED:\n cuarena_properties says fd = 0, or the bytes\n are adopted. STALE. Cost: two driver calls a piece."]
    pub fn cuarena_export(
        arena: *mut cuarena_t,
        block: cuarena_block_t,
        options: *const cuarena_export_options_t,
        pieces: *mut cuarena_export_piece_t,
        capacity: usize,
        count_out: *mut usize,
        export_out: *mut *mut cuarena_export_t,
    ) -> cuarena_status_t;
    #[doc = " Ends an export and clears the handle. NULL and a cleared handle are OK;\n STALE for one of another arena."]
    pub fn cuarena_export_close(
        arena: *mut cuarena_t,
        exported: *mut *mut cuarena_export_t,
    ) -> cuarena_status_t;
    pub fn cuarena_driver_info_init(info: *mut cuarena_driver_info_t);
    #[doc = " NO_DEVICE with the reason in words. Cost: the first time what the driver takes to start."]
    pub fn cuarena_driver_info(info: *mut cuarena_driver_info_t) -> cuarena_status_t;
    pub fn cuarena_device_info_init(info: *mut cuarena_device_info_t);
    #[doc = " BAD_ARGUMENT for an ordinal that the driver does not have; NO_DEVICE, OUT_OF_MEMORY, DRIVER,\n LOST. Cost: the device's primary context, which is created for the call if nobody has it."]
    pub fn cuarena_device_info(device: i32, info: *mut cuarena_device_info_t) -> cuarena_status_t;
    pub fn cuarena_shared_report_init(report: *mut cuarena_shared_report_t);
    #[doc = " Holds the arena of the configuration's device and memory, which is made if there is none. Each\n acquire needs a release. `report` may be NULL; each difference is also logged as a warning.\n\n Errors: those of cuarena_create; BAD_ARGUMENT for memory=bytes and custom."]
    pub fn cuarena_shared_acquire(
        config: *const cuarena_config_t,
        arena_out: *mut *mut cuarena_t,
        report: *mut cuarena_shared_report_t,
    ) -> cuarena_status_t;
    #[doc = " The same for whoever takes it as it is: no option but memory, device and context is looked at.\n STALE if there is none."]
    pub fn cuarena_shared_find(
        config: *const cuarena_config_t,
        arena_out: *mut *mut cuarena_t,
    ) -> cuarena_status_t;
    #[doc = " Lets go of it and clears the handle; NULL and a cleared handle are OK. The last holder's release\n is a cuarena_destroy, with its errors: BUSY while blocks live, and then the caller still holds\n the arena. STALE for an arena that is not shared or was released by all, with a warning in the\n log: one release too many.\n\n cuarena_destroy and cuarena_destroy_forced of a shared arena are BUSY."]
    pub fn cuarena_shared_release(arena: *mut *mut cuarena_t) -> cuarena_status_t;
    #[doc = " Puts an arena with another configuration, of the same device and memory, in the place of the one\n that the caller alone holds. A handle that is NULL: the caller holds none.\n\n BUSY: others hold the arena (the message says how many, and the log what they keep from being\n changed) or blocks live in it; the caller still holds it. BAD_ARGUMENT: it is of another device\n or memory. STALE as for release. The old arena is ended before the new one is made, since they\n may want the same bytes: where the new one cannot be made, there is none, and the handle is\n cleared."]
    pub fn cuarena_shared_replace(
        arena: *mut *mut cuarena_t,
        config: *const cuarena_config_t,
        report: *mut cuarena_shared_report_t,
    ) -> cuarena_status_t;
    #[doc = " Trims the shared arenas of a list of devices to what lives in them, as cuarena_trim with 0 does:\n what the value of ONNX Runtime's run option memory.enable_memory_arena_shrinkage asks for at the\n end of a run.\n\n   cpu:0    the shared arena of pageable memory\n   gpu:ID   that of memory=device on the device with this ordinal\n\n Items have ; between them and no blanks, as in \"cpu:0;gpu:0\"; an empty list is OK. Arenas that\n were made for a context, and those of pinned and managed memory, have no item:\n cuarena_shared_find and cuarena_trim do for them. `given_back_out` (may be NULL) gets the bytes\n of all together. The caller need not hold the arenas, and does not come to; who would end or\n replace one of them meanwhile waits.\n\n BAD_ARGUMENT, before anything is trimmed, for a word that is neither cpu nor gpu, for what is no\n number of a device and for a device without a shared arena; the item is named. Otherwise the\n first error of cuarena_trim, after all were tried. An arena that another thread ends meanwhile is\n passed over. Within a callback of an arena that this call trims, its last release and its\n replacement are BUSY."]
    pub fn cuarena_shared_shrink(
        devices: *const ::core::ffi::c_char,
        given_back_out: *mut u64,
    ) -> cuarena_status_t;
    #[doc = " Sets the options that are the scope's among `count` keys, passing over all others: all of them\n or, on an error, none. Factories are told apart by case, but for sessions, whose keys have the\n name in lower case (ASCII letters). `factory` is not looked at for BARE; `taken_out` (may be\n NULL) gets how many keys were the scope's.\n\n The environment goes before a session because its arena is made first, when the library is\n registered: a session acquires that and is told what it\n cannot have.\n\n BAD_ARGUMENT as of cuarena_config_set, with the whole key named."]
    pub fn cuarena_config_from_scope(
        config: *mut cuarena_config_t,
        scope: i32,
        factory: *const ::core::ffi::c_char,
        keys: *const *const ::core::ffi::c_char,
        values: *const *const ::core::ffi::c_char,
        count: usize,
        taken_out: *mut usize,
    ) -> cuarena_status_t;
}
