//! What is sampled when names and objects are read anew.

use tallymon_monitor::model::overview::Pane;

use super::*;

fn live(usual: &[&str]) -> Arc<Live> {
    let usual = usual.iter().map(|path| (*path).to_owned()).collect();
    let settings = LiveSettings {
        interval: Duration::from_secs(1),
        locale: Locale::from(Language::ENGLISH),
        usual,
        is_alone: true,
    };
    Live::start(Location::Local, &settings).unwrap()
}

#[test]
fn objects_that_were_read_anew_are_those_of_all_queries() {
    const PATH: &str = r"\System\Processes";
    let live = live(&[PATH]);
    let info = live.all_names(Language::ENGLISH, true).unwrap();
    let mut state = live.state();
    // As if the source had had nothing when it was opened.
    state.counters = Query::over(info.clone());
    state.processes = Query::over(info.clone());
    state.summary_counters = Query::over(info.clone());
    let nothing = state.counters.request();
    state.renew(info);
    assert_ne!(state.counters.request(), nothing);
    assert_ne!(state.processes.request(), nothing);
    assert_ne!(state.summary_counters.request(), nothing);
    assert!(state.entries[PATH].handle.is_some());
}

#[test]
fn looking_whether_there_is_a_counter_leaves_what_is_sampled_as_it_is() {
    let live = live(&[]);
    let usual = [r"\No Such Object\Nothing".to_owned(), r"\System\Processes".to_owned()];
    let before = live.state().query.request();
    assert_eq!(live.usual(&usual), [usual[1].as_str()]);
    assert_eq!(live.state().query.request(), before);
    assert!(!live.samples(&[&usual[1]]));
    live.want(&[&usual[1]]).unwrap();
    assert!(live.samples(&[&usual[1]]));
    assert!(live.want(&[&usual[0]]).is_err());
}

/// An overview says anew what its source lacks: a machine may come back with other objects.
#[test]
fn what_the_overview_lacks_is_said_anew() {
    let live = live(&[]);
    let info = live.all_names(Language::ENGLISH, true).unwrap();
    let mut state = live.state();
    let usual = state.overview.lacking(Pane::Memory);
    assert!(state.overview.has(Pane::Processes) && state.overview.has(Pane::Memory));
    state.renew(SourceInfo { catalog: Default::default(), ..info.clone() });
    assert!(!state.overview.has(Pane::Processes) && !state.overview.has(Pane::Memory));
    assert!(state.overview.lacking(Pane::Memory).len() > usual.len());
    state.renew(info);
    assert!(state.overview.has(Pane::Processes));
    assert_eq!(state.overview.lacking(Pane::Memory), usual);
}

/// The history is written and looked through from a copy, so that nobody waits for it.
#[test]
fn findings_of_a_history_that_is_looked_through_hold_nobody_up() {
    let live = live(&[r"\System\Processes"]);
    while live.state().monitor.rows().count() < 3 {
        thread::sleep(Duration::from_millis(20));
    }
    let uploads = Arc::new(Uploads::new(1 << 20).unwrap());
    let options = ReadOptions::default();
    let ask = || live.findings(&uploads, &options, Language::ENGLISH).unwrap();
    let looking = live.found.known_or_look(Language::ENGLISH).unwrap_or_else(|known| panic!("{known}"));
    // As long as somebody looks, others are told so at once, and rows come.
    assert_eq!(ask()["pending"], true);
    assert_eq!(live.known_findings(Language::ENGLISH).unwrap()["pending"], true);
    let before = live.next();
    while live.next() == before {
        thread::sleep(Duration::from_millis(20));
    }
    drop(looking);
    assert!(live.known_findings(Language::ENGLISH).is_none());
    assert!(ask().get("pending").is_none());
    assert!(live.known_findings(Language::ENGLISH).is_some());
}
