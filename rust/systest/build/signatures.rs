//! A C file that declares again, from the Rust bindings, what the header
//! declares: C takes two declarations only if they mean the same type.

use std::fs;
use std::path::PathBuf;

use syn::{FnArg, ForeignItem, ForeignItemFn, Item, ItemType, ReturnType, Type, TypePath};

/// Compiles it, or ends the build.
pub fn compare(items: &[Item], include: &[PathBuf]) {
    let lines = declarations(items);
    assert!(lines.len() > 100, "only {} declarations found", lines.len());
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let path = out.join("signatures.c");
    fs::write(
        &path,
        format!("#include <cuarena.h>\n{}\n", lines.join("\n")),
    )
    .expect("the declarations can be written");
    cc::Build::new()
        .std("c11")
        .includes(include)
        .file(&path)
        .warnings_into_errors(true)
        .compile("signatures");
}

fn declarations(items: &[Item]) -> Vec<String> {
    let mut lines = Vec::new();
    for item in items {
        match item {
            Item::ForeignMod(block) => lines.extend(block.items.iter().map(|item| match item {
                ForeignItem::Fn(function) => declare(function),
                _ => panic!("the bindings hold something external that is no function"),
            })),
            Item::Type(alias) => lines.extend(declare_callback(alias)),
            _ => {}
        }
    }
    lines
}

fn declare(function: &ForeignItemFn) -> String {
    let parameters = function.sig.inputs.iter().map(|argument| match argument {
        FnArg::Typed(argument) => c_type(&argument.ty),
        FnArg::Receiver(_) => panic!("a function of C has no receiver"),
    });
    format!(
        "extern {} ({})({});",
        c_return(&function.sig.output),
        function.sig.ident,
        c_list(parameters)
    )
}

// `Option<unsafe extern "C" fn(...)>`; other types have no such line.
fn declare_callback(alias: &ItemType) -> Option<String> {
    let Type::Path(path) = &*alias.ty else {
        return None;
    };
    let option = path
        .path
        .segments
        .last()
        .filter(|last| last.ident == "Option")?;
    let syn::PathArguments::AngleBracketed(arguments) = &option.arguments else {
        return None;
    };
    let Some(syn::GenericArgument::Type(Type::BareFn(function))) = arguments.args.first() else {
        return None;
    };
    Some(format!(
        "typedef {} (*{})({});",
        c_return(&function.output),
        alias.ident,
        c_list(function.inputs.iter().map(|argument| c_type(&argument.ty)))
    ))
}

fn c_list(types: impl Iterator<Item = String>) -> String {
    let types: Vec<_> = types.collect();
    if types.is_empty() {
        "void".to_owned()
    } else {
        types.join(", ")
    }
}

fn c_return(output: &ReturnType) -> String {
    match output {
        ReturnType::Default => "void".to_owned(),
        ReturnType::Type(_, ty) => c_type(ty),
    }
}

fn c_type(ty: &Type) -> String {
    match ty {
        Type::Ptr(pointer) if pointer.const_token.is_some() => {
            format!("{} const *", c_type(&pointer.elem))
        }
        Type::Ptr(pointer) => format!("{} *", c_type(&pointer.elem)),
        Type::Path(path) => c_name(path),
        _ => panic!("a type that C does not have by this name"),
    }
}

// Structs by their tag are those whose names do not end as a typedef's do.
fn c_name(path: &TypePath) -> String {
    let name = path
        .path
        .segments
        .last()
        .expect("a path has a last segment");
    match name.ident.to_string().as_str() {
        "c_void" => "void".to_owned(),
        "c_char" => "char".to_owned(),
        "c_int" => "int".to_owned(),
        "f64" => "double".to_owned(),
        "usize" => "size_t".to_owned(),
        "u8" | "u16" | "u32" | "u64" => format!("uint{}_t", &name.ident.to_string()[1..]),
        "i8" | "i16" | "i32" | "i64" => format!("int{}_t", &name.ident.to_string()[1..]),
        known if known.ends_with("_t") || known.ends_with("_fn") => known.to_owned(),
        tag => format!("struct {tag}"),
    }
}
