//! Amounts of memory: bytes, a part of all, or what is available.

use std::ffi::CString;
use std::fmt;
use std::str::FromStr;

use crate::error::{check, Error, ErrorKind};
use crate::ffi;

/// An amount of memory: bytes, thousandths of a percent of all that the memory
/// has, whoever has it now, or all that is available now but so many bytes.
///
/// As text `512MiB`, `4G`, `80%`, `auto`, `auto-256MiB`; all units count in
/// 1024.
///
/// ```
/// use cuarena::Amount;
/// # fn main() -> Result<(), cuarena::Error> {
/// assert_eq!("1MiB".parse::<Amount>()?, Amount::bytes(1 << 20));
/// assert_eq!("80%".parse::<Amount>()?, Amount::percent(80));
/// assert_eq!("auto-4K".parse::<Amount>()?, Amount::all_but(4096));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Amount {
    unit: i32,
    value: u64,
}

impl Amount {
    /// All that is available.
    pub const ALL: Self = Self::all_but(0);

    /// So many bytes.
    #[must_use]
    pub const fn bytes(bytes: usize) -> Self {
        Self {
            unit: ffi::CUARENA_AMOUNT_BYTES,
            value: bytes as u64,
        }
    }

    /// A whole percentage of all that the memory has; finer ones are parsed
    /// from text.
    #[must_use]
    pub const fn percent(percent: u32) -> Self {
        Self {
            unit: ffi::CUARENA_AMOUNT_PERCENT,
            value: percent as u64 * 1000,
        }
    }

    /// All that is available but so many bytes.
    #[must_use]
    pub const fn all_but(bytes: usize) -> Self {
        Self {
            unit: ffi::CUARENA_AMOUNT_AUTO,
            value: bytes as u64,
        }
    }

    /// As the C library has it.
    pub(crate) fn raw(self) -> ffi::cuarena_amount_t {
        ffi::cuarena_amount_t {
            unit: self.unit,
            zero: 0,
            value: self.value,
        }
    }
}

impl From<usize> for Amount {
    fn from(bytes: usize) -> Self {
        Self::bytes(bytes)
    }
}

impl FromStr for Amount {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let text = c_text(text)?;
        let mut amount = Self::ALL.raw();
        // SAFETY: both point to what lives until the call returns.
        check(unsafe { ffi::cuarena_amount_parse(text.as_ptr(), &mut amount) })?;
        Ok(Self {
            unit: amount.unit,
            value: amount.value,
        })
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.unit, self.value) {
            (ffi::CUARENA_AMOUNT_BYTES, bytes) => write!(f, "{bytes}"),
            (ffi::CUARENA_AMOUNT_PERCENT, part) if part % 1000 == 0 => {
                write!(f, "{}%", part / 1000)
            }
            (ffi::CUARENA_AMOUNT_PERCENT, part) => {
                write!(f, "{}.{:03}%", part / 1000, part % 1000)
            }
            (_, 0) => f.write_str("auto"),
            (_, bytes) => write!(f, "auto-{bytes}"),
        }
    }
}

impl fmt::Debug for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Amount({self})")
    }
}

/// Text for C, which ends at its first zero.
pub(crate) fn c_text(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| {
        let message = format!("{text:?}: text without a zero character is accepted");
        Error::new(ErrorKind::BadArgument, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_an_amount_parses_to_it() {
        for text in ["12345", "80%", "12.500%", "auto", "auto-4096"] {
            let amount: Amount = text.parse().unwrap();
            assert_eq!(amount.to_string(), text);
            assert_eq!(amount.to_string().parse::<Amount>().unwrap(), amount);
        }
    }

    #[test]
    fn bad_text_is_named() {
        let error = "12 parsecs".parse::<Amount>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadArgument);
        assert!(error.message().contains("12 parsecs"), "{error}");
        let error = "1\0".parse::<Amount>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadArgument);
    }
}
