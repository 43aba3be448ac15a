//! Scenarios that the C suites play too: `tests/scenarios/*.txt` of the
//! repository, or of the folder that `srcdir` names. The first lines of such a
//! file say what its words mean.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cuarena::{Block, ErrorKind, LimitKind, Region, Request};

use super::rig::{place, Rig, Row};

fn folder() -> Option<PathBuf> {
    let top = std::env::var_os("srcdir").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")),
        PathBuf::from,
    );
    let folder = top.join("tests/scenarios");
    folder.is_dir().then_some(folder)
}

/// One scenario: its name and its lines, with their numbers.
pub struct Scenario {
    pub name: String,
    lines: Vec<(usize, Vec<String>)>,
}

/// Those of all files; none where there is no folder.
pub fn scenarios() -> Vec<Scenario> {
    let Some(folder) = folder() else {
        return Vec::new();
    };
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "txt"))
        .collect();
    files.sort();
    let mut all = Vec::new();
    for file in files {
        parse(&std::fs::read_to_string(file).expect("a file"), &mut all);
    }
    all
}

fn parse(text: &str, all: &mut Vec<Scenario>) {
    for (at, line) in text.lines().enumerate() {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match words.first().map(String::as_str) {
            None => {}
            Some(word) if word.starts_with('#') => {}
            Some("scenario") => all.push(Scenario {
                name: words[1..].join("_"),
                lines: Vec::new(),
            }),
            Some(_) => {
                let scenario = all.last_mut().expect("a scenario before its lines");
                scenario.lines.push((at + 1, words));
            }
        }
    }
}

fn bytes_of(word: &str) -> usize {
    let (digits, shift) = match word.as_bytes().last() {
        Some(b'K') => (&word[..word.len() - 1], 10),
        Some(b'M') => (&word[..word.len() - 1], 20),
        _ => (word, 0),
    };
    digits
        .parse::<usize>()
        .unwrap_or_else(|_| panic!("{word}: a number"))
        << shift
}

fn region_of(word: Option<&String>) -> Region {
    match word.map(String::as_str) {
        None | Some("dynamic") => Region::Dynamic,
        Some("stable") => Region::Stable,
        Some(other) => panic!("{other}: a region"),
    }
}

fn kind_of(word: &str) -> Vec<ErrorKind> {
    word.split('|')
        .map(|name| match name {
            "out-of-memory" => ErrorKind::OutOfMemory,
            "fragmented" => ErrorKind::Fragmented,
            "limit" => ErrorKind::Limit,
            "bad-argument" => ErrorKind::BadArgument,
            other => panic!("{other}: a kind of refusal"),
        })
        .collect()
}

struct Play {
    rig: Rig,
    blocks: BTreeMap<String, (Block, u64)>,
    places: BTreeMap<String, u64>,
}

