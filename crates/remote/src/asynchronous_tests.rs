//! One runtime for several threads: none waits for another.

use std::sync::mpsc;

use super::time::{sleep, timeout};
use super::*;

const LONG: Duration = Duration::from_secs(600);
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_thread_that_waits_for_ever_stops_no_other() {
    let runtime = shared().unwrap();
    // The first one drives the runtime, and its peer never says anything.
    let stuck = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = stuck.local_addr().unwrap();
    let (begun, has_begun) = mpsc::channel();
    let of_first = Arc::clone(&runtime);
    let first = std::thread::spawn(move || {
        of_first.wait(async {
            let stream = net::TcpStream::connect(address).await.unwrap();
            begun.send(()).unwrap();
            // It ends when its peer does.
            timeout(LONG, stream.readable()).await.is_ok()
        })
    });
    has_begun.recv_timeout(PATIENCE).unwrap();
    // Others begin, end and drop work beside it.
    let others: Vec<_> = (0u64..8)
        .map(|number| {
            let runtime = Arc::clone(&runtime);
            std::thread::spawn(move || {
                let done = runtime.wait(async {
                    let task = spawn(async move {
                        sleep(Duration::from_millis(number)).await;
                        number
                    });
                    timeout(PATIENCE, task).await.unwrap().unwrap()
                });
                done.unwrap()
            })
        })
        .collect();
    let done: Vec<u64> = others.into_iter().map(|other| other.join().unwrap()).collect();
    assert_eq!(done, (0..8).collect::<Vec<u64>>());
    assert!(!first.is_finished(), "the others waited for the stuck one");
    drop(stuck.accept().unwrap());
    assert!(first.join().unwrap().unwrap());
}

#[test]
fn a_thread_that_panics_leaves_the_runtime_to_others() {
    let runtime = shared().unwrap();
    let of_other = Arc::clone(&runtime);
    let other = std::thread::spawn(move || of_other.wait(async { panic!("on purpose") }));
    assert!(other.join().is_err());
    assert_eq!(runtime.wait(async { 7 }).unwrap(), 7);
}

#[test]
fn all_share_one_and_its_end_is_not_waited_for() {
    assert!(Arc::ptr_eq(&shared().unwrap(), &shared().unwrap()));
    let runtime = Runtime::new("short").unwrap();
    let (go, wait) = mpsc::channel::<()>();
    let (done, is_done) = mpsc::channel::<()>();
    runtime
        .wait(async {
            drop(task::spawn_blocking(move || {
                let _ = wait.recv_timeout(LONG);
                drop(done);
            }));
        })
        .unwrap();
    drop(runtime);
    // The work goes on, and nobody has waited for it.
    assert_eq!(is_done.try_recv(), Err(mpsc::TryRecvError::Empty));
    drop(go);
    assert!(is_done.recv_timeout(PATIENCE).is_err());
}

#[test]
fn work_that_was_ended_closes_its_socket() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // One to itself: no other thread does what is left here.
    let runtime = Runtime::new("own").unwrap();
    let mut task = None;
    runtime
        .wait(async {
            let stream = net::TcpStream::connect(address).await.unwrap();
            task = Some(spawn(async move { stream.readable().await }));
        })
        .unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    task.unwrap().abort();
    runtime.let_go();
    assert_eq!(io::Read::read(&mut peer, &mut [0]).unwrap(), 0);
    // Where a runtime runs already, it is not entered twice.
    run(async { runtime.let_go() }).unwrap();
}

/// A forked child has the runtime of its parent; unsafe code is forbidden here, so the number is changed.
#[test]
fn a_forked_child_leaves_the_runtime_of_its_parent_alone() {
    let mut runtime = Runtime::new("parent").unwrap();
    let of_work = Arc::new(());
    let held = Arc::clone(&of_work);
    runtime
        .wait(async {
            drop(spawn(async move {
                let _held = held;
                sleep(LONG).await;
            }));
            task::yield_now().await;
        })
        .unwrap();
    runtime.process = runtime.process.wrapping_add(1);
    let error = runtime.wait(async {}).unwrap_err().to_string();
    assert_eq!(error, "the connection belongs to the process that was forked");
    runtime.let_go();
    drop(runtime);
    assert_eq!(Arc::strong_count(&of_work), 2, "the work of the parent was ended");
}
