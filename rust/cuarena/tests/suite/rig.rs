//! Kinds of arenas, and what a case gets of one.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use cuarena::{
    Arena, ArenaBuilder, Backing, Block, Error, MemoryKind, Preset, RawStream, Request, Stream,
};

use super::driver::{cu, driver, stream_for, Handle};
use super::guest::{HeapMemory, Ledger};

/// Where the bytes of a kind come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bytes {
    Of(MemoryKind),
    Device(Backing),
    Buffer,
    Guest,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    pub name: &'static str,
    pub preset: Preset,
    pub bytes: Bytes,
}

/// What calls go to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Uses {
    NoStream,
    OneStream,
    ManyStreams,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    pub kind: Kind,
    pub uses: Uses,
}

const fn kind(name: &'static str, preset: Preset, bytes: Bytes) -> Kind {
    Kind {
        name,
        preset,
        bytes,
    }
}

pub const HOST_KINDS: &[Kind] = &[
    kind(
        "pool-pageable",
        Preset::Pool,
        Bytes::Of(MemoryKind::Pageable),
    ),
    kind("pool-none", Preset::Pool, Bytes::Of(MemoryKind::None)),
    kind("pool-bytes", Preset::Pool, Bytes::Buffer),
    kind("pool-custom", Preset::Pool, Bytes::Guest),
    kind(
        "grow-pageable",
        Preset::Grow,
        Bytes::Of(MemoryKind::Pageable),
    ),
    kind("grow-none", Preset::Grow, Bytes::Of(MemoryKind::None)),
    kind("grow-custom", Preset::Grow, Bytes::Guest),
    kind("bfc-pageable", Preset::Bfc, Bytes::Of(MemoryKind::Pageable)),
    kind("cupy-custom", Preset::CupyPool, Bytes::Guest),
];

pub const DEVICE_KINDS: &[Kind] = &[
    kind("pool-vmm", Preset::Pool, Bytes::Device(Backing::Vmm)),
    kind("pool-malloc", Preset::Pool, Bytes::Device(Backing::Malloc)),
    kind("pool-async", Preset::Pool, Bytes::Device(Backing::Async)),
    kind("pool-managed", Preset::Pool, Bytes::Of(MemoryKind::Managed)),
    kind("pool-pinned", Preset::Pool, Bytes::Of(MemoryKind::Pinned)),
    kind("grow-vmm", Preset::Grow, Bytes::Device(Backing::Vmm)),
    kind("grow-malloc", Preset::Grow, Bytes::Device(Backing::Malloc)),
    kind("grow-pinned", Preset::Grow, Bytes::Of(MemoryKind::Pinned)),
    kind("bfc-vmm", Preset::Bfc, Bytes::Device(Backing::Vmm)),
    kind(
        "cupy-malloc",
        Preset::CupyPool,
        Bytes::Device(Backing::Malloc),
    ),
];

impl Kind {
    pub fn has_contents(&self) -> bool {
        self.bytes != Bytes::Of(MemoryKind::None)
    }

    /// Without a driver: those whose streams are numbers.
    fn has_streams(&self) -> bool {
        self.is_of_device() || self.has_numbers_for_streams()
    }

    /// What a stream freed is never another's before it is trimmed or idle.
    pub fn keeps_streams_apart(&self) -> bool {
        self.preset == Preset::CupyPool
    }

    /// One stream gets no bytes of another but those that are idle, so a
    /// request that cannot grow waits on the host, unless the work is done.
    pub fn takes_idle_only(&self) -> bool {
        self.preset == Preset::Bfc
    }

    fn has_numbers_for_streams(&self) -> bool {
        matches!(self.bytes, Bytes::Of(MemoryKind::None) | Bytes::Guest)
    }

    pub fn is_of_device(&self) -> bool {
        matches!(
            self.bytes,
            Bytes::Device(_) | Bytes::Of(MemoryKind::Managed | MemoryKind::Pinned)
        )
    }

    /// What blocks of the cases are multiples of: whole pages.
    pub fn unit(&self) -> usize {
        match self.bytes {
            Bytes::Device(Backing::Vmm) => 2 << 20,
            _ if self.is_of_device() => 512 << 10,
            _ => 64 << 10,
        }
    }

    pub fn rows(&'static self) -> impl Iterator<Item = Row> {
        [Uses::NoStream, Uses::OneStream, Uses::ManyStreams]
            .into_iter()
            .filter(|uses| match uses {
                Uses::NoStream => true,
                Uses::OneStream => self.has_streams(),
                Uses::ManyStreams => self.has_streams() && !self.keeps_streams_apart(),
            })
            .map(|uses| Row { kind: *self, uses })
    }

