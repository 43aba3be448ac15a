//! What is written through a view is of the block's own type: a shorter-lived
//! reference does not get to where one that lives for ever is read.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc_typed::<&'static str>(1).unwrap();
    {
        let text = String::from("gone soon");
        let mut view: HostViewMut<'_, &str> = block.host_mut().unwrap();
        view.fill(&text);
    }
    let view = block.host().unwrap();
}
