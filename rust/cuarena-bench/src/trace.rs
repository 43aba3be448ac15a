//! Recorded programs: `traces/*.csv.gz`, whose format is in `traces/README.md`.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::side::Hand;

/// One event.
#[derive(Clone, Copy)]
pub enum Event {
    /// Bytes into a place.
    Take { place: usize, bytes: usize },
    /// What is in the place goes.
    Give { place: usize },
}

/// One program.
pub struct Trace {
    pub name: String,
    pub events: Vec<Event>,
    /// How many are held at once at most.
    places: usize,
}

impl Trace {
    /// Those of a folder, by name.
    pub fn all(folder: &Path) -> io::Result<Vec<Self>> {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<_>>()?;
        paths.retain(|path| path.to_string_lossy().ends_with(".csv.gz"));
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    fn read(path: &Path) -> io::Result<Self> {
        let mut text = String::new();
        flate2::read::GzDecoder::new(std::fs::File::open(path)?).read_to_string(&mut text)?;
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let name = file.trim_end_matches(".csv.gz").to_owned();
        parse(&text)
            .map(|(events, places)| Self {
                name,
                events,
                places,
            })
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("{path:?}")))
    }

    /// Plays it once; what it still holds at the end goes.
    pub fn play<H: Hand>(&self, hand: &H) {
        let mut held: Vec<Option<H::Held>> = (0..self.places).map(|_| None).collect();
        for event in &self.events {
            match *event {
                Event::Take { place, bytes } => held[place] = Some(hand.take(bytes)),
                Event::Give { place } => held[place] = None,
            }
        }
        drop(held);
        hand.wait();
    }
}

/// The events, and how many places they need.
fn parse(text: &str) -> Option<(Vec<Event>, usize)> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next()?.split(',').collect();
    let column = |name| names.iter().position(|&n| n == name);
    let (op, id, size) = (column("op")?, column("id")?, column("size")?);
    let mut places = Places::default();
    let mut events = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let id: u64 = cells.get(id)?.parse().ok()?;
        events.push(match *cells.get(op)? {
            "a" => Event::Take {
                place: places.take(id),
                bytes: cells.get(size)?.parse::<usize>().ok()?.max(1),
            },
            "f" => Event::Give {
                place: places.give(id)?,
            },
            _ => return None,
        });
    }
    Some((events, places.count))
}

/// Numbers for what is held, the last freed one first.
#[derive(Default)]
struct Places {
    of: std::collections::HashMap<u64, usize>,
    free: Vec<usize>,
    count: usize,
}

impl Places {
    fn take(&mut self, id: u64) -> usize {
        let place = self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.of.insert(id, place);
        place
    }

    fn give(&mut self, id: u64) -> Option<usize> {
        let place = self.of.remove(&id)?;
        self.free.push(place);
        Some(place)
    }
}
