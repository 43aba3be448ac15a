//! Scenes: a few threads, a few calls, and what holds whatever order these run in.

use std::sync::Arc;

use loom::thread;

use crate::cache::{World, CUAI_SLOW_LISTENER};
use crate::calls::Caller;
use crate::explore::scene;
use crate::heap::{By, Name};

/// Callers whose caches run, of an arena with room for so many blocks.
fn callers<const COUNT: usize>(room: usize) -> [Caller; COUNT] {
    let world = Arc::new(World::new(room));
    World::tcaches_begin(&world.arenas[0]);
    std::array::from_fn(|index| {
        let caller = Caller::new(&world, index);
        run(&caller);
        caller
    })
}

/// A thread that does something as this caller.
fn spawn<T: 'static>(
    caller: &Caller,
    job: impl FnOnce(&Caller) -> T + 'static,
) -> thread::JoinHandle<T> {
    let caller = caller.clone();
    thread::spawn(move || job(&caller))
}

/// Makes the caller's cache run.
fn run(caller: &Caller) {
    let arena = caller.arena();
    let t = caller.world.find(arena, caller.index, 0).unwrap();
    let _held = arena.lock.enter();
    let _cache = t.lock.enter();
    assert!(World::tcache_start(arena, t));
}

/// A block that the caller's cache hands out.
fn block(caller: &Caller, what: By) -> Name {
    let t = caller.world.cache(caller.index);
    World::refill(caller.arena(), t);
    World::hit(&caller.arena().heap, t, what).unwrap()
}

/// After all threads: slow paths find what is counted, and the block of that name, if one is live.
fn settle(caller: &Caller, live: Option<(Name, By)>) {
    caller.look_at_all();
    if let Some((name, what)) = live {
        assert!(caller.free_slowly(name, what), "a live block was lost");
    }
    let _held = caller.world.enter_beside(caller.arena());
    caller.world.tcaches_flush(caller.arena());
    assert_eq!(caller.arena().heap.live.get(), 0);
}

// ---- Claims ------------------------------------------------------------------------------------

/// Of two frees of one block one succeeds, and the other sees no live block.
fn one_of_two_frees_succeeds() {
    let [one, two] = callers(1);
    let id = block(&one, By::Id);
    let other = spawn(&two, move |two| two.free(id, By::Id));
    let freed = one.free(id, By::Id);
    assert_ne!(freed, other.join().unwrap(), "one of two frees succeeds");
    settle(&one, None);
}

scene!(one_of_two_frees_succeeds, short: None, long: None,
    loads_and_stores: Without(ClaimExchanges) => "Causality violation",
);

/// A free of an id that has ended meanwhile leaves the next block of its slot as it was, also where
/// that is freed at the same time.
fn a_late_free_leaves_the_next_block() {
    let [one, two] = callers(1);
    let id = block(&one, By::Id);
    let other = spawn(&two, move |two| two.free(id, By::Id));
    let mut freed = one.free(id, By::Id);
    if freed {
        let next = one.alloc(By::Id).unwrap();
        assert!(one.free(next, By::Id), "a live block was lost");
    }
    freed ^= other.join().unwrap();
    assert!(freed, "one of two frees succeeds");
    settle(&one, None);
}

scene!(a_late_free_leaves_the_next_block, short: None, long: None,
    claims_without_acquire: Weak(Claim) => "Causality violation",
    hands_out_without_release: Weak(HandOut) => "Causality violation",
    puts_back_without_release: Weak(ClaimBack) => "Causality violation",
    overlooks_the_generation: Without(ClaimLooksAtGeneration) => "a live block was lost",
    keeps_what_it_claimed: Without(ClaimPutsBack) => "a live block was lost",
);

/// The caches' part of a free, with the cache's lock only.
fn free_kept(caller: &Caller, id: Name) -> bool {
    let world = &caller.world;
    world.free_in_cache(caller.arena(), caller.index, id, By::Id)
}