    fn builder(&self, bytes: usize, ledger: &Arc<Ledger>) -> ArenaBuilder {
        let builder = Arena::builder().preset(self.preset).name(self.name);
        let builder = match self.preset {
            Preset::Pool if self.bytes != Bytes::Buffer => builder.pool(bytes),
            _ => builder.limit(bytes),
        };
        match self.bytes {
            Bytes::Of(memory) => builder.memory(memory),
            Bytes::Device(backing) => builder.memory(MemoryKind::Device).backing(backing),
            Bytes::Buffer => builder.buffer(vec![0_u8; bytes + 256]).pool(bytes),
            Bytes::Guest => builder.custom(HeapMemory::of(ledger)),
        }
    }
}

/// An arena of a row.
pub struct Rig {
    pub row: Row,
    pub arena: Arena,
    pub ledger: Arc<Ledger>,
    pub streams: Vec<Stream>,
    turn: AtomicUsize,
    used_before: Option<u64>,
    seeds: AtomicU64,
}

impl Rig {
    /// A pool of so many bytes, or a limit of as many.
    pub fn open(row: Row, bytes: usize) -> Self {
        Self::open_with(row, bytes, |builder| builder)
    }

    pub fn open_with(
        row: Row,
        bytes: usize,
        more: impl FnOnce(ArenaBuilder) -> ArenaBuilder,
    ) -> Self {
        let used_before = driver().filter(|_| row.kind.is_of_device()).and_then(|d| {
            d.use_here();
            // Ends arenas whose streams were at work when they were dropped.
            drop(Arena::builder().pool(4096).build());
            d.used()
        });
        let ledger = Arc::new(Ledger::default());
        let arena = more(row.kind.builder(bytes, &ledger))
            .build()
            .expect("an arena");
        let count = match row.uses {
            Uses::NoStream => 0,
            Uses::OneStream => 1,
            Uses::ManyStreams => 4,
        };
        let streams = (1..=count)
            .map(|i| new_stream(&row.kind, &arena, i))
            .collect();
        Self {
            row,
            arena,
            ledger,
            streams,
            turn: AtomicUsize::new(0),
            used_before,
            seeds: AtomicU64::new(1),
        }
    }

    /// Eight units.
    pub fn small(row: Row) -> Self {
        Self::open(row, 8 * row.kind.unit())
    }

    /// Ends the arena, of which nothing may live, and looks that nothing of it
    /// is left.
    pub fn close(self) {
        self.arena.check().expect("a sound arena");
        // What waits for a stream that used it counts as live until then.
        self.reclaim();
        let Self {
            arena,
            ledger,
            streams,
            used_before,
            row,
            ..
        } = self;
        drop(streams);
        assert_eq!(arena.stats().live_blocks, 0, "blocks live");
        arena.close().expect("an arena that can end");
        assert_eq!(
            ledger.held.load(Ordering::Relaxed),
            0,
            "held by the custom memory"
        );
        let Some(driver) = driver().filter(|_| row.kind.is_of_device()) else {
            return;
        };
        driver.expect_clean();
        // The default pool of the device keeps what it has been given back.
        if row.kind.bytes != Bytes::Device(Backing::Async) {
            let (after, before) = (driver.used(), used_before);
            assert!(
                after <= before,
                "bytes of the device: {before:?} before, now {after:?}"
            );
        }
    }

    // ---- Blocks ------------------------------------------------------------

    pub fn try_take(&self, bytes: usize) -> Result<Block, Error> {
        match self.next_stream() {
            None => self.arena.alloc(bytes),
            Some(stream) => self.arena.alloc_on(bytes, stream),
        }
    }

    /// A block, painted with a seed that is returned.
    pub fn take(&self, bytes: usize) -> (Block, u64) {
        let block = self
            .try_take(bytes)
            .unwrap_or_else(|e| panic!("{bytes} bytes: {e:?}"));
        let seed = self.paint(&block);
        (block, seed)
    }

    pub fn take_with(&self, bytes: usize, request: &Request) -> Result<Block, Error> {
        match self.next_stream() {
            None => self.arena.alloc_with(bytes, request),
            Some(stream) => self.arena.alloc_on_with(bytes, stream, request),
        }
    }

    /// So many blocks beside each other: the only ones in one range.
    pub fn take_row(&self, count: u64, bytes: usize) -> Vec<(Block, u64)> {
        (0..count).map(|_| self.take(bytes)).collect()
    }

