//! Figures besides [`Arena::stats`]: of tags and streams, ONNX Runtime's, as
//! text, how often each step of running out helped, and peaks in scopes.
//!
//! Everything here takes a bounded number of steps whatever lives, reaches no
//! driver, works for every memory, and may be asked by any thread, also from
//! the arena's own callbacks.

use core::ffi::{c_char, c_void, CStr};

use crate::error::check;
use crate::sized::{figures, sized};

use crate::stream::Stream;
use crate::{ffi, panics, Arena, Region, Result, Stats, Tag};

figures! {
    /// The eleven figures that ONNX Runtime's arenas have, each changed by the
    /// same things as there.
    ///
    /// What they call a Reserve is a dedicated block here; adopted bytes count
    /// as one too. No limit is `i64::MAX`.
    OrtStats of cuarena_ort_stats_t {
        /// Blocks ever allocated, Reserves too.
        num_allocs: i64,
        /// Reserves ever made.
        num_reserves: i64,
        /// Growths, less those that were given back.
        num_arena_extensions: i64,
        /// Growths that were given back.
        num_arena_shrinkages: i64,
        /// Bytes of live blocks, as allocated.
        bytes_in_use: i64,
        /// Bytes of live blocks, as asked for.
        bytes_requested_in_use: i64,
        /// Bytes taken from the memory, and adopted.
        total_allocated_bytes: i64,
        /// Bytes of live Reserves, as allocated.
        reserved_bytes: i64,
        /// The most `bytes_in_use` ever: scopes and resets do not change it.
        max_bytes_in_use: i64,
        /// The largest block ever, as allocated.
        max_alloc_size: i64,
        /// The most bytes to take from the memory: the limit, or the pool; -1:
        /// there is none.
        bytes_limit: i64,
    }
}

/// Which figures [`Arena::stats_text`] and [`Arena::stats_pairs`] give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StatsForm {
    /// The members of [`Stats`], under their names.
    Native,
    /// Those of [`OrtStats`], under ONNX Runtime's keys, such as `MaxInUse`.
    Ort,
}

impl StatsForm {
    fn number(self) -> i32 {
        match self {
            Self::Native => ffi::CUARENA_TEXT_STATS,
            Self::Ort => ffi::CUARENA_TEXT_ORT,
        }
    }
}

/// One step of what an arena does for a request that no free bytes have room
/// for, and how often it was taken since the arena was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StepStats {
    /// The step as errors and the log call it.
    pub name: &'static str,
    /// How often the step had something to do.
    pub tried: u64,
    /// How many requests had room after it and went no further.
    pub served: u64,
}

impl Arena {
    /// Live and requested bytes, counts and peaks of the blocks with this tag;
    /// the rest is 0. O(1).
    ///
    /// # Errors
    ///
    /// A bad argument for a tag of another arena.
    pub fn tag_stats(&self, tag: Tag) -> Result<Stats> {
        // SAFETY: the arena lives; the struct was made by its init function.
        unsafe { stats_by(|raw| ffi::cuarena_tag_stats(self.raw(), tag.number(), raw)) }
    }

    /// The figures that ONNX Runtime's arenas have. O(1).
    ///
    /// # Errors
    ///
    /// Of the driver, which is asked where blocks are pieces of a pool of its
    /// own.
    pub fn ort_stats(&self) -> Result<OrtStats> {
        // SAFETY: an init function of the library.
        let mut raw = unsafe { sized(ffi::cuarena_ort_stats_init) };
        // SAFETY: the arena lives; the struct was made by its init function.
        check(unsafe { ffi::cuarena_ort_stats(self.raw(), &mut raw) })?;
        Ok(OrtStats::from_raw(&raw))
    }

    /// Hands every figure of one moment to `write`, key and value, in decimal.
    /// Any call of the arena is legal in `write`, which is called on this
    /// thread only, before the return.
    ///
    /// # Errors
    ///
    /// As [`ort_stats`](Self::ort_stats), for [`StatsForm::Ort`].
    ///
    /// # Panics
    ///
    /// With what `write` panicked with; it is not called again then.
    pub fn stats_pairs<F: FnMut(&str, &str)>(&self, form: StatsForm, write: F) -> Result<()> {
        let mut writer = Writer {
            write,
            panicked: false,
        };
        let user: *mut Writer<F> = &mut writer;
        // SAFETY: the arena lives; `user` is what pair_in wants, and is good
        // until the call returns.
        let status = unsafe {
            ffi::cuarena_stats_pairs(self.raw(), form.number(), Some(pair_in::<F>), user.cast())
        };
        panics::resume();
        check(status)
    }