/// Of two late frees the second sees what the first put back as whoever allocated it left it.
fn two_late_frees_leave_the_next_block() {
    let [one, two, three] = callers(1);
    let id = block(&one, By::Id);
    let others = [two, three].map(|caller| spawn(&caller, move |caller| free_kept(caller, id)));
    if free_kept(&one, id) {
        let t = one.world.cache(0);
        assert!(World::hit(&one.arena().heap, t, By::Id).is_some());
    }
    for other in others {
        other.join().unwrap();
    }
}

scene!(two_late_frees_leave_the_next_block, short: None, long: None,
    puts_back_without_release: Weak(ClaimBack) => "Causality violation",
);

/// A block whose bin is full goes back to what it was before its free is a want, so that another
/// free of it may succeed meanwhile.
fn a_full_bin_puts_back() {
    let [one, two] = callers(2);
    let id = block(&one, By::Id);
    World::refill(one.arena(), one.world.cache(0));
    let other = spawn(&two, move |two| two.free(id, By::Id));
    let freed = one.free(id, By::Id);
    assert_ne!(freed, other.join().unwrap(), "one of two frees succeeds");
    settle(&one, None);
}

scene!(a_full_bin_puts_back, short: None, long: None,
    puts_back_without_release: Weak(FreeBack) => "Causality violation",
);

/// A block is pinned or freed, not both.
fn a_pin_keeps_a_block() {
    let [one, two] = callers(1);
    let id = block(&one, By::Id);
    let other = spawn(&two, move |two| two.free(id, By::Id));
    let pinned = one.pin(id);
    assert_ne!(pinned, other.join().unwrap(), "a block is pinned or freed");
}

scene!(a_pin_keeps_a_block, short: None, long: None,
    overlooks_pins: Without(ClaimLooksAtPins) => "a block is pinned or freed",
    pins_beside_caches: Without(SlowPathStops) => "Causality violation",
);

// ---- The look-up by address --------------------------------------------------------------------

/// One thread gives a slot of a chain another block, while others look up a block behind it, which
/// is found, and the one that the slot had, which is not.
fn a_look_up_beside_changes() {
    let [one, two] = callers(2);
    let behind = block(&two, By::Pointer);
    let gone = block(&one, By::Pointer);
    assert!(one.free(gone, By::Pointer));
    let other = spawn(&two, move |two| {
        let late = two.world.free_in_cache(two.arena(), 1, gone, By::Pointer);
        (late, two.free(behind, By::Pointer))
    });
    let next = one.world.exchange(one.arena(), 0, By::Pointer).unwrap();
    let (late, found) = other.join().unwrap();
    assert!(!late, "a block that was freed is found");
    assert!(found, "a live block is not found");
    settle(&one, Some((next, By::Pointer)));
}

scene!(a_look_up_beside_changes, short: None, long: None,
    overlooks_the_offset: Without(ClaimLooksAtOffset) => "a block that was freed is found",
);

// ---- Wants -------------------------------------------------------------------------------------

/// An allocation by a cache that has no block.
fn want_one(caller: &Caller) -> Name {
    let world = &caller.world;
    let name = world.tcache_alloc(caller.arena(), caller.index, 0, By::Id);
    name.or_else(|| caller.alloc_slowly(By::Id)).unwrap()
}

fn want(callers: &[Caller]) {
    let others: Vec<_> = callers[1..]
        .iter()
        .map(|caller| spawn(caller, want_one))
        .collect();
    let mut names = vec![want_one(&callers[0])];
    names.extend(others.into_iter().map(|other| other.join().unwrap()));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), callers.len(), "a block was handed out twice");
}

/// Each of two wants is served once, by whichever thread, and neither waits for ever.
fn two_threads_want() {
    want(&callers::<2>(2));
}

