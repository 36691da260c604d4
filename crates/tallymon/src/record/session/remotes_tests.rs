//! When a host is asked. The test stands for its thread, so that nothing depends on a time.

use super::*;
use crate::sample::sample_tests::block;

/// A host, its ticks, and where its reports go.
fn one() -> (Remotes, Receiver<()>, Sender<(usize, Report)>) {
    let (sender, reports) = channel();
    let (ticks, ticked) = HostTicks::start();
    let host = Remote {
        name: "far".to_owned(),
        ticks,
        sample: None,
        choice: None,
        trouble: None,
        heard: Instant::now(),
        has_samples: false,
        next: None,
    };
    (Remotes { hosts: vec![host], reports, records: 0, has_begun: true }, ticked, sender)
}

/// A report with a sample of a time.
fn report(time: u64) -> (usize, Report) {
    let taken = Some(Taken { snapshot: block(time), window: (FileTime(time), FileTime(time)) });
    (0, Report { taken, choice: None, trouble: None, next: None })
}

fn times(remotes: &mut Remotes) -> Vec<u64> {
    remotes.take_samples().iter().map(|sample| sample.window.0.0).collect()
}

/// How often the host has been asked since the last look.
fn asked(ticked: &Receiver<()>) -> usize {
    ticked.try_iter().count()
}

#[test]
fn a_host_that_was_late_once_is_not_late_for_ever() {
    let (mut remotes, ticked, reports) = one();
    remotes.tick();
    assert_eq!(asked(&ticked), 1);
    remotes.gather(Duration::ZERO);
    assert_eq!(times(&mut remotes), [0; 0]);
    assert_eq!(remotes.troubles(), ["far: it has not answered yet"]);
    // It still works on the first tick, and gets no second one.
    remotes.tick();
    assert_eq!(asked(&ticked), 0);
    // Its answer comes, with its own time, and it is asked again for this record.
    reports.send(report(1)).unwrap();
    remotes.gather(Duration::ZERO);
    assert_eq!((times(&mut remotes), asked(&ticked)), (vec![1], 1));
    assert_eq!(remotes.troubles().len(), 1, "it works on the second question");
    // That answer comes between two records. The next one waits for a new one.
    reports.send(report(2)).unwrap();
    remotes.tick();
    assert_eq!(asked(&ticked), 0);
    let answer = std::thread::spawn(move || {
        ticked.recv().unwrap();
        reports.send(report(3)).unwrap();
        (ticked, reports)
    });
    remotes.gather(Duration::from_secs(60));
    assert_eq!(times(&mut remotes), [3]);
    let (ticked, reports) = answer.join().unwrap();
    // From here on it answers in time.
    remotes.tick();
    assert_eq!(asked(&ticked), 1);
    reports.send(report(4)).unwrap();
    remotes.gather(Duration::from_secs(60));
    assert_eq!((times(&mut remotes), asked(&ticked), remotes.troubles()), (vec![4], 0, Vec::new()));
}

#[test]
fn a_refused_login_says_until_when_it_waits_and_others_when_they_are_tried_again() {
    const REFUSED: &str = "refused; paused after a refused login until /c changes, or for 15 min";
    for (why, behind) in [(REFUSED, ""), ("gone", "; no values yet, tried again now")] {
        let (mut remotes, _ticked, reports) = one();
        remotes.tick();
        let report =
            Report { taken: None, choice: None, trouble: Some(why.to_owned()), next: Some(Instant::now()) };
        reports.send((0, report)).unwrap();
        remotes.gather(Duration::from_secs(60));
        assert_eq!(remotes.troubles(), [format!("far: {why}{behind}")]);
    }
}
