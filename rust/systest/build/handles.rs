//! The types of which neither side knows what is behind them, and their aliases.

use std::collections::HashSet;

use syn::{Item, ItemStruct, Type};

/// Their names, of all that the bindings hold.
pub fn names(items: &[Item]) -> HashSet<String> {
    let mut names = HashSet::new();
    for item in items {
        match item {
            Item::Struct(item) if is_opaque(item) => names.insert(item.ident.to_string()),
            Item::Type(alias) if names_one_of(&names, &alias.ty) => {
                names.insert(alias.ident.to_string())
            }
            _ => false,
        };
    }
    assert!(!names.is_empty(), "no handle found");
    names
}

// As bindgen makes a struct of which the header has no members.
fn is_opaque(item: &ItemStruct) -> bool {
    let mut fields = item.fields.iter().filter_map(|field| field.ident.as_ref());
    fields.any(|name| name == "_unused")
}

fn names_one_of(names: &HashSet<String>, ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    let last = path.path.segments.last();
    last.is_some_and(|last| names.contains(&last.ident.to_string()))
}
