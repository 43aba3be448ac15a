//! The words of the options table, as types.
//!
//! Each type is one option; docs/options.md of the C library tells the same in
//! text, which parses to the type and is what it displays as. A value that a
//! newer library has and this crate does not is set with
//! [`ArenaBuilder::option`].

use std::fmt;
use std::str::FromStr;

use crate::{ffi, ArenaBuilder, Error, ErrorKind, Result};

/// A choice that has a number in the C library.
pub(crate) trait Choice: Sized + 'static {
    /// Every variant.
    const ALL: &'static [Self];

    /// The variant of a number.
    fn of_code(code: i32) -> Option<Self>;
}

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $code:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$of])* $variant,)*
        }

        impl $name {
            pub(crate) fn code(self) -> i32 {
                match self {
                    $(Self::$variant => ffi::$code,)*
                }
            }
        }

        impl Choice for $name {
            const ALL: &'static [Self] = &[$(Self::$variant,)*];

            fn of_code(code: i32) -> Option<Self> {
                match code {
                    $(ffi::$code => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

/// The words that an option has for its choices.
macro_rules! words {
    ($($name:ident of $key:ident,)*) => {$(
        /// From its word in the options table.
        impl FromStr for $name {
            type Err = Error;

            fn from_str(word: &str) -> Result<Self> {
                let key = stringify!($key);
                let set = ArenaBuilder::new().option(key, word)?;
                Self::of_code(set.config().$key).ok_or_else(|| no_variant::<Self>(key, word))
            }
        }

        /// Its word in the options table.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let set = ArenaBuilder::new().$key(*self);
                f.pad(&set.get(stringify!($key)).map_err(|_| fmt::Error)?)
            }
        }
    )*};
}

/// Text that the option accepts and that none of the variants stands for: "as
/// the preset says", or a value of a newer library.
#[cold]
fn no_variant<T: Choice + fmt::Display>(key: &str, word: &str) -> Error {
    let words: Vec<_> = T::ALL.iter().map(T::to_string).collect();
    let accepted = words.join(", ");
    let message = format!("{key}: '{word}', which no variant stands for; accepted: {accepted}");
    Error::new(ErrorKind::BadArgument, message)
}

choice! {
    /// The rules that an arena begins with.
    ///
    /// ```
    /// use cuarena::Preset;
    /// # fn main() -> cuarena::Result<()> {
    /// let preset: Preset = "mlx-cpu".parse()?;
    /// assert_eq!((preset, preset.to_string()), (Preset::MlxCpu, "mlx-cpu".into()));
    /// # Ok(())
    /// # }
    /// ```
    Preset {
        /// A fixed size, with a stable region if one is asked for.
        Pool = CUARENA_PRESET_POOL,
        /// No more than requests need, in place, until the limit.
        Grow = CUARENA_PRESET_GROW,
        /// As ONNX Runtime's arena, whose keys it knows.
        Bfc = CUARENA_PRESET_BFC,
        /// As MLX's allocator for the CPU: freed blocks stay whole in a cache.
        MlxCpu = CUARENA_PRESET_MLX_CPU,
        /// As MLX's allocator for GPUs: freed blocks stay whole in a cache.
        MlxCuda = CUARENA_PRESET_MLX_CUDA,
        /// As CuPy's `MemoryPool`: chunks of what requests need; what a stream
        /// freed stays that stream's.
        CupyPool = CUARENA_PRESET_CUPY_POOL,
        /// As CuPy's `MemoryAsyncPool`: the driver allocates each block.
        DriverPool = CUARENA_PRESET_DRIVER_POOL,
    }
}

choice! {
    /// Where bytes come from. Bytes and functions of the program's own have
    /// builder methods of their own.
    MemoryKind {
        /// Host pages, committed as needed; needs no GPU. The default of most
        /// presets.
        Pageable = CUARENA_MEMORY_PAGEABLE,
        /// Addresses without bytes, for simulations.
        None = CUARENA_MEMORY_NONE,
        /// A GPU's.
        Device = CUARENA_MEMORY_DEVICE,
        /// A GPU's and the CPU's, by migration.
        Managed = CUARENA_MEMORY_MANAGED,
        /// Host pages that a GPU can reach.
        Pinned = CUARENA_MEMORY_PINNED,
    }
}

choice! {
    /// By how much an arena grows.
    Grow {
        /// Not at all.
        None = CUARENA_GROW_NONE,
        /// By what a request lacks.
        Exact = CUARENA_GROW_EXACT,
        /// By chunks that double.
        Doubling = CUARENA_GROW_DOUBLING,
    }
}

choice! {
    /// When bytes are set to 0.
    Zero {
        /// Only where a request asks for it.
        Never = CUARENA_ZERO_NEVER,
        /// All bytes, when the memory gives them.
        Create = CUARENA_ZERO_CREATE,
        /// Each block, before it is handed out.
        Alloc = CUARENA_ZERO_ALLOC,
        /// Each block, before its bytes are reused. A drop takes that long.
        Free = CUARENA_ZERO_FREE,
        /// Each block whose bytes another tag or capture session may have had:
        /// all of them, once there are two of these.
        Owner = CUARENA_ZERO_OWNER,
    }
}

choice! {
    /// Which bytes get a pattern, for debugging.
    Fill {
        /// None.
        Never = CUARENA_FILL_NEVER,
        /// Those of a new block: 0xCD.
        Alloc = CUARENA_FILL_ALLOC,
        /// Those of a freed block: 0xDD.
        Free = CUARENA_FILL_FREE,
        /// Both.
        Both = CUARENA_FILL_BOTH,
    }
}

choice! {
    /// Whose blocks a tool such as compute-sanitizer is told of, by NVTX, if
    /// there is one.
    Nvtx {
        /// Nobody's.
        Off = CUARENA_NVTX_OFF,
        /// Those of memory that a GPU reaches: device, managed, pinned.
        Auto = CUARENA_NVTX_AUTO,
        /// Those of any memory.
        On = CUARENA_NVTX_ON,
    }
}

choice! {
    /// How a free range is chosen for a request.
    Placement {
        /// Small and giant blocks from the top end, others from the bottom.
        Default = CUARENA_PLACEMENT_DEFAULT,
        /// The smallest size class with room, wherever it lies.
        Best = CUARENA_PLACEMENT_BEST,
        /// The lowest part with room: for what grows and shrinks.
        Low = CUARENA_PLACEMENT_LOW,
    }
}

choice! {
    /// How [`MemoryKind::Device`] gets its bytes.
    Backing {
        /// As the preset says; in most `Vmm` where the device has it, else
        /// `Malloc`.
        Auto = CUARENA_BACKING_AUTO,
        /// Handles mapped into addresses that are set aside.
        Vmm = CUARENA_BACKING_VMM,
        /// One allocation of the driver for each segment.
        Malloc = CUARENA_BACKING_MALLOC,
        /// One stream-ordered allocation for each segment.
        Async = CUARENA_BACKING_ASYNC,
    }
}

choice! {
    /// What a block is cut from.
    Segments {
        /// A segment, with other blocks.
        Shared = CUARENA_SEGMENTS_SHARED,
        /// Nothing: each block is a segment of its own, and keeps its size.
        Each = CUARENA_SEGMENTS_EACH,
    }
}

choice! {
    /// Which of the driver's pools [`Backing::Async`] takes its bytes from. One
    /// of the program's own is named by
    /// [`driver_pool_handle`](crate::ArenaBuilder::driver_pool_handle).
    DriverPool {
        /// The device's current one, when the arena is made.
        Current = CUARENA_DRIVER_POOL_CURRENT,
        /// The device's default one.
        Default = CUARENA_DRIVER_POOL_DEFAULT,
        /// One that the arena makes and ends.
        Own = CUARENA_DRIVER_POOL_OWN,
    }
}

choice! {
    /// What a free leaves behind.
    Keep {
        /// Free bytes, until they are trimmed.
        All = CUARENA_KEEP_ALL,
        /// The whole block, in a cache.
        Cache = CUARENA_KEEP_CACHE,
        /// Nothing: whole pages go back at once.
        None = CUARENA_KEEP_NONE,
    }
}

choice! {
    /// What a free does with a block that the cache has no room for.
    CacheBound {
        /// The block is not cached.
        Strict = CUARENA_CACHE_STRICT,
        /// It is, if the cache is not full before it; the next allocation trims
        /// the cache.
        Late = CUARENA_CACHE_LATE,
    }
}

choice! {
    /// What a soft limit does.
    SoftLimit {
        /// Nothing: programs may ask for it.
        Store = CUARENA_SOFT_STORE,
        /// Cached blocks end before it is passed.
        Enforce = CUARENA_SOFT_ENFORCE,
    }
}

choice! {
    /// A property that memory may have.
    Property {
        /// Not asked for.
        Off = CUARENA_PROPERTY_OFF,
        /// Had if that is possible.
        Try = CUARENA_PROPERTY_TRY,
        /// An error if it cannot be had.
        Require = CUARENA_PROPERTY_REQUIRE,
    }
}

choice! {
    /// When an event is recorded on a stream.
    Events {
        /// When freed bytes of the stream are needed.
        Late = CUARENA_EVENTS_LATE,
        /// At every free: for programs whose streams wait for each other
        /// through memory.
        Eager = CUARENA_EVENTS_EAGER,
    }
}

choice! {
    /// Which bytes that another stream freed a stream may get.
    Steal {
        /// All: the stream waits for the other one, on the device, before the
        /// arena grows.
        First = CUARENA_STEAL_FIRST,
        /// All, but the stream is made to wait only where the arena cannot
        /// grow.
        Wait = CUARENA_STEAL_WAIT,
        /// Those that are known to be idle, or that the stream has waited for.
        Idle = CUARENA_STEAL_IDLE,
        /// None, until a call reclaims them.
        Never = CUARENA_STEAL_NEVER,
    }
}

choice! {
    /// What becomes of keys that no option has.
    UnknownKeys {
        /// An error.
        Error = CUARENA_UNKNOWN_ERROR,
        /// A warning in the log.
        Warn = CUARENA_UNKNOWN_WARN,
    }
}

choice! {
    /// What bytes of the program's own are.
    BytesKind {
        /// The host's.
        Host = CUARENA_BYTES_HOST,
        /// A device's.
        Device = CUARENA_BYTES_DEVICE,
        /// A device's and the host's, by migration.
        Managed = CUARENA_BYTES_MANAGED,
        /// The host's, and reached by a device.
        Pinned = CUARENA_BYTES_PINNED,
    }
}

choice! {
    /// A part of an arena with rules of its own.
    Region {
        /// All but the stable region; blocks in it may move.
        Dynamic = CUARENA_REGION_DYNAMIC,
        /// The front of a pool: blocks in it never move, and it never gets
        /// bytes of the rest, or the other way.
        Stable = CUARENA_REGION_STABLE,
    }
}

choice! {
    /// What a limit bounds.
    LimitKind {
        /// Bytes taken from the memory.
        Reserved = CUARENA_LIMIT_RESERVED,
        /// Bytes of live blocks, as allocated.
        Live = CUARENA_LIMIT_LIVE,
        /// Bytes of cached blocks.
        Cached = CUARENA_LIMIT_CACHED,
        /// Bytes of live and cached blocks; refuses nothing.
        Soft = CUARENA_LIMIT_SOFT,
        /// How many free bytes the driver's pool of the arena keeps when
        /// somebody waits for the device: its release threshold, for everybody
        /// who uses the pool. No limit: it gives nothing back.
        Threshold = CUARENA_LIMIT_THRESHOLD,
    }
}

words! {
    Preset of preset,
    MemoryKind of memory,
    Grow of grow,
    Zero of zero,
    Fill of fill,
    Nvtx of nvtx,
    Placement of placement,
    Backing of backing,
    Segments of segments,
    DriverPool of driver_pool,
    Keep of keep,
    CacheBound of cache_bound,
    SoftLimit of soft_limit_rule,
    Property of fd,
    Events of events,
    Steal of steal,
    UnknownKeys of unknown_keys,
}

/// When what a free range has more than a request is split off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Split {
    /// As the preset says.
    Preset,
    /// If it has so many bytes, or as many as the request. 0: always.
    AtLeast(usize),
    /// Never.
    Never,
}

impl Split {
    pub(crate) fn code(self) -> u64 {
        match self {
            Self::Preset => ffi::CUARENA_BYTES_PRESET,
            Self::AtLeast(bytes) => bytes as u64,
            Self::Never => u64::MAX,
        }
    }
}

/// How many free bytes a pool of the driver's keeps when somebody waits for the
/// device; it holds for everybody who uses the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReleaseThreshold {
    /// As the preset says: all in [`Preset::DriverPool`], in others what it
    /// kept before.
    Preset,
    /// What it kept before.
    Unchanged,
    /// So many bytes.
    Bytes(usize),
    /// All: it gives nothing back.
    Never,
}

impl ReleaseThreshold {
    pub(crate) fn code(self) -> u64 {
        match self {
            Self::Preset => ffi::CUARENA_BYTES_PRESET,
            Self::Unchanged => ffi::CUARENA_BYTES_UNCHANGED,
            Self::Bytes(bytes) => bytes as u64,
            Self::Never => u64::MAX,
        }
    }
}
