//! How an arena is configured.
//!
//! Every row of the C library's options table has a setter here, and
//! [`option`](ArenaBuilder::option) and [`parse`](ArenaBuilder::parse) take the
//! same as text. Later settings replace earlier ones. Nothing is checked
//! against each other before [`build`](ArenaBuilder::build).

use std::any::Any;
use std::ffi::{c_char, c_void};
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::amount::c_text;
use crate::choices::{
    Backing, BytesKind, CacheBound, DriverPool, Events, Fill, Grow, Keep, MemoryKind, Nvtx,
    Placement, Preset, Property, ReleaseThreshold, Segments, SoftLimit, Split, Steal, UnknownKeys,
    Zero,
};
use crate::error::check;
use crate::ffi;
use crate::life::{self, Handle, Hold, Kept};
use crate::memory::{Guest, Hosted, Memory};
use crate::{Amount, Arena, Error, ErrorKind, Result};

/// The options of an arena that is to be made.
///
/// ```
/// use cuarena::{Amount, Arena, Preset};
/// # fn main() -> Result<(), cuarena::Error> {
/// let arena = Arena::builder()
///     .preset(Preset::Grow)
///     .limit(Amount::bytes(64 << 20))
///     .name("scratch")
///     .option("alignment", "512")?
///     .build()?;
/// let block = arena.alloc(1000)?;
/// assert_eq!(block.info()?.allocated, 1024);
/// # Ok(())
/// # }
/// ```
///
/// A clone is a builder of its own: of bytes that were handed over it has a
/// copy, and a memory of the program's own serves the arenas of both.
#[must_use = "an arena is made by `build`"]
#[derive(Clone)]
pub struct ArenaBuilder {
    config: ffi::cuarena_config_t,
    /// Where `config` has bytes that were handed over.
    buffer: Option<Buffer>,
    kept: Vec<Shared>,
    custom: Option<Arc<dyn Memory>>,
    /// The driver's pool that a caller has said to be live; 0: none.
    vouched_pool: u64,
}

/// What each arena of a builder or its clones keeps alive.
pub(crate) type Shared = Arc<dyn Any + Send + Sync>;

// SAFETY: its pointers are to what is kept beside them, which is Send and Sync,
// or to what the caller of `bytes` or `context` has vouched for; nothing follows
// them before the arena is made.
unsafe impl Send for ArenaBuilder {}
// SAFETY: as above.
unsafe impl Sync for ArenaBuilder {}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($value:ident: $type:ty) => $member:ident = $as:expr;)*) => {
        impl ArenaBuilder {
            $($(#[$doc])*
            pub fn $name(mut self, $value: $type) -> Self {
                self.config.$member = $as;
                self
            })*
        }
    };
}

