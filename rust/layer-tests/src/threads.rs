//! Several threads.

use std::sync::mpsc;
use std::thread;

use cudarc::driver::DriverError;

use crate::{Device, Outcome};

pub fn each_with_a_stream(device: &Device) -> Outcome {
    let work = |number: u32| -> Result<(), DriverError> {
        let stream = device.context.new_stream()?;
        for round in 0..200_u32 {
            let value = number << 16 | round;
            let slice = stream.clone_htod(&vec![value; 1 + round as usize * 37])?;
            assert!(stream.clone_dtoh(&slice)?.iter().all(|&got| got == value));
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|number| scope.spawn(move || work(number)))
            .collect();
        let outcomes = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"));
        outcomes.collect::<Result<Vec<_>, _>>()
    })?;
    Ok(())
}

pub fn slices_sent(device: &Device) -> Outcome {
    let (sender, receiver) = mpsc::channel();
    let stream = device.context.new_stream()?;
    thread::scope(|scope| -> Outcome {
        scope.spawn(move || {
            let own = device.context.new_stream().expect("a stream");
            for round in 0..100_u32 {
                let slice = own.clone_htod(&vec![round; 5000]).expect("a slice");
                sender.send((round, slice)).expect("a receiver");
            }
        });
        for (round, slice) in receiver {
            let twin = stream.clone_dtod(&slice)?;
            drop(slice); // on another thread than it was made on
            assert_eq!(stream.clone_dtoh(&twin)?[4999], round);
        }
        Ok(())
    })
}
