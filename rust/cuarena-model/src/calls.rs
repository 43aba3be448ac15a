//! What a program calls: the paths of `src/api/fast.c` beside other threads, then slow paths.

use std::sync::Arc;

use crate::cache::{Arena, World};
use crate::explore::{takes, Held, Step};
use crate::heap::{ordinary, plainly, By, Name, CUAI_BLOCK, CUAI_KEPT};

/// `CUAI_MEETINGS`; 16 in the library.
const MEETINGS: u32 = 1;

/// A thread of the program, which calls one arena.
#[derive(Clone)]
pub struct Caller {
    pub world: Arc<World>,
    pub index: usize,
    which: usize,
}

impl Caller {
    pub fn new(world: &Arc<World>, index: usize) -> Self {
        Caller {
            world: world.clone(),
            index,
            which: 0,
        }
    }

    /// The same thread, calling the other arena.
    pub fn at_other(&self) -> Self {
        Caller {
            which: 1,
            ..self.clone()
        }
    }

    pub fn arena(&self) -> &Arena {
        &self.world.arenas[self.which]
    }

    // ---- fast.c ----------------------------------------------------------------------------

    /// `enter_contended`
    fn enter_contended(arena: &Arena) -> Option<Held<'_>> {
        let held = arena.lock.enter();
        arena.meetings.add(1);
        if arena.meetings.get() < MEETINGS || !arena.may_run() {
            return Some(held);
        }
        World::tcaches_begin(arena);
        None
    }

    /// `enter_heap`
    fn enter_heap(&self) -> Option<Held<'_>> {
        let arena = self.arena();
        if arena.is_tcached() {
            return None;
        }
        arena
            .lock
            .attempt()
            .or_else(|| Self::enter_contended(arena))
    }

    /// `enter_at_once`, beside other threads
    fn enter_at_once(&self) -> Option<Held<'_>> {
        let arena = self.arena();
        if arena.is_tcached() {
            return None;
        }
        arena.lock.attempt()
    }

    /// `is_slow`
    fn is_slow(&self) -> bool {
        takes(Step::FastPathLooksAtSlow) && self.arena().slow.get() != 0
    }

    /// `alloc_beside` without its slow path
    fn alloc_beside(&self, what: By) -> Option<Name> {
        let mut held = self.enter_heap();
        if held.is_none() {
            let name = self.world.tcache_alloc(self.arena(), self.index, 0, what);
            if name.is_some() {
                return name;
            }
            held = self.enter_heap();
        }
        held.filter(|_| !self.is_slow())
            .and_then(|_| self.alloc_held(what))
    }

    /// Allocates with the arena's lock held.
    fn alloc_held(&self, what: By) -> Option<Name> {
        let heap = &self.arena().heap;
        let slot = heap.alloc(ordinary(what), u32::from(what == By::Pointer));
        if slot == 0 {
            return None;
        }
        heap.records[slot].asked.set(1);
        heap.records[slot].begin();
        Some(match what {
            By::Pointer => plainly(&heap.records[slot].offset),
            By::Id => heap.id(slot),
        })
    }

    /// `free_pointer`, `free_block`, `try_free`
    fn free_held(&self, name: Name, what: By) -> bool {
        let heap = &self.arena().heap;
        let slot = match what {
            By::Pointer => heap.find(name),
            By::Id => heap.slot_named(name),
        };
        if self.is_slow() {
            return false;
        }
        let r = &heap.records[slot];
        let pins = u32::from(what == By::Pointer);
        if plainly(&r.upper) != ordinary(what) || r.pins.get() != pins {
            return false;
        }
        r.end();
        heap.free(slot);
        true
    }

    /// `free_beside` without its slow path
    fn free_beside(&self, name: Name, what: By) -> bool {
        let mut held = self.enter_heap();
        if held.is_none() {
            if self.world.tcache_free(self.arena(), self.index, name, what) {
                return true;
            }
            held = self.enter_heap();
        }
        held.is_some_and(|_held| self.free_held(name, what))
    }

    /// `cuarena_alloc`, `cuarena_block_alloc`
    pub fn alloc(&self, what: By) -> Option<Name> {
        let name = match self.enter_at_once() {
            Some(_held) if self.is_slow() => None,
            Some(_held) => self.alloc_held(what),
            None => self.alloc_beside(what),
        };
        name.or_else(|| self.alloc_slowly(what))
    }

    /// `cuarena_free`, `cuarena_block_free`; false: there is no live block of that name.
    pub fn free(&self, name: Name, what: By) -> bool {
        let done = match self.enter_at_once() {
            Some(_held) => self.free_held(name, what),
            None => self.free_beside(name, what),
        };
        done || self.free_slowly(name, what)
    }

    // ---- Slow paths: what each does once no cache runs -------------------------------------

    /// A request that finds no room has the caches give back what they keep.
    pub fn alloc_slowly(&self, what: By) -> Option<Name> {
        let _held = self.world.enter_beside(self.arena());
        self.alloc_held(what).or_else(|| {
            self.world.tcaches_flush(self.arena());
            self.alloc_held(what)
        })
    }

    pub fn free_slowly(&self, name: Name, what: By) -> bool {
        let _held = self.world.enter_beside(self.arena());
        let heap = &self.arena().heap;
        let slot = heap.slot_of(name, what);
        let r = &heap.records[slot];
        if slot == 0 || r.pins.get() != u32::from(what == By::Pointer) {
            return false;
        }
        r.end();
        heap.free(slot);
        true
    }

    /// `cuarena_block_pin`
    pub fn pin(&self, id: Name) -> bool {
        let _held = self.world.enter_beside(self.arena());
        let heap = &self.arena().heap;
        let slot = heap.slot_of(id, By::Id);
        if slot != 0 {
            heap.records[slot].pins.add(1);
        }
        slot != 0
    }

    /// What a slow path sees that looks at every block: as many as were counted, none of them half
    /// changed. So many blocks are live or kept.
    pub fn look_at_all(&self) -> i32 {
        let _held = self.world.enter_beside(self.arena());
        let heap = &self.arena().heap;
        let mut live = 0;
        let mut begun = 0;
        for r in &heap.records[1..] {
            let upper = plainly(&r.upper);
            assert_eq!(r.held.get(), upper & CUAI_BLOCK != 0);
            live += i32::from(upper & (CUAI_BLOCK | CUAI_KEPT) != 0);
            begun += r.begun.get();
        }
        assert_eq!(heap.live.get(), live, "a block was lost");
        assert_eq!(heap.allocs.get(), begun, "a count was lost");
        live
    }

    /// Ends the stream, gives its number to another one, and makes a new stream of its handle.
    pub fn change_streams(&self) {
        for streams in [[0, 0, 1], [0, 2, 1]] {
            let _held = self.world.enter_beside(self.arena());
            if takes(Step::StreamEndFlushes) {
                self.world.tcaches_flush(self.arena());
            }
            self.arena().streams.set(streams);
        }
    }
}