setters! {
    /// The rules to begin with; [`Preset::Pool`].
    preset(preset: Preset) => preset = preset.code();
    /// Where bytes come from; as the preset says, in most
    /// [`MemoryKind::Pageable`].
    memory(memory: MemoryKind) => memory = memory.code();
    /// The size of a pool, its stable region included; all that is available
    /// but 512 MiB.
    pool(amount: impl Into<Amount>) => pool = amount.into().raw();
    /// How much of a pool is the stable region, which never moves; nothing.
    stable(amount: impl Into<Amount>) => stable = amount.into().raw();
    /// The most bytes to take from the memory; all that is available.
    limit(amount: impl Into<Amount>) => limit = amount.into().raw();
    /// Addresses, in bytes, set aside for growing in place; 0, the default:
    /// as the limit says.
    addresses(bytes: usize) => address_bytes = bytes as u64;
    /// The granule, of which addresses and sizes of blocks are multiples: a
    /// power of two from 8 bytes; as the preset says, mostly 256.
    alignment(bytes: usize) => alignment = bytes as u64;
    /// When what a free range has more than a request is split off; as the
    /// preset says.
    split(split: Split) => split_threshold = split.code();
    /// The most blocks that live at once; 2^26.
    max_blocks(blocks: u64) => max_blocks = blocks;
    /// By how much to grow; as the preset says.
    grow(grow: Grow) => grow = grow.code();
    /// When bytes are set to 0; never.
    zero(zero: Zero) => zero = zero.code();
    /// For debugging: bytes before and behind each block, up to 4 KiB, that are
    /// checked when it is dropped and by [`Arena::check_guards`](crate::Arena::check_guards);
    /// 0.
    guard(bytes: usize) => guard_bytes = bytes as u64;
    /// For debugging: which bytes get a pattern; none.
    fill(fill: Fill) => fill = fill.code();
    /// For debugging: the most bytes of dropped blocks that wait before anybody
    /// gets them, so that writes to them are found; 0.
    quarantine(bytes: usize) => quarantine_bytes = bytes as u64;
    /// For debugging: how many callers are kept for each live block, up to 32;
    /// 0.
    stacks(frames: u32) => stacks = i32::try_from(frames).unwrap_or(i32::MAX);
    /// Whose blocks a tool such as compute-sanitizer is told of;
    /// [`Nvtx::Auto`].
    nvtx(nvtx: Nvtx) => nvtx = nvtx.code();
    /// How a free range is chosen; as the preset says.
    placement(placement: Placement) => placement = placement.code();
    /// Whether blocks are moved together before a request is refused; off.
    compact_on_oom(on: bool) => compact_on_oom = on.into();
    /// The device's number; 0.
    device(ordinal: u32) => device = i32::try_from(ordinal).unwrap_or(i32::MAX);
    /// How [`MemoryKind::Device`] gets its bytes; as the preset says.
    backing(backing: Backing) => backing = backing.code();
    /// Whether blocks can be exported to other processes.
    fd(property: Property) => fd = property.code();
    /// Whether network cards can reach the bytes.
    rdma(property: Property) => rdma = property.code();
    /// Whether handles can be exported to other hosts.
    fabric(property: Property) => fabric = property.code();
    /// Whether the other devices can reach the bytes.
    peers(property: Property) => peers = property.code();
    /// What [`Backing::Vmm`] takes and gives back at a time: a power of two of
    /// bytes; 0, the default: by the arena's size.
    handle_bytes(bytes: usize) => handle_bytes = bytes as u64;
    /// Whether devices can reach pinned memory; on.
    mapped(on: bool) => mapped = on.into();
    /// Whether pinned memory is fast to write and slow to read; off.
    write_combined(on: bool) => write_combined = on.into();
    /// Whether pinned memory is pinned for every context; on.
    portable(on: bool) => portable = on.into();
    /// Whether the CPU never touches blocks that streams use, though it could
    /// reach them; off.
    device_only(on: bool) => device_only = on.into();
    /// When an event is recorded on a stream; late.
    events(events: Events) => events = events.code();
    /// Which bytes that another stream freed a stream may get; as the preset
    /// says, in most all, behind a wait.
    steal(steal: Steal) => steal = steal.code();
    /// The first chunk of [`Grow::Doubling`], and of
    /// [`take_first`](Self::take_first); 1 MiB.
    initial_chunk(bytes: usize) => initial_chunk = bytes as u64;
    /// The next chunk of [`Grow::Doubling`] after a trim; 2 MiB.
    growth_after_trim(bytes: usize) => growth_after_trim = bytes as u64;
    /// The largest chunk that [`Grow::Doubling`] doubles to; 1 GiB.
    max_doubling(bytes: usize) => max_doubling = bytes as u64;
    /// Whether an arena that grows takes a chunk when it is made; off.
    take_first(on: bool) => take_first = on.into();
    /// What becomes of a key that no option has in [`option`](Self::option) and
    /// [`parse`](Self::parse) from now on.
    unknown_keys(unknown: UnknownKeys) => unknown_keys = unknown.code();
    /// Whether segments are lengthened, shortened and punched where the memory
    /// can; else each keeps its length and goes back whole. As the preset says.
    in_place(on: bool) => in_place = on.into();
    /// Whether an arena that grows by what is lacking gives idle pages back for
    /// those that it takes, as long as that is worth it. As the preset says.
    reuse(on: bool) => reuse = on.into();
    /// Whether blocks are cut from segments, or each is one; as the preset
    /// says.
    segments(segments: Segments) => segments = segments.code();
    /// Which of the driver's pools [`Backing::Async`] takes from; the current
    /// one.
    driver_pool(pool: DriverPool) => driver_pool = pool.code();
    /// The most bytes that [`DriverPool::Own`] takes of its device; 0, the
    /// default: no limit. Needs a driver of 12.2.
    driver_pool_max(bytes: usize) => driver_pool_max = bytes as u64;
    /// How many free bytes a driver's pool keeps when somebody waits for the
    /// device; as the preset says.
    release_threshold(threshold: ReleaseThreshold) => release_threshold = threshold.code();
    /// Whether the arena makes its pool the device's current one, for the whole
    /// process; off.
    make_current(on: bool) => make_current = on.into();
    /// Whether a driver's pool refuses to grow above its release threshold;
    /// off.
    threshold_limits(on: bool) => threshold_limits = on.into();
    /// What [`shrink_shared`](crate::shrink_shared) leaves; 0 bytes.
    keep_on_trim(bytes: usize) => keep_on_trim = bytes as u64;
    /// Whether an arena of device memory is one of [`Preset::DriverPool`] and
    /// [`DriverPool::Own`] instead, as ONNX Runtime has it; pinned memory
    /// passes this over, and the keys of that pool. Off.
    use_cuda_mempool(on: bool) => use_cuda_mempool = on.into();
    /// What a free leaves behind; as the preset says.
    keep(keep: Keep) => keep = keep.code();
    /// Whether the cache never exceeds its limit; as the preset says.
    cache_bound(bound: CacheBound) => cache_bound = bound.code();
    /// The most bytes in the cache; [`Amount::ALL`]: as the preset says, else
    /// the soft limit.
    cache_limit(amount: impl Into<Amount>) => cache_limit = amount.into().raw();
    /// A request, rounded up, gets a cached block that is less than twice as
    /// large, and larger by less than two of these, in bytes; as the preset
    /// says.
    cache_page(bytes: usize) => cache_page = bytes as u64;
    /// A limit of live and cached bytes that refuses nothing;
    /// [`Amount::ALL`]: as the preset says, else none.
    soft_limit(amount: impl Into<Amount>) => soft_limit = amount.into().raw();
    /// What the soft limit does: nothing, or cached blocks end to stay below
    /// it; as the preset says.
    soft_limit_rule(rule: SoftLimit) => soft_limit_rule = rule.code();
    /// Sizes below it are rounded up to a power of two. A power of two of
    /// bytes, or 0: none; as the preset says.
    round_powers(bytes: usize) => round_powers = bytes as u64;
    /// Sizes from [`round_powers`](Self::round_powers) on are rounded up to a
    /// multiple of it, likewise.
    round_to(bytes: usize) => round_to = bytes as u64;
    /// Blocks are aligned to the least power of two that they fit in, of this
    /// at most, likewise.
    natural(bytes: usize) => natural = bytes as u64;
}

