//! An arena against a model of it: random programs, from one thread and from
//! several, with drops in any order.

use std::sync::Mutex;

use cuarena::{Arena, Block, CompactOptions, Placement, Preset, Request, Tag};
use proptest::prelude::*;

const POOL: usize = 1 << 18;

/// A block, and what it must be.
struct Modelled {
    block: Block,
    bytes: usize,
    align: usize,
    tag: Tag,
    seed: u8,
}

fn pattern(seed: u8, at: usize) -> u8 {
    seed.wrapping_add((at as u8).wrapping_mul(31))
}

impl Modelled {
    fn write(&mut self) {
        let seed = self.seed;
        for (at, place) in self.block.host_mut().unwrap().iter_mut().enumerate() {
            place.write(pattern(seed, at));
        }
    }

    /// The first `bytes` have the pattern.
    fn assert_kept(&self, bytes: usize) {
        let view = self.block.host().unwrap();
        for (at, place) in view[..bytes].iter().enumerate() {
            // SAFETY: `write` wrote them.
            assert_eq!(unsafe { place.assume_init() }, pattern(self.seed, at));
        }
    }

    fn assert_true(&self) {
        let info = self.block.info().unwrap();
        assert_eq!(self.block.len(), self.bytes);
        assert_eq!((info.requested, info.tag), (self.bytes, self.tag));
        assert_eq!(info.pins, 0);
        let address = self.block.host().unwrap().as_ptr() as usize;
        assert_eq!(self.bytes * (address % self.align.max(256)), 0);
        self.assert_kept(self.bytes);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Alloc {
        bytes: usize,
        align: u32,
        tagged: bool,
    },
    Drop {
        which: usize,
    },
    Resize {
        which: usize,
        bytes: usize,
    },
    Compact {
        moves: u64,
        drops: bool,
    },
    Trim,
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![4 => 0..2000_usize, 2 => 0..20_000_usize, 1 => 0..POOL];
    prop_oneof![
        6 => (bytes.clone(), 0..14_u32, any::<bool>())
            .prop_map(|(bytes, align, tagged)| Step::Alloc { bytes, align, tagged }),
        4 => any::<usize>().prop_map(|which| Step::Drop { which }),
        2 => (any::<usize>(), bytes).prop_map(|(which, bytes)| Step::Resize { which, bytes }),
        1 => (1..20_u64, any::<bool>())
            .prop_map(|(moves, drops)| Step::Compact { moves, drops }),
        1 => Just(Step::Trim),
    ]
}

struct Model {
    arena: Arena,
    tag: Tag,
    blocks: Vec<Modelled>,
    seed: u8,
}

impl Model {
    fn new(arena: Arena) -> Self {
        let tag = arena.tag("model").unwrap();
        Self {
            arena,
            tag,
            blocks: Vec::new(),
            seed: 0,
        }
    }

    fn alloc(&mut self, bytes: usize, align: u32, tagged: bool) {
        let tag = if tagged { self.tag } else { Tag::NONE };
        let align = if align < 8 { 0 } else { 1 << align };
        let request = Request::new().alignment(align).tag(tag);
        match self.arena.alloc_with(bytes, &request) {
            Ok(block) => {
                self.seed = self.seed.wrapping_add(1);
                let seed = self.seed;
                let mut new = Modelled {
                    block,
                    bytes,
                    align,
                    tag,
                    seed,
                };
                new.write();
                self.blocks.push(new);
            }
            Err(error) => assert!(error.is_out_of_memory(), "{error}"),
        }
    }

    fn resize(&mut self, which: usize, bytes: usize) {
        let Some(one) = pick(&self.blocks, which) else {
            return;
        };
        let one = &mut self.blocks[one];
        match one.block.resize(bytes) {
            Ok(()) => {
                one.assert_kept(bytes.min(one.bytes));
                one.bytes = bytes;
                one.write();
            }
            Err(error) => assert!(error.is_out_of_memory(), "{error}"),
        }
    }

    fn compact(&mut self, moves: u64, drops: bool) {
        let blocks = &mut self.blocks;
        let options = CompactOptions::new().batch_moves(moves);
        let result = self.arena.compact_with(&options, |batch| {
            if drops {
                blocks.retain(|one| one.block.id() != batch[0].block());
            }
            std::ops::ControlFlow::Continue(())
        });
        result.unwrap();
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Alloc {
                bytes,
                align,
                tagged,
            } => self.alloc(bytes, align, tagged),
            Step::Drop { which } => {
                if let Some(one) = pick(&self.blocks, which) {
                    let one = self.blocks.swap_remove(one);
                    one.assert_true();
                }
            }
            Step::Resize { which, bytes } => self.resize(which, bytes),
            Step::Compact { moves, drops } => self.compact(moves, drops),
            Step::Trim => drop(self.arena.trim(0).unwrap()),
        }
    }

    fn assert_true(&self) {
        let stats = self.arena.stats();
        let requested: usize = self.blocks.iter().map(|one| one.bytes).sum();
        assert_eq!(stats.requested_bytes, requested);
        assert_eq!(stats.live_blocks, self.blocks.len() as u64);
        self.arena.check().unwrap();
    }

    fn end(self) {
        for one in &self.blocks {
            one.assert_true();
        }
        let arena = self.arena;
        drop(self.blocks);
        assert_eq!(arena.stats().live_bytes, 0);
        arena.close().unwrap();
    }
}

fn pick<T>(of: &[T], which: usize) -> Option<usize> {
    which.checked_rem(of.len())
}

fn arena(preset: Preset) -> Arena {
    let builder = Arena::builder()
        .preset(preset)
        .placement(Placement::Default)
        .limit(POOL);
    let sized = match preset {
        Preset::Pool => builder.pool(POOL),
        _ => builder,
    };
    sized.build().unwrap()
}

fn presets() -> impl Strategy<Value = Preset> {
    prop_oneof![Just(Preset::Pool), Just(Preset::Grow), Just(Preset::Bfc)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_thread(preset in presets(), steps in prop::collection::vec(step(), 1..120)) {
        let mut model = Model::new(arena(preset));
        for step in &steps {
            model.take(step);
            model.assert_true();
        }
        model.end();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// Blocks go to another thread to be dropped, on all threads at once.
    #[test]
    fn several_threads(preset in presets(), programs in prop::collection::vec(prop::collection::vec(step(), 1..150), 4)) {
        let arena = arena(preset);
        let given: Mutex<Vec<Modelled>> = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for program in &programs {
                scope.spawn(|| {
                    let mut model = Model::new(arena.clone());
                    for (n, step) in program.iter().enumerate() {
                        model.take(step);
                        if n % 5 == 0 {
                            let mut given = given.lock().unwrap();
                            std::mem::swap(&mut *given, &mut model.blocks);
                        }
                    }
                    for one in &model.blocks {
                        one.assert_true();
                    }
                });
            }
        });
        let rest = given.into_inner().unwrap();
        rest.iter().for_each(Modelled::assert_true);
        arena.check().unwrap();
        drop(rest);
        prop_assert_eq!(arena.stats().live_bytes, 0);
        arena.close().unwrap();
    }
}
