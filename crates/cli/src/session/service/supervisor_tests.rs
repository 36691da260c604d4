use std::process::Command;

use tallymon::record::session::SessionSettings;
use tallymon_testkit::Scratch;

use super::*;

fn store_with(folder: &Scratch, sessions: &[(&str, bool)]) -> SessionStore {
    let store = SessionStore::in_folder(folder);
    for (name, at_boot) in sessions {
        let mut settings = SessionSettings::new(name, store.default_folder(name));
        settings.counters = vec![r"\Memory\Available MBytes".to_owned()];
        settings.at_boot = *at_boot;
        store.write(&settings).unwrap();
    }
    store
}

/// A process that ends with this code at once.
fn ends_with(code: u8) -> io::Result<Child> {
    let shell = if cfg!(windows) { ["cmd", "/c"] } else { ["sh", "-c"] };
    Command::new(shell[0]).args([shell[1], &format!("exit {code}")]).spawn()
}

/// Runs a supervisor until a number of recorders was started, and a little longer; returns their sessions.
fn started(store: &SessionStore, requests: &[&str], code_of: fn(&str) -> u8, enough: usize) -> Vec<String> {
    let (names, order) = channel();
    let spawn = move |name: &str| {
        names.send(name.to_owned()).unwrap();
        ends_with(code_of(name))
    };
    let mut supervisor = Supervisor::new(store.clone(), spawn);
    supervisor.pause = Duration::from_millis(20);
    let sender = supervisor.sender();
    let requests: Vec<String> = requests.iter().map(|name| (*name).to_owned()).collect();
    let asking = store.clone();
    let watcher = thread::spawn(move || {
        for name in &requests {
            asking.request_start(name).unwrap();
            sender.send(Event::Look).unwrap();
        }
        let mut names: Vec<String> = order.iter().take(enough).collect();
        // One too many would come now.
        names.extend(order.recv_timeout(Duration::from_millis(300)));
        sender.send(Event::Stop).unwrap();
        names
    });
    supervisor.begin().unwrap();
    supervisor.run();
    assert_eq!(supervisor.stop(|| {}), Vec::<String>::new());
    watcher.join().unwrap()
}

#[test]
fn sessions_of_the_machine_begin_and_others_when_asked_for() {
    let folder = Scratch::new();
    let store = store_with(&folder, &[("boot", true), ("later", false), ("never", false)]);
    let mut names = started(&store, &["later"], |_| 0, 2);
    names.sort();
    // Each once: a recorder that ended in order is not started again.
    assert_eq!(names, ["boot", "later"]);
    assert_eq!(store.take_start_requests().unwrap(), Vec::<String>::new());
    assert_eq!(store.status("boot").last_error, None);
}

#[test]
fn a_recorder_that_fails_is_started_again_and_its_neighbours_are_not() {
    let folder = Scratch::new();
    let store = store_with(&folder, &[("good", true), ("sick", true)]);
    let names = started(&store, &[], |name| if name == "sick" { 3 } else { 0 }, 4);
    assert_eq!(names.iter().filter(|name| *name == "good").count(), 1, "{names:?}");
    let status = store.status("sick");
    let words = status.last_error.unwrap();
    assert!(words.contains("its recorder ended with exit") && words.ends_with('3'), "{words}");
    assert!(status.errors >= 2);
    assert_eq!(store.status("good").errors, 0);
}

#[test]
fn damaged_settings_are_said_and_stop_nobody_else() {
    let folder = Scratch::new();
    let store = store_with(&folder, &[("good", true), ("bad", true)]);
    std::fs::write(folder.join("sessions").join("bad.json"), "{").unwrap();
    assert_eq!(started(&store, &[], |_| 0, 1), ["good"]);
    let words = store.status("bad").last_error.unwrap();
    assert!(words.contains("bad.json"), "{words}");
}

#[test]
fn a_program_that_is_not_there_is_said() {
    let folder = Scratch::new();
    let store = store_with(&folder, &[("web", true)]);
    let mut supervisor = Supervisor::new(store.clone(), |_: &str| Command::new("/no/such/program").spawn());
    assert!(supervisor.begin().unwrap());
    assert!(supervisor.running.is_empty() && supervisor.again.contains_key("web"));
    let words = store.status("web").last_error.unwrap();
    assert!(words.starts_with("its recorder cannot be started: "), "{words}");
}

#[test]
fn nothing_to_do_is_said() {
    let folder = Scratch::new();
    let store = store_with(&folder, &[("never", false)]);
    let mut supervisor = Supervisor::new(store.clone(), |_: &str| ends_with(0));
    assert!(!supervisor.begin().unwrap());
    store.request_start("never").unwrap();
    assert!(supervisor.begin().unwrap());
}