impl ArenaBuilder {
    pub(crate) fn new() -> Self {
        let mut config = MaybeUninit::<ffi::cuarena_config_t>::zeroed();
        // SAFETY: all bits 0 are a value of the struct, which its function
        // then fills.
        let config = unsafe {
            ffi::cuarena_config_init(config.as_mut_ptr());
            config.assume_init()
        };
        Self {
            config,
            buffer: None,
            kept: Vec::new(),
            custom: None,
            vouched_pool: 0,
        }
    }

    /// What logs and messages call the arena. Cut to 31 bytes, at a character.
    pub fn name(mut self, name: &str) -> Self {
        let room = self.config.name.len() - 1;
        let mut end = name.len().min(room);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        self.config.name = [0; 32];
        for (to, from) in self.config.name.iter_mut().zip(name[..end].bytes()) {
            *to = from as c_char;
        }
        self
    }

    /// The file for a snapshot when a request is refused for lack of bytes: in
    /// PyTorch's format if it ends in .pickle, else JSON. `%n` in it is the
    /// refusal's number, from 1 to 16; without that only the first has one. `%p`
    /// is the process, `%%` a percent sign.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadArgument`] for more than 255 bytes, or another letter
    /// behind a percent sign.
    pub fn snapshot_on_oom(self, pattern: &str) -> Result<Self> {
        self.option("snapshot_on_oom", pattern)
    }

    /// A file to record calls in: [`Arena::trace_begin`](crate::Arena::trace_begin)
    /// from creation on.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadArgument`] for more than 255 bytes.
    pub fn trace(self, path: &str) -> Result<Self> {
        self.option("trace", path)
    }

    /// How many of the last events of each thread are kept in memory, for the
    /// events of [`Arena::snapshot`](crate::Arena::snapshot).
    pub fn trace_ring(mut self, count: u32) -> Self {
        self.config.trace_ring = i32::try_from(count).unwrap_or(i32::MAX);
        self
    }

