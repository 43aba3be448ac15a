//! What may stand for something that lives less long. What may not, and must
//! not, is in ui/: the two name every type that has a lifetime or values.

use cuarena::heap::{Plan, PlanUnderWay};
use cuarena::*;

macro_rules! shorter {
    ($($name:ident: $long:ty => $short:ty;)*) => {
        $(#[allow(dead_code)]
        fn $name<'a>(longer: $long) -> $short {
            longer
        })*
    };
}

shorter! {
    blocks: Blocks<'static> => Blocks<'a>;
    device_ptr: DevicePtr<'static> => DevicePtr<'a>;
    host_view: HostView<'static, &'static u8> => HostView<'a, &'a u8>;
    host_view_mut: HostViewMut<'static, u8> => HostViewMut<'a, u8>;
    out_of_memory: OutOfMemory<'static> => OutOfMemory<'a>;
    pinned_block: PinnedBlock<'static> => PinnedBlock<'a>;
    plan: Plan<'static> => Plan<'a>;
    plan_under_way: PlanUnderWay<'static> => PlanUnderWay<'a>;
    release_error: ReleaseError<'static> => ReleaseError<'a>;
    scope: Scope<'static> => Scope<'a>;
    typed_block: TypedBlock<&'static u8> => TypedBlock<&'a u8>;
}

#[cfg(feature = "bytemuck")]
shorter! {
    pod_view: PodView<'static, u8> => PodView<'a, u8>;
    pod_view_mut: PodViewMut<'static, u8> => PodViewMut<'a, u8>;
}

#[cfg(feature = "cudarc")]
shorter! {
    foreign_use: interop::cudarc::ForeignUse<'static> => interop::cudarc::ForeignUse<'a>;
}

/// Each public type of the sources that has a parameter is in the lists.
#[test]
fn every_type_with_a_parameter_is_told_of() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(here.join(path)).unwrap();
    let told = read("tests/ui/lengthened.rs") + &read("tests/ui/cudarc/variance.rs");
    let mut folders = vec![here.join("src")];
    let mut found = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            for name in parametrized(&std::fs::read_to_string(path).unwrap()) {
                found += 1;
                assert!(told.contains(&format!("{name}<")), "{name} has no case");
            }
        }
    }
    assert!(found >= 14, "{found} types were found");
}

/// The names of types with parameters that `T: 'static` does not rule out.
fn parametrized(text: &str) -> Vec<String> {
    let heads = text.lines().filter_map(|line| {
        let rest = ["pub struct ", "pub enum "].iter();
        let rest = rest.filter_map(|word| line.strip_prefix(word)).next()?;
        let (name, parameters) = rest.split_once('<')?;
        let is_name = name.chars().all(char::is_alphanumeric);
        let fixed = parameters.starts_with("T: Pod>");
        (is_name && !fixed).then(|| name.to_owned())
    });
    heads.collect()
}
