//! The command line.

use candle_core::{Error, Result};

use crate::figures::WARM_UP;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scene {
    Train,
    Serve,
    Cache,
}

const SCENES: [(&str, Scene); 3] = [
    ("train", Scene::Train),
    ("serve", Scene::Serve),
    ("cache", Scene::Cache),
];

pub struct Options {
    pub scene: Scene,
    pub keep: bool,
    pub steps: Option<usize>,
}

impl Scene {
    fn named(word: &str) -> Option<Self> {
        let found = SCENES.iter().find(|(name, _)| *name == word)?;
        Some(found.1)
    }

    pub fn name(self) -> &'static str {
        SCENES
            .iter()
            .find(|(_, scene)| *scene == self)
            .map_or("", |(name, _)| name)
    }
}

fn wrong(what: &str) -> Error {
    let names = SCENES.map(|(name, _)| name).join("|");
    Error::Msg(format!(
        "{what}; expected: layer-candle {names} [--keep] [--steps N]"
    ))
}

fn count(word: Option<String>) -> Result<usize> {
    let word = word.unwrap_or_default();
    word.parse()
        .ok()
        .filter(|&steps| steps > WARM_UP)
        .ok_or_else(|| wrong(&format!("steps '{word}', more than {WARM_UP} are needed")))
}

impl Options {
    pub fn of(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let (mut scene, mut keep, mut steps) = (None, false, None);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--keep" => keep = true,
                "--steps" => steps = Some(count(words.next())?),
                other => {
                    let named = Scene::named(other);
                    scene = Some(named.ok_or_else(|| wrong(&format!("'{other}'")))?);
                }
            }
        }
        let scene = scene.ok_or_else(|| wrong("no scene"))?;
        Ok(Self { scene, keep, steps })
    }
}
