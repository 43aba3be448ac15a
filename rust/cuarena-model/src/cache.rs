//! Caches of threads: `src/arena/thread_cache.c` and `src/api/fast_threads.c`, function by function.
//!
//! Each thread has one cache here, with one bin; there is no depot.

use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};
use loom::thread;

use crate::explore::{takes, Held, Lock, Plain, Step};
use crate::heap::{ordinary, plainly, slot_in, By, Heap, Name, Slot, KEEPS};
use crate::sites::Site;

pub const CACHES: usize = 3;
pub const STREAMS: usize = 3;
/// The most blocks of a bin.
const DEPTH: usize = 2;
/// 1000 in the library.
const SPINS: u32 = 1;

pub const CUAI_SLOW_THREADS: u32 = 0x800;
pub const CUAI_SLOW_LISTENER: u32 = 0x02;

const WANTS_NOTHING: u32 = 0;
const WANTED: u32 = 1;
const WANT_DONE: u32 = 2;
const WANT_REFUSED: u32 = 3;

/// `cuai_pending_t`
struct Want {
    state: AtomicU32,
    frees: Plain<bool>,
    what: Plain<By>,
    name: Plain<Name>,
    /// How often it was served: once each time.
    served: Plain<u32>,
}

/// `cuai_tcache_t`
pub struct Tcache {
    pub lock: Lock,
    pub running: Plain<bool>,
    /// 0: none, else one more than its index
    arena: AtomicUsize,
    handle: Plain<usize>,
    number: Plain<usize>,
    /// The most blocks that it may keep.
    pub room: Plain<usize>,
    count: Plain<usize>,
    slots: Plain<[Slot; DEPTH]>,
    allocs: Plain<i32>,
    want: Want,
    /// Whether its thread has not ended.
    there: Plain<bool>,
}

impl Tcache {
    fn new() -> Self {
        Tcache {
            lock: Lock::new(),
            running: Plain::new(false),
            arena: AtomicUsize::new(0),
            handle: Plain::new(0),
            number: Plain::new(0),
            room: Plain::new(1),
            count: Plain::new(0),
            slots: Plain::new([0; DEPTH]),
            allocs: Plain::new(0),
            want: Want {
                state: AtomicU32::new(WANTS_NOTHING),
                frees: Plain::new(false),
                what: Plain::new(By::Id),
                name: Plain::new(0),
                served: Plain::new(0),
            },
            there: Plain::new(true),
        }
    }

    fn push(&self, slot: Slot) {
        let mut slots = self.slots.get();
        slots[self.count.get()] = slot;
        self.slots.set(slots);
        self.count.add(1);
    }

    fn pop(&self) -> Slot {
        self.count.set(self.count.get() - 1);
        self.slots.get()[self.count.get()]
    }
}

/// `cuarena_t`
pub struct Arena {
    pub lock: Lock,
    pub tcached: AtomicBool,
    pub slow: Plain<u32>,
    pub running: Plain<u32>,
    pub meetings: Plain<u32>,
    /// The caches in its list.
    listed: Plain<[bool; CACHES]>,
    /// The number of each stream by its handle, which is not 0; 0: unknown.
    pub streams: Plain<[usize; STREAMS]>,
    pub heap: Heap,
}

impl Arena {
    fn new(room: usize) -> Self {
        Arena {
            lock: Lock::new(),
            tcached: AtomicBool::new(false),
            slow: Plain::new(0),
            running: Plain::new(0),
            meetings: Plain::new(0),
            listed: Plain::new([false; CACHES]),
            streams: Plain::new([0; STREAMS]),
            heap: Heap::new(room),
        }
    }

    /// `cuai_arena_is_tcached`
    pub fn is_tcached(&self) -> bool {
        self.tcached.load(Site::IsTcached.order())
    }

    /// `cuai_tcaches_may_run`
    pub fn may_run(&self) -> bool {
        self.slow.get() & !CUAI_SLOW_THREADS == 0
    }
}

/// Arenas that share the list of all arenas, and a cache of each thread.
pub struct World {
    all: Lock,
    pub arenas: [Arena; 2],
    caches: [Tcache; CACHES],
}