    /// Every figure as `key=value`, each on a line of its own.
    ///
    /// ```
    /// # fn main() -> cuarena::Result<()> {
    /// use cuarena::{Arena, StatsForm};
    /// let arena = Arena::builder().pool(1 << 20).build()?;
    /// assert!(arena.stats_text(StatsForm::Native)?.contains("live_blocks=0\n"));
    /// assert!(arena.stats_text(StatsForm::Ort)?.contains("MaxInUse=0\n"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`ort_stats`](Self::ort_stats), for [`StatsForm::Ort`].
    pub fn stats_text(&self, form: StatsForm) -> Result<String> {
        let mut text: Vec<u8> = Vec::with_capacity(2048);
        loop {
            let mut needed = 0;
            // SAFETY: the arena lives; `text` has as many bytes as it says.
            let status = unsafe {
                ffi::cuarena_stats_text(
                    self.raw(),
                    form.number(),
                    text.as_mut_ptr().cast::<c_char>(),
                    text.capacity(),
                    &mut needed,
                )
            };
            if needed > text.capacity() {
                text.reserve(needed);
                continue;
            }
            check(status)?;
            // SAFETY: a successful call has written `needed` bytes, the last of
            // which is the zero at the end.
            unsafe { text.set_len(needed.saturating_sub(1)) };
            return Ok(String::from_utf8_lossy(&text).into_owned());
        }
    }

    /// How often each step of running out was tried and helped, in the order
    /// in which they are taken.
    pub fn step_stats(&self) -> Vec<StepStats> {
        let mut count = 0;
        let most = ffi::CUARENA_STEP_COUNT as usize;
        // A newer library may have more steps than this crate has heard of.
        let mut raw: Vec<ffi::cuarena_step_stats_t> = Vec::with_capacity(2 * most);
        // SAFETY: the arena lives; `raw` has room for as many as it says.
        told(check(unsafe {
            ffi::cuarena_step_stats(self.raw(), raw.as_mut_ptr(), raw.capacity(), &mut count)
        }));
        // SAFETY: so many were written, of those that there was room for.
        unsafe { raw.set_len(count.min(raw.capacity())) };
        raw.iter().map(step_of).collect()
    }
}

impl Stream {
    /// Live and requested bytes, counts and peaks of the blocks that were
    /// allocated on this stream, and `free_bytes`: those of its free list.
    /// O(1).
    ///
    /// # Errors
    ///
    /// Stale before the arena has seen the stream in a call.
    pub fn stats(&self) -> Result<Stats> {
        // SAFETY: arena and stream live; the struct was made by its init.
        unsafe { stats_by(|raw| ffi::cuarena_stream_stats(self.arena().raw(), self.handle(), raw)) }
    }
}

/// What a statistic tells. The calls that have them fail for arguments that
/// this crate does not pass, and where no call of the arena is served: of a
/// signal handler that interrupted one, or in a child that was forked beside
/// one.
#[track_caller]
pub(crate) fn told<T>(answer: Result<T>) -> T {
    answer.unwrap_or_else(|error| panic!("an arena cannot be asked: {error}"))
}

pub(crate) fn region_number(region: Option<Region>) -> i32 {
    region.map_or(ffi::CUARENA_REGION_ALL, Region::code)
}

fn step_of(raw: &ffi::cuarena_step_stats_t) -> StepStats {
    // SAFETY: static text of the library, of ASCII.
    let name = unsafe { CStr::from_ptr(raw.name) };
    StepStats {
        name: name.to_str().unwrap_or(""),
        tried: raw.tried,
        served: raw.served,
    }
}

/// What a call of the library writes into a `cuarena_stats_t`.
///
/// # Safety
///
/// `ask` may be called with a pointer to such a struct.
pub(crate) unsafe fn stats_by(
    ask: impl FnOnce(*mut ffi::cuarena_stats_t) -> ffi::cuarena_status_t,
) -> Result<Stats> {
    // SAFETY: an init function of the library.
    let mut raw = unsafe { sized(ffi::cuarena_stats_init) };
    check(ask(&mut raw))?;
    Ok(Stats::from_raw(&raw))
}

/// Who gets the pairs, until it panics.
struct Writer<F> {
    write: F,
    panicked: bool,
}

/// # Safety
///
/// `user` is a `Writer<F>` that nobody else uses; the texts end with zeros.
unsafe extern "C" fn pair_in<F: FnMut(&str, &str)>(
    user: *mut c_void,
    key: *const c_char,
    value: *const c_char,
) {
    // SAFETY: as the caller says; the texts are good during the call.
    let (writer, key, value) = unsafe {
        (
            &mut *user.cast::<Writer<F>>(),
            CStr::from_ptr(key).to_string_lossy(),
            CStr::from_ptr(value).to_string_lossy(),
        )
    };
    if writer.panicked {
        return;
    }
    writer.panicked = panics::guard(true, || {
        (writer.write)(&key, &value);
        false
    });
}
