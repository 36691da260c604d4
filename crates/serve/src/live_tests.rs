//! What is sampled when names and objects are read anew.

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
    let info = live.all_names(Language::ENGLISH).unwrap();
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
