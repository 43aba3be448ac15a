//! Records and their look-up: `src/heap/record.h`, `table.h`, and what of the heap changes either.

use loom::sync::atomic::AtomicU32;

use crate::explore::{takes, Plain, Step};
use crate::sites::Site;

/// How a call names a block: `CUAI_BY_ID`, `CUAI_BY_POINTER`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum By {
    Id,
    Pointer,
}

/// 0: none, the SENTINEL
pub type Slot = usize;
pub type Name = u32;

pub const CUAI_FREE: u32 = 0;
pub const CUAI_BLOCK: u32 = 4;
pub const CUAI_KEPT: u32 = 1 << 5;
/// The flag of blocks that have a pointer.
const POINTER: u32 = 1 << 8;
pub const KEEPS: u32 = CUAI_BLOCK ^ CUAI_KEPT;

const SLOTS: usize = 4;
/// `CUAI_GLIMPSES`; 16 in the library.
const GLIMPSES: usize = 2;
const ID_STEP: u32 = 16;

/// `upper` of ordinary blocks.
pub fn ordinary(what: By) -> u32 {
    CUAI_BLOCK | if what == By::Pointer { POINTER } else { 0 }
}

/// `cuai_record_t`, as far as threads meet there
pub struct Record {
    pub offset: AtomicU32,
    pub generation: AtomicU32,
    pub upper: AtomicU32,
    pub pins: Plain<u32>,
    pub asked: Plain<u32>,
    chain: AtomicU32,
    next: Plain<Slot>,
    /// Whether a caller has the block, and how many callers had one of this slot: what the protocol
    /// is about, and no part of it.
    pub held: Plain<bool>,
    pub begun: Plain<i32>,
}

impl Record {
    fn new(next: Slot) -> Self {
        Record {
            offset: AtomicU32::new(0),
            generation: AtomicU32::new(0),
            upper: AtomicU32::new(CUAI_FREE),
            pins: Plain::new(0),
            asked: Plain::new(0),
            chain: AtomicU32::new(0),
            next: Plain::new(next),
            held: Plain::new(false),
            begun: Plain::new(0),
        }
    }

    /// A caller gets the block.
    pub fn begin(&self) {
        assert!(!self.held.get(), "a block was handed out twice");
        self.held.set(true);
        self.begun.add(1);
    }

    /// A caller's block ends.
    pub fn end(&self) {
        assert!(self.held.get(), "a block was freed that nobody had");
        self.held.set(false);
    }
}

/// What C reads without atomics from a word that others may change: a race panics.
#[track_caller]
pub fn plainly(word: &AtomicU32) -> u32 {
    // SAFETY: loom runs one thread at a time, and panics where two could meet.
    unsafe { word.unsync_load() }
}

/// The heap: free slots, and a look-up of one bucket. Guarded by the arena's lock but for what is
/// atomic.
pub struct Heap {
    pub records: [Record; SLOTS],
    head: AtomicU32,
    free_slot: Plain<Slot>,
    offset: Plain<u32>,
    /// Blocks, KEPT ones among them.
    pub live: Plain<i32>,
    /// Allocations ever, but for what caches have not added yet.
    pub allocs: Plain<i32>,
}

impl Heap {
    /// With room for so many blocks.
    pub fn new(room: usize) -> Self {
        let next = |slot| if slot < room { slot + 1 } else { 0 };
        Heap {
            records: std::array::from_fn(|slot| Record::new(next(slot))),
            head: AtomicU32::new(0),
            free_slot: Plain::new(usize::from(room != 0)),
            offset: Plain::new(100),
            live: Plain::new(0),
            allocs: Plain::new(0),
        }
    }

    /// `cuai_id`
    pub fn id(&self, slot: Slot) -> Name {
        let generation = &self.records[slot].generation;
        let generation = if takes(Step::IdLoadsAtomically) {
            generation.load(Site::IdGeneration.order())
        } else {
            plainly(generation)
        };
        generation * ID_STEP + slot as u32
    }

    /// `cuai_slot_named`
    pub fn slot_named(&self, id: Name) -> Slot {
        let slot = slot_in(id);
        if self.id(slot) == id {
            slot
        } else {
            0
        }
    }

    /// `cuai_table_glimpse`
    pub fn glimpse(&self, offset: Name) -> Slot {
        let mut slot = self.head.load(Site::GlimpseHead.order()) as Slot;
        for _ in 0..GLIMPSES {
            if slot == 0 || self.records[slot].offset.load(Site::GlimpseOffset.order()) == offset {
                return slot;
            }
            slot = self.records[slot].chain.load(Site::GlimpseChain.order()) as Slot;
        }
        0
    }

    /// `cuai_table_find`
    pub fn find(&self, offset: Name) -> Slot {
        let mut slot = plainly(&self.head) as Slot;
        while slot != 0 && plainly(&self.records[slot].offset) != offset {
            slot = plainly(&self.records[slot].chain) as Slot;
        }
        slot
    }

    /// `cuai_table_insert_at`
    fn insert(&self, slot: Slot) {
        self.records[slot]
            .chain
            .store(plainly(&self.head), Site::InsertChain.order());
        self.head.store(slot as u32, Site::InsertHead.order());
    }

    /// `cuai_table_remove`
    fn remove(&self, slot: Slot) {
        let mut link = &self.head;
        while plainly(link) as Slot != slot {
            link = &self.records[plainly(link) as Slot].chain;
        }
        link.store(plainly(&self.records[slot].chain), Site::RemoveLink.order());
    }

    /// `cuai_heap_fast_cut`: a block with these attributes; 0: there is no room.
    pub fn alloc(&self, upper: u32, pins: u32) -> Slot {
        let slot = self.free_slot.get();
        if slot == 0 {
            return 0;
        }
        let r = &self.records[slot];
        self.free_slot.set(r.next.get());
        r.pins.set(pins);
        r.upper.store(upper, Site::SetAttributes.order());
        self.offset.add(1);
        r.offset.store(self.offset.get(), Site::CutOffset.order());
        r.asked.set(0);
        self.insert(slot);
        self.live.add(1);
        self.allocs.add(1);
        slot
    }

    /// `cuai_heap_fast_free_to`, `cuai_slot_free`
    pub fn free(&self, slot: Slot) {
        let r = &self.records[slot];
        self.remove(slot);
        self.live.add(-1);
        r.upper.store(CUAI_FREE, Site::SetKind.order());
        r.generation
            .store(plainly(&r.generation) + 1, Site::SlotFreeGeneration.order());
        r.next.set(self.free_slot.get());
        self.free_slot.set(slot);
    }

    /// The slot of a live block; 0: there is none of that name. No cache runs.
    pub fn slot_of(&self, name: Name, what: By) -> Slot {
        let slot = match what {
            By::Id => self.slot_named(name),
            By::Pointer => self.find(name),
        };
        let is_block = plainly(&self.records[slot].upper) & (CUAI_BLOCK | CUAI_KEPT) == CUAI_BLOCK;
        if is_block {
            slot
        } else {
            0
        }
    }
}

/// `cuai_slot_in`
pub fn slot_in(id: Name) -> Slot {
    (id % ID_STEP) as Slot
}
