//! Metrics that an endpoint has got since its bridge was added.

use tallymon_bridge::{Plan, Settings, inspect};
use tallymon_core::flow::Source;
use tallymon_host::registry::Scope;
use tallymon_testkit::{Reply, TextServer};

use crate::support::{LONG, Place, ask, index, raw, read_secret, wait_until};

fn update(place: &Place) -> Plan {
    Plan::update(&place.roots, Scope::System, "a", read_secret).unwrap().unwrap()
}

#[test]
fn new_metrics_are_taken_in_and_the_others_keep_their_indexes() {
    let (place, endpoint) = (Place::new(), TextServer::says("one_a 1\none_b 2\n"));
    let other = TextServer::says("other 7\n");
    let at = |server: &TextServer| Settings { url: format!("http://{}", server.at()), ..Settings::default() };
    place.add("a", at(&endpoint), LONG);
    // The indexes behind those of the first are taken.
    place.add("z", at(&other), LONG);
    let mut host = place.host();
    let names = ["a one", "one_a", "one_b", "z other", "other"];
    let before: Vec<_> = names.iter().map(|name| index(&mut host, name)).collect();
    let snapshot = ask(&mut host, &["a one", "z other"]);
    assert_eq!(raw(&mut host, &snapshot, ("a one", None, "one_b")).unwrap().1, 2f64.to_bits());

    endpoint.set(Reply::Text("one_a 1\none_b 2\none_c 3\ntwo{code=\"5\"} 4\n".to_owned()));
    let inspection = inspect(&place.roots, Scope::System, "a", read_secret).unwrap().unwrap();
    assert_eq!(inspection.new.len(), 2);
    let plan = update(&place);
    let new: Vec<_> = plan.objects().map(|(object, _, counters)| (object.to_owned(), counters)).collect();
    let wanted =
        [("a one".to_owned(), vec!["one_c".to_owned()]), ("a two by code".to_owned(), vec!["two".into()])];
    assert_eq!(new, wanted);
    place.writer().extend_names(&plan.package).unwrap();
    plan.save().unwrap();

    // The host that runs sees them. The last counter is the hidden one of states.
    wait_until("the bridge is read again", || {
        host.snapshot(&tallymon_core::request::RequestKind::Costly.into()).unwrap();
        host.titles(tallymon_core::title::Language::ENGLISH).unwrap().names().any(|(_, name)| name == "one_c")
            && ask(&mut host, &["a one"]).object(before[0]).unwrap().counters().len() == 4
    });
    let after: Vec<_> = names.iter().map(|name| index(&mut host, name)).collect();
    assert_eq!(after, before);
    let snapshot = ask(&mut host, &["a one", "a two by code", "z other"]);
    for (path, value) in [
        (("a one", None, "one_a"), 1.0f64),
        (("a one", None, "one_c"), 3.0),
        (("a two by code", Some("5"), "two"), 4.0),
        (("z other", None, "other"), 7.0),
    ] {
        assert_eq!(raw(&mut host, &snapshot, path).unwrap().1, value.to_bits(), "{path:?}");
    }
    assert!(update(&place).package.titles.is_empty());
    assert!(Plan::update(&place.roots, Scope::System, "none", read_secret).is_none());
}

#[test]
fn without_room_nothing_changes() {
    let (place, endpoint) = (Place::new(), TextServer::says("one_a 1\n"));
    let settings = Settings { url: format!("http://{}", endpoint.at()), ..Settings::default() };
    place.add("a", settings.clone(), LONG);
    let many: String = (0..40).map(|n| format!("one_n{n} 1\n")).collect();
    endpoint.set(Reply::Text(format!("one_a 1\n{many}")));
    let file = std::fs::read(place.file("a")).unwrap();
    place.add("z", Settings { labels: Some(vec![]), ..settings }, LONG);
    let error = place.writer().extend_names(&update(&place).package).unwrap_err().to_string();
    assert!(error.contains("no room behind the names of a"), "{error}");
    assert_eq!(std::fs::read(place.file("a")).unwrap(), file);
    let mut host = place.host();
    let snapshot = ask(&mut host, &["a one"]);
    assert_eq!(raw(&mut host, &snapshot, ("a one", None, "one_a")).unwrap().1, 1f64.to_bits());
    // The last service can always grow.
    place.writer().remove("z").unwrap();
    place.writer().extend_names(&update(&place).package).unwrap();
}
