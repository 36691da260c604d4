use std::thread;
use std::time::Duration;

use tallymon_testkit::Scratch;

use super::open;

#[test]
fn a_file_that_a_starting_program_still_has_is_waited_for() {
    let folder = Scratch::new();
    let path = folder.join("one.tally");
    let first = open(&path).unwrap();
    // As a child has it between fork and exec.
    let of_child = first.try_clone().unwrap();
    drop(first);
    let child = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        drop(of_child);
    });
    open(&path).unwrap();
    child.join().unwrap();
}