scene!(two_threads_want, short: None, long: None,
    tells_without_release: Weak(ServeOne) => "Causality violation",
    sees_without_acquire: Weak(IsWanting) => "Causality violation",
    serves_without_a_look: Without(ServeLooksAgain) => "a want is served twice",
    serves_without_the_lock: Without(ServeLocksTheCache) => "Causality violation",
    gives_up_unserved: Without(AwaitSleeps) => "a want is left alone",
);

fn three_threads_want() {
    want(&callers::<3>(3));
}

scene!(three_threads_want, short: Some(2), long: Some(4),);

/// A want of a thread whose cache a slow path stops is left to its thread, which is served or
/// refused.
fn a_want_beside_a_slow_path() {
    let [one, two] = callers(2);
    let other = spawn(&two, move |two| two.look_at_all());
    let id = want_one(&one);
    other.join().unwrap();
    settle(&one, Some((id, By::Id)));
}

scene!(a_want_beside_a_slow_path, short: None, long: None,);

// ---- Stopping ----------------------------------------------------------------------------------

/// What a slow path sees does not change until it lets go of the arena.
fn a_slow_path_beside_hits() {
    let [one, two] = callers(1);
    let id = block(&one, By::Id);
    let other = spawn(&two, move |two| two.look_at_all());
    assert!(one.free(id, By::Id));
    let next = one.alloc(By::Id).unwrap();
    assert_eq!(other.join().unwrap(), 1);
    settle(&one, Some((next, By::Id)));
}

scene!(a_slow_path_beside_hits, short: None, long: None,
    calls_without_the_lock: Without(CallLocksItsCache) => "Causality violation",
    calls_without_a_look: Without(CallLooksWhetherItRuns) => "Causality violation",
    stops_without_the_lock: Without(StopLocksTheCache) => "Causality violation",
    does_not_stop: Without(SlowPathStops) => "Causality violation",
);

/// Caches that nothing lets run end, and their wants go to the slow path.
fn caches_end_beside_a_call() {
    let [one, two] = callers(2);
    let id = block(&one, By::Id);
    let other = spawn(&two, move |two| {
        let _held = two.world.enter_beside(two.arena());
        let slow = &two.arena().slow;
        slow.set(slow.get() | CUAI_SLOW_LISTENER);
    });
    assert!(one.free(id, By::Id));
    let next = one.alloc(By::Id).unwrap();
    other.join().unwrap();
    settle(&one, Some((next, By::Id)));
}

scene!(caches_end_beside_a_call, short: None, long: None,);

// ---- The beginning of caches -------------------------------------------------------------------

/// Threads that meet at the lock get caches.
fn threads_get_caches() {
    let world = Arc::new(World::new(2));
    let [one, two] = [0, 1].map(|index| Caller::new(&world, index));
    let id = one.alloc_slowly(By::Id).unwrap();
    let other = spawn(&two, move |two| two.free(id, By::Id));
    let freed = one.free(id, By::Id);
    assert_ne!(freed, other.join().unwrap(), "one of two frees succeeds");
    settle(&one, None);
}

scene!(threads_get_caches, short: None, long: None,);

/// The first of the threads that meet: it makes caches begin, and its own run.
fn begin(caller: &Caller) {
    let held = caller.arena().lock.enter();
    World::tcaches_begin(caller.arena());
    drop(held);
    run(caller);
}

/// A thread that does not know yet that there are caches takes the lock, and leaves the heap alone.
fn caches_begin_beside_a_fast_path() {
    let world = Arc::new(World::new(2));
    let [one, two] = [0, 1].map(|index| Caller::new(&world, index));
    let id = one.alloc_slowly(By::Id).unwrap();
    let other = spawn(&two, move |two| two.free(id, By::Id));
    begin(&one);
    let freed = one.free(id, By::Id);
    assert_ne!(freed, other.join().unwrap(), "one of two frees succeeds");
    settle(&one, None);
}