    /// Sets one option from text: keys and values of docs/options.md, and ONNX
    /// Runtime's names for its arena.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadArgument`] names key, value and what would be accepted.
    ///
    /// ```
    /// let error = cuarena::Arena::builder().option("alignment", "100").unwrap_err();
    /// assert!(error.message().contains("alignment"));
    /// ```
    pub fn option(mut self, key: &str, value: &str) -> Result<Self> {
        let (key, value) = (c_text(key)?, c_text(value)?);
        // SAFETY: all three live until the call returns.
        check(unsafe { ffi::cuarena_config_set(&mut self.config, key.as_ptr(), value.as_ptr()) })?;
        Ok(self)
    }

    /// Sets options from text: `key=value,key=value`.
    ///
    /// # Errors
    ///
    /// As [`option`](Self::option).
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// let arena = cuarena::Arena::builder()
    ///     .parse("preset=grow, limit=16MiB, name=weights")?
    ///     .build()?;
    /// assert_eq!(arena.limit(cuarena::LimitKind::Reserved)?, Some(16 << 20));
    /// # Ok(())
    /// # }
    /// ```
    pub fn parse(mut self, text: &str) -> Result<Self> {
        let text = c_text(text)?;
        // SAFETY: both live until the call returns.
        check(unsafe { ffi::cuarena_config_parse(&mut self.config, text.as_ptr()) })?;
        Ok(self)
    }

    /// Sets options from the text in the environment's `CUARENA_CONF`, if there
    /// is one. Nothing else reads it.
    ///
    /// # Errors
    ///
    /// As [`option`](Self::option).
    pub fn environment(mut self) -> Result<Self> {
        // SAFETY: the config is a valid one.
        check(unsafe { ffi::cuarena_config_environment(&mut self.config) })?;
        Ok(self)
    }

    /// Sets the limit from a variable of the environment, `None`:
    /// `CUPY_GPU_MEMORY_LIMIT`, as CuPy reads it: digits are bytes; a number of
    /// at most three decimals and `%` are that part of all that the memory has;
    /// `0` and `0%` are no limit. Without such a variable nothing changes.
    /// Nothing else reads it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadArgument`] for any other text: the message names
    /// variable, text and what is accepted.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// let builder = cuarena::Arena::builder().limit_environment(Some("NO_SUCH_LIMIT"))?;
    /// assert_eq!(builder.get("limit")?, "auto");
    /// # Ok(())
    /// # }
    /// ```
    pub fn limit_environment(mut self, variable: Option<&str>) -> Result<Self> {
        let variable = variable.map(c_text).transpose()?;
        let name = variable.as_ref().map_or(ptr::null(), |name| name.as_ptr());
        // SAFETY: the config is a valid one; the name lives until the return.
        check(unsafe { ffi::cuarena_config_limit_environment(&mut self.config, name) })?;
        Ok(self)
    }

    /// Replaces every "as the preset says" by its value: all that
    /// [`build`](Self::build) would do. A memory of the program's own is
    /// [described](Memory::describe) for it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadArgument`] for options that do not go together.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// use cuarena::{Arena, Preset};
    /// let builder = Arena::builder().preset(Preset::CupyPool);
    /// assert_eq!(builder.get("alignment")?, "preset");
    /// assert_eq!(builder.resolve()?.get("alignment")?, "512");
    /// # Ok(())
    /// # }
    /// ```
    pub fn resolve(mut self) -> Result<Self> {
        let hosted = self.host();
        let full = self.resolved();
        if let Some(hosted) = hosted {
            hosted.reclaim(false);
        }
        self.config = full?;
        self.config.ops = ptr::null();
        self.config.ops_user = ptr::null_mut();
        Ok(self)
    }

    /// The configuration as an arena would be made of it.
    pub(crate) fn resolved(&self) -> Result<ffi::cuarena_config_t> {
        self.check_pool()?;
        let mut full = self.config;
        // SAFETY: the config is a valid one, and copied.
        check(unsafe { ffi::cuarena_config_resolve(&mut full) })?;
        Ok(full)
    }

    /// Options as text may name a pool, but nobody says there that it is live.
    pub(crate) fn check_pool(&self) -> Result<()> {
        let (pool, handle) = (self.config.driver_pool, self.config.driver_pool_handle);
        if pool != ffi::CUARENA_DRIVER_POOL_EXTERNAL || handle == self.vouched_pool {
            return Ok(());
        }
        let message = format!(
            "driver_pool_handle: {handle}, for which nobody vouches; accepted: one that \
             ArenaBuilder::driver_pool_handle was given"
        );
        Err(Error::new(ErrorKind::BadArgument, message))
    }

