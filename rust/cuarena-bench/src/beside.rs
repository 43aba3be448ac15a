//! Two sides measured in turns, so that a clock which wanders, as that of a
//! machine shared with others does, takes both along.
//!
//! *Vocabulary.* A **batch** is so many pairs of calls of one side. A **turn**
//! is a batch of each side, right after each other; who begins changes from
//! turn to turn. Differences and ratios are those within a turn.

use std::time::Duration;

use serde_json::{json, Value};

use crate::side::{time_calls, Hand, Side};

/// How many turns are taken, and with `--quick`.
const TURNS: usize = 4001;
const QUICK_TURNS: usize = 401;
/// How long a batch is about: many times what a look at the clock takes, and
/// short beside a time slice of the system.
const BATCH: Duration = Duration::from_micros(10);

/// What one parameter came to, in nanoseconds a pair; medians.
pub struct Beside {
    pub ours: f64,
    pub theirs: f64,
    /// Of `ours` less `theirs`, with its lower and upper quartile.
    pub difference: [f64; 3],
    /// Of `theirs` over `ours`, likewise.
    pub ratio: [f64; 3],
}

/// One batch: nanoseconds a pair.
fn batch<H: Hand>(hand: &H, pairs: u64, bytes: usize) -> f64 {
    time_calls(hand, pairs, bytes).as_nanos() as f64 / pairs as f64
}

/// How many pairs take about as long as a batch, what was made first being
/// made.
fn pairs_of<H: Hand>(hand: &H, bytes: usize) -> u64 {
    let mut pairs = 8;
    while pairs < 1 << 20 {
        let taken = time_calls(hand, pairs, bytes);
        if taken >= BATCH {
            break;
        }
        pairs *= 2;
    }
    pairs
}

/// The lower quartile, the median and the upper quartile.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let at = |part: usize| values[(values.len() - 1) * part / 4];
    [at(1), at(2), at(3)]
}

impl Beside {
    /// Measures one size in so many turns.
    fn measure<A: Hand, B: Hand>(turns: usize, ours: &A, theirs: &B, bytes: usize) -> Self {
        let (our_pairs, their_pairs) = (pairs_of(ours, bytes), pairs_of(theirs, bytes));
        let (mut of_ours, mut of_theirs) = (Vec::new(), Vec::new());
        for turn in 0..turns {
            let first = (turn % 2 == 0).then(|| batch(ours, our_pairs, bytes));
            of_theirs.push(batch(theirs, their_pairs, bytes));
            of_ours.push(first.unwrap_or_else(|| batch(ours, our_pairs, bytes)));
        }
        let both = || of_ours.iter().zip(&of_theirs);
        Self {
            difference: quartiles(both().map(|(a, b)| a - b).collect()),
            ratio: quartiles(both().map(|(a, b)| b / a).collect()),
            ours: quartiles(of_ours.clone())[1],
            theirs: quartiles(of_theirs.clone())[1],
        }
    }

    fn record(&self, case: &str, who: &str, beside: &str, bytes: usize) -> Value {
        json!({
            "kind": "beside",
            "case": case,
            "who": who,
            "beside": beside,
            "of": bytes.to_string(),
            "unit": "ns",
            "ours": self.ours,
            "theirs": self.theirs,
            "difference": self.difference,
            "ratio": self.ratio,
        })
    }
}

/// The records of all that was measured, and what is measured of it: names
/// that have a word of the command line, all without one.
pub struct Sheet {
    words: Vec<String>,
    turns: usize,
    pub records: Vec<Value>,
}

impl Sheet {
    /// For the arguments of the program, of which `--quick` is known here.
    pub fn new(arguments: impl Iterator<Item = String>) -> Self {
        let (flags, words): (Vec<_>, Vec<_>) = arguments.partition(|a| a.starts_with("--"));
        let quick = flags.iter().any(|flag| flag == "--quick");
        Self {
            words,
            turns: if quick { QUICK_TURNS } else { TURNS },
            records: Vec::new(),
        }
    }

    fn wants(&self, name: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str()))
    }

    /// Each size, on hands of this thread; prints what it comes to.
    pub fn measure<A: Side, B: Side>(&mut self, case: &str, ours: &A, theirs: &B, sizes: &[usize]) {
        let (who, beside) = (ours.name(), theirs.name());
        let name = format!("{case}/{who} beside {beside}");
        if !self.wants(&name) {
            return;
        }
        let (our_hand, their_hand) = (ours.hand(), theirs.hand());
        for &bytes in sizes {
            let found = Beside::measure(self.turns, &our_hand, &their_hand, bytes);
            println!(
                "{name}/{bytes}: {:.1} beside {:.1} ns, {:+.1} ns [{:+.1} {:+.1}], ratio {:.2}",
                found.ours,
                found.theirs,
                found.difference[1],
                found.difference[0],
                found.difference[2],
                found.ratio[1],
            );
            self.records.push(found.record(case, who, beside, bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn quartiles_of_an_odd_count_are_values_of_it() {
        assert_eq!(
            super::quartiles(vec![5.0, 1.0, 3.0, 2.0, 4.0]),
            [2.0, 3.0, 4.0]
        );
    }
}
