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
pub const CUARENA_STEAL_FIRST: i32 = 0;
pub const CUARENA_STEAL_WAIT: i32 = 1;
pub const CUARENA_STEAL_IDLE: i32 = 2;
pub const CUARENA_STEAL_NEVER: i32 = 3;
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
pub const CUARENA_ZERO_OWNER: i32 = 4;
pub const CUARENA_FILL_NEVER: i32 = 0;
pub const CUARENA_FILL_ALLOC: i32 = 1;
pub const CUARENA_FILL_FREE: i32 = 2;
pub const CUARENA_FILL_BOTH: i32 = 3;
pub const CUARENA_NVTX_OFF: i32 = 0;
pub const CUARENA_NVTX_AUTO: i32 = 1;
pub const CUARENA_NVTX_ON: i32 = 2;
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
pub const CUARENA_SNAPSHOT_JSON: i32 = 0;
pub const CUARENA_SNAPSHOT_PYTORCH: i32 = 1;
pub const CUARENA_SNAPSHOT_VERSION: i32 = 1;
pub const CUARENA_EVENT_IDLE: i32 = 9;
pub const CUARENA_EVENT_MOVE: i32 = 10;
pub const CUARENA_EVENT_STEP: i32 = 11;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_arena {
    _unused: [u8; 0],
}
#[doc = " An arena: see arena.h."]
pub type cuarena_t = cuarena_arena;
#[doc = " The result of a call; statuses differ by what the caller can do about them. A failed call leaves\n every block as it was, with its contents, place and size, and every output. If it leaves traces\n its comment says so; for a request that is refused oom.h does, of blocks too that\n compact_on_oom had moved before."]
pub type cuarena_status_t = i32;
#[doc = " Why the last failing call of this thread failed, with the numbers. Members that do not apply are\n 0."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_error_info {
    pub struct_size: usize,
    pub status: cuarena_status_t,
    #[doc = " errno, the driver's code, or what a caller's own\n memory answered; 0 if none"]
    pub driver_code: i32,
    #[doc = " what the call asked for"]
    pub asked_bytes: u64,
    #[doc = " the limit or capacity that stood in the way"]
    pub limit_bytes: u64,
    #[doc = " what the arena had taken from its memory"]
    pub reserved_bytes: u64,
    #[doc = " what was free in the region and the request could\n use, and what a trimmed pool may take again; of\n cuarena_create, what the memory had available"]
    pub free_bytes: u64,
    #[doc = " the largest free range there, exact"]
    pub largest_bytes: u64,
    #[doc = " one line: the value, and what would be accepted; ends\n in \"...\" if it was longer"]
    pub message: [::core::ffi::c_char; 512usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_error_info"][::core::mem::size_of::<cuarena_error_info>() - 568usize];
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
#[doc = " Why the last failing call of this thread failed, with the numbers. Members that do not apply are\n 0."]
pub type cuarena_error_info_t = cuarena_error_info;
#[doc = " Gets one line, without a newline, which is valid during the call only. It is called with no lock\n held, by whichever thread logs; its own calls of the library log nothing. It must return, rather\n than leave by longjmp or an exception."]
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
#[doc = " Names a block for as long as it lives; 0 names none. It consists of the heap's number, a slot and\n how often the slot was used, so an id of a block that has ended, and one of another heap that\n lives, are always told from a live one. So are ids of heaps that have ended, until 2^48 ids of\n heaps with the same number were used; there are 32767 numbers, which are given in turn."]
pub type cuarena_block_t = u64;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_heap_config {
    pub struct_size: usize,
    #[doc = " power of two from 8; default 256"]
    pub granule: u64,
    #[doc = " 1 to CUARENA_HEAP_MAX_BLOCKS, the default"]
    pub max_blocks: u64,
    #[doc = " when what a range has more than the request is split\n off: 0 (default): always; N: if that has N bytes or\n is as large as the request; UINT64_MAX: never"]
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
#[doc = " As cuarena_heap_segment_add, but the segment is one live block, for dedicated and adopted bytes.\n The block has the pins and tag of `request`, whose size says how many bytes were asked for."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_heap_request {
    #[doc = " rounded up to the granule; not 0"]
    pub size: u64,
    #[doc = " a power of two; 0: the granule"]
    pub alignment: u64,
    #[doc = " the free list that the bytes come from"]
    pub freelist: u32,
    #[doc = " kept with the block"]
    pub tag: u16,
    #[doc = " how many pins the block has from the start"]
    pub pins: u16,
    #[doc = " bits of the caller's own, kept with the block:\n CUARENA_HEAP_FLAGS of them"]
    pub flags: u16,
    #[doc = " 1: as low as a bounded search finds room"]
    pub low: u16,
    #[doc = " a number of the caller's, kept with the block; at most\n CUARENA_HEAP_MAX_OWNER"]
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
    #[doc = " the range's; of a block its owner"]
    pub freelist: u32,
    #[doc = " first byte"]
    pub offset: u64,
    #[doc = " bytes, after rounding up"]
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
    #[doc = " 1: a plan under way moves it"]
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
#[doc = " ---- Statistics --------------------------------------------------------"]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_heap_stats {
    pub struct_size: usize,
    #[doc = " all segments"]
    pub capacity_bytes: u64,
    #[doc = " of live blocks, after rounding up"]
    pub live_bytes: u64,
    #[doc = " of live blocks, as asked for"]
    pub requested_bytes: u64,
    #[doc = " ranges of every free list"]
    pub free_bytes: u64,
    #[doc = " the largest range of free list 0; where many are of\n about its size, two thirds of it at least"]
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
    #[doc = " the longest chain of the look-up by offset, ever"]
    pub longest_probe: u64,
    #[doc = " of the host: what records, look-up and indexes\n use or have used"]
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
#[doc = " ---- Statistics --------------------------------------------------------"]
pub type cuarena_heap_stats_t = cuarena_heap_stats;
#[doc = " One move of one block, of `bytes`. In a list of moves none writes over the source of a later one;\n each may overlap itself. Frozen."]
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
#[doc = " One move of one block, of `bytes`. In a list of moves none writes over the source of a later one;\n each may overlap itself. Frozen."]
pub type cuarena_heap_move_t = cuarena_heap_move;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_heap_plan_options {
    pub struct_size: usize,
    #[doc = " 0 (default): all blocks slide together; N: until a\n block of N bytes fits"]
    pub goal_bytes: u64,
    #[doc = " of that block; 0 (default): the granule"]
    pub goal_alignment: u64,
    #[doc = " most bytes to move; default UINT64_MAX"]
    pub max_bytes: u64,
    #[doc = " most blocks to move; default UINT64_MAX"]
    pub max_moves: u64,
    #[doc = " blocks may move into its ranges as into those of\n free list 0; commit to it; default 0"]
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
#[doc = " Says what blocks are for, in statistics and leak reports; 0: no tag. It is good in the arena that\n gave it."]
pub type cuarena_tag_t = u16;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_request {
    pub struct_size: usize,
    #[doc = " CUARENA_REGION_DYNAMIC or _STABLE. An arena without a\n stable region puts stable blocks low into its dynamic\n one and never moves them: cuarena_block_info says\n STABLE, statistics count them as dynamic"]
    pub region: i32,
    #[doc = " 1: the block's bytes read as 0"]
    pub zeroed: i32,
    #[doc = " 1: the block gets a segment of its own, which does not\n count as growth and is given back when the block is\n freed (in a capture session after its release). It\n counts toward the limits. With segments=each every\n block is dedicated and keeps its size, an empty\n one too"]
    pub dedicated: i32,
    #[doc = " 0: none"]
    pub tag: cuarena_tag_t,
    #[doc = " bytes, a power of two; 0: the arena's"]
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
#[doc = " What is known of a block; sizes are in bytes. Frozen."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_block_info {
    pub block: cuarena_block_t,
    #[doc = " NULL if empty; good while pinned"]
    pub address: *mut ::core::ffi::c_void,
    #[doc = " bytes asked for"]
    pub requested: u64,
    #[doc = " bytes that it has, after rounding up"]
    pub allocated: u64,
    #[doc = " bytes"]
    pub alignment: u64,
    #[doc = " CUARENA_REGION_..."]
    pub region: i32,
    pub tag: cuarena_tag_t,
    #[doc = " of the caller and of exports; one more of each stable or adopted\n block, and of a pointer until cuarena_unpin"]
    pub pins: u16,
    #[doc = " 1: made by the pointer calls"]
    pub pointer: u8,
    pub dedicated: u8,
    #[doc = " 1: by cuarena_adopt"]
    pub adopted: u8,
    #[doc = " 1: now"]
    pub moving: u8,
    #[doc = " 0"]
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
#[doc = " What is known of a block; sizes are in bytes. Frozen."]
pub type cuarena_block_info_t = cuarena_block_info;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CUstream_st {
    _unused: [u8; 0],
}
#[doc = " A stream of the device: cudaStream_t and CUstream pass without a cast. NULL is the legacy default\n stream.\n\n Default streams are those of the arena's own context, whatever context is current; in host memory\n those of the context that is current when the first of them is passed, and of no other. The\n context of every stream that was passed must outlive the arena; the arena itself holds primary\n contexts, so this is a rule for those that the program created."]
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
    #[doc = " 1: it is being captured into a graph now"]
    pub capturing: i32,
    #[doc = " 0"]
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
    #[doc = " usable from there, holes included"]
    pub bytes: u64,
    #[doc = " addresses set aside, >= bytes: `grow` may lengthen\n the segment to this"]
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
    #[doc = " 0 when a memory function gets it: it may be several\n neighbouring blocks then"]
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
    #[doc = " for messages; static text, neither NULL nor empty"]
    pub name: *const ::core::ffi::c_char,
    #[doc = " CUARENA_MEMORY_... bits"]
    pub properties: u32,
    #[doc = " 0"]
    pub zero: u32,
    #[doc = " power of two: the page in which the memory gives\n and takes bytes"]
    pub granularity: u64,
    #[doc = " power of two: every address that it gives is a\n multiple; at least the arena's granule"]
    pub alignment: u64,
    #[doc = " power of two from the granule to granularity: the\n page of segments that keep their length; 0: as\n granularity"]
    pub least_bytes: u64,
    #[doc = " How many bytes could be had now, at most, as far as known; for sizes given as \"auto\". NULL:\n such sizes are BAD_ARGUMENT."]
    pub available: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            bytes_out: *mut u64,
        ) -> cuarena_status_t,
    >,
    #[doc = " Gives a new segment of `bytes`. The arena would like addresses to be set aside for\n `address_bytes` (>= bytes): a memory that has fewer addresses sets fewer aside, down to\n `bytes`, rather than fail."]
    pub get: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            bytes: u64,
            address_bytes: u64,
            segment_out: *mut cuarena_memory_segment_t,
        ) -> cuarena_status_t,
    >,
    #[doc = " Takes a segment back. Nothing in it is in use."]
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
    #[doc = " `punch` takes the memory behind [offset, offset + bytes) away and leaves a hole of unusable\n addresses; `fill` puts memory behind it again. Both or neither are NULL: there are no holes\n then."]
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
    #[doc = " Copies the bytes of each entry, in order, on `stream`, or before it returns with\n CUARENA_NO_STREAM. Source and destination of one entry may overlap. When it fails `done_out`\n gets how many entries were queued or done (0: nothing was touched). NULL: nothing moves.\n Where the CPU copies (pageable, bytes of the host) the call waits for the work of `stream` so\n far, and all is done on return."]
    pub relocate: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            list: *const cuarena_relocation_t,
            count: usize,
            stream: cuarena_stream_t,
            done_out: *mut usize,
        ) -> cuarena_status_t,
    >,
    #[doc = " Sets bytes to 0 on `stream`, or before it returns with CUARENA_NO_STREAM, as `relocate`.\n NULL: zeroing is UNSUPPORTED."]
    pub zero_bytes: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            address: *mut ::core::ffi::c_void,
            bytes: u64,
            stream: cuarena_stream_t,
        ) -> cuarena_status_t,
    >,
    #[doc = " Streams and events. All five NULL: everything that the memory does is done when the call\n returns, and no stream uses its bytes.\n\n `identify` tells what a handle that the program has just passed stands for; BAD_ARGUMENT,\n with a message, for a stream whose work could not use these bytes.\n\n `record_event` records an event behind the work of `stream` so far: a new one if *event is\n NULL, else that one anew. With CUARENA_NO_STREAM it records a new event behind the work of\n all streams that could use its bytes, or says UNSUPPORTED: the arena then records one on each\n stream that it knows and that was not released, and refuses what would need an event of\n another thread's default stream. `query_event` says OK when the work behind an event is done,\n else BUSY. `wait_event` makes `stream` wait for an event or, with host = 1 and\n CUARENA_NO_STREAM, the calling thread. `end_event` ends an event, complete or not.\n\n On a stream that is being captured `record_event`, `wait_event`, `relocate`, `zero_bytes` and\n `set_bytes` say BUSY, with nothing recorded, queued or touched."]
    pub identify: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            stream: cuarena_stream_t,
            info_out: *mut cuarena_stream_info_t,
        ) -> cuarena_status_t,
    >,
    pub record_event: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            stream: cuarena_stream_t,
            event: *mut *mut ::core::ffi::c_void,
        ) -> cuarena_status_t,
    >,
    pub query_event: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            event: *mut ::core::ffi::c_void,
        ) -> cuarena_status_t,
    >,
    pub wait_event: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            event: *mut ::core::ffi::c_void,
            stream: cuarena_stream_t,
            host: i32,
        ) -> cuarena_status_t,
    >,
    pub end_event: ::core::option::Option<
        unsafe extern "C" fn(user: *mut ::core::ffi::c_void, event: *mut ::core::ffi::c_void),
    >,
    #[doc = " Gives the handles behind [offset, offset + bytes) of a segment, in order, each with a\n descriptor of its own, which the caller closes; offset and bytes are multiples of the arena's\n granule. With `pieces` NULL it gives only their count. BAD_ARGUMENT if there are more than\n `capacity`. It may be called while other functions work on the segment. NULL: blocks cannot\n be exported."]
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
    #[doc = " As `zero_bytes`, on a stream of an open capture session: while the stream is being captured,\n the graph sets the bytes to 0, at each launch; BUSY if the capture has failed. NULL: a\n `zeroed` request on such a stream is UNSUPPORTED, or if the CPU touches the memory it becomes\n `zero_bytes` without a stream."]
    pub zero_captured: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            address: *mut ::core::ffi::c_void,
            bytes: u64,
            stream: cuarena_stream_t,
        ) -> cuarena_status_t,
    >,
    #[doc = " As `get`, with address_bytes = bytes, and `give_back`, but at a point of `stream`, which is\n never CUARENA_NO_STREAM: what is queued on the stream from here on may use the bytes, and\n they go back behind what was queued so far, while the caller does not wait. A segment that\n came by `get` or `get_on` may go back by either. On a stream that is being captured `get_on`\n says BUSY, and the arena calls `get`; `give_on` does what `give_back` does then, and the\n arena has asked `identify` before. Like `give_back`, it must not fail. Both or neither are\n NULL: a dedicated block that is freed on a stream waits for an event then."]
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
    #[doc = " For debugging (debug.h): sets bytes to a value, as `zero_bytes` sets them to 0, and copies\n bytes to the host before it returns. Addresses and sizes are any. `read_bytes` waits for\n nothing: the arena has waited for what writes to the bytes. Both or neither are NULL: the\n options guard, fill and quarantine are UNSUPPORTED then."]
    pub set_bytes: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            address: *mut ::core::ffi::c_void,
            value: i32,
            bytes: u64,
            stream: cuarena_stream_t,
        ) -> cuarena_status_t,
    >,
    pub read_bytes: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            to: *mut ::core::ffi::c_void,
            address: *const ::core::ffi::c_void,
            bytes: u64,
        ) -> cuarena_status_t,
    >,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_memory_ops"][::core::mem::size_of::<cuarena_memory_ops>() - 224usize];
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
    ["Offset of field: cuarena_memory_ops::record_event"]
        [::core::mem::offset_of!(cuarena_memory_ops, record_event) - 128usize];
    ["Offset of field: cuarena_memory_ops::query_event"]
        [::core::mem::offset_of!(cuarena_memory_ops, query_event) - 136usize];
    ["Offset of field: cuarena_memory_ops::wait_event"]
        [::core::mem::offset_of!(cuarena_memory_ops, wait_event) - 144usize];
    ["Offset of field: cuarena_memory_ops::end_event"]
        [::core::mem::offset_of!(cuarena_memory_ops, end_event) - 152usize];
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
    ["Offset of field: cuarena_memory_ops::set_bytes"]
        [::core::mem::offset_of!(cuarena_memory_ops, set_bytes) - 208usize];
    ["Offset of field: cuarena_memory_ops::read_bytes"]
        [::core::mem::offset_of!(cuarena_memory_ops, read_bytes) - 216usize];
};
pub type cuarena_memory_ops_t = cuarena_memory_ops;
#[doc = " The relocation callback is told of a batch of moves, once, after their copies were queued (on\n host memory: done) and the blocks have their new addresses. In the order of the list no new range\n overlaps the old range of a later entry. It returns 0 to go on, anything else to end the\n compaction with this batch, which is done.\n\n Every call is legal in it but to compact, reset, resize the pool of, trim or destroy the same\n arena (REENTERED). It must return, rather than leave by longjmp or an exception: otherwise the\n arena would be compacting for ever."]
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
    #[doc = " 0 (default): all blocks slide together;\n N: until a block of N bytes fits"]
    pub goal_bytes: u64,
    #[doc = " of that block; 0 (default): the arena's"]
    pub goal_alignment: u64,
    #[doc = " most bytes moved; default UINT64_MAX"]
    pub max_bytes: u64,
    #[doc = " most blocks moved; default UINT64_MAX"]
    pub max_moves: u64,
    #[doc = " without a goal: most blocks in one call of\n the callback; default UINT64_MAX"]
    pub batch_moves: u64,
    #[doc = " 1: the callback also gets, in a last batch,\n every block without pins that stayed, with\n from = to; default 0"]
    pub report_unmoved: i32,
    #[doc = " 0"]
    pub zero: i32,
    #[doc = " the copies are queued on it; by default\n CUARENA_NO_STREAM: they are done when the\n call returns"]
    pub stream: cuarena_stream_t,
    #[doc = " streams that use blocks which were allocated\n without a stream; the caller's, read during\n the call; default NULL"]
    pub streams: *const cuarena_stream_t,
    #[doc = " how many these are"]
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
    #[doc = " copies made: neighbours are copied together"]
    pub runs: u64,
    #[doc = " of these blocks"]
    pub bytes_moved: u64,
    pub batches: u64,
    #[doc = " bytes of the largest free range, exact: of idle bytes or, where\n the compaction has a stream, of the stream's own too"]
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
    #[doc = " CUARENA_EVENT_..."]
    pub kind: i32,
    #[doc = " of FAIL: why"]
    pub status: cuarena_status_t,
    #[doc = " 0 if it is about none"]
    pub block: cuarena_block_t,
    #[doc = " NULL if it is about none"]
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
#[doc = " Called after the fact, with no lock held. It may make every call of the arena but destroy it\n (REENTERED), and is told of what its own calls do. When it is told of a batch of a compaction,\n only what a relocation callback may do is legal (compact.h). Events of different threads may come\n in another order than they happened. It must return, rather than leave by longjmp or an\n exception."]
pub type cuarena_event_fn = ::core::option::Option<
    unsafe extern "C" fn(user: *mut ::core::ffi::c_void, event: *const cuarena_event_t),
