//! What was measured on, as the first line of a file of results says it.

use std::time::{SystemTime, UNIX_EPOCH};

use cuarena_sys as ffi;
use serde_json::{json, Value};

/// The members that `bench/results.py` reads, for the benchmark of that name.
pub fn describe(bench: &str) -> Value {
    let driver = driver();
    let device = device();
    json!({
        "kind": "machine",
        "bench": bench,
        "version": env!("CARGO_PKG_VERSION"),
        "date": today(),
        "command": format!("bench_{bench} --bench"),
        "device": device,
        "host": host(),
        "driver": std::env::var("CUARENA_BENCH_DRIVER").unwrap_or_else(|_| "unknown".into()),
        "cuda": driver,
    })
}

/// The version of CUDA that the driver has; 0 without one.
fn driver() -> i32 {
    let mut info = std::mem::MaybeUninit::<ffi::cuarena_driver_info_t>::zeroed();
    // SAFETY: the first call fills the struct, of which all bits 0 are a value.
    unsafe {
        ffi::cuarena_driver_info_init(info.as_mut_ptr());
        ffi::cuarena_driver_info(info.as_mut_ptr());
        info.assume_init().version
    }
}

/// The first device's name; "none" without one.
fn device() -> String {
    let mut info = std::mem::MaybeUninit::<ffi::cuarena_device_info_t>::zeroed();
    // SAFETY: as above.
    let (status, info) = unsafe {
        ffi::cuarena_device_info_init(info.as_mut_ptr());
        let status = ffi::cuarena_device_info(0, info.as_mut_ptr());
        (status, info.assume_init())
    };
    if status != ffi::CUARENA_OK {
        return "none".into();
    }
    let name = info.name.iter().take_while(|&&c| c != 0);
    name.map(|&c| char::from(c as u8)).collect()
}

fn host() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(':'))
        .map_or_else(|| "unknown".into(), |(_, name)| name.trim().to_owned())
}

/// The day, in UTC.
fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let days = since.map_or(0, |time| time.as_secs() / 86_400);
    let (year, month, day) = civil(days as i64);
    format!("{year}-{month:02}-{day:02}")
}

/// Year, month and day of so many days after the first of 1970. Years are
/// counted from March, so that a leap day is the last of one.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    #[test]
    fn days_are_dates() {
        assert_eq!(super::civil(0), (1970, 1, 1));
        assert_eq!(super::civil(11_016), (2000, 2, 29));
        assert_eq!(super::civil(20_777), (2026, 11, 20));
    }
}
