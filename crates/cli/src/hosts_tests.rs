//! When a host is asked. The test stands for its thread, so that nothing depends on a time.

use super::*;

/// A host, its ticks, and where its reports go.
fn one() -> (Sampled, Receiver<()>, Sender<(usize, Report)>) {
    let (sender, reports) = channel();
    let (ticks, ticked) = HostTicks::start();
    let host = SampledHost {
        label: "far".to_owned(),
        ticks,
        last: None,
        has_failed: false,
        silent_since: Instant::now(),
        failure: None,
    };
    (Sampled { hosts: vec![host], reports, rows: 0 }, ticked, sender)
}

#[test]
fn an_answer_to_an_earlier_row_is_none_to_this_one() {
    let (mut sampled, ticked, reports) = one();
    let mut outcome = Outcome::default();
    let answer = || {
        let result = Err(Failure::silent(Kind::Unreachable));
        reports.send((0, Report { result, failures: Vec::new(), needs_two_samples: false })).unwrap();
    };
    let is_busy = |sampled: &Sampled| sampled.hosts.iter().any(|host| host.ticks.is_busy());
    let asked = || ticked.try_iter().count();
    sampled.tick();
    assert_eq!(asked(), 1);
    sampled.gather(Instant::now(), &mut outcome);
    assert!(is_busy(&sampled));
    // It still works on the first row, and is not asked for the second.
    sampled.tick();
    assert_eq!(asked(), 0);
    answer();
    sampled.gather(Instant::now(), &mut outcome);
    // Its values are those of the row before until it has answered for this one.
    assert!(is_busy(&sampled));
    assert_eq!(asked(), 1);
    answer();
    sampled.gather(Instant::now(), &mut outcome);
    assert!(!is_busy(&sampled));
    sampled.tick();
    assert_eq!(asked(), 1);
    answer();
    sampled.gather(Instant::now(), &mut outcome);
    assert!(!is_busy(&sampled));
    assert_eq!(asked(), 0);
}