    /// The value of one option, as text that [`option`](Self::option) accepts.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadArgument`] for an unknown key,
    /// [`ErrorKind::Unsupported`] for a value that has no text.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// let builder = cuarena::Arena::builder().alignment(4096);
    /// assert_eq!(builder.get("alignment")?, "4KiB");
    /// # Ok(())
    /// # }
    /// ```
    pub fn get(&self, key: &str) -> Result<String> {
        let key = c_text(key)?;
        let mut text = [0 as c_char; 256];
        // SAFETY: all live until the call returns, and the size is the text's.
        check(unsafe {
            ffi::cuarena_config_get(&self.config, key.as_ptr(), text.as_mut_ptr(), text.len())
        })?;
        Ok(crate::error::text_of(&text))
    }

    /// Takes its memory from bytes that are handed over and live as long as the
    /// arena.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// let arena = cuarena::Arena::builder()
    ///     .buffer(vec![0_u8; 1 << 16].into_boxed_slice())
    ///     .build()?;
    /// assert_eq!(arena.alloc(1000)?.len(), 1000);
    /// # Ok(())
    /// # }
    /// ```
    pub fn buffer(self, bytes: impl Into<Box<[u8]>>) -> Self {
        let mut builder = self.own_bytes(ptr::null_mut(), 0, BytesKind::Host);
        builder.buffer = Some(Buffer::new(bytes.into()));
        builder
    }

    /// Takes its memory from bytes that the program owns.
    ///
    /// # Safety
    ///
    /// They are what `kind` says, and valid to read and write until the arena
    /// has ended, which may be after its last handle is dropped: only
    /// [`Arena::close`] tells. Nothing else uses them meanwhile, no arena of a
    /// clone of this either.
    pub unsafe fn bytes(self, start: *mut c_void, size: usize, kind: BytesKind) -> Self {
        self.own_bytes(start, size, kind)
    }

    fn own_bytes(mut self, start: *mut c_void, size: usize, kind: BytesKind) -> Self {
        self.buffer = None;
        self.config.memory = ffi::CUARENA_MEMORY_BYTES;
        self.config.bytes = start;
        self.config.bytes_size = size as u64;
        self.config.bytes_kind = kind.code();
        self
    }

    /// Uses a context (`CUcontext`) instead of the device's primary one; null:
    /// the primary one.
    ///
    /// # Safety
    ///
    /// It is a live context until the arena has ended.
    pub unsafe fn context(mut self, context: *mut c_void) -> Self {
        self.config.context = context;
        self
    }

    /// Takes the bytes of [`Backing::Async`] from a pool of the program's own,
    /// a `CUmemoryPool` as a number.
    ///
    /// # Safety
    ///
    /// It is a live pool, of the arena's device, until the arena has ended.
    pub unsafe fn driver_pool_handle(mut self, handle: u64) -> Self {
        self.config.driver_pool = ffi::CUARENA_DRIVER_POOL_EXTERNAL;
        self.config.driver_pool_handle = handle;
        self.vouched_pool = handle;
        self
    }

    /// The configuration, for what has no setter here.
    pub(crate) fn config_mut(&mut self) -> &mut ffi::cuarena_config_t {
        self.place_buffer();
        &mut self.config
    }

    /// The configuration, to read what was set.
    pub(crate) fn config(&self) -> &ffi::cuarena_config_t {
        &self.config
    }

    /// Names the bytes that were handed over, in this builder or the one that
    /// it is a clone of.
    fn place_buffer(&mut self) {
        if let Some(buffer) = &self.buffer {
            self.config.bytes = buffer.start().as_ptr().cast();
            self.config.bytes_size = buffer.size();
        }
    }

    /// Keeps something alive as long as the arena that will be made.
    #[cfg(feature = "cudarc")]
    pub(crate) fn keep_alive(&mut self, kept: Shared) {
        self.kept.push(kept);
    }

    /// What is to live as long as the arena.
    pub(crate) fn into_kept(self) -> Vec<Kept> {
        let shared = self.kept.into_iter().map(|kept| Box::new(kept) as Kept);
        let buffer = self.buffer.map(|buffer| Box::new(buffer) as Kept);
        shared.chain(buffer).collect()
    }

