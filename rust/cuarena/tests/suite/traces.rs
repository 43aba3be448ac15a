//! Recorded programs, replayed with their contents looked after: each block is
//! painted where it begins and where it ends, and looked at when it is freed
//! and after every compaction. Sizes are divided, so that a test has room.
//!
//! The folder is that of the C suites and of the `cuarena` command:
//! `traces` of the repository, or of the folder that `srcdir` names. Without it
//! there is nothing to replay, which is said.

use std::collections::HashMap;
use std::io::Read;
use std::path::PathBuf;

use cuarena::{Backing, Block, Error, MemoryKind, Preset};

use super::rig::{Bytes, Rig, Row};

const DIVIDE: usize = 64;
const EDGE: usize = 64;

struct Event {
    alloc: bool,
    id: u64,
    size: usize,
    stream: usize,
}

fn folder() -> Option<PathBuf> {
    let top = std::env::var_os("srcdir").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")),
        PathBuf::from,
    );
    let folder = top.join("traces");
    folder.is_dir().then_some(folder)
}

/// The first so many events of a trace; columns are found by name.
fn events(name: &str, most: usize) -> Option<Vec<Event>> {
    let file = std::fs::File::open(folder()?.join(name)).ok()?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("a trace");
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().expect("a line of names").split(',').collect();
    let place = |name: &str| {
        let at = columns.iter().position(|column| *column == name);
        at.unwrap_or_else(|| panic!("no column {name}"))
    };
    let (op, id, size, stream) = (place("op"), place("id"), place("size"), place("stream"));
    let event = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields[at].parse::<u64>().unwrap_or(0);
        Event {
            alloc: fields[op] == "a",
            id: number(id),
            size: number(size) as usize,
            stream: number(stream) as usize,
        }
    };
    Some(lines.take(most).map(event).collect())
}

/// A block with painted edges.
struct Painted {
    block: Block,
    seed: u64,
}

impl Painted {
    fn new(rig: &Rig, block: Block) -> Self {
        let seed = paint_edges(rig, &block);
        Self { block, seed }
    }

    fn expect(&self, rig: &Rig) {
        rig.expect_painted(&self.block, self.block.len().min(EDGE), self.seed);
    }
}

/// Only the beginning: whole blocks would take most of the time.
fn paint_edges(rig: &Rig, block: &Block) -> u64 {
    let seed = block.id().as_raw();
    rig.write(block, &super::rig::pattern(seed, block.len().min(EDGE)));
    seed
}

fn serve(rig: &Rig, event: &Event) -> Result<Block, Error> {
    let bytes = event.size.div_ceil(DIVIDE);
    match rig.streams.len() {
        0 => rig.arena.alloc(bytes),
        count => rig
            .arena
            .alloc_on(bytes, &rig.streams[event.stream % count]),
    }
}

pub fn replay(row: Row, name: &str, most: usize) {
    let Some(events) = events(name, most) else {
        println!("passed over: no {name}");
        return;
    };
    let mut live: HashMap<u64, usize> = HashMap::new();
    let (mut now, mut peak) = (0, 0);
    for event in &events {
        if event.alloc {
            let bytes = event.size.div_ceil(DIVIDE).next_multiple_of(256);
            live.insert(event.id, bytes);
            now += bytes;
            peak = peak.max(now);
        } else {
            now -= live.remove(&event.id).expect("a free of what lives");
        }
    }
    // Tight, so that compaction has to help; it does less where segments or
    // holes in the addresses keep blocks apart.
    // How many segments there are, where they keep their length, depends on
    // when events are complete.
    let spare = match row.kind.bytes {
        _ if row.kind.preset == Preset::Pool => peak / 50,
        Bytes::Device(Backing::Malloc) | Bytes::Of(MemoryKind::Pinned) => peak,
        _ => peak / 2,
    };
    let rig = Rig::open(row, (peak + spare).next_multiple_of(row.kind.unit()));
    let mut blocks: HashMap<u64, Painted> = HashMap::new();
    let mut compactions = 0;
    for event in &events {
        if !event.alloc {
            let painted = blocks.remove(&event.id).expect("a live block");
            painted.expect(&rig);
            rig.give(painted.block);
            continue;
        }
        let block = serve(&rig, event).or_else(|error| {
            assert!(error.is_out_of_memory(), "{error:?}");
            rig.reclaim();
            rig.arena.compact()?;
            compactions += 1;
            blocks.values().for_each(|painted| painted.expect(&rig));
            serve(&rig, event)
        });
        let block = block.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        blocks.insert(event.id, Painted::new(&rig, block));
    }
    rig.reclaim();
    assert_eq!(rig.arena.stats().live_blocks as usize, blocks.len());
    blocks.values().for_each(|painted| painted.expect(&rig));
    drop(blocks);
    rig.close();
}