impl World {
    /// With room for so many blocks in each arena.
    pub fn new(room: usize) -> Self {
        World {
            all: Lock::new(),
            arenas: [Arena::new(room), Arena::new(room)],
            caches: std::array::from_fn(|_| Tcache::new()),
        }
    }

    pub fn cache(&self, index: usize) -> &Tcache {
        assert!(self.caches[index].there.get(), "the cache has ended");
        &self.caches[index]
    }

    fn listed<'a>(&'a self, arena: &'a Arena) -> impl Iterator<Item = &'a Tcache> {
        (0..CACHES)
            .filter(|index| arena.listed.get()[*index])
            .map(|index| self.cache(index))
    }

    fn list(arena: &Arena, index: usize, on: bool) {
        let mut listed = arena.listed.get();
        listed[index] = on;
        arena.listed.set(listed);
    }

    // ---- Stopping --------------------------------------------------------------------------

    /// `stop`
    fn stop(&self, arena: &Arena, t: &Tcache) {
        if !t.running.get() {
            return;
        }
        let _held = takes(Step::StopLocksTheCache).then(|| t.lock.enter());
        t.running.set(false);
        arena.running.set(arena.running.get() - 1);
        arena.heap.allocs.add(t.allocs.get());
        t.allocs.set(0);
    }

    /// `cuai_tcaches_stop`
    pub fn tcaches_stop(&self, arena: &Arena) {
        if takes(Step::SlowPathStops) {
            self.listed(arena).for_each(|t| self.stop(arena, t));
        }
    }