>;
#[doc = " How often a step was taken since the arena was made. Frozen."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_step_stats {
    #[doc = " as errors and the log call it; static text"]
    pub name: *const ::core::ffi::c_char,
    #[doc = " how often it had something to do"]
    pub tried: u64,
    #[doc = " requests that had room after it, and went no further"]
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
#[doc = " How often a step was taken since the arena was made. Frozen."]
pub type cuarena_step_stats_t = cuarena_step_stats;
#[doc = " The handler is asked when nothing else helps, before compact_on_oom; not for more bytes than a\n pool or the stable region has, nor for more than both the limit of reserved bytes and all that is\n reserved, whatever it would change of these. It returns 1 if it freed something: the request is\n tried again. If it returns 0, or has returned 1 sixteen times without enough room, it is not\n asked again for this request. `attempt` counts its calls for one request, from 0 on.\n\n It is called with no lock held, so other threads go on meanwhile, and several may be in it at\n once. On one thread it is not entered twice: a request that is made in it and finds no room fails\n without it. It may make every call of the arena but destroy it (REENTERED). It must return,\n rather than leave by longjmp or an exception."]
pub type cuarena_oom_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        arena: *mut cuarena_t,
        asked_bytes: u64,
        attempt: i32,
    ) -> i32,
>;
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
#[doc = " The options. Begin with cuarena_config_init, then set members by hand, by cuarena_config_set or\n by cuarena_config_parse. docs/options.md lists key, range and default of each; the default stands\n last in the comments here.\n\n A member that has no effect beside the others, such as `pool` with a preset that grows or\n `cache_page` without a cache, is an error of cuarena_create that names it, unless it has the\n value that it would have anyway."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_config {
    pub struct_size: usize,
    #[doc = " CUARENA_PRESET_..."]
    pub preset: i32,
    #[doc = " CUARENA_MEMORY_...; as the preset says"]
    pub memory: i32,
    #[doc = " size of a fixed pool: bytes are rounded up to\n `alignment`, percentages and auto down to whole\n pages of the memory; auto-512MiB"]
    pub pool: cuarena_amount_t,
    #[doc = " how much of that is the stable region; 0 bytes"]
    pub stable: cuarena_amount_t,
    #[doc = " most bytes to take from the memory; auto"]
    pub limit: cuarena_amount_t,
    #[doc = " addresses set aside for growing in place, fewer\n where the process has few; 0: for the limit, or\n else a pool's size, or all of the memory"]
    pub address_bytes: u64,
    #[doc = " the granule, of which addresses and sizes of blocks\n are multiples: power of two from 8; as the preset\n says, mostly 256"]
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
    #[doc = " memory = bytes: the caller's, which must stay valid until the arena is destroyed. The arena\n may hand out every byte from the first multiple of `alignment` on."]
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
    #[doc = " CUARENA_PROPERTY_...: network cards can reach blocks"]
    pub rdma: i32,
    #[doc = " CUARENA_PROPERTY_...: blocks can be exported to other hosts"]
    pub fabric: i32,
    #[doc = " CUARENA_PROPERTY_...: the other devices can reach blocks"]
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
    #[doc = " 1: an arena that grows takes initial_chunk when it\n is created; 0"]
    pub take_first: i32,
    #[doc = " CUARENA_UNKNOWN_...; error"]
    pub unknown_keys: i32,
    #[doc = " 1: segments are lengthened, shortened and punched\n where the memory can; 0: each keeps its length, and\n goes back whole; as the preset says: -1"]
    pub in_place: i32,
    #[doc = " 1: an arena that needs more pages in one place\n (grow=exact) first gives idle pages of other\n places back to the memory, or on a device maps\n pages that the request's stream freed where they\n are needed, in the order of the stream, so that\n it holds no more than before; it takes more\n instead where it would give and take the same\n pages again and again. 0: it always takes more.\n As the preset says: -1"]
    pub reuse: i32,
    #[doc = " CUARENA_SEGMENTS_...; as the preset says: -1"]
    pub segments: i32,
    #[doc = " CUARENA_DRIVER_POOL_...; current"]
    pub driver_pool: i32,
    #[doc = " a CUmemoryPool, as a number; 0"]
    pub driver_pool_handle: u64,
    #[doc = " most bytes of a pool of its own; 0: no limit"]
    pub driver_pool_max: u64,
    #[doc = " free bytes that the pool keeps;\n CUARENA_BYTES_UNCHANGED: stays as it is;\n as the preset says: CUARENA_BYTES_PRESET"]
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
    #[doc = " requests get a cached block that is larger by\n less than two of these"]
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
    #[doc = " 1: ONNX Runtime's key, see cuarena_config_set; 0"]
    pub use_cuda_mempool: i32,
    #[doc = " file for a snapshot when a request is refused: see\n snapshot.h; \"\": none is written"]
    pub snapshot_on_oom: [::core::ffi::c_char; 256usize],
    #[doc = " CUARENA_FILL_...; never"]
    pub fill: i32,
    #[doc = " on either side of each block, up to 4 KiB; 0"]
    pub guard_bytes: u64,
    #[doc = " most bytes of freed blocks that wait before their\n bytes are used again; 0"]
    pub quarantine_bytes: u64,
    #[doc = " callers kept for each live block, up to 32; 0"]
    pub stacks: i32,
    #[doc = " the file, as cuarena_trace_begin has it; empty: none"]
    pub trace: [::core::ffi::c_char; 256usize],
    #[doc = " last events kept in memory for each thread; 0"]
    pub trace_ring: i32,
    #[doc = " CUARENA_NVTX_...; auto"]
    pub nvtx: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_config"][::core::mem::size_of::<cuarena_config>() - 976usize];
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
    ["Offset of field: cuarena_config::reuse"]
        [::core::mem::offset_of!(cuarena_config, reuse) - 292usize];
    ["Offset of field: cuarena_config::segments"]
        [::core::mem::offset_of!(cuarena_config, segments) - 296usize];
    ["Offset of field: cuarena_config::driver_pool"]
        [::core::mem::offset_of!(cuarena_config, driver_pool) - 300usize];
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
    ["Offset of field: cuarena_config::snapshot_on_oom"]
        [::core::mem::offset_of!(cuarena_config, snapshot_on_oom) - 428usize];
    ["Offset of field: cuarena_config::fill"]
        [::core::mem::offset_of!(cuarena_config, fill) - 684usize];
    ["Offset of field: cuarena_config::guard_bytes"]
        [::core::mem::offset_of!(cuarena_config, guard_bytes) - 688usize];
    ["Offset of field: cuarena_config::quarantine_bytes"]
        [::core::mem::offset_of!(cuarena_config, quarantine_bytes) - 696usize];
    ["Offset of field: cuarena_config::stacks"]
        [::core::mem::offset_of!(cuarena_config, stacks) - 704usize];
    ["Offset of field: cuarena_config::trace"]
        [::core::mem::offset_of!(cuarena_config, trace) - 708usize];
    ["Offset of field: cuarena_config::trace_ring"]
        [::core::mem::offset_of!(cuarena_config, trace_ring) - 964usize];
    ["Offset of field: cuarena_config::nvtx"]
        [::core::mem::offset_of!(cuarena_config, nvtx) - 968usize];
};
#[doc = " The options. Begin with cuarena_config_init, then set members by hand, by cuarena_config_set or\n by cuarena_config_parse. docs/options.md lists key, range and default of each; the default stands\n last in the comments here.\n\n A member that has no effect beside the others, such as `pool` with a preset that grows or\n `cache_page` without a cache, is an error of cuarena_create that names it, unless it has the\n value that it would have anyway."]
pub type cuarena_config_t = cuarena_config;
#[doc = " One row of the table of options. Texts are static."]
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
    #[doc = " ONNX Runtime's keys for it; NULL: none"]
    pub ort_names: *const ::core::ffi::c_char,
    #[doc = " the range of their values"]
    pub ort_accepted: *const ::core::ffi::c_char,
    #[doc = " 1: for special cases; these come after the others"]
    pub advanced: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_option_info"][::core::mem::size_of::<cuarena_option_info>() - 72usize];
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
    ["Offset of field: cuarena_option_info::advanced"]
        [::core::mem::offset_of!(cuarena_option_info, advanced) - 64usize];
};
#[doc = " One row of the table of options. Texts are static."]
pub type cuarena_option_info_t = cuarena_option_info;
#[doc = " A block is live as long as nobody else can get its bytes. So one that was freed is live while it\n waits for streams that use it (cuarena_record_use), for a move or for its exports; and while a\n resize moves a block, its old and its new place are two, which peaks count. The peak of reserved\n bytes counts also what was taken for a request that was then refused."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_stats {
    pub struct_size: usize,
    #[doc = " taken from the memory; only for REGION_ALL"]
    pub reserved_bytes: u64,
    #[doc = " live, cached and free bytes together"]
    pub capacity_bytes: u64,
    #[doc = " of live blocks, as allocated: rounded up"]
    pub live_bytes: u64,
    #[doc = " of live blocks, as asked for"]
    pub requested_bytes: u64,
    #[doc = " of all free lists"]
    pub free_bytes: u64,
    #[doc = " the largest idle free range; where many are of\n about its size, two thirds of it at least"]
    pub largest_bytes: u64,
    pub live_blocks: u64,
    #[doc = " peaks: since creation or reset_peaks"]
    pub peak_reserved_bytes: u64,
    pub peak_live_bytes: u64,
    pub peak_requested_bytes: u64,
    pub peak_live_blocks: u64,
    pub allocs: u64,
    pub frees: u64,
    #[doc = " requests refused; this and the counts below are only"]
    pub failed: u64,
    #[doc = " for REGION_ALL"]
    pub grows: u64,
    pub trims: u64,
    pub compactions: u64,
    pub moves: u64,
    pub bytes_moved: u64,
    pub oom_handler_calls: u64,
    pub segments: u64,
    #[doc = " of dedicated and adopted blocks, which are part\n of live_bytes"]
    pub dedicated_bytes: u64,
    #[doc = " of the host: see heap.h; for REGION_ALL with those of\n the arena, its streams, its options of debug.h and\n its trace; without what a tool is told (nvtx=), and\n some 300 B for each thread that records, which are\n the process's"]
    pub bookkeeping_bytes: u64,
    #[doc = " requests that got bytes of another stream"]
    pub steals: u64,
    #[doc = " waits of one stream for another that were queued"]
    pub stream_waits: u64,
    #[doc = " waits of a calling thread for a stream"]
    pub host_waits: u64,
    #[doc = " capture sessions that there are"]
    pub captures: u64,
    #[doc = " private to them, live or free"]
    pub captured_bytes: u64,
    #[doc = " calls of the memory's functions that reach the\n driver, or would if there were one: to take, give\n back, move, zero and export bytes, to identify\n streams, and to record, ask and wait for events"]
    pub memory_calls: u64,
    #[doc = " calls of the driver by the memory since it was\n opened; 0 without a driver. An allocation from\n reserved bytes and a free make none, but: some 10\n at the first use of a stream, at most 20 for a\n zeroed request, at most 30 for bytes of another\n stream (record, ask, wait), some 10 for each stream\n when events are looked at (see streams.h), and\n some 10 for a free with events=eager, for a free on\n the default stream of a thread once another thread\n has needed what was freed on it before, for each\n stream that was recorded to use the block, and for\n the first free after a compaction"]
    pub driver_calls: u64,
    #[doc = " free ranges of all free lists, also for one region;\n two that touch are one if they are in the same\n free list. 0 with segments=each, whose free bytes\n are the memory's, which does not tell"]
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
#[doc = " A block is live as long as nobody else can get its bytes. So one that was freed is live while it\n waits for streams that use it (cuarena_record_use), for a move or for its exports; and while a\n resize moves a block, its old and its new place are two, which peaks count. The peak of reserved\n bytes counts also what was taken for a request that was then refused."]
pub type cuarena_stats_t = cuarena_stats;
#[doc = " What a walk over all blocks and free ranges finds."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_inspection {
    pub struct_size: usize,
    pub free_bytes: u64,
    #[doc = " of the largest free range, exact"]
    pub largest_bytes: u64,
    #[doc = " free ranges"]
    pub ranges: u64,
    pub pinned_blocks: u64,
    pub pinned_bytes: u64,
    pub movable_blocks: u64,
    pub movable_bytes: u64,
    #[doc = " 1 - largest / free; 0 if nothing is free"]
    pub fragmentation: f64,
    #[doc = " [i]: how many ranges have 2^i to 2^(i+1) - 1 bytes"]
    pub range_counts: [u64; 64usize],
    #[doc = " [i]: bytes of these"]
    pub range_bytes: [u64; 64usize],
    #[doc = " [i]: how many blocks have so many bytes"]
    pub block_counts: [u64; 64usize],
    #[doc = " [i]: bytes of these"]
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
#[doc = " What a walk over all blocks and free ranges finds."]
pub type cuarena_inspection_t = cuarena_inspection;
#[doc = " The figures of ONNX Runtime's arenas, each changed by the same things as there. ONNX Runtime's\n Reserve is `dedicated` here; adopted bytes count as a Reserve too. A figure above INT64_MAX is\n INT64_MAX.\n\n One of its regions is what one growth took. Where a memory grows in place, trim may give several\n growths back in one piece, which counts as one, or as all of them when nothing is left.\n\n Blocks that are pieces of a driver's pool (preset=driver-pool) count as ONNX Runtime's allocator\n for such pools does it: in use are the bytes asked for; total_allocated_bytes is what the pool\n has of its device, for which the driver is asked (DRIVER); shrinkages are trims; there are\n neither extensions nor Reserves."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_ort_stats {
    pub struct_size: usize,
    #[doc = " allocations ever, Reserves too"]
    pub num_allocs: i64,
    #[doc = " Reserves ever"]
    pub num_reserves: i64,
    #[doc = " growths less those given back"]
    pub num_arena_extensions: i64,
    #[doc = " growths given back"]
    pub num_arena_shrinkages: i64,
    #[doc = " of live blocks, as allocated"]
    pub bytes_in_use: i64,
    #[doc = " of live blocks, as asked for"]
    pub bytes_requested_in_use: i64,
    #[doc = " taken from the memory, and adopted"]
    pub total_allocated_bytes: i64,
    #[doc = " of live Reserves, as allocated"]
    pub reserved_bytes: i64,
    #[doc = " ever: scopes and resets do not change it"]
    pub max_bytes_in_use: i64,
    #[doc = " the largest block ever, as allocated"]
    pub max_alloc_size: i64,
    #[doc = " most bytes to take: the limit or, with none, the pool, beside\n which dedicated blocks may be; -1: there is none"]
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
#[doc = " The figures of ONNX Runtime's arenas, each changed by the same things as there. ONNX Runtime's\n Reserve is `dedicated` here; adopted bytes count as a Reserve too. A figure above INT64_MAX is\n INT64_MAX.\n\n One of its regions is what one growth took. Where a memory grows in place, trim may give several\n growths back in one piece, which counts as one, or as all of them when nothing is left.\n\n Blocks that are pieces of a driver's pool (preset=driver-pool) count as ONNX Runtime's allocator\n for such pools does it: in use are the bytes asked for; total_allocated_bytes is what the pool\n has of its device, for which the driver is asked (DRIVER); shrinkages are trims; there are\n neither extensions nor Reserves."]
pub type cuarena_ort_stats_t = cuarena_ort_stats;
#[doc = " Gets one figure; both texts are valid during the call only. This callback may be left by longjmp\n or an exception."]
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
    #[doc = " only of the whole arena"]
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
#[doc = " Called when the last block of a retired arena, `arena`, has ended. It may destroy the arena. It\n must return, rather than leave by longjmp or an exception."]
pub type cuarena_retired_fn = ::core::option::Option<
    unsafe extern "C" fn(user: *mut ::core::ffi::c_void, arena: *mut cuarena_t),