    pub fn next_stream(&self) -> Option<&Stream> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        (!self.streams.is_empty()).then(|| &self.streams[turn % self.streams.len()])
    }

    /// Drops a block: in turn where it lives, or on another stream.
    pub fn give(&self, block: Block) {
        match self.next_stream() {
            Some(stream) if self.turn.load(Ordering::Relaxed) % 2 == 0 => {
                block.free_on(stream).expect("a free");
            }
            _ => drop(block),
        }
    }

    /// Everything that was freed is everybody's.
    pub fn reclaim(&self) {
        self.arena.reclaim_and_wait().expect("a reclaim");
    }

    pub fn live_bytes(&self) -> usize {
        self.arena.stats().live_bytes
    }

    // ---- Contents ----------------------------------------------------------

    /// Writes a pattern of its own to the block, and returns its seed.
    pub fn paint(&self, block: &Block) -> u64 {
        let seed = self.seeds.fetch_add(1, Ordering::Relaxed);
        self.write(block, &pattern(seed, block.len()));
        seed
    }

    /// The first `bytes` of the block are as they were painted.
    pub fn expect_painted(&self, block: &Block, bytes: usize, seed: u64) {
        if !self.row.kind.has_contents() {
            return;
        }
        let got = self.read(block, bytes);
        let want = pattern(seed, bytes);
        if got != want {
            let at = (0..got.len()).find(|at| got[*at] != want[*at]).unwrap_or(0);
            panic!(
                "{block:?}: byte {at} is {:#x}, expected {:#x}",
                got[at], want[at]
            );
        }
    }

    pub fn write(&self, block: &Block, bytes: &[u8]) {
        if !self.row.kind.has_contents() || bytes.is_empty() {
            return;
        }
        if !self.row.kind.is_of_device() {
            // SAFETY: no device reaches this memory, so no stream uses it; the
            // block is written to on this thread alone.
            unsafe {
                let pinned = block.pin().expect("a pin");
                let to = pinned.device_ptr().as_ptr::<u8>();
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
            }
            return;
        }
        let (driver, stream) = (driver().expect("a driver"), self.home(block));
        driver.use_here();
        // SAFETY: the copy is waited for before the pin ends.
        let pinned = unsafe { pin(block, block.home().as_ref()) };
        let to = pinned.device_ptr().as_raw();
        cu!(
            driver,
            to_device(to, bytes.as_ptr().cast(), bytes.len(), stream)
        );
        cu!(driver, stream_synchronize(stream));
    }

    pub fn read(&self, block: &Block, bytes: usize) -> Vec<u8> {
        let mut got = vec![0; bytes];
        if bytes == 0 {
            return got;
        }
        if !self.row.kind.is_of_device() {
            // SAFETY: as for writing.
            unsafe {
                let pinned = block.pin().expect("a pin");
                let from = pinned.device_ptr().as_ptr::<u8>();
                std::ptr::copy_nonoverlapping(from, got.as_mut_ptr(), got.len());
            }
            return got;
        }
        let (driver, stream) = (driver().expect("a driver"), self.home(block));
        driver.use_here();
        // SAFETY: the copy is waited for before the pin ends.
        let pinned = unsafe { pin(block, block.home().as_ref()) };
        let from = pinned.device_ptr().as_raw();
        cu!(
            driver,
            to_host(got.as_mut_ptr().cast(), from, got.len(), stream)
        );
        cu!(driver, stream_synchronize(stream));
        got
    }

    fn home(&self, block: &Block) -> Handle {
        block
            .home()
            .map_or(std::ptr::null_mut(), |stream| stream.raw().as_ptr())
    }
}

/// Where a block is now; a number to be compared.
pub fn place(block: &Block) -> u64 {
    let address = block.info().expect("a live block").address;
    // SAFETY: it is not followed.
    unsafe { address.expect("a block with bytes").as_raw() }
}

/// # Safety
///
/// As of [`Block::pin`].
unsafe fn pin<'b>(block: &'b Block, stream: Option<&Stream>) -> cuarena::PinnedBlock<'b> {
    // SAFETY: as the caller says.
    let pinned = unsafe {
        match stream {
            None => block.pin(),
            Some(stream) => block.pin_on(stream),
        }
    };
    pinned.expect("a pin")
}

pub fn new_stream(kind: &Kind, arena: &Arena, number: usize) -> Stream {
    if kind.has_numbers_for_streams() {
        let handle = RawStream::new((number * 16) as Handle);
        // SAFETY: nobody follows the handle of such a memory.
        return unsafe { arena.stream(handle) }.expect("a stream");
    }
    stream_for(arena)
}

/// Bytes that differ from place to place, and from seed to seed. Pieces of one
/// table, since tests paint a great deal.
pub fn pattern(seed: u64, bytes: usize) -> Vec<u8> {
    const PIECE: usize = 4096;
    static TABLE: OnceLock<Vec<u8>> = OnceLock::new();
    let table = TABLE.get_or_init(|| random(64 * PIECE));
    let mut all = Vec::with_capacity(bytes + PIECE);
    let mut at = (seed % 1_000_003) as usize;
    while all.len() < bytes {
        at = (at * 31 + 7919) % (table.len() - PIECE);
        all.extend_from_slice(&table[at..at + PIECE]);
    }
    all.truncate(bytes);
    all
}

fn random(bytes: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..bytes).map(|_| next()).collect()
}