scene!(caches_begin_beside_a_fast_path, short: Some(3), long: None,
    reads_an_id_plainly: Without(IdLoadsAtomically) => "Causality violation",
    overlooks_slow: Without(FastPathLooksAtSlow) => "Causality violation",
);

/// A slow path that saw no caches before it had the lock stops them nevertheless.
fn caches_begin_beside_a_slow_path() {
    let world = Arc::new(World::new(1));
    let [one, two] = [0, 1].map(|index| Caller::new(&world, index));
    let id = one.alloc_slowly(By::Id).unwrap();
    let other = spawn(&two, move |two| two.pin(id));
    begin(&one);
    let freed = one.free(id, By::Id);
    assert_ne!(freed, other.join().unwrap(), "a block is pinned or freed");
}

scene!(caches_begin_beside_a_slow_path, short: None, long: None,
    does_not_stop_again: Without(EnterStopsAgain) => "Causality violation",
);

// ---- Ends --------------------------------------------------------------------------------------

/// What the cache of a thread that ends keeps is there for whoever asks next, once.
fn a_thread_ends() {
    let [one, two] = callers(1);
    let id = block(&one, By::Id);
    assert!(one.free(id, By::Id));
    let other = spawn(&two, move |two| two.alloc(By::Id));
    one.world.end_thread(0);
    let next = other.join().unwrap();
    let next = next.or_else(|| two.alloc_slowly(By::Id));
    assert!(next.is_some(), "a block was lost");
    settle(&two, next.map(|id| (id, By::Id)));
}

scene!(a_thread_ends, short: None, long: None,
    loses_blocks: Without(EndFlushes) => "a block was lost",
    stays_in_the_list: Without(EndTakesOutOfTheList) => "Causality violation",
    ends_beside_the_arena: Without(EndLocksTheArena) => "Causality violation",
);

/// A thread and an arena end at once.
fn a_thread_ends_beside_its_arena() {
    let [one, two] = callers(1);
    let other = spawn(&two, move |two| two.world.end_arena(two.arena()));
    one.world.end_thread(0);
    other.join().unwrap();
}

scene!(a_thread_ends_beside_its_arena, short: None, long: None,
    ends_beside_the_list: Without(EndLocksTheList) => "Causality violation",
);

/// A cache whose arena another thread ended is this thread's to use for the next arena.
fn an_arena_ends() {
    let [one, two] = callers(1);
    let next = one.at_other();
    World::tcaches_begin(next.arena());
    let other = spawn(&two, |two| two.world.end_arena(two.arena()));
    let id = next.alloc(By::Id).unwrap();
    assert!(next.free(id, By::Id));
    other.join().unwrap();
}

scene!(an_arena_ends, short: None, long: None,
    leaves_without_release: Weak(TcachesLeave) => "Causality violation",
    reuses_without_acquire: Weak(GetUnused) => "Causality violation",
);

// ---- Streams -----------------------------------------------------------------------------------

const HANDLE: usize = 1;

/// A stream ends, and another one gets its handle or its number: a cache has no blocks of the first
/// then.
fn a_stream_ends() {
    let world = Arc::new(World::new(2));
    let [one, two] = [0, 1].map(|index| Caller::new(&world, index));
    let arena = one.arena();
    World::tcaches_begin(arena);
    arena.streams.set([0, 1, 0]);
    let id = world.tcache_alloc(arena, 0, HANDLE, By::Id).unwrap();
    assert!(world.free_in_cache(arena, 0, id, By::Id));
    let other = spawn(&two, move |two| two.change_streams());
    world.tcache_alloc(arena, 0, HANDLE, By::Id);
    other.join().unwrap();
    assert!(world.tcache_alloc(arena, 0, HANDLE, By::Id).is_some());
}

scene!(a_stream_ends, short: None, long: None,
    keeps_blocks_of_it: Without(StreamEndFlushes) => "of a stream that has ended",
    does_not_find_it: Without(StartFindsTheStream) => "for a stream that has ended",
);
