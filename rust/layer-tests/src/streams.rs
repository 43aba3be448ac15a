//! Several streams, which wait for each other as cudarc makes them.

use crate::{Device, Outcome};

const LEN: usize = 10_000;

pub fn several(device: &Device) -> Outcome {
    let streams: Vec<_> = (0..4)
        .map(|_| device.context.new_stream())
        .collect::<Result<_, _>>()?;
    for round in 0..200_u32 {
        let stream = &streams[round as usize % 4];
        let slice = stream.clone_htod(&vec![round; LEN])?;
        let twin = stream.clone_dtod(&slice)?;
        drop(slice);
        assert_eq!(stream.clone_dtoh(&twin)?[LEN - 1], round);
    }
    Ok(())
}

/// cudarc frees a slice on its own stream, behind events of those that used it.
pub fn freed_on_another(device: &Device) -> Outcome {
    let home = device.context.new_stream()?;
    let guest = device.context.new_stream()?;
    for round in 0..200_u32 {
        let slice = home.clone_htod(&vec![round; LEN])?;
        let twin = guest.clone_dtod(&slice)?;
        drop(slice);
        let next = home.clone_htod(&vec![!round; LEN])?;
        assert_eq!(guest.clone_dtoh(&twin)?[0], round);
        drop(next);
    }
    Ok(())
}

pub fn ended(device: &Device) -> Outcome {
    for round in 0..150_u32 {
        let brief = device.context.new_stream()?;
        let slice = brief.clone_htod(&vec![round; LEN])?;
        assert_eq!(brief.clone_dtoh(&slice)?[1], round);
    }
    Ok(())
}
