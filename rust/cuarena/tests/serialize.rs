//! Figures and reports as other programs read them.

#![cfg(feature = "serde")]

use cuarena::{Arena, Placement, StatsForm};
use serde_json::{json, to_value};

#[test]
fn figures_have_the_names_and_values_that_the_library_tells() {
    let builder = Arena::builder().placement(Placement::Low).pool(1 << 20);
    let arena = builder.build().unwrap();
    let hole = arena.alloc(1000).unwrap();
    let _block = arena.alloc(1000).unwrap();
    drop(hole);
    let report = to_value(arena.compact().unwrap()).unwrap();
    assert_eq!(
        (&report["moves"], &report["stopped"]),
        (&json!(1), &json!(false))
    );
    let figures = to_value(arena.stats()).unwrap();
    let mut pairs = 0;
    let count = |key: &str, value: &str| {
        assert_eq!(figures[key].to_string(), value, "{key}");
        pairs += 1;
    };
    arena.stats_pairs(StatsForm::Native, count).unwrap();
    assert_eq!(figures.as_object().unwrap().len(), pairs);
    let steps = to_value(arena.step_stats()).unwrap();
    assert!(steps[0]["name"].is_string(), "{steps}");
}