>;
#[doc = " Figures of the cache; in an arena without one those of cached blocks are 0."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_cache_stats {
    pub struct_size: usize,
    #[doc = " of live blocks, as allocated"]
    pub active_bytes: u64,
    pub cached_bytes: u64,
    pub cached_blocks: u64,
    #[doc = " since creation or cuarena_reset_peaks"]
    pub peak_active_bytes: u64,
    #[doc = " since creation or cuarena_reset_peaks"]
    pub peak_cached_bytes: u64,
    #[doc = " requests that got a cached block, ever"]
    pub hits: u64,
    #[doc = " requests that it had no block for, ever"]
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
#[doc = " Figures of the cache; in an arena without one those of cached blocks are 0."]
pub type cuarena_cache_stats_t = cuarena_cache_stats;
#[doc = " Waits of the program's own: example 3 at the top. What was freed on the producer before the mark\n can be allocated on the waiting stream at once. If the host itself has waited, with\n cudaEventSynchronize for instance, the waiter is CUARENA_NO_STREAM, and the bytes are\n everybody's. Waits pass on: a stream that waits for the waiter later has waited for the producer\n too. A mark is a number: it is never freed."]
pub type cuarena_mark_t = u64;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_capture {
    _unused: [u8; 0],
}
#[doc = " A capture session, until it is released. Any thread may pass it."]
pub type cuarena_capture_t = cuarena_capture;
#[doc = " One line of a report, without a line feed; good during the call. No lock is held, but the arena\n must not be called (REENTERED). It must return, rather than leave by longjmp or an exception."]
pub type cuarena_line_fn = ::core::option::Option<
    unsafe extern "C" fn(user: *mut ::core::ffi::c_void, line: *const ::core::ffi::c_char),