    /// `cuai_arena_enter_beside`, `cuai_tcaches_enter`, `cuai_stop_again`
    pub fn enter_beside<'a>(&self, arena: &'a Arena) -> Held<'a> {
        let tcached = arena.is_tcached();
        let held = arena.lock.enter();
        if (tcached || takes(Step::EnterStopsAgain)) && arena.running.get() != 0 {
            self.tcaches_stop(arena);
        }
        held
    }

    /// `cuai_kept_free`
    fn kept_free(arena: &Arena, slot: Slot) {
        assert!(!arena.heap.records[slot].held.get());
        arena.heap.free(slot);
    }

    /// `flush`
    fn flush(arena: &Arena, t: &Tcache) {
        while t.count.get() != 0 {
            Self::kept_free(arena, t.pop());
        }
    }

    /// `cuai_tcaches_flush`
    pub fn tcaches_flush(&self, arena: &Arena) {
        self.listed(arena).for_each(|t| Self::flush(arena, t));
    }

    /// `cuai_tcaches_begin`
    pub fn tcaches_begin(arena: &Arena) {
        arena.slow.set(arena.slow.get() | CUAI_SLOW_THREADS);
        arena.tcached.store(true, Site::TcachesBegin.order());
    }

    /// `cuai_tcaches_end`
    fn tcaches_end(&self, arena: &Arena) {
        self.tcaches_flush(arena);
        arena.meetings.set(0);
        arena.slow.set(arena.slow.get() & !CUAI_SLOW_THREADS);
        arena.tcached.store(false, Site::TcachesEnd.order());
    }

    // ---- Ends of threads and of arenas -----------------------------------------------------

    /// `leave_arena`
    fn leave_arena(&self, arena: &Arena, index: usize) {
        let t = self.cache(index);
        let _held = takes(Step::EndLocksTheArena).then(|| arena.lock.enter());
        self.stop(arena, t);
        if takes(Step::EndFlushes) {
            Self::flush(arena, t);
        }
        if takes(Step::EndTakesOutOfTheList) {
            Self::list(arena, index, false);
        }
        if self.listed(arena).next().is_none() {
            self.tcaches_end(arena);
        }
    }

    /// `end_thread`
    pub fn end_thread(&self, index: usize) {
        let _all = takes(Step::EndLocksTheList).then(|| self.all.enter());
        let arena = self.cache(index).arena.load(Site::EndThreadArena.order());
        if arena != 0 {
            self.leave_arena(&self.arenas[arena - 1], index);
        }
        self.caches[index].there.set(false);
    }

    /// `cuai_all_remove`, `cuai_tcaches_leave`
    pub fn end_arena(&self, arena: &Arena) {
        let _all = self.all.enter();
        for t in self.listed(arena) {
            t.running.set(false);
            t.arena.store(0, Site::TcachesLeave.order());
        }
        arena.listed.set([false; CACHES]);
        arena.running.set(0);
    }

    // ---- Starting and finding --------------------------------------------------------------

    /// `cuai_tcache_start`
    pub fn tcache_start(arena: &Arena, t: &Tcache) -> bool {
        if t.running.get() {
            return true;
        }
        let handle = t.handle.get();
        let mut number = arena.streams.get()[handle];
        if !takes(Step::StartFindsTheStream) && t.number.get() != 0 {
            number = t.number.get();
        }
        if !arena.is_tcached() || !arena.may_run() || (handle != 0 && number == 0) {
            return false;
        }
        assert!(
            t.count.get() == 0 || t.number.get() == number,
            "a cache keeps blocks of a stream that has ended"
        );
        t.number.set(number);
        assert_eq!(
            arena.streams.get()[handle],
            number,
            "a cache runs for a stream that has ended"
        );
        t.running.set(true);
        arena.running.add(1);
        true
    }

    /// `join_arena`
    fn join_arena(&self, arena: &Arena, index: usize, handle: usize) {
        let t = self.cache(index);
        t.count.set(0);
        t.allocs.set(0);
        t.handle.set(handle);
        let place = 1 + usize::from(std::ptr::eq(arena, &self.arenas[1]));
        t.arena.store(place, Site::JoinArena.order());
        Self::list(arena, index, true);
    }

    /// `cuai_tcache_find`, `is_for`, `make`, `get_unused`
    pub fn find(&self, arena: &Arena, index: usize, handle: usize) -> Option<&Tcache> {
        let t = self.cache(index);
        let place = 1 + usize::from(std::ptr::eq(arena, &self.arenas[1]));
        if t.arena.load(Site::IsFor.order()) == place && t.handle.get() == handle {
            return Some(t);
        }
        let _held = arena.lock.enter();
        if arena.slow.get() & CUAI_SLOW_THREADS == 0 || t.arena.load(Site::GetUnused.order()) != 0 {
            return None;
        }
        self.join_arena(arena, index, handle);
        Some(t)
    }

    // ---- Allocation ------------------------------------------------------------------------

    /// `hand_out`
    fn hand_out(heap: &Heap, t: &Tcache, slot: Slot, what: By) -> Name {
        let r = &heap.records[slot];
        let name = match what {
            By::Pointer => plainly(&r.offset),
            By::Id => heap.id(slot),
        };
        r.begin();
        r.asked.set(1);
        r.pins.set(u32::from(what == By::Pointer));
        t.allocs.add(1);
        r.upper.store(ordinary(what), Site::HandOut.order());
        name
    }

    /// `hit`
    pub fn hit(heap: &Heap, t: &Tcache, what: By) -> Option<Name> {
        (t.count.get() != 0).then(|| Self::hand_out(heap, t, t.pop(), what))
    }

    /// `alloc_kept`
    pub fn alloc_kept(arena: &Arena, t: &Tcache) -> Slot {
        let slot = arena.heap.alloc(ordinary(By::Id) ^ KEEPS, 0);
        if slot != 0 {
            t.allocs.add(-1);
        }
        slot
    }

    /// `refill`
    pub fn refill(arena: &Arena, t: &Tcache) {
        while t.count.get() < t.room.get() {
            match Self::alloc_kept(arena, t) {
                0 => return,
                slot => t.push(slot),
            }
        }
    }

    /// `alloc_both`
    fn alloc_both(arena: &Arena, t: &Tcache, what: By) -> Option<Name> {
        if t.count.get() == 0 {
            Self::refill(arena, t);
        }
        Self::hit(&arena.heap, t, what).or_else(|| match Self::alloc_kept(arena, t) {
            0 => None,
            slot => Some(Self::hand_out(&arena.heap, t, slot, what)),
        })
    }

    // ---- Free ------------------------------------------------------------------------------

    /// `slot_of`
    fn slot_of(heap: &Heap, name: Name, what: By) -> Slot {
        match what {
            By::Pointer => heap.glimpse(name),
            By::Id => slot_in(name),
        }
    }

    /// `is_named`
    fn is_named(heap: &Heap, slot: Slot, name: Name, what: By) -> bool {
        let r = &heap.records[slot];
        let named = match what {
            By::Pointer => plainly(&r.offset) == name || !takes(Step::ClaimLooksAtOffset),
            By::Id => heap.id(slot) == name || !takes(Step::ClaimLooksAtGeneration),
        };
        let pins = r.pins.get() == u32::from(what == By::Pointer);
        named && (pins || !takes(Step::ClaimLooksAtPins)) && r.asked.get() == 1
    }

    /// `claim`
    fn claim(heap: &Heap, slot: Slot, name: Name, what: By) -> bool {
        let block = ordinary(what);
        let upper = &heap.records[slot].upper;
        let site = Site::Claim;
        if takes(Step::ClaimExchanges) {
            let kept = block ^ KEEPS;
            let claimed = upper.compare_exchange(block, kept, site.order(), site.failure());
            if claimed.is_err() {
                return false;
            }
        } else {
            if upper.load(site.order()) != block {
                return false;
            }
            upper.store(block ^ KEEPS, site.failure());
        }
        if Self::is_named(heap, slot, name, what) {
            return true;
        }
        if takes(Step::ClaimPutsBack) {
            upper.store(block, Site::ClaimBack.order());
        }
        false
    }

    /// `end_names`
    fn end_names(heap: &Heap, slot: Slot) {
        let r = &heap.records[slot];
        r.end();
        r.asked.set(0);
        r.pins.set(0);
        r.generation
            .store(plainly(&r.generation) + 1, Site::EndNames.order());
    }

    /// `keep`
    fn keep(heap: &Heap, t: &Tcache, slot: Slot) -> bool {
        if t.count.get() >= t.room.get() {
            return false;
        }
        Self::end_names(heap, slot);
        t.push(slot);
        true
    }

    /// `free_both`, `spill`
    fn free_both(arena: &Arena, t: &Tcache, name: Name, what: By) -> bool {
        let heap = &arena.heap;
        let slot = Self::slot_of(heap, name, what);
        if slot == 0 || !Self::claim(heap, slot, name, what) {
            return false;
        }
        if Self::keep(heap, t, slot) {
            return true;
        }
        Self::spill(arena, t);
        if !Self::keep(heap, t, slot) {
            Self::end_names(heap, slot);
            Self::kept_free(arena, slot);
        }
        true
    }

    /// `spill`: all of its bin, of which C leaves some.
    pub fn spill(arena: &Arena, t: &Tcache) {
        Self::flush(arena, t);
    }

    /// `free_kept`: whether it freed the block, and whether it may with both locks.
    pub fn free_kept(heap: &Heap, t: &Tcache, name: Name, what: By) -> (bool, bool) {
        let slot = Self::slot_of(heap, name, what);
        let may = slot == 0 || Self::claim(heap, slot, name, what);
        if slot == 0 || !may {
            return (false, may);
        }
        if Self::keep(heap, t, slot) {
            return (true, may);
        }
        heap.records[slot]
            .upper
            .store(ordinary(what), Site::FreeBack.order());
        (false, may)
    }

    // ---- Calls that want the heap ----------------------------------------------------------

    /// `serve`
    fn serve(arena: &Arena, t: &Tcache) -> bool {
        let want = &t.want;
        assert_eq!(want.served.get(), 0, "a want is served twice");
        want.served.set(1);
        if !Self::tcache_start(arena, t) {
            return false;
        }
        if want.frees.get() {
            return Self::free_both(arena, t, want.name.get(), want.what.get());
        }
        let name = Self::alloc_both(arena, t, want.what.get());
        want.name.set(name.unwrap_or(0));
        name.is_some()
    }

    /// `is_wanting`
    fn is_wanting(t: &Tcache) -> bool {
        t.want.state.load(Site::IsWanting.order()) == WANTED
    }

    /// `run_pending_of`
    fn run_pending_of(arena: &Arena, t: &Tcache, own: bool) {
        if (takes(Step::ServeLooksAgain) && !Self::is_wanting(t)) || !(own || t.running.get()) {
            return;
        }
        let held = takes(Step::ServeLocksTheCache).then(|| t.lock.enter());
        let done = Self::serve(arena, t);
        drop(held);
        let state = if done { WANT_DONE } else { WANT_REFUSED };
        t.want.state.store(state, Site::ServeOne.order());
    }

    /// `serve_all`, but for the unlock
    fn serve_all(&self, arena: &Arena, own: &Tcache) {
        Self::run_pending_of(arena, own, true);
        self.listed(arena)
            .for_each(|t| Self::run_pending_of(arena, t, false));
        if arena.running.get() == 0 && !arena.may_run() {
            self.tcaches_end(arena);
        }
    }

    /// `await`, `try_lock`
    fn wait(&self, arena: &Arena, t: &Tcache) -> Option<Name> {
        let mut attempt = 0;
        while Self::is_wanting(t) && attempt <= SPINS {
            let held = if attempt < SPINS || !takes(Step::AwaitSleeps) {
                arena.lock.attempt()
            } else {
                Some(arena.lock.enter())
            };
            if held.is_some() {
                self.serve_all(arena, t);
            }
            drop(held);
            if Self::is_wanting(t) {
                thread::yield_now();
            }
            attempt += 1;
        }
        let state = t.want.state.load(Site::AwaitDone.order());
        assert!(
            state == WANT_DONE || state == WANT_REFUSED,
            "a want is left alone"
        );
        t.want.served.set(0);
        let name = (state == WANT_DONE).then(|| t.want.name.get());
        t.want.state.store(WANTS_NOTHING, Site::AwaitReset.order());
        name
    }

    // ---- Calls -----------------------------------------------------------------------------

    /// `enter`
    fn enter(
        &self,
        arena: &Arena,
        index: usize,
        handle: usize,
    ) -> Option<(&Tcache, Option<Held<'_>>)> {
        let t = self.find(arena, index, handle)?;
        let held = takes(Step::CallLocksItsCache).then(|| t.lock.enter());
        (t.want.state.load(Site::EnterState.order()) == WANTS_NOTHING).then_some((t, held))
    }

    fn runs(t: &Tcache) -> bool {
        !takes(Step::CallLooksWhetherItRuns) || t.running.get()
    }

    /// `cuai_tcache_alloc`
    pub fn tcache_alloc(
        &self,
        arena: &Arena,
        index: usize,
        handle: usize,
        what: By,
    ) -> Option<Name> {
        let (t, held) = self.enter(arena, index, handle)?;
        let name = Self::runs(t)
            .then(|| Self::hit(&arena.heap, t, what))
            .flatten();
        if name.is_none() {
            t.want.frees.set(false);
            t.want.what.set(what);
            t.want.state.store(WANTED, Site::AllocWants.order());
        }
        assert!(
            name.is_none() || arena.streams.get()[handle] == t.number.get(),
            "a cache allocates on a stream that has ended"
        );
        drop(held);
        name.or_else(|| self.wait(arena, t))
    }

    /// What `cuai_tcache_free` does with the cache's lock only.
    pub fn free_in_cache(&self, arena: &Arena, index: usize, name: Name, what: By) -> bool {
        let t = self.cache(index);
        let _held = t.lock.enter();
        Self::free_kept(&arena.heap, t, name, what).0
    }

    /// What serving a full and then an empty bin does: blocks go to the heap, and one comes from
    /// there.
    pub fn exchange(&self, arena: &Arena, index: usize, what: By) -> Option<Name> {
        let _held = arena.lock.enter();
        let t = self.cache(index);
        let _cache = t.lock.enter();
        Self::spill(arena, t);
        Self::alloc_both(arena, t, what)
    }

    /// `cuai_tcache_free`
    pub fn tcache_free(&self, arena: &Arena, index: usize, name: Name, what: By) -> bool {
        let Some((t, held)) = self.enter(arena, index, 0) else {
            return false;
        };
        let (done, may) = if Self::runs(t) {
            Self::free_kept(&arena.heap, t, name, what)
        } else {
            (false, true)
        };
        let wants = !done && may;
        if wants {
            t.want.frees.set(true);
            t.want.what.set(what);
            t.want.name.set(name);
            t.want.state.store(WANTED, Site::FreeWants.order());
        }
        drop(held);
        if wants {
            self.wait(arena, t).is_some()
        } else {
            done
        }
    }
}
