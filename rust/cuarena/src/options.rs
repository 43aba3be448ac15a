//! The options table: what can be set of an arena, as data; and options among
//! other keys.

use core::ffi::{c_char, CStr};
use std::ffi::CString;

use crate::amount::c_text;
use crate::error::check;
use crate::sized::sized;
use crate::{ffi, ArenaBuilder, Result};

/// One option of an arena. The texts are the library's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct OptionInfo {
    /// What [`ArenaBuilder::option`] knows it by.
    pub key: &'static str,
    /// amount, bytes, count, choice, flag or text.
    pub kind: &'static str,
    /// Range or choices.
    pub accepted: &'static str,
    /// What it is if nobody sets it, as a value that is accepted.
    pub default: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// ONNX Runtime's names for it; empty: none.
    pub ort_names: &'static str,
    /// The range of the number behind those.
    pub ort_accepted: &'static str,
    /// Whether it is for special cases; these come after the others.
    pub advanced: bool,
}

/// Every option that the library which runs here has, in the table's order.
///
/// ```
/// let preset = cuarena::options().find(|option| option.key == "preset").unwrap();
/// assert_eq!(preset.default, "pool");
/// ```
pub fn options() -> impl Iterator<Item = OptionInfo> {
    (0..).map_while(option_at)
}

fn option_at(index: usize) -> Option<OptionInfo> {
    // SAFETY: an init function of the library.
    let mut raw = unsafe { sized(ffi::cuarena_option_info_init) };
    // SAFETY: the struct was made by its init function.
    check(unsafe { ffi::cuarena_option_info(index, &mut raw) }).ok()?;
    Some(OptionInfo {
        key: text(raw.key),
        kind: text(raw.type_),
        accepted: text(raw.accepted),
        default: text(raw.default_text),
        help: text(raw.help),
        ort_names: text(raw.ort_names),
        ort_accepted: text(raw.ort_accepted),
        advanced: raw.advanced != 0,
    })
}

fn text(raw: *const c_char) -> &'static str {
    if raw.is_null() {
        return "";
    }
    // SAFETY: static text of the library.
    unsafe { CStr::from_ptr(raw) }.to_str().unwrap_or("")
}

/// How ONNX Runtime's hosts name the options of one arena among other keys.
/// The factory is the name of the execution provider's factory, as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scope<'a> {
    /// `arena.KEY`: of a replacement.
    Bare,
    /// `ep_factory.FACTORY.arena.KEY`.
    Environment {
        /// The factory's name.
        factory: &'a str,
    },
    /// `ep.FACTORY.arena.KEY`, with the name in lower case.
    Session {
        /// The factory's name.
        factory: &'a str,
    },
}

impl<'a> Scope<'a> {
    fn parts(self) -> (i32, &'a str) {
        match self {
            Self::Bare => (ffi::CUARENA_SCOPE_BARE, ""),
            Self::Environment { factory } => (ffi::CUARENA_SCOPE_ENVIRONMENT, factory),
            Self::Session { factory } => (ffi::CUARENA_SCOPE_SESSION, factory),
        }
    }
}

impl ArenaBuilder {
    /// Sets the options that are the scope's among `pairs` of key and value,
    /// and passes over all others. Also returns how many were the scope's.
    ///
    /// # Errors
    ///
    /// As [`ArenaBuilder::option`], with the whole key named; a bad argument
    /// for text with a zero in it.
    ///
    /// ```
    /// # fn main() -> cuarena::Result<()> {
    /// use cuarena::{Arena, Scope};
    /// let keys = [
    ///     ("ep.gpu.arena.max_mem", "1048576"),
    ///     ("ep.gpu.device_id", "0"),
    /// ];
    /// let scope = Scope::Session { factory: "GPU" };
    /// let (builder, taken) = Arena::builder().scoped(scope, keys)?;
    /// assert_eq!((taken, &*builder.get("limit")?), (1, "1MiB"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn scoped<'a>(
        mut self,
        scope: Scope<'_>,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(Self, usize)> {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for (key, value) in pairs {
            keys.push(c_text(key)?);
            values.push(c_text(value)?);
        }
        let pointers = |texts: &[CString]| texts.iter().map(|t| t.as_ptr()).collect::<Vec<_>>();
        let (number, factory) = scope.parts();
        let factory = c_text(factory)?;
        let mut taken = 0;
        // SAFETY: the texts live until the call returns, as many as it is told.
        check(unsafe {
            ffi::cuarena_config_from_scope(
                self.config_mut(),
                number,
                factory.as_ptr(),
                pointers(&keys).as_ptr(),
                pointers(&values).as_ptr(),
                keys.len(),
                &mut taken,
            )
        })?;
        Ok((self, taken))
    }
}