    /// Takes its memory from functions of the program's own.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// use cuarena::memory::{Memory, MemoryDescription, MemoryResult, Segment};
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// /// Numbers from 1 MiB on, for something that is addressed by number.
    /// struct Shelf(AtomicU64);
    ///
    /// // SAFETY: no number is given twice, and nothing is touched.
    /// unsafe impl Memory for Shelf {
    ///     fn describe(&self) -> MemoryDescription {
    ///         MemoryDescription::new("shelf")
    ///     }
    ///
    ///     fn get(&self, bytes: u64, _reserve: u64) -> MemoryResult<Segment> {
    ///         let address = self.0.fetch_add(bytes, Ordering::Relaxed);
    ///         Ok(Segment { address, bytes, address_bytes: bytes, cookie: 0 })
    ///     }
    ///
    ///     fn give_back(&self, _segment: Segment) {}
    /// }
    ///
    /// let shelf = Shelf(AtomicU64::new(1 << 20));
    /// let arena = cuarena::Arena::builder().custom(shelf).pool(1 << 16).build()?;
    /// let block = arena.alloc(1000)?;
    /// assert!(!arena.is_host_readable());
    /// # drop(block);
    /// # Ok(())
    /// # }
    /// ```
    pub fn custom<M: Memory>(mut self, memory: M) -> Self {
        self.config.memory = ffi::CUARENA_MEMORY_CUSTOM;
        self.custom = Some(Arc::new(memory));
        self
    }

    /// Puts the memory of the program's own, if that is to be used, into the
    /// configuration.
    fn host(&mut self) -> Option<Box<Hosted>> {
        self.place_buffer();
        if self.config.memory != ffi::CUARENA_MEMORY_CUSTOM {
            return None;
        }
        let hosted = Box::new(Guest::host(self.custom.clone()?));
        self.config.ops = &hosted.ops;
        self.config.ops_user = hosted.user();
        Some(hosted)
    }

    fn create(&self) -> Result<NonNull<ffi::cuarena_t>> {
        self.check_pool()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the config is a valid one; what it points to is kept, or
        // vouched for by who set it.
        check(unsafe { ffi::cuarena_create(&self.config, &mut raw) })?;
        NonNull::new(raw).ok_or_else(|| Error::new(ErrorKind::Corrupt, "an arena at no address"))
    }

    /// Lets the layer make its arenas of these options.
    pub(crate) fn configure_layer(&self) -> Result<()> {
        // SAFETY: the config is a valid one, and is copied; those with memory of
        // the program's own are refused.
        check(unsafe { ffi::cuarena_layer_configure(&self.config) })
    }

    /// Makes the arena. A pool takes its bytes now.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadArgument`], [`ErrorKind::OutOfMemory`] with what was
    /// available, [`ErrorKind::Limit`] if the pool is larger than the limit,
    /// [`ErrorKind::NoDevice`], [`ErrorKind::Driver`],
    /// [`ErrorKind::Unsupported`] if the memory cannot do what the options ask.
    ///
    /// ```
    /// use cuarena::{Arena, MemoryKind};
    /// match Arena::builder().memory(MemoryKind::Device).pool(1 << 20).build() {
    ///     Ok(arena) => println!("{arena:?}"),
    ///     Err(error) if error.is_no_device() => println!("{error}"),
    ///     Err(error) => panic!("{error}"),
    /// }
    /// ```
    pub fn build(mut self) -> Result<Arena> {
        life::end_what_was_set_aside();
        let hosted = self.host();
        let made = self.create();
        if let Some(hosted) = hosted {
            hosted.reclaim(made.is_ok());
        }
        Ok(Arena::of(Handle::new(made?, Hold::Alone, self.into_kept())))
    }
}

impl Default for ArenaBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ArenaBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for option in crate::options() {
            let value = self.get(option.key);
            map.entry(&option.key, &value.unwrap_or_else(|_| "(no text)".into()));
        }
        map.finish()
    }
}

/// Bytes that an arena was handed. They are used through the arena only: a box
/// would claim, whenever it is moved, that nothing else points to them.
struct Buffer(NonNull<[u8]>);

// SAFETY: the bytes belong to it.
unsafe impl Send for Buffer {}
// SAFETY: a shared buffer gives nothing but its address.
unsafe impl Sync for Buffer {}

impl Buffer {
    fn new(bytes: Box<[u8]>) -> Self {
        Self(NonNull::from(Box::leak(bytes)))
    }

    fn start(&self) -> NonNull<u8> {
        self.0.cast()
    }

    fn size(&self) -> u64 {
        self.0.len() as u64
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        // SAFETY: it came of a box, and no arena has it yet.
        Self::new(unsafe { self.0.as_ref() }.into())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: it came of a box, and the arena has ended.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
