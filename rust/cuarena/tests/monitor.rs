//! The monitor: what a client at its socket reads.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use cuarena::{monitor, Arena, ErrorKind};

/// There is one in a process, so all is one test.
#[test]
fn monitor_answers_until_it_is_closed() {
    let folder = std::env::temp_dir().join(format!("cuarena-monitor-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("socket");
    let arena = Arena::open("memory=none,pool=1MiB,name=seen").unwrap();

    monitor::close().unwrap();
    assert_eq!(
        monitor::on_signal(10, "%n").unwrap_err().kind(),
        ErrorKind::Stale
    );
    monitor::open(&path).unwrap();
    assert_eq!(
        monitor::open_without_socket().unwrap_err().kind(),
        ErrorKind::Busy
    );
    let mut peer = UnixStream::connect(&path).unwrap();
    peer.write_all(b"stats\n").unwrap();
    let mut answer = String::new();
    peer.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("ok "), "{answer}");
    assert!(answer.contains("\"name\":\"seen\""), "{answer}");
    assert_eq!(
        monitor::on_signal(10, "no number").unwrap_err().kind(),
        ErrorKind::BadArgument
    );
    monitor::close().unwrap();
    assert!(!path.exists());

    monitor::open_without_socket().unwrap();
    monitor::close().unwrap();
    std::env::remove_var("CUARENA_MONITOR");
    monitor::environment().unwrap();
    drop(arena);
    std::fs::remove_dir(&folder).unwrap();
}