pub fn play(row: Row, scenario: &Scenario) {
    let mut lines = scenario.lines.iter();
    let (mut pool, mut stable) = (0, 0);
    let mut rest = Vec::new();
    for (at, words) in lines.by_ref() {
        match words[0].as_str() {
            "pool" => pool = bytes_of(&words[1]),
            "stable" => stable = bytes_of(&words[1]),
            _ => rest.push((*at, words)),
        }
    }
    let rig = Rig::open_with(row, pool, |builder| builder.stable(stable));
    let mut play = Play {
        rig,
        blocks: BTreeMap::new(),
        places: BTreeMap::new(),
    };
    for (at, words) in rest {
        let line = format!("{} line {at}: {}", scenario.name, words.join(" "));
        play.line(&line, words);
        play.rig
            .arena
            .check()
            .unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    assert!(
        play.blocks.is_empty(),
        "{}: blocks live at its end",
        scenario.name
    );
    play.rig.close();
}

impl Play {
    fn line(&mut self, line: &str, words: &[String]) {
        let word = |i: usize| words[i].as_str();
        let stats = |play: &Self| play.rig.arena.stats();
        match word(0) {
            "take" => self.take(line, word(1), bytes_of(word(2)), words.get(3)),
            "refuse" => {
                let request = Request::new().region(region_of(words.get(3)));
                let refused = self.rig.take_with(bytes_of(word(2)), &request);
                Self::expect_refusal(line, refused.map(drop), word(1));
            }
            "drop" => {
                let (block, seed) = self.blocks.remove(word(1)).expect(line);
                self.rig.expect_painted(&block, block.len(), seed);
                self.rig.give(block);
                self.rig.reclaim();
            }
            "resize" => self.resize(line, word(1), bytes_of(word(2))),
            "refuse-resize" => {
                let (block, _) = self.blocks.get_mut(word(2)).expect(line);
                let refused = block.resize(bytes_of(word(3)));
                Self::expect_refusal(line, refused, word(1));
            }
            "compact" => {
                let report = self.rig.arena.compact().expect(line);
                if let Some(moves) = words.get(1) {
                    assert_eq!(report.moves.to_string(), *moves, "{line}");
                }
            }
            "note" => {
                self.places
                    .insert(word(1).into(), self.place(line, word(1)));
            }
            "stayed" => assert_eq!(self.place(line, word(1)), self.places[word(1)], "{line}"),
            "moved" => assert_ne!(self.place(line, word(1)), self.places[word(1)], "{line}"),
            "below" => {
                let (a, b) = (self.place(line, word(1)), self.place(line, word(2)));
                assert!(a < b, "{line}: {a} and {b}");
            }
            "live" => assert_eq!(stats(self).live_bytes, bytes_of(word(1)), "{line}"),
            "live-in" => {
                let region = region_of(words.get(1));
                let stats = self.rig.arena.region_stats(region);
                assert_eq!(stats.live_bytes, bytes_of(word(2)), "{line}");
            }
            "blocks" => assert_eq!(stats(self).live_blocks, bytes_of(word(1)) as u64, "{line}"),
            "capacity" => assert_eq!(stats(self).capacity_bytes, bytes_of(word(1)), "{line}"),
            "free" => {
                let stats = self.rig.arena.region_stats(Region::Dynamic);
                assert_eq!(stats.free_bytes, bytes_of(word(1)), "{line}");
            }
            "largest" => {
                let found = self.rig.arena.inspect(Some(Region::Dynamic));
                assert_eq!(found.largest_bytes, bytes_of(word(1)), "{line}");
            }
            "limit" => {
                let limit = bytes_of(word(1));
                self.rig
                    .arena
                    .set_limit(LimitKind::Live, limit)
                    .expect(line);
            }
            other => panic!("{line}: no word {other}"),
        }
        for (name, (block, seed)) in &self.blocks {
            assert!(
                self.rig.arena.blocks().any(|info| info.block == block.id()),
                "{name}"
            );
            self.rig.expect_painted(block, block.len().min(256), *seed);
        }
    }

    fn take(&mut self, line: &str, name: &str, bytes: usize, region: Option<&String>) {
        let request = Request::new().region(region_of(region));
        let block = self.rig.take_with(bytes, &request).expect(line);
        let seed = self.rig.paint(&block);
        assert!(
            self.blocks.insert(name.into(), (block, seed)).is_none(),
            "{line}"
        );
    }

    fn resize(&mut self, line: &str, name: &str, bytes: usize) {
        let (block, seed) = self.blocks.get_mut(name).expect(line);
        let kept = block.len().min(bytes);
        block.resize(bytes).expect(line);
        self.rig.reclaim();
        self.rig.expect_painted(block, kept, *seed);
        *seed = self.rig.paint(block);
    }

    fn expect_refusal(line: &str, refused: cuarena::Result<()>, kinds: &str) {
        let error = refused.expect_err(line);
        assert!(kind_of(kinds).contains(&error.kind()), "{line}: {error:?}");
    }

    fn place(&self, line: &str, name: &str) -> u64 {
        let (block, _) = self.blocks.get(name).expect(line);
        place(block)
    }
}