>;
#[doc = " What an arena's memory is and can do, the same from its creation on. Members about a device are\n 0, NULL or -1 where there is none."]
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
    #[doc = " its ordinal; -1: none"]
    pub device: i32,
    #[doc = " 1: blocks can be exported"]
    pub fd: i32,
    #[doc = " 1: network cards can reach the bytes"]
    pub rdma: i32,
    #[doc = " 1: handles can go to other hosts"]
    pub fabric: i32,
    #[doc = " how many other devices reach the bytes"]
    pub peers: i32,
    #[doc = " 1: the CPU reaches the bytes"]
    pub host_readable: i32,
    #[doc = " 1: one kernel moves a whole list"]
    pub relocation_kernel: i32,
    #[doc = " compute capability"]
    pub compute_major: i32,
    pub compute_minor: i32,
    #[doc = " of the memory: it gives and takes bytes in pages of so\n many bytes"]
    pub granularity: u64,
    #[doc = " of the smallest vmm handle; 0: there are none"]
    pub handle_bytes: u64,
    #[doc = " CUcontext"]
    pub context: *mut ::core::ffi::c_void,
    #[doc = " addresses and sizes of blocks are multiples of it:\n the option `alignment`"]
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
#[doc = " What an arena's memory is and can do, the same from its creation on. Members about a device are\n 0, NULL or -1 where there is none."]
pub type cuarena_properties_t = cuarena_properties;
#[doc = " With backing=async bytes come from a pool of the driver's: the device's current one when the\n arena is made, its default one, one of the caller's, or one that the arena makes (option\n driver_pool). preset=driver-pool makes each block such a piece, rounded up to 512 bytes, as\n CuPy's MemoryAsyncPool and ONNX Runtime's allocator for CUDA pools do:\n\n   cuarena_alloc_on(A)   the driver allocates at this point of A; nothing waits\n   cuarena_alloc         the driver allocates on a stream of the arena's own,\n                         which the caller waits for: everybody may use the\n                         bytes\n   cuarena_free_on(B)    the driver frees at this point of B, which need not be\n                         A; if other streams were recorded as using the block,\n                         when they are done\n   cuarena_free          the driver frees now: you must ensure that no stream\n                         uses the block\n   cuarena_trim          the pool gives back what it has free, until\n                         `keep_bytes` are left; nothing waits\n\n On a stream that is being captured, outside a capture session, a free is BUSY; on a stream of an\n open one (capture.h) the driver frees when bytes are reclaimed after the end and the stream is\n done. Such blocks keep their size and place: a resize is UNSUPPORTED. If the driver has no more\n memory, the caller waits for the request's stream, or without one for all work, and asks again,\n twice at most; after any other error it does not ask again. The arena's reserved bytes, to which\n CUARENA_LIMIT_RESERVED applies, are those of its blocks; the calls below tell what the pool has.\n\n All of this is UNSUPPORTED where the device has no pools, and for arenas that use none."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_driver_pool_stats {
    pub struct_size: usize,
    #[doc = " allocated from the pool, by anybody"]
    pub used_bytes: u64,
    #[doc = " that the pool has taken from its device"]
    pub total_bytes: u64,
    #[doc = " total less used"]
    pub free_bytes: u64,
    #[doc = " since the pool was made, or a reset"]
    pub peak_used_bytes: u64,
    #[doc = " since the pool was made, or a reset"]
    pub peak_total_bytes: u64,
    #[doc = " UINT64_MAX: nothing is given back"]
    pub release_threshold: u64,
    #[doc = " the CUmemoryPool, as a number"]
    pub handle: u64,
    #[doc = " ordinal"]
    pub device: i32,
    #[doc = " 1: the arena made it, and it ends with it"]
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
#[doc = " With backing=async bytes come from a pool of the driver's: the device's current one when the\n arena is made, its default one, one of the caller's, or one that the arena makes (option\n driver_pool). preset=driver-pool makes each block such a piece, rounded up to 512 bytes, as\n CuPy's MemoryAsyncPool and ONNX Runtime's allocator for CUDA pools do:\n\n   cuarena_alloc_on(A)   the driver allocates at this point of A; nothing waits\n   cuarena_alloc         the driver allocates on a stream of the arena's own,\n                         which the caller waits for: everybody may use the\n                         bytes\n   cuarena_free_on(B)    the driver frees at this point of B, which need not be\n                         A; if other streams were recorded as using the block,\n                         when they are done\n   cuarena_free          the driver frees now: you must ensure that no stream\n                         uses the block\n   cuarena_trim          the pool gives back what it has free, until\n                         `keep_bytes` are left; nothing waits\n\n On a stream that is being captured, outside a capture session, a free is BUSY; on a stream of an\n open one (capture.h) the driver frees when bytes are reclaimed after the end and the stream is\n done. Such blocks keep their size and place: a resize is UNSUPPORTED. If the driver has no more\n memory, the caller waits for the request's stream, or without one for all work, and asks again,\n twice at most; after any other error it does not ask again. The arena's reserved bytes, to which\n CUARENA_LIMIT_RESERVED applies, are those of its blocks; the calls below tell what the pool has.\n\n All of this is UNSUPPORTED where the device has no pools, and for arenas that use none."]
pub type cuarena_driver_pool_stats_t = cuarena_driver_pool_stats;
#[doc = " Which of the driver's pools an arena is to use. Frozen."]
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
#[doc = " Which of the driver's pools an arena is to use. Frozen."]
pub type cuarena_driver_pool_choice_t = cuarena_driver_pool_choice;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_export {
    _unused: [u8; 0],
}
#[doc = " An export, until it is closed."]
pub type cuarena_export_t = cuarena_export;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_export_options {
    pub struct_size: usize,
    #[doc = " 1: the handles may have bytes of other blocks too,\n which the importer then reaches; default 0"]
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
    #[doc = " backing=vmm works"]
    pub vmm: i32,
    #[doc = " with backing=vmm blocks can be exported"]
    pub fd: i32,
    #[doc = " with backing=vmm network cards can reach blocks"]
    pub rdma: i32,
    #[doc = " with backing=vmm blocks can be exported to other hosts, if the\n system lets it"]
    pub fabric: i32,
    #[doc = " backing=async works"]
    pub pools: i32,
    #[doc = " memory=managed works"]
    pub managed: i32,
    #[doc = " the CPU may touch managed memory while the device runs"]
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
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CUctx_st {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CUgraph_st {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CUmemPoolHandle_st {
    _unused: [u8; 0],
}
#[doc = " The functions of the layer: each takes and gives what the function of the driver does that has\n its name; enumerations are int. Where a name has a variant for default streams of threads, whose\n symbol ends in _ptsz, its member for that ends so too."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_layer {
    pub struct_size: usize,
    pub cuMemAlloc_v2: ::core::option::Option<
        unsafe extern "C" fn(
            pointer_out: *mut ::core::ffi::c_ulonglong,
            bytes: usize,
        ) -> ::core::ffi::c_int,
    >,
    pub cuMemAllocPitch_v2: ::core::option::Option<
        unsafe extern "C" fn(
            pointer_out: *mut ::core::ffi::c_ulonglong,
            pitch_out: *mut usize,
            width: usize,
            height: usize,
            element: ::core::ffi::c_uint,
        ) -> ::core::ffi::c_int,
    >,
    pub cuMemAllocManaged: ::core::option::Option<
        unsafe extern "C" fn(
            pointer_out: *mut ::core::ffi::c_ulonglong,
            bytes: usize,
            flags: ::core::ffi::c_uint,
        ) -> ::core::ffi::c_int,
    >,
    pub cuMemFree_v2: ::core::option::Option<
        unsafe extern "C" fn(pointer: ::core::ffi::c_ulonglong) -> ::core::ffi::c_int,
    >,
    pub cuMemAllocAsync: ::core::option::Option<
        unsafe extern "C" fn(
            pointer_out: *mut ::core::ffi::c_ulonglong,
            bytes: usize,
            stream: *mut CUstream_st,
        ) -> ::core::ffi::c_int,
    >,
    pub cuMemAllocAsync_ptsz: ::core::option::Option<
        unsafe extern "C" fn(
            pointer_out: *mut ::core::ffi::c_ulonglong,
            bytes: usize,
            stream: *mut CUstream_st,
        ) -> ::core::ffi::c_int,
    >,
    pub cuMemAllocFromPoolAsync: ::core::option::Option<
        unsafe extern "C" fn(
            pointer_out: *mut ::core::ffi::c_ulonglong,
            bytes: usize,
            pool: *mut CUmemPoolHandle_st,
            stream: *mut CUstream_st,
        ) -> ::core::ffi::c_int,
    >,
    pub cuMemAllocFromPoolAsync_ptsz: ::core::option::Option<
        unsafe extern "C" fn(
            pointer_out: *mut ::core::ffi::c_ulonglong,
            bytes: usize,
            pool: *mut CUmemPoolHandle_st,
            stream: *mut CUstream_st,
        ) -> ::core::ffi::c_int,
    >,
    pub cuMemFreeAsync: ::core::option::Option<
        unsafe extern "C" fn(
            pointer: ::core::ffi::c_ulonglong,
            stream: *mut CUstream_st,
        ) -> ::core::ffi::c_int,
    >,
    pub cuMemFreeAsync_ptsz: ::core::option::Option<
        unsafe extern "C" fn(
            pointer: ::core::ffi::c_ulonglong,
            stream: *mut CUstream_st,
        ) -> ::core::ffi::c_int,
    >,
    pub cuMemGetInfo_v2: ::core::option::Option<
        unsafe extern "C" fn(free_out: *mut usize, total_out: *mut usize) -> ::core::ffi::c_int,
    >,
    pub cuMemGetAddressRange_v2: ::core::option::Option<
        unsafe extern "C" fn(
            base_out: *mut ::core::ffi::c_ulonglong,
            bytes_out: *mut usize,
            pointer: ::core::ffi::c_ulonglong,
        ) -> ::core::ffi::c_int,
    >,
    pub cuPointerGetAttribute: ::core::option::Option<
        unsafe extern "C" fn(
            value_out: *mut ::core::ffi::c_void,
            attribute: ::core::ffi::c_int,
            pointer: ::core::ffi::c_ulonglong,
        ) -> ::core::ffi::c_int,
    >,
    pub cuPointerGetAttributes: ::core::option::Option<
        unsafe extern "C" fn(
            count: ::core::ffi::c_uint,
            attributes: *mut ::core::ffi::c_int,
            values: *mut *mut ::core::ffi::c_void,
            pointer: ::core::ffi::c_ulonglong,
        ) -> ::core::ffi::c_int,
    >,
    pub cuIpcGetMemHandle: ::core::option::Option<
        unsafe extern "C" fn(
            handle_out: *mut ::core::ffi::c_void,
            pointer: ::core::ffi::c_ulonglong,
        ) -> ::core::ffi::c_int,
    >,
    pub cuMemRetainAllocationHandle: ::core::option::Option<
        unsafe extern "C" fn(
            handle_out: *mut ::core::ffi::c_ulonglong,
            pointer: *mut ::core::ffi::c_void,
        ) -> ::core::ffi::c_int,
    >,
    pub cuStreamDestroy_v2: ::core::option::Option<
        unsafe extern "C" fn(stream: *mut CUstream_st) -> ::core::ffi::c_int,
    >,
    pub cuStreamBeginCapture_v2: ::core::option::Option<
        unsafe extern "C" fn(
            stream: *mut CUstream_st,
            mode: ::core::ffi::c_int,
        ) -> ::core::ffi::c_int,
    >,
    pub cuStreamBeginCapture_v2_ptsz: ::core::option::Option<
        unsafe extern "C" fn(
            stream: *mut CUstream_st,
            mode: ::core::ffi::c_int,
        ) -> ::core::ffi::c_int,
    >,
    pub cuStreamEndCapture: ::core::option::Option<
        unsafe extern "C" fn(
            stream: *mut CUstream_st,
            graph_out: *mut *mut CUgraph_st,
        ) -> ::core::ffi::c_int,
    >,
    pub cuStreamEndCapture_ptsz: ::core::option::Option<
        unsafe extern "C" fn(
            stream: *mut CUstream_st,
            graph_out: *mut *mut CUgraph_st,
        ) -> ::core::ffi::c_int,
    >,
    pub cuMemPoolTrimTo: ::core::option::Option<
        unsafe extern "C" fn(
            pool: *mut CUmemPoolHandle_st,
            keep_bytes: usize,
        ) -> ::core::ffi::c_int,
    >,
    pub cuMemPoolSetAttribute: ::core::option::Option<
        unsafe extern "C" fn(
            pool: *mut CUmemPoolHandle_st,
            attribute: ::core::ffi::c_int,
            value: *mut ::core::ffi::c_void,
        ) -> ::core::ffi::c_int,
    >,
    pub cuMemPoolGetAttribute: ::core::option::Option<
        unsafe extern "C" fn(
            pool: *mut CUmemPoolHandle_st,
            attribute: ::core::ffi::c_int,
            value_out: *mut ::core::ffi::c_void,
        ) -> ::core::ffi::c_int,
    >,
    pub cuDeviceSetMemPool: ::core::option::Option<
        unsafe extern "C" fn(
            device: ::core::ffi::c_int,
            pool: *mut CUmemPoolHandle_st,
        ) -> ::core::ffi::c_int,
    >,
    pub cuDevicePrimaryCtxReset_v2: ::core::option::Option<
        unsafe extern "C" fn(device: ::core::ffi::c_int) -> ::core::ffi::c_int,
    >,
    pub cuCtxDestroy_v2:
        ::core::option::Option<unsafe extern "C" fn(context: *mut CUctx_st) -> ::core::ffi::c_int>,
    pub cuGetProcAddress: ::core::option::Option<
        unsafe extern "C" fn(
            symbol: *const ::core::ffi::c_char,
            function_out: *mut *mut ::core::ffi::c_void,
            version: ::core::ffi::c_int,
            flags: u64,
        ) -> ::core::ffi::c_int,
    >,
    pub cuGetProcAddress_v2: ::core::option::Option<
        unsafe extern "C" fn(
            symbol: *const ::core::ffi::c_char,
            function_out: *mut *mut ::core::ffi::c_void,
            version: ::core::ffi::c_int,
            flags: u64,
            found_out: *mut ::core::ffi::c_int,
        ) -> ::core::ffi::c_int,
    >,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_layer"][::core::mem::size_of::<cuarena_layer>() - 240usize];
    ["Alignment of cuarena_layer"][::core::mem::align_of::<cuarena_layer>() - 8usize];
    ["Offset of field: cuarena_layer::struct_size"]
        [::core::mem::offset_of!(cuarena_layer, struct_size) - 0usize];
    ["Offset of field: cuarena_layer::cuMemAlloc_v2"]
        [::core::mem::offset_of!(cuarena_layer, cuMemAlloc_v2) - 8usize];
    ["Offset of field: cuarena_layer::cuMemAllocPitch_v2"]
        [::core::mem::offset_of!(cuarena_layer, cuMemAllocPitch_v2) - 16usize];
    ["Offset of field: cuarena_layer::cuMemAllocManaged"]
        [::core::mem::offset_of!(cuarena_layer, cuMemAllocManaged) - 24usize];
    ["Offset of field: cuarena_layer::cuMemFree_v2"]
        [::core::mem::offset_of!(cuarena_layer, cuMemFree_v2) - 32usize];
    ["Offset of field: cuarena_layer::cuMemAllocAsync"]
        [::core::mem::offset_of!(cuarena_layer, cuMemAllocAsync) - 40usize];
    ["Offset of field: cuarena_layer::cuMemAllocAsync_ptsz"]
        [::core::mem::offset_of!(cuarena_layer, cuMemAllocAsync_ptsz) - 48usize];
    ["Offset of field: cuarena_layer::cuMemAllocFromPoolAsync"]
        [::core::mem::offset_of!(cuarena_layer, cuMemAllocFromPoolAsync) - 56usize];
    ["Offset of field: cuarena_layer::cuMemAllocFromPoolAsync_ptsz"]
        [::core::mem::offset_of!(cuarena_layer, cuMemAllocFromPoolAsync_ptsz) - 64usize];
    ["Offset of field: cuarena_layer::cuMemFreeAsync"]
        [::core::mem::offset_of!(cuarena_layer, cuMemFreeAsync) - 72usize];
    ["Offset of field: cuarena_layer::cuMemFreeAsync_ptsz"]
        [::core::mem::offset_of!(cuarena_layer, cuMemFreeAsync_ptsz) - 80usize];
    ["Offset of field: cuarena_layer::cuMemGetInfo_v2"]
        [::core::mem::offset_of!(cuarena_layer, cuMemGetInfo_v2) - 88usize];
    ["Offset of field: cuarena_layer::cuMemGetAddressRange_v2"]
        [::core::mem::offset_of!(cuarena_layer, cuMemGetAddressRange_v2) - 96usize];
    ["Offset of field: cuarena_layer::cuPointerGetAttribute"]
        [::core::mem::offset_of!(cuarena_layer, cuPointerGetAttribute) - 104usize];
    ["Offset of field: cuarena_layer::cuPointerGetAttributes"]
        [::core::mem::offset_of!(cuarena_layer, cuPointerGetAttributes) - 112usize];
    ["Offset of field: cuarena_layer::cuIpcGetMemHandle"]
        [::core::mem::offset_of!(cuarena_layer, cuIpcGetMemHandle) - 120usize];
    ["Offset of field: cuarena_layer::cuMemRetainAllocationHandle"]
        [::core::mem::offset_of!(cuarena_layer, cuMemRetainAllocationHandle) - 128usize];
    ["Offset of field: cuarena_layer::cuStreamDestroy_v2"]
        [::core::mem::offset_of!(cuarena_layer, cuStreamDestroy_v2) - 136usize];
    ["Offset of field: cuarena_layer::cuStreamBeginCapture_v2"]
        [::core::mem::offset_of!(cuarena_layer, cuStreamBeginCapture_v2) - 144usize];
    ["Offset of field: cuarena_layer::cuStreamBeginCapture_v2_ptsz"]
        [::core::mem::offset_of!(cuarena_layer, cuStreamBeginCapture_v2_ptsz) - 152usize];
    ["Offset of field: cuarena_layer::cuStreamEndCapture"]
        [::core::mem::offset_of!(cuarena_layer, cuStreamEndCapture) - 160usize];
    ["Offset of field: cuarena_layer::cuStreamEndCapture_ptsz"]
        [::core::mem::offset_of!(cuarena_layer, cuStreamEndCapture_ptsz) - 168usize];
    ["Offset of field: cuarena_layer::cuMemPoolTrimTo"]
        [::core::mem::offset_of!(cuarena_layer, cuMemPoolTrimTo) - 176usize];
    ["Offset of field: cuarena_layer::cuMemPoolSetAttribute"]
        [::core::mem::offset_of!(cuarena_layer, cuMemPoolSetAttribute) - 184usize];
    ["Offset of field: cuarena_layer::cuMemPoolGetAttribute"]
        [::core::mem::offset_of!(cuarena_layer, cuMemPoolGetAttribute) - 192usize];
    ["Offset of field: cuarena_layer::cuDeviceSetMemPool"]
        [::core::mem::offset_of!(cuarena_layer, cuDeviceSetMemPool) - 200usize];
    ["Offset of field: cuarena_layer::cuDevicePrimaryCtxReset_v2"]
        [::core::mem::offset_of!(cuarena_layer, cuDevicePrimaryCtxReset_v2) - 208usize];
    ["Offset of field: cuarena_layer::cuCtxDestroy_v2"]
        [::core::mem::offset_of!(cuarena_layer, cuCtxDestroy_v2) - 216usize];
    ["Offset of field: cuarena_layer::cuGetProcAddress"]
        [::core::mem::offset_of!(cuarena_layer, cuGetProcAddress) - 224usize];
    ["Offset of field: cuarena_layer::cuGetProcAddress_v2"]
        [::core::mem::offset_of!(cuarena_layer, cuGetProcAddress_v2) - 232usize];
};
#[doc = " The functions of the layer: each takes and gives what the function of the driver does that has\n its name; enumerations are int. Where a name has a variant for default streams of threads, whose\n symbol ends in _ptsz, its member for that ends so too."]
pub type cuarena_layer_t = cuarena_layer;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_layer_stats {
    pub struct_size: usize,
    #[doc = " of the device, for queries, trims and snapshots; it must not be\n destroyed or reset. NULL: there is none"]
    pub arena: *mut cuarena_t,
    #[doc = " that the arena served"]
    pub allocs: u64,
    #[doc = " of these; of a graph's block once behind each launch"]
    pub frees: u64,
    #[doc = " allocations of `allocs` on streams that were being captured"]
    pub captured: u64,
    #[doc = " that went to the driver, by a function of the table"]
    pub driver_allocs: u64,
    #[doc = " that went to the driver, by a function of the table"]
    pub driver_frees: u64,
    #[doc = " of driver_allocs: since the arena refused them"]
    pub refused_allocs: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_layer_stats"][::core::mem::size_of::<cuarena_layer_stats>() - 64usize];
    ["Alignment of cuarena_layer_stats"][::core::mem::align_of::<cuarena_layer_stats>() - 8usize];
    ["Offset of field: cuarena_layer_stats::struct_size"]
        [::core::mem::offset_of!(cuarena_layer_stats, struct_size) - 0usize];
    ["Offset of field: cuarena_layer_stats::arena"]
        [::core::mem::offset_of!(cuarena_layer_stats, arena) - 8usize];
    ["Offset of field: cuarena_layer_stats::allocs"]
        [::core::mem::offset_of!(cuarena_layer_stats, allocs) - 16usize];
    ["Offset of field: cuarena_layer_stats::frees"]
        [::core::mem::offset_of!(cuarena_layer_stats, frees) - 24usize];
    ["Offset of field: cuarena_layer_stats::captured"]
        [::core::mem::offset_of!(cuarena_layer_stats, captured) - 32usize];
    ["Offset of field: cuarena_layer_stats::driver_allocs"]
        [::core::mem::offset_of!(cuarena_layer_stats, driver_allocs) - 40usize];
    ["Offset of field: cuarena_layer_stats::driver_frees"]
        [::core::mem::offset_of!(cuarena_layer_stats, driver_frees) - 48usize];
    ["Offset of field: cuarena_layer_stats::refused_allocs"]
        [::core::mem::offset_of!(cuarena_layer_stats, refused_allocs) - 56usize];
};
pub type cuarena_layer_stats_t = cuarena_layer_stats;
#[doc = " What cuarena_shared_acquire and _replace found."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_shared_report {
    pub struct_size: usize,
    #[doc = " 1: this call made the arena"]
    pub created: i32,
    #[doc = " how many options are in force with another value"]
    pub differs: i32,
    #[doc = " how many hold the arena now, with the caller"]
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
#[doc = " What cuarena_shared_acquire and _replace found."]
pub type cuarena_shared_report_t = cuarena_shared_report;
#[doc = " Gets the next bytes of something that is written, which are valid during the call only. Returns 0\n to go on; anything else ends the writing. No lock is held: any call is legal in it. It must\n return, rather than leave by longjmp or an exception."]
pub type cuarena_write_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        bytes: *const ::core::ffi::c_void,
        size: usize,
    ) -> i32,
>;
#[doc = " An event as the ring has it. Members that do not apply are 0. Frozen."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cuarena_traced {
    #[doc = " of CLOCK_MONOTONIC"]
    pub time_ns: u64,
    #[doc = " CUARENA_EVENT_..."]
    pub kind: i32,
    #[doc = " of FAIL: why; of STEP: OK if it brought something"]
    pub status: cuarena_status_t,
    pub block: cuarena_block_t,
    pub address: *mut ::core::ffi::c_void,
    pub bytes: u64,
    #[doc = " CUARENA_NO_STREAM: none"]
    pub stream: cuarena_stream_t,
    #[doc = " the system's number of it"]
    pub thread: u64,
    #[doc = " of IDLE: see `note` above"]
    pub before_ns: u64,
    pub tag: cuarena_tag_t,
    #[doc = " of STEP: CUARENA_STEP_..."]
    pub step: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cuarena_traced"][::core::mem::size_of::<cuarena_traced>() - 72usize];
    ["Alignment of cuarena_traced"][::core::mem::align_of::<cuarena_traced>() - 8usize];
    ["Offset of field: cuarena_traced::time_ns"]
        [::core::mem::offset_of!(cuarena_traced, time_ns) - 0usize];
    ["Offset of field: cuarena_traced::kind"]
        [::core::mem::offset_of!(cuarena_traced, kind) - 8usize];
    ["Offset of field: cuarena_traced::status"]
        [::core::mem::offset_of!(cuarena_traced, status) - 12usize];
    ["Offset of field: cuarena_traced::block"]
        [::core::mem::offset_of!(cuarena_traced, block) - 16usize];
    ["Offset of field: cuarena_traced::address"]
        [::core::mem::offset_of!(cuarena_traced, address) - 24usize];
    ["Offset of field: cuarena_traced::bytes"]
        [::core::mem::offset_of!(cuarena_traced, bytes) - 32usize];
    ["Offset of field: cuarena_traced::stream"]
        [::core::mem::offset_of!(cuarena_traced, stream) - 40usize];
    ["Offset of field: cuarena_traced::thread"]
        [::core::mem::offset_of!(cuarena_traced, thread) - 48usize];
    ["Offset of field: cuarena_traced::before_ns"]
        [::core::mem::offset_of!(cuarena_traced, before_ns) - 56usize];
    ["Offset of field: cuarena_traced::tag"]
        [::core::mem::offset_of!(cuarena_traced, tag) - 64usize];
    ["Offset of field: cuarena_traced::step"]
        [::core::mem::offset_of!(cuarena_traced, step) - 68usize];
};
#[doc = " An event as the ring has it. Members that do not apply are 0. Frozen."]
pub type cuarena_traced_t = cuarena_traced;
extern "C" {
    #[doc = " \"0.1.0\": the version of the library that runs, which may be newer than the header that was\n compiled. Never fails; static text."]
    pub fn cuarena_version_string() -> *const ::core::ffi::c_char;
    #[doc = " \"CUARENA_FRAGMENTED\" and the like, or \"CUARENA_UNKNOWN\". Static text."]
    pub fn cuarena_status_name(status: cuarena_status_t) -> *const ::core::ffi::c_char;
    #[doc = " One sentence that says what the status means. Static text."]
    pub fn cuarena_status_text(status: cuarena_status_t) -> *const ::core::ffi::c_char;
    #[doc = " Why the last failing call of this thread failed, as one line that names what was given and what\n would be accepted; \"\" if none failed yet. Never NULL. A successful call leaves it as it is.\n\n The text belongs to the thread: it is good until the thread's next failing call, or its end, and\n is not freed. Each thread has its own."]
    pub fn cuarena_last_error() -> *const ::core::ffi::c_char;
    pub fn cuarena_error_info_init(info: *mut cuarena_error_info_t);
    #[doc = " Copies this thread's last error; BAD_ARGUMENT for NULL or a struct_size\n that no version of the library has had."]
    pub fn cuarena_last_error_info(info: *mut cuarena_error_info_t) -> cuarena_status_t;
    #[doc = " Sets the log level of the process. It is CUARENA_LOG_OFF at first, or what CUARENA_LOG in the\n environment says when the log is first used: off, error, warn, info or debug; any other word is\n off, and is logged once as an error.\n\n   error  each call that does not return OK, once, with its message, but for\n          the end of an enumeration, STALE of cuarena_retire, and what\n          cuarena_last_error_info refuses, since the last error stays. What\n          failed on the way of a call that returned OK is not logged. Failures\n          that no call returns are: a device that is lost while bytes are\n          given back, and what loses an arena in a call that is OK, such as\n          a free.\n   warn   what is probably not meant, such as options that are passed over.\n   info   what an arena does as a whole: create, destroy, reset, trim,\n          compact, resize_pool, the end of cached blocks; resizes of blocks.\n   debug  every allocation and every free, with bytes, address, id and tag;\n          growth; the steps before a request is refused (oom.h).\n\n Each is one line: control bytes in names, tags and other texts of the caller are written as \\x0a\n and the like, also in messages of errors. The calls of heap.h log nothing. Any thread may call\n this. In a forked child a new level reaches only the arenas that are made there. Cost: every\n arena's lock is taken once; at level debug every call takes the slow path, at info every resize."]
    pub fn cuarena_log_set_level(level: i32) -> cuarena_status_t;
    pub fn cuarena_log_level() -> i32;
    #[doc = " Sets the function that gets the lines; NULL: the default, which writes them to stderr. Set it\n before other threads log; a line that is being delivered may still reach the old function."]
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
    #[doc = " Takes [offset, offset + bytes) out of the segment around it: the whole segment, an end of it, or\n its middle, which leaves two segments. BUSY unless all of it lies in one range of free list 0.\n O(records of the segment above it)."]
    pub fn cuarena_heap_segment_cut(
        heap: *mut cuarena_heap_t,
        offset: u64,
        bytes: u64,
    ) -> cuarena_status_t;
    #[doc = " Makes one segment of two that touch at `offset`."]
    pub fn cuarena_heap_segment_join(heap: *mut cuarena_heap_t, offset: u64) -> cuarena_status_t;
    #[doc = " Allocates a block. OUT_OF_MEMORY: the free list has fewer bytes than asked for. FRAGMENTED: it\n has enough, but no range fits; only then does the call search all ranges of the request's own\n size class. LIMIT: max_blocks live already; or blocks, segments, places where ranges of two free\n lists touch, and slots whose ids are used up need more records than a heap has (four times\n max_blocks and some thousands, at least 2^17 and at most 2^27)."]
    pub fn cuarena_heap_alloc(
        heap: *mut cuarena_heap_t,
        request: *const cuarena_heap_request_t,
        block_out: *mut cuarena_block_t,
        offset_out: *mut u64,
    ) -> cuarena_status_t;
    #[doc = " Frees a block, pinned or not; its bytes join `freelist`. STALE for an id that names nothing live;\n BUSY while a plan under way moves the block."]
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
    #[doc = " Lets two blocks change places: ids, pins and tags stay, offsets and sizes are exchanged. So a\n resize that has to move can keep the id."]
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
    #[doc = " A block with pins does not move. BUSY if it has CUARENA_HEAP_MAX_PINS; BAD_ARGUMENT if there is\n no pin to end."]
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
    #[doc = " Enumerates everything in address order: copies up to `capacity` entries and moves `cursor` on,\n which begins at 0. The walk has ended when fewer than `capacity` come. A cursor is good until the\n heap changes. O(entries copied)."]
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
    #[doc = " Moves every range of the free list to free list 0. O(its ranges)."]
    pub fn cuarena_heap_freelist_reclaim(
        heap: *mut cuarena_heap_t,
        freelist: u32,
    ) -> cuarena_status_t;
    #[doc = " Moves every range of `from` to `to`, neither of which is free list 0. O(ranges of `from`)."]
    pub fn cuarena_heap_freelist_merge(
        heap: *mut cuarena_heap_t,
        from: u32,
        to: u32,
    ) -> cuarena_status_t;
    #[doc = " Moves ranges of free list 0 that touch ranges of `freelist` to `freelist`, until one of its\n ranges has `bytes`; with UINT64_MAX all that touch. FRAGMENTED, with nothing changed, if none\n gets so many. O(ranges of `freelist`)."]
    pub fn cuarena_heap_freelist_absorb(
        heap: *mut cuarena_heap_t,
        freelist: u32,
        bytes: u64,
    ) -> cuarena_status_t;
    #[doc = " Moves every range of the free list to free list 0 and ends it; free list 0 cannot be ended. O(its\n ranges)."]
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
    #[doc = " The largest range of a free list, exact. O(ranges of its size class)."]
    pub fn cuarena_heap_largest(
        heap: *const cuarena_heap_t,
        freelist: u32,
        bytes_out: *mut u64,
    ) -> cuarena_status_t;
    #[doc = " Recomputes every counter and link from scratch. CORRUPT if anything disagrees; `text` (may be\n NULL) then says what, in at most `text_size` bytes. O(everything there is)."]
    pub fn cuarena_heap_validate(
        heap: *const cuarena_heap_t,
        text: *mut ::core::ffi::c_char,
        text_size: usize,
    ) -> cuarena_status_t;
    pub fn cuarena_heap_plan_options_init(options: *mut cuarena_heap_plan_options_t);
    #[doc = " Works out which blocks without pins would slide down, and where to. The heap does not change.\n With a goal it finds the neighbouring blocks that make room for it by the fewest bytes moved;\n FRAGMENTED if none within the limits do. A plan may be empty. The caller destroys it. O(blocks +\n ranges)."]
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
    #[doc = " Begins to carry out a plan: until commit or abort its blocks can be neither freed, pinned nor\n resized (BUSY), and nobody gets its ranges. The rest of the heap works as ever. BUSY if the heap\n changed since the plan was made, or while another plan is under way. BAD_ARGUMENT, also of commit\n and abort, with nothing changed, if the plan was made of another heap or of one that has ended,\n or if it is not its turn: a plan is begun once, and then committed or aborted once."]
    pub fn cuarena_heap_plan_begin(
        heap: *mut cuarena_heap_t,
        plan: *mut cuarena_heap_plan_t,
    ) -> cuarena_status_t;
    #[doc = " To be called when the bytes were moved: blocks get their new offsets, and what they left joins\n `freelist`. After a successful begin it fails only for a free list that is not in use:\n BAD_ARGUMENT, and the plan is still under way."]
    pub fn cuarena_heap_plan_commit(
        heap: *mut cuarena_heap_t,
        plan: *mut cuarena_heap_plan_t,
        freelist: u32,
    ) -> cuarena_status_t;
    #[doc = " To be called when nothing was moved: blocks and ranges are as before begin, but that the plan's\n ranges are in the free list of its options."]
    pub fn cuarena_heap_plan_abort(
        heap: *mut cuarena_heap_t,
        plan: *mut cuarena_heap_plan_t,
    ) -> cuarena_status_t;
    #[doc = " Ends the plan and clears the handle; a plan that is under way is aborted first, on the heap that\n it was made of, whatever `heap` is: NULL will do. The heap may have ended before. A NULL plan, or\n a cleared handle, is fine."]
    pub fn cuarena_heap_plan_destroy(
        heap: *mut cuarena_heap_t,
        plan: *mut *mut cuarena_heap_plan_t,
    );
    pub fn cuarena_request_init(request: *mut cuarena_request_t);
    #[doc = " The tag of that name, which is registered at its first use; the name is copied. LIMIT if\n CUARENA_HEAP_MAX_TAGS - 1 tags are registered. Cost: O(tags)."]
    pub fn cuarena_tag(
        arena: *mut cuarena_t,
        name: *const ::core::ffi::c_char,
        tag_out: *mut cuarena_tag_t,
    ) -> cuarena_status_t;
    #[doc = " The name of a tag. The text belongs to the arena, and is valid until that is destroyed."]
    pub fn cuarena_tag_name(
        arena: *mut cuarena_t,
        tag: cuarena_tag_t,
        name_out: *mut *const ::core::ffi::c_char,
    ) -> cuarena_status_t;
    #[doc = " Allocates a block that is not pinned. 0 bytes give a live, empty block."]
    pub fn cuarena_block_alloc(
        arena: *mut cuarena_t,
        bytes: u64,
        block_out: *mut cuarena_block_t,
    ) -> cuarena_status_t;
    #[doc = " Allocates as the request says (request.h); with a NULL request as cuarena_block_alloc."]
    pub fn cuarena_block_alloc_with(
        arena: *mut cuarena_t,
        bytes: u64,
        request: *const cuarena_request_t,
        block_out: *mut cuarena_block_t,
    ) -> cuarena_status_t;
    #[doc = " Frees the block, pinned or not; a block that is being moved is freed when the move is done. You\n must ensure that nothing uses its bytes any more. The id 0 is OK. Legal on a lost arena."]
    pub fn cuarena_block_free(arena: *mut cuarena_t, block: cuarena_block_t) -> cuarena_status_t;
    #[doc = " As cuarena_resize, and the block keeps its id. With 0 bytes it is empty, and lives."]
    pub fn cuarena_block_resize(
        arena: *mut cuarena_t,
        block: cuarena_block_t,
        bytes: u64,
    ) -> cuarena_status_t;
    #[doc = " Keeps the block where it is, and gives its address, which is good only while the block is pinned;\n NULL for an empty block. Each pin wants an unpin; BUSY if there are CUARENA_HEAP_MAX_PINS. Waits\n for a move of the block that is under way. On a lost arena it is LOST: no block moves there any\n more, and cuarena_block_info still gives the address."]
    pub fn cuarena_block_pin(
        arena: *mut cuarena_t,
        block: cuarena_block_t,
        pointer_out: *mut *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " Ends one pin. BAD_ARGUMENT if no pin of cuarena_block_pin is left. Legal on a lost arena."]
    pub fn cuarena_block_unpin(arena: *mut cuarena_t, block: cuarena_block_t) -> cuarena_status_t;
    #[doc = " The id of the block that begins at `pointer`; STALE if none does."]
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
    #[doc = " Enumerates the live blocks, in no particular order: copies up to `capacity` of them and moves\n `cursor` on, which begins at 0. The enumeration has ended when fewer than `capacity` come. Blocks\n that are made or freed meanwhile may or may not be seen; no other is missed or seen twice. Cost:\n O(highest count of blocks so far) for all of it."]
    pub fn cuarena_blocks(
        arena: *mut cuarena_t,
        cursor: *mut u64,
        infos: *mut cuarena_block_info_t,
        capacity: usize,
        count_out: *mut usize,
    ) -> cuarena_status_t;
    #[doc = " Makes `size` bytes of the caller's a block of this arena: it counts in statistics and limits, is\n enumerated, and is pinned. The bytes stay the caller's: a free of the block forgets them. They\n must stay valid until then. BAD_ARGUMENT if there are none, if address or size is no multiple of\n the granule (the option `alignment`), or if they overlap the arena's own bytes or adopted ones."]
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
    #[doc = " Slides the blocks of the dynamic region that are not pinned together. NULL options mean the\n defaults; callback and report may be NULL. One compaction runs at a time: one in another thread\n waits.\n\n With `options->stream`, the call does not wait (but on memory that the CPU touches). Instead that\n stream waits on the device for every stream that a moved block was allocated on or is used by\n (cuarena_record_use), then copies the bytes, and those streams wait for the copies. The bytes\n that become free are the stream's. With steal=first and wait it also waits for the streams that\n freed bytes, which become its own; with a goal only if that cannot be reached otherwise. Of\n blocks that were allocated without a stream the arena knows no stream: you must name those that\n use them in `options->streams`, or ensure yourself that their work is done. Without a stream the\n call waits for all of these streams, and for what was freed on streams.\n\n FRAGMENTED: no blocks within the limits of the options can make room for the goal; nothing moved.\n UNSUPPORTED: the memory cannot move bytes. What a trimmed pool gave back it takes again if the\n goal needs that; LIMIT, OUT_OF_MEMORY or DRIVER if it cannot be had. Otherwise blocks do not move\n across it. BUSY: one of the streams is being captured. If that begins while the copies are on\n their way, or the driver makes no event for them then, the call waits for the stream on the host.\n\n On an error the batch under way moved nothing, and earlier ones stay. But if a copy failed after\n others were made, if what they left could not be set to 0, or if nothing can wait for them, since\n `options->stream` began to be captured meanwhile, for instance, then contents may be gone: the\n arena is lost, as the message says, and later calls are LOST.\n\n Cost: O(blocks and free ranges) to plan, under the lock; then the bytes moved, without\n it."]
    pub fn cuarena_compact(
        arena: *mut cuarena_t,
        options: *const cuarena_compact_options_t,
        callback: cuarena_relocation_fn,
        user: *mut ::core::ffi::c_void,
        report: *mut cuarena_compact_report_t,
    ) -> cuarena_status_t;
    #[doc = " Sets the callback for moves that no call of cuarena_compact reports: those of cuarena_resize_pool\n and of the compaction before a request is refused (the option compact_on_oom). NULL: nobody is\n told, and that compaction then moves only blocks, whose ids stay good, but no pointers, even if\n they are unpinned."]
    pub fn cuarena_set_relocation_callback(
        arena: *mut cuarena_t,
        callback: cuarena_relocation_fn,
        user: *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " Sets the listener; NULL: none. An arena with a listener takes the slow path for every call."]
    pub fn cuarena_set_event_listener(
        arena: *mut cuarena_t,
        listener: cuarena_event_fn,
        user: *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " Copies up to `capacity` steps, in the order of their numbers; `count_out` gets how many there\n are. `steps` NULL with capacity 0 only asks for the count. O(1)."]
    pub fn cuarena_step_stats(
        arena: *mut cuarena_t,
        steps: *mut cuarena_step_stats_t,
        capacity: usize,
        count_out: *mut usize,
    ) -> cuarena_status_t;
    #[doc = " Sets the handler; NULL: none."]
    pub fn cuarena_set_oom_handler(
        arena: *mut cuarena_t,
        handler: cuarena_oom_fn,
        user: *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    pub fn cuarena_config_init(config: *mut cuarena_config_t);
    #[doc = " Sets one option from text. BAD_ARGUMENT for an unknown key or a value that does not parse or is\n out of range: the message names key, value and what would be accepted; the config is as it was.\n With unknown_keys=warn unknown keys are logged and passed over.\n\n \"arena.\" may stand before any key. ONNX Runtime's names for its arena are keys too:\n extend_strategy (also arena_extend_strategy), initial_chunk_size_bytes, max_dead_bytes_per_chunk,\n initial_growth_chunk_size_bytes, max_power_of_two_extend_bytes, max_mem,\n cuda_mempool_release_threshold, cuda_mempool_bytes_to_keep_on_shrink. Their values are digits, in\n ONNX Runtime's ranges. With use_cuda_mempool=1, which is an option of its own, an arena of device\n memory is that of preset=driver-pool and driver_pool=own whatever preset is named; the pool's\n threshold stays as the driver made it, and keys of chunks are ignored. An arena of pinned memory\n ignores use_cuda_mempool and the two cuda_mempool keys, as ONNX Runtime's does. Other memories\n refuse it."]
    pub fn cuarena_config_set(
        config: *mut cuarena_config_t,
        key: *const ::core::ffi::c_char,
        value: *const ::core::ffi::c_char,
    ) -> cuarena_status_t;
    #[doc = " Sets options from a list \"key=value,key=value\": all of them or, on an error, none."]
    pub fn cuarena_config_parse(
        config: *mut cuarena_config_t,
        text: *const ::core::ffi::c_char,
    ) -> cuarena_status_t;
    #[doc = " Sets options from the text of CUARENA_CONF in the environment, as cuarena_config_parse does; OK\n if there is none. No other call reads that: a program that wants to be configured by it calls\n this between init and create. No thread may change the environment meanwhile."]
    pub fn cuarena_config_environment(config: *mut cuarena_config_t) -> cuarena_status_t;
    #[doc = " Sets the limit from a variable of the environment (NULL: CUPY_GPU_MEMORY_LIMIT), as CuPy reads\n it: digits are bytes; a number of at most three decimals with % is a percentage of all that the\n memory has; 0 and 0% are no limit. OK, with nothing changed, if there is no such variable.\n BAD_ARGUMENT for any other text: the message names variable, text and what is accepted; the\n config is as it was. Only this call reads the variable. No thread may change the environment\n meanwhile."]
    pub fn cuarena_config_limit_environment(
        config: *mut cuarena_config_t,
        variable: *const ::core::ffi::c_char,
    ) -> cuarena_status_t;
    #[doc = " Writes the value of one option as text that cuarena_config_set accepts under the same key.\n UNSUPPORTED for a value that has no text: a memory of the caller's own, or under ONNX Runtime's\n key a value that it has no number for."]
    pub fn cuarena_config_get(
        config: *const cuarena_config_t,
        key: *const ::core::ffi::c_char,
        text: *mut ::core::ffi::c_char,
        text_size: usize,
    ) -> cuarena_status_t;
    #[doc = " Replaces every \"as the preset says\" by its value, and sets the limit of a preset that has none,\n as cuarena_create would. BAD_ARGUMENT as there; the config is as it was then."]
    pub fn cuarena_config_resolve(config: *mut cuarena_config_t) -> cuarena_status_t;
    #[doc = " Parses the text of an amount; BAD_ARGUMENT if it is none, with the text in the message."]
    pub fn cuarena_amount_parse(
        text: *const ::core::ffi::c_char,
        amount_out: *mut cuarena_amount_t,
    ) -> cuarena_status_t;
    pub fn cuarena_option_info_init(info: *mut cuarena_option_info_t);
    #[doc = " The row with that number, from 0 on; BAD_ARGUMENT past the last."]
    pub fn cuarena_option_info(index: usize, info: *mut cuarena_option_info_t) -> cuarena_status_t;
    #[doc = " Allocates `bytes` in the dynamic region, pinned. 0 bytes give NULL and OK, and are not counted."]
    pub fn cuarena_alloc(
        arena: *mut cuarena_t,
        bytes: u64,
        pointer_out: *mut *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " Allocates as the request says (request.h); with a NULL request as cuarena_alloc."]
    pub fn cuarena_alloc_with(
        arena: *mut cuarena_t,
        bytes: u64,
        request: *const cuarena_request_t,
        pointer_out: *mut *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " Allocates count * size bytes; BAD_ARGUMENT if that is 2^64 or more."]
    pub fn cuarena_alloc_array(
        arena: *mut cuarena_t,
        count: u64,
        size: u64,
        request: *const cuarena_request_t,
        pointer_out: *mut *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " Frees the block that begins at `pointer`. You must ensure that nothing uses its bytes any more,\n neither the CPU nor a kernel. NULL is OK. Legal on a lost arena."]
    pub fn cuarena_free(
        arena: *mut cuarena_t,
        pointer: *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " Makes the block `bytes` large, in place if there is room, else in another place, to which its\n contents are copied; you must ensure that nothing uses them meanwhile. 0 bytes free the block and\n give NULL; a NULL pointer allocates.\n\n Only bytes that are reserved and free behind the block are room. The arena does not grow for that\n behind it: where there is none it finds another place for all of the block, if need be by growth,\n and has both until the copy is made.\n\n BUSY if the block would have to move and is pinned by cuarena_block_pin. OUT_OF_MEMORY for a\n stable block that would have to move: no compaction helps. UNSUPPORTED for dedicated and adopted\n blocks, which keep their size. A failed call leaves block and contents as they were. Cost: the\n bytes moved."]
    pub fn cuarena_resize(
        arena: *mut cuarena_t,
        pointer: *mut ::core::ffi::c_void,
        bytes: u64,
        pointer_out: *mut *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " How many bytes were asked for, and how many the block has. Either output may be NULL. Legal on a\n lost arena."]
    pub fn cuarena_size_of(
        arena: *mut cuarena_t,
        pointer: *const ::core::ffi::c_void,
        requested_out: *mut u64,
        allocated_out: *mut u64,
    ) -> cuarena_status_t;
    #[doc = " Lets compaction move this block; the relocation callback then gets the new address (compact.h).\n BAD_ARGUMENT if it is unpinned already, or stable."]
    pub fn cuarena_unpin(
        arena: *mut cuarena_t,
        pointer: *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " Undoes cuarena_unpin: the block stays where it is again. Waits for a move of it that is under\n way. BAD_ARGUMENT if it was not unpinned; BUSY if the block has CUARENA_HEAP_MAX_PINS pins."]
    pub fn cuarena_pin(
        arena: *mut cuarena_t,
        pointer: *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    pub fn cuarena_stats_init(stats: *mut cuarena_stats_t);
    #[doc = " For CUARENA_REGION_ALL the peaks are those of the whole arena at one moment. A stable block of an\n arena without a stable region counts as dynamic. While threads have caches (arena.h) all is exact\n but the peaks: those of live bytes and blocks are too high by at most what caches kept, and those\n of requested bytes too low or too high by about that. O(1), and with such caches O(what they\n keep), since they give that back."]
    pub fn cuarena_stats(
        arena: *mut cuarena_t,
        region: i32,
        stats: *mut cuarena_stats_t,
    ) -> cuarena_status_t;
    #[doc = " Live and requested bytes, counts and peaks of one tag; the other members are 0."]
    pub fn cuarena_tag_stats(
        arena: *mut cuarena_t,
        tag: cuarena_tag_t,
        stats: *mut cuarena_stats_t,
    ) -> cuarena_status_t;
    #[doc = " Sets every peak, of the arena, its regions, tags and streams, to what there is now; for peaks of\n a part of the program use scopes, below. O(tags + streams)."]
    pub fn cuarena_reset_peaks(arena: *mut cuarena_t) -> cuarena_status_t;
    pub fn cuarena_inspection_init(inspection: *mut cuarena_inspection_t);
    #[doc = " O(blocks + free ranges of the region), under the lock."]
    pub fn cuarena_inspect(
        arena: *mut cuarena_t,
        region: i32,
        inspection: *mut cuarena_inspection_t,
    ) -> cuarena_status_t;
    #[doc = " Recomputes every counter and link from scratch. CORRUPT, with the reason in `text` (may be NULL),\n if anything disagrees. O(everything), under the lock."]
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
    #[doc = " Calls `write` for every figure, all of one moment, in decimal. No lock is held then: any call is\n legal in the callback. `form` is CUARENA_TEXT_...; BAD_ARGUMENT for any other."]
    pub fn cuarena_stats_pairs(
        arena: *mut cuarena_t,
        form: i32,
        write: cuarena_pair_fn,
        user: *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " Writes the same figures into `text`, as lines \"key=value\". `needed_out` (may be NULL) gets the\n bytes that this takes with the zero at the end, also when `text_size` is less: BAD_ARGUMENT then,\n and `text` is as it was. `text` NULL with text_size 0 only asks for the size."]
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
    #[doc = " STALE if the arena does not know the stream, or does not any more."]
    pub fn cuarena_stream_peaks_push(
        arena: *mut cuarena_t,
        stream: cuarena_stream_t,
    ) -> cuarena_status_t;
    pub fn cuarena_stream_peaks_pop(
        arena: *mut cuarena_t,
        stream: cuarena_stream_t,
        peaks: *mut cuarena_peaks_t,
    ) -> cuarena_status_t;
    #[doc = " Makes an arena of a text of options, such as \"memory=device, pool=80%\", as cuarena_config_parse\n takes them; docs/options.md has them all. NULL and \"\" mean the defaults. The environment is not\n read. Any thread may call it. The arena is the caller's, to be ended by cuarena_destroy; where\n the call fails *arena_out is as it was, and cuarena_last_error says why.\n\n Errors: BAD_ARGUMENT for an unknown key, a value that is not accepted, options that do not go\n together (the message names key, value and what would be accepted) and a NULL output; otherwise\n as cuarena_create."]
    pub fn cuarena_open(
        options: *const ::core::ffi::c_char,
        arena_out: *mut *mut cuarena_t,
    ) -> cuarena_status_t;
    #[doc = " Makes an arena of a config that the program filled in, for what has no text: functions and bytes\n of the program's own, and a context. The preset `pool` takes its bytes now; an arena that grows\n takes only its stable region, unless the option take_first says that it takes its first chunk\n too.\n\n Errors: BAD_ARGUMENT; OUT_OF_MEMORY, or LIMIT where the pool is larger than the limit or\n CUARENA_HEAP_MAX_HEAPS heaps live (the last error then has the bytes asked for, the limit if\n there is one, the bytes reserved, and as free_bytes what the memory had available); NO_DEVICE;\n DRIVER; UNSUPPORTED if the memory cannot do what the options ask; BUSY, DRIVER or UNSUPPORTED as\n cuarena_trace_begin with the option trace. Cost: the memory's, plus O(1)."]
    pub fn cuarena_create(
        config: *const cuarena_config_t,
        arena_out: *mut *mut cuarena_t,
    ) -> cuarena_status_t;
    #[doc = " Ends the arena and clears the handle; NULL and a cleared handle are OK. BUSY, with nothing\n changed, while blocks live (the last error tells the leaks by tag, and the log as\n cuarena_report_leaks does), while streams may still use blocks that were freed on them or are\n being captured, while a capture session has bytes (capture.h), and for an arena that the process\n shares (shared.h). REENTERED from a function of its memory, its relocation callback, its out-of-\n memory handler or its event listener."]
    pub fn cuarena_destroy(arena: *mut *mut cuarena_t) -> cuarena_status_t;
    #[doc = " Destroys the arena with every block that lives in it. Waits for the work of its streams; the log\n tells what could not be waited for. BUSY for a shared arena; REENTERED as cuarena_destroy."]
    pub fn cuarena_destroy_forced(arena: *mut *mut cuarena_t) -> cuarena_status_t;
    #[doc = " Lets the arena end with its last block: `done` is called once, when no block lives any more. This\n is for owners whose blocks outlive them, and who would otherwise count these a second time.\n\n   if (cuarena_retire(arena, end_arena, NULL) == CUARENA_STALE)\n       cuarena_destroy(&arena);         no block lives: end it at once\n\n `done` is called at the end of the call that frees the last block or resets the arena, with no\n lock held, and when no other such call is inside the arena. If that call was made in a listener\n or a handler, `done` is called at the end of the call that the listener or handler belongs to.\n Whoever retires an arena anew replaces `done`; NULL takes it back.\n\n A block that was freed does not live, though its bytes may still wait for a stream, a move or an\n export: cuarena_destroy in `done` is BUSY then, and `done` has to keep the arena for later.\n Cached blocks do not live. Calls that end no block must have returned before the last block is\n freed, as before cuarena_destroy.\n\n STALE: no block lives and no call is inside, so `done` will not be called, and the caller may do\n at once what `done` would. For a NULL `done`, STALE says that the call of `done` is on its way,\n or that the arena is not retired. BUSY: the arena is shared. cuarena_retire never calls `done`\n itself, so it may be called under a lock that `done` takes. Cost: O(1); while an arena is retired\n its calls take the slow path."]
    pub fn cuarena_retire(
        arena: *mut cuarena_t,
        done: cuarena_retired_fn,
        user: *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " Frees every block, pointer and id at once, in both regions. Memory, sizes, tags, limits and peaks\n stay (cuarena_reset_peaks). You must ensure that nothing uses the blocks any more; the call\n itself waits for what was freed on streams, and for all work where the memory allocates in the\n order of streams (backing=async). A call of another thread comes before it or after it: a block\n that it allocated before has ended, and bytes that it freed on a stream while the reset was under\n way are idle.\n\n BUSY while pins taken by cuarena_block_pin exist, exports are open, a capture session has bytes\n or, where it waits for all work, a stream is being captured. DRIVER if free bytes are to read as\n 0 (zero=free) and cannot be set to 0: blocks live on, but their contents may be gone.\n OUT_OF_MEMORY if the host has none for a list of the dedicated blocks. REENTERED from a function\n of its memory or its relocation callback. Cost: O(live blocks)."]
    pub fn cuarena_reset(arena: *mut cuarena_t) -> cuarena_status_t;
    #[doc = " Makes a pool `bytes` large, rounded up to the arena's alignment as at creation. capacity_bytes of\n cuarena_stats tells the size, and reserved_bytes what the memory gave for it in its own\n multiples. The stable region keeps its size, and blocks keep their contents.\n\n In place: where the memory can lengthen and shorten a segment (pageable, none, device with\n backing=vmm, a caller's own that has `grow`), up to the addresses that were set aside by the\n option `addresses` or for the limit. A pool that gets smaller moves what stands in the part that\n goes, and is BUSY if that is pinned.\n\n By moving: otherwise the memory gives a pool of the new size, to which all blocks move, and the\n relocation callback is told. It is BUSY while a pointer that is pinned, a pinned block or a\n stable block lives. So a program that is to work alike on all memories has only blocks and\n unpinned pointers.\n\n Waits for what was freed on streams if the pool gets smaller, and for all work on its bytes if\n they move. BAD_ARGUMENT below the stable region's size; UNSUPPORTED for a caller's own bytes,\n for an arena that grows, and where blocks would have to move on a memory that cannot move bytes;\n REENTERED as cuarena_reset. A failed call leaves the size as it was; cached blocks have ended,\n and blocks may have moved, which was reported. Cost: the bytes moved."]
    pub fn cuarena_resize_pool(arena: *mut cuarena_t, bytes: u64) -> cuarena_status_t;
    #[doc = " Gives unused bytes back to the memory, in whole pages, from the end and from the middle of\n segments, until no more than `keep_bytes` are reserved or nothing more is free. What a pool gave\n back it takes again when it needs it. A caller's own bytes stay. Bytes that were freed on streams\n are given back if they are idle: the call records events and asks whether they are complete, but\n waits for none; DRIVER if that fails, or OUT_OF_MEMORY if there is none for an event. REENTERED\n as cuarena_reset. Cost: O(free ranges), and the memory's.\n\n given_back_out gets how many bytes went back: those of dedicated blocks too that were freed on a\n stream and end in this call because it is done with them. It may be NULL."]
    pub fn cuarena_trim(
        arena: *mut cuarena_t,
        keep_bytes: u64,
        given_back_out: *mut u64,
    ) -> cuarena_status_t;
    #[doc = " Sets a limit: `limit` is bytes, a percentage of all that the memory has, this arena's bytes among\n them (BAD_ARGUMENT above 100 %), or auto, what is available now. A limit below what is reserved\n or live now is legal: it bounds what comes. `old_bytes_out` (may be NULL) gets the limit before;\n UINT64_MAX is \"none\". A lower limit of cached bytes ends cached blocks at once, the least\n recently recycled first, unless cache_bound=late (cost: those blocks, and the memory's; REENTERED\n as cuarena_trim)."]
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
    #[doc = " Where the arena's bytes are: address and length, in bytes, of its first segment."]
    pub fn cuarena_base(
        arena: *mut cuarena_t,
        base_out: *mut *mut ::core::ffi::c_void,
        bytes_out: *mut u64,
    ) -> cuarena_status_t;
    #[doc = " Ends cached blocks, those that were cached first, until at least `bytes` of them are gone, or all\n of them if `bytes` is nine tenths of the cache or more. Their whole pages go back to the memory;\n `blocks_out` (may be NULL) gets the number of blocks. REENTERED from a function of the arena's\n memory or its relocation callback; LOST. Cost: O(these blocks) and, with streams, O(free ranges),\n and the memory's."]
    pub fn cuarena_cache_release(
        arena: *mut cuarena_t,
        bytes: u64,
        blocks_out: *mut u64,
    ) -> cuarena_status_t;
    #[doc = " Ends all cached blocks and gives their pages back. If any of them was freed on a stream, the call\n waits until what streams freed so far is idle; if nothing is cached, it does nothing. DRIVER or\n BUSY if that cannot be waited for: the cache is as it was then. Otherwise as\n cuarena_cache_release."]
    pub fn cuarena_cache_clear(arena: *mut cuarena_t, blocks_out: *mut u64) -> cuarena_status_t;
    pub fn cuarena_cache_stats_init(stats: *mut cuarena_cache_stats_t);
    #[doc = " All figures are of one moment. BAD_ARGUMENT for NULL or a struct without its size. O(1)."]
    pub fn cuarena_cache_stats(
        arena: *mut cuarena_t,
        stats: *mut cuarena_cache_stats_t,
    ) -> cuarena_status_t;
    #[doc = " As cuarena_alloc_with, for use on the stream; `request` may be NULL. Zeroing is queued on the\n stream."]
    pub fn cuarena_alloc_on(
        arena: *mut cuarena_t,
        bytes: u64,
        stream: cuarena_stream_t,
        request: *const cuarena_request_t,
        pointer_out: *mut *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " Frees the block at this point of the stream; see \"What a free means\". On an error the block is as\n it was. It never says OUT_OF_MEMORY or LIMIT: if the arena has no room for a stream that it did\n not know, the caller waits for the stream instead (host_waits counts that, and the log says so at\n level info), and the bytes are idle. BUSY if such a stream is being captured, and DRIVER if it\n cannot be waited for either."]
    pub fn cuarena_free_on(
        arena: *mut cuarena_t,
        pointer: *mut ::core::ffi::c_void,
        stream: cuarena_stream_t,
    ) -> cuarena_status_t;
    #[doc = " Frees the block on the stream on which it was allocated, for who was not told: as cuarena_free_on\n with what cuarena_stream_of says, at one moment, so that no other thread releases the stream in\n between. As cuarena_free if on none, or if the stream was released since. The default stream of\n another thread cannot be named; the legacy one, which waits for it, stands for it."]
    pub fn cuarena_free_own(
        arena: *mut cuarena_t,
        pointer: *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " As cuarena_resize, for use on the stream: where the contents must move, the copy is queued on the\n stream, and the old bytes are freed on it. What it does on another stream than the block's own\n counts as a use by that stream, as cuarena_record_use does, where the contents move or the block\n gets longer by bytes that this stream freed; where idle bytes make it longer, or it gets shorter,\n it is none. What uses the block on the stream is for the program to record, as ever."]
    pub fn cuarena_resize_on(
        arena: *mut cuarena_t,
        pointer: *mut ::core::ffi::c_void,
        bytes: u64,
        stream: cuarena_stream_t,
        pointer_out: *mut *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " As cuarena_alloc_on, cuarena_free_on, cuarena_free_own and cuarena_resize_on, for blocks\n (block.h)."]
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
    pub fn cuarena_block_free_own(
        arena: *mut cuarena_t,
        block: cuarena_block_t,
    ) -> cuarena_status_t;
    pub fn cuarena_block_resize_on(
        arena: *mut cuarena_t,
        block: cuarena_block_t,
        bytes: u64,
        stream: cuarena_stream_t,
    ) -> cuarena_status_t;
    #[doc = " As cuarena_block_pin; the stream waits for compactions that moved the block, so what is queued on\n it next may use the address. The copy of cuarena_block_resize_on is a use on the stream of that\n call: you must have made this stream wait for it."]
    pub fn cuarena_block_pin_on(
        arena: *mut cuarena_t,
        block: cuarena_block_t,
        stream: cuarena_stream_t,
        pointer_out: *mut *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " Ends the pin at this point of the stream: as cuarena_block_record_use and\n cuarena_block_unpin together."]
    pub fn cuarena_block_unpin_on(
        arena: *mut cuarena_t,
        block: cuarena_block_t,
        stream: cuarena_stream_t,
    ) -> cuarena_status_t;
    #[doc = " Says that the block is used on that stream too: when it is freed on a stream, nobody gets its\n bytes before everything that was queued on that stream until the free is done. Once per block and\n stream is enough. Takes host memory: OUT_OF_MEMORY if there is none. STALE if no such block\n lives."]
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
    #[doc = " The stream on which the block that begins at `pointer` was allocated, for who frees it and was\n not told; CUARENA_NO_STREAM if on none, or if the stream was released since. The legacy default\n stream is CUARENA_STREAM_LEGACY, and the default stream of a thread CUARENA_STREAM_PER_THREAD,\n also on another thread. STALE if no such block lives. Legal on a lost arena. O(1)."]
    pub fn cuarena_stream_of(
        arena: *mut cuarena_t,
        pointer: *const ::core::ffi::c_void,
        stream_out: *mut cuarena_stream_t,
    ) -> cuarena_status_t;
    #[doc = " Makes the arena forget the stream, as the program must before it destroys the stream. Records an\n event behind the stream's work; what was freed on it is idle when that is complete. Blocks that\n were allocated on it live on: free them without a stream, or on another one.\n\n Once this has returned OK no call touches the handle. It does not wait for the stream's work, but\n it waits for calls of other threads that are using the handle, such as a compaction that lets the\n stream wait, until they have handed it to the driver.\n\n OK for a stream that the arena does not know. BUSY for a stream of an open capture session, and\n for one that is being captured. DRIVER, or OUT_OF_MEMORY, if the event cannot be recorded: the\n stream is still known then. O(ranges of the stream's free list)."]
    pub fn cuarena_release_stream(
        arena: *mut cuarena_t,
        stream: cuarena_stream_t,
    ) -> cuarena_status_t;
    #[doc = " Moves what streams are done with to the idle free list: records events on streams whose free\n lists have bytes without one, and takes the bytes behind events that are complete. With `wait` =\n 1 it waits until everything that was freed so far is idle. `reclaimed_out` (may be NULL) gets the\n number of bytes that became idle. O(streams + ranges that become idle)."]
    pub fn cuarena_reclaim(
        arena: *mut cuarena_t,
        wait: i32,
        reclaimed_out: *mut u64,
    ) -> cuarena_status_t;
    #[doc = " Gives bytes that were freed on the stream back to the memory, in whole pages or, where segments\n keep their length, whole segments, until no more than `keep_bytes` are reserved or none of them\n is free any more. It gives back nothing of other streams, and no bytes that are idle. With\n CUARENA_NO_STREAM it gives back those of all streams, and idle ones. A caller's own bytes stay.\n\n The caller waits for the stream, or for each of them, if it freed something (host_waits counts\n one for each), and for other streams that use the freed blocks. What is not given back is idle\n or, with steal=never, in the stream's free list as before. given_back_out counts as that of\n cuarena_trim, and may be NULL.\n\n OK for a stream that the arena does not know; BUSY for one of an open capture session, and where\n a capture is in the way (capture.h); DRIVER if a wait fails; REENTERED as cuarena_reset. Cost:\n O(free ranges), and the memory's.\n\n Where blocks are pieces of a driver's pool (preset=driver-pool), the call waits for the stream\n or, with CUARENA_NO_STREAM, for all work of the device, and then the pool keeps `keep_bytes`."]
    pub fn cuarena_trim_on(
        arena: *mut cuarena_t,
        stream: cuarena_stream_t,
        keep_bytes: u64,
        given_back_out: *mut u64,
    ) -> cuarena_status_t;
    #[doc = " Gives a mark of this moment of the stream, to be taken before the program records its own event.\n Records an event of the arena's if something was freed on the stream since the last one.\n BAD_ARGUMENT for CUARENA_NO_STREAM. O(ranges of the stream's free list)."]
    pub fn cuarena_stream_mark(
        arena: *mut cuarena_t,
        stream: cuarena_stream_t,
        mark_out: *mut cuarena_mark_t,
    ) -> cuarena_status_t;
    #[doc = " Says that `waiter` waits for the work of `producer` up to `mark` at least. BAD_ARGUMENT for a\n number that is no mark yet, and for a mark of another stream that the arena knows. OK, and of no\n effect, where the mark's stream was released since: what it freed is behind the event of the\n release then, which comes after the mark. A number that was never a mark cannot always be told\n from such a one. Calls no driver once the waiter is known. O(streams) and, with\n CUARENA_NO_STREAM, O(ranges that become idle)."]
    pub fn cuarena_stream_waited(
        arena: *mut cuarena_t,
        waiter: cuarena_stream_t,
        producer: cuarena_stream_t,
        mark: cuarena_mark_t,
    ) -> cuarena_status_t;
    #[doc = " Live and requested bytes, counts and peaks of blocks that were allocated on the stream, and as\n free_bytes those of its free list; the other members are 0. STALE if the arena does not know the\n stream."]
    pub fn cuarena_stream_stats(
        arena: *mut cuarena_t,
        stream: cuarena_stream_t,
        stats: *mut cuarena_stats_t,
    ) -> cuarena_status_t;
    #[doc = " Begins a session: what is allocated on the stream is private from now on. It may come before or\n after the begin of the capture; before is better, since the arena can then record an event behind\n what was freed on the stream, and the session can get those bytes.\n\n BAD_ARGUMENT for CUARENA_NO_STREAM and for the legacy default stream, which cannot be captured.\n BUSY if the stream is in an open session, or if its capture has failed. UNSUPPORTED on a memory\n without streams, with zero=free, and with zero=alloc on memory that a graph cannot set to 0.\n OUT_OF_MEMORY, LIMIT. Waits for calls of other threads that are queuing something on the stream,\n or recording an event of all work of the device, which would end the capture.\n Driver calls: to ask whether the stream is captured and, if it is not, to record that event.\n O(ranges of the stream's free list + dedicated blocks); some 150 B of host memory for each of\n these that nothing was taken for yet, so that its free in the session takes none."]
    pub fn cuarena_capture_begin(
        arena: *mut cuarena_t,
        stream: cuarena_stream_t,
        capture_out: *mut *mut cuarena_capture_t,
    ) -> cuarena_status_t;
    #[doc = " Adds one more stream to an open session, a stream which joined or will join the capture by\n waiting for an event of it. OK if it is in the session already. BAD_ARGUMENT for a session that\n has ended; otherwise as cuarena_capture_begin."]
    pub fn cuarena_capture_join(
        arena: *mut cuarena_t,
        capture: *mut cuarena_capture_t,
        stream: cuarena_stream_t,
    ) -> cuarena_status_t;
    #[doc = " Ends the open part of a session: its streams are ordinary again. Must come after\n cudaStreamEndCapture, also where the capture failed, else it is BUSY; the streams must not be\n destroyed before. OK if it was called before. Waits for calls of other threads that are queuing\n something on the streams. Driver calls: to ask whether the streams are captured, and to let them\n wait for compactions that went on meanwhile. O(private ranges)."]
    pub fn cuarena_capture_end(
        arena: *mut cuarena_t,
        capture: *mut cuarena_capture_t,
    ) -> cuarena_status_t;
    #[doc = " Releases the session and clears the handle; NULL and a cleared handle are OK. A session that is\n open ends first. You must ensure that the graph is not launched again, and that all its launches\n were queued on `stream`, or come before what is queued there. The private bytes that are free\n join the stream's free list, and the blocks that live become ordinary blocks of that stream;\n those that the block calls made may move. cuarena_stream_stats counts such a block as freed on\n the stream that it had and allocated on the new one. The stream is made to wait for the session's\n streams, and for those on which private blocks were freed or, as recorded, used.\n\n With CUARENA_NO_STREAM you must ensure that all work with private blocks is done: the bytes are\n idle, and the blocks that live become blocks of no stream.\n\n BUSY if one of the streams is in another open session, or is being captured; LIMIT if the arena\n has no room for `stream`, which it did not know. On an error the session and its handle remain,\n but one that was open may have ended. Waits for nothing but calls of other threads that are\n queuing something on the session's streams. Driver calls: one event and one wait for each stream\n besides the one given; with CUARENA_NO_STREAM, those that give the segments of freed dedicated\n blocks back. O(blocks of the arena + private ranges)."]
    pub fn cuarena_capture_release(
        arena: *mut cuarena_t,
        capture: *mut *mut cuarena_capture_t,
        stream: cuarena_stream_t,
    ) -> cuarena_status_t;
    #[doc = " Live and requested bytes, counts and peaks of private blocks; as capacity_bytes all private\n bytes, those of dedicated blocks too; as free_bytes those of them that are free; as largest_bytes\n what is free and was never handed out. The other members are 0. O(stretches)."]
    pub fn cuarena_capture_stats(
        arena: *mut cuarena_t,
        capture: *mut cuarena_capture_t,
        stats: *mut cuarena_stats_t,
    ) -> cuarena_status_t;
    #[doc = " Looks at the guards of all live blocks, and at what the quarantine keeps, which ends. CORRUPT if\n there are findings; the last error has the first and their number. `findings_out`, which may be\n NULL, gets the number of findings since the arena was made, also of those that frees made and\n also if the call is CORRUPT; it is 0, and the call OK, where no option asks for anything.\n\n Blocks that a call of another thread works on are waited for. Those that open capture sessions\n use are passed over. REENTERED from a function of the arena's memory; DRIVER if a wait or a copy\n fails. Cost: O(highest count of blocks so far), a wait for the streams of each and, on a device,\n two copies of its guards."]
    pub fn cuarena_check(arena: *mut cuarena_t, findings_out: *mut u64) -> cuarena_status_t;
    #[doc = " Reports the live blocks: how many there are, by tag, those with most bytes first, and the oldest\n block of each. With stacks=N also where most of them were allocated. At most 16 tags and 8 places\n are listed, and then how many more there are. Only with one of the options above it is known how\n old a block is. A NULL `line` is the log, at level warn. cuarena_destroy does that by itself when\n it is BUSY because blocks live. OUT_OF_MEMORY if the host has none for a list of the blocks.\n Cost: O(highest count of blocks so far), and to sort the live ones, without the lock."]
    pub fn cuarena_report_leaks(
        arena: *mut cuarena_t,
        line: cuarena_line_fn,
        user: *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    pub fn cuarena_properties_init(properties: *mut cuarena_properties_t);
    #[doc = " O(1)."]
    pub fn cuarena_properties(
        arena: *mut cuarena_t,
        properties: *mut cuarena_properties_t,
    ) -> cuarena_status_t;
    pub fn cuarena_driver_pool_stats_init(stats: *mut cuarena_driver_pool_stats_t);
    #[doc = " Asks the driver for one figure after the other, so they need not be of one moment. DRIVER, LOST."]
    pub fn cuarena_driver_pool_stats(
        arena: *mut cuarena_t,
        stats: *mut cuarena_driver_pool_stats_t,
    ) -> cuarena_status_t;
    #[doc = " Sets the two peaks to what there is now, for everybody who uses the pool. DRIVER, LOST."]
    pub fn cuarena_driver_pool_reset_peaks(arena: *mut cuarena_t) -> cuarena_status_t;
    #[doc = " Creates an arena on each device that the driver shows, from one configuration and a choice of a\n pool for each: `pools` and `arenas_out` have `count` members, by the ordinals of the devices. It\n creates all of them or, on an error, none. BAD_ARGUMENT if `count` is not the number of devices\n (the message has both), and for a configuration that names a device or a context; otherwise as\n cuarena_create."]
    pub fn cuarena_create_per_device(
        config: *const cuarena_config_t,
        pools: *const cuarena_driver_pool_choice_t,
        count: usize,
        arenas_out: *mut *mut cuarena_t,
    ) -> cuarena_status_t;
    pub fn cuarena_export_options_init(options: *mut cuarena_export_options_t);
    #[doc = " Exports a block: gives descriptors of the handles behind it, so that another process of this host\n can map it. That process calls cuMemImportFromShareableHandle on each descriptor, then cuMemMap\n for the whole handle; the block's bytes are those at `offset` of it.\n\n Pieces come in the block's order. Their descriptors belong to the caller: send them (SCM_RIGHTS)\n and close them. With `pieces` NULL and `capacity` 0 only the count comes back, and nothing is\n exported.\n\n Until cuarena_export_close the block stays where it is and its handles stay mapped, also if it is\n freed meanwhile: its bytes count as live until then. What the importer has mapped stays valid\n after that for as long as it likes; but from the close on other blocks may get the bytes.\n\n NULL options: the block must be dedicated. BAD_ARGUMENT if it shares its handles, if it is empty,\n or if there are more pieces than `capacity` (the message has the count). UNSUPPORTED if\n cuarena_properties says fd = 0, or the bytes are adopted. STALE. Cost: two driver calls for each\n piece."]
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
    #[doc = " NO_DEVICE, with the reason in the message, if there is none. Cost: at the first call, what the\n driver takes to start."]
    pub fn cuarena_driver_info(info: *mut cuarena_driver_info_t) -> cuarena_status_t;
    pub fn cuarena_device_info_init(info: *mut cuarena_device_info_t);
    #[doc = " BAD_ARGUMENT for an ordinal that the driver does not have; NO_DEVICE, OUT_OF_MEMORY, DRIVER,\n LOST. Cost: the device's primary context, which is created for the call if nobody has it."]
    pub fn cuarena_device_info(device: i32, info: *mut cuarena_device_info_t) -> cuarena_status_t;
    #[doc = " The functions, for code that gives them the driver's names. Never NULL, and the same for the\n whole process. Opens nothing: the first call of one of them does."]
    pub fn cuarena_layer() -> *const cuarena_layer_t;
    #[doc = " Says what the arenas are to be like, before the first allocation; the config is copied. Without\n it they are those of \"preset=grow\". The device's number is that of each device, and memory is\n device memory. The layer adds peers=try and rdma=try where the config has the defaults, and then\n CUARENA_CONF; an alignment below 512 is raised to that.\n\n BAD_ARGUMENT for NULL, a memory other than device or what the preset says, a context, and options\n that do not go together where that shows without a device; BUSY once there is an arena."]
    pub fn cuarena_layer_configure(config: *const cuarena_config_t) -> cuarena_status_t;
    pub fn cuarena_layer_stats_init(stats: *mut cuarena_layer_stats_t);
    #[doc = " What the layer did for a device, by its ordinal from 0 to 63; -1: for calls without one, such as\n those without a context. BAD_ARGUMENT for another ordinal. Calls no driver. O(1)."]
    pub fn cuarena_layer_stats(device: i32, stats: *mut cuarena_layer_stats_t) -> cuarena_status_t;
    #[doc = " Begins the thread, which listens at a Unix socket of that path. Only the owner can reach it\n (0600), and peers of other users are refused. In the path %p stands for the process and %% for a\n percent sign. NULL: it does not listen, and is for cuarena_monitor_signal alone.\n\n BUSY if there is a monitor, or another process listens there; BAD_ARGUMENT for a path that is too\n long (107 bytes on Linux), has another percent sign, or names something else than the socket of a\n process that has ended, which is replaced; OUT_OF_MEMORY if the host has none; DRIVER with the\n errno if the system refuses.\n\n Whoever connects sends one line: \"list\", \"stats\", \"snapshot NUMBER json\" or \"snapshot NUMBER\n pytorch\". The answer is \"ok LENGTH\" in a line and so many bytes, or \"error TEXT\" in a line; then\n the connection ends. The first two answer with JSON in one line: version, pid and the list\n \"arenas\", of each of which they tell number and name and, for \"stats\", how many streams it knows\n and its \"statistics\". A peer that has sent no line within a second, or takes nothing for\n one, is let go."]
    pub fn cuarena_monitor_open(path: *const ::core::ffi::c_char) -> cuarena_status_t;
    #[doc = " Opens the monitor, as cuarena_monitor_open does, at the path that CUARENA_MONITOR in the\n environment says; OK, with nothing done, if there is none. No other call reads that. No thread\n may change the environment meanwhile."]
    pub fn cuarena_monitor_environment() -> cuarena_status_t;
    #[doc = " From now on a signal makes the monitor write a snapshot of each arena: into files whose names the\n pattern says: %n stands for the number of the file, from 1 on, %p for that of the process and %%\n for a percent sign. They are in PyTorch's format if it ends in .pickle, else in JSON. The\n signal's handler only wakes the monitor.\n\n BAD_ARGUMENT for a signal that has a handler already, that cannot have one, or that tells of a\n fault; for a pattern without %n or with another percent sign, or one of more than 255 bytes.\n STALE if there is no monitor; BUSY if it has a signal. What goes wrong with a file is told to the\n log."]
    pub fn cuarena_monitor_signal(
        signal: ::core::ffi::c_int,
        pattern: *const ::core::ffi::c_char,
    ) -> cuarena_status_t;
    #[doc = " Ends the monitor, once it has answered whom it is answering and written what signals asked for;\n its socket goes, and its signal does what it did before. OK if there is none; BUSY if another\n thread is in this call."]
    pub fn cuarena_monitor_close() -> cuarena_status_t;
    pub fn cuarena_shared_report_init(report: *mut cuarena_shared_report_t);
    #[doc = " Holds the arena of the configuration's device and memory, which is made if there is none. Each\n acquire needs a release. `report` may be NULL; each difference is also logged as a warning.\n\n Errors: those of cuarena_create; BAD_ARGUMENT for memory=bytes and custom."]
    pub fn cuarena_shared_acquire(
        config: *const cuarena_config_t,
        arena_out: *mut *mut cuarena_t,
        report: *mut cuarena_shared_report_t,
    ) -> cuarena_status_t;
    #[doc = " Holds the arena of the configuration's device and memory as it is: no option but memory, device\n and context is looked at. It needs a release too. STALE if there is none."]
    pub fn cuarena_shared_find(
        config: *const cuarena_config_t,
        arena_out: *mut *mut cuarena_t,
    ) -> cuarena_status_t;
    #[doc = " Ends one acquire or find, and clears the handle; NULL and a cleared handle are OK. The last\n holder's release is a cuarena_destroy, with its errors: BUSY while blocks live, and then the\n caller still holds the arena. STALE, with a warning in the log, for an arena that is not shared,\n or was released by all its holders already.\n\n cuarena_destroy and cuarena_destroy_forced of a shared arena are BUSY."]
    pub fn cuarena_shared_release(arena: *mut *mut cuarena_t) -> cuarena_status_t;
    #[doc = " Replaces the arena that the caller alone holds by one with another configuration, of the same\n device and memory. With a handle that is NULL the caller holds none, and gets the new one.\n\n BUSY if others hold the arena (the message says how many, and the log which options they keep\n from being changed) or if blocks live in it; the caller still holds it. BAD_ARGUMENT if the\n configuration is of another device or memory. STALE as for cuarena_shared_release. The old arena\n is ended before the new one is made, since they may want the same bytes: if the new one cannot be\n made, there is none, and the handle is cleared."]
    pub fn cuarena_shared_replace(
        arena: *mut *mut cuarena_t,
        config: *const cuarena_config_t,
        report: *mut cuarena_shared_report_t,
    ) -> cuarena_status_t;
    #[doc = " Trims the shared arenas of a list of devices to what lives in them, as cuarena_trim with 0 does.\n The list is that of ONNX Runtime's run option memory.enable_memory_arena_shrinkage, which asks\n for it at the end of a run.\n\n   cpu:0    the shared arena of pageable memory\n   gpu:ID   that of memory=device on the device with this ordinal\n\n Items have ; between them and no blanks, as in \"cpu:0;gpu:0\"; an empty list is OK. Arenas that\n were made for a context, and those of pinned and managed memory, have no item; use\n cuarena_shared_find and cuarena_trim for them. `given_back_out` (may be NULL) gets the bytes that\n all of them gave back. The caller need not hold the arenas; calls that would end or replace one\n of them meanwhile wait.\n\n BAD_ARGUMENT, before anything is trimmed, for a word that is neither cpu nor gpu, for what is no\n number of a device and for a device without a shared arena; the message names the item. Otherwise\n the first error of cuarena_trim, after all were tried. An arena that another thread ends\n meanwhile is passed over. Within a callback of an arena that this call trims, its last release\n and its replacement are BUSY."]
    pub fn cuarena_shared_shrink(
        devices: *const ::core::ffi::c_char,
        given_back_out: *mut u64,
    ) -> cuarena_status_t;
    #[doc = " Sets the options of one scope among `count` keys, and passes over all other keys. It sets all of\n them or, on an error, none. Factories are told apart by case, but for sessions, whose keys have\n the name in lower case (ASCII letters). `factory` is not looked at for CUARENA_SCOPE_BARE;\n `taken_out` (may be NULL) gets how many keys were of the scope.\n\n The environment goes before a session, because its arena is made first, when the library is\n registered: a session acquires that arena, and is told which options it cannot have.\n\n BAD_ARGUMENT as of cuarena_config_set, with the whole key named."]
    pub fn cuarena_config_from_scope(
        config: *mut cuarena_config_t,
        scope: i32,
        factory: *const ::core::ffi::c_char,
        keys: *const *const ::core::ffi::c_char,
        values: *const *const ::core::ffi::c_char,
        count: usize,
        taken_out: *mut usize,
    ) -> cuarena_status_t;
    #[doc = " Writes a snapshot into a file that only its owner can read and write (0600). It is written under\n another name beside `path`, and has this name when it is whole: a file that was there before is\n replaced then, and stays as it was on an error. DRIVER with the errno if the system refuses, as\n it does for a folder; OUT_OF_MEMORY if the host has no memory for the copy; BAD_ARGUMENT for\n another format, and for a path that names a link, a device or what else is no regular file. Any\n thread may call it, also in the arena's handlers and listeners; REENTERED from a function of its\n memory. O(blocks + free ranges)."]
    pub fn cuarena_snapshot_write(
        arena: *mut cuarena_t,
        format: i32,
        path: *const ::core::ffi::c_char,
    ) -> cuarena_status_t;
    #[doc = " Hands a snapshot to a function of the caller's, a few KiB at a time: the bytes that\n cuarena_snapshot_write would write. UNSUPPORTED if the function did not take all; it has had a\n part of the snapshot then."]
    pub fn cuarena_snapshot_to(
        arena: *mut cuarena_t,
        format: i32,
        write: cuarena_write_fn,
        user: *mut ::core::ffi::c_void,
    ) -> cuarena_status_t;
    #[doc = " Begins to record in a file: \"%p\" in the path becomes the number of the process, \"%n\" that of the\n trace in it, from 1 on, and \"%%\" a percent sign. BAD_ARGUMENT for another percent sign, \"\", or\n more than 255 bytes; BUSY where the arena records in a file already, or another arena or process\n in this one; DRIVER with errno where the file cannot be made or written; UNSUPPORTED for .gz\n where there is no libz.so.1; REENTERED from a function of the arena's memory, and where this\n thread begins or ends the arena's trace already. Nothing has changed then: a file that was there\n is as before, and none is made. The file has the mode that umask leaves. O(live blocks) under the\n arena's lock, with host memory for a line of each."]
    pub fn cuarena_trace_begin(
        arena: *mut cuarena_t,
        path: *const ::core::ffi::c_char,
    ) -> cuarena_status_t;
    #[doc = " Ends the recording, when all lines are in the file. OK if there was none. DRIVER with errno where\n the file could not be written to its end: it has whole lines up to there; REENTERED as\n cuarena_trace_begin. O(threads)."]
    pub fn cuarena_trace_end(arena: *mut cuarena_t) -> cuarena_status_t;
    #[doc = " Copies the last events that the arena keeps in memory (option trace_ring), the oldest first, at\n most `capacity` and trace_ring of them; `count_out` gets how many. `events` NULL with capacity 0\n only asks for the count. After a refusal the last ones say how it came to that. UNSUPPORTED with\n trace_ring=0; OUT_OF_MEMORY where the host has no memory for a copy. O(n log n) in threads times\n trace_ring; no allocation or free waits for it for longer than a copy of its own thread's events."]
    pub fn cuarena_trace_recent(
        arena: *mut cuarena_t,
        events: *mut cuarena_traced_t,
        capacity: usize,
        count_out: *mut usize,
    ) -> cuarena_status_t;
}
