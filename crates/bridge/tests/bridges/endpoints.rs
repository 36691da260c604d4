//! Endpoints that are well, away, slow, broken or hostile, and what a request gets from each.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{LONG, PATIENCE, Place, ask, index, raw, read_secret};
use tallymon_bridge::{Declared, Plan, Settings, forget, inspect};
use tallymon_core::counter::CounterType;
use tallymon_core::flow::{NoValue, Source};
use tallymon_core::request::RequestKind;
use tallymon_core::title::Language;
use tallymon_host::Host;
use tallymon_host::registry::Scope;
use tallymon_provider::Health;
use tallymon_testkit::{Ends, Gate, Reply, TextServer, attack, other_user, peer};

/// The head of an answer of unknown length.
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";

const TEXT: &str = "\
# HELP web_requests_total Requests that were answered.
# TYPE web_requests_total counter
web_requests_total{code=\"200\"} 9007199254740993
web_requests_total{code=\"500\"} 2
# TYPE web_busy_seconds_total counter
web_busy_seconds_total 1.25
# TYPE web_heat gauge
web_heat -1.5
# TYPE took_seconds histogram
took_seconds_bucket{le=\"1\"} 3
took_seconds_bucket{le=\"+Inf\"} 4
took_seconds_sum 2.5
took_seconds_count 4
";

fn settings(server: &TextServer) -> Settings {
    Settings { url: format!("http://{}/metrics?key=secret", server.at()), ..Settings::default() }
}

#[test]
fn metrics_are_counters_with_exact_raw_values() {
    let (place, endpoint) = (Place::new(), TextServer::says(TEXT));
    place.add("web", settings(&endpoint), LONG);
    let mut host = place.host();
    let all = ["web by code", "web", "web took", "web took by le"];
    let snapshot = ask(&mut host, &all);
    let frequency = u64::try_from(Host::clocks().perf_freq.0).unwrap();
    for (path, counter_type, value) in [
        (
            (all[0], Some("200"), "web_requests_total"),
            CounterType::PERF_COUNTER_BULK_COUNT,
            9_007_199_254_740_993,
        ),
        ((all[0], Some("500"), "web_requests_total"), CounterType::PERF_COUNTER_BULK_COUNT, 2),
        ((all[1], None, "web_busy_seconds_total"), CounterType::PERF_100NSEC_TIMER, 12_500_000),
        ((all[1], None, "web_heat"), CounterType::PERF_DOUBLE_RAW, (-1.5f64).to_bits()),
        ((all[2], None, "Avg. took_seconds"), CounterType::PERF_AVERAGE_TIMER, frequency * 5 / 2),
        ((all[2], None, "took_seconds_count"), CounterType::PERF_COUNTER_BULK_COUNT, 4),
        ((all[3], Some("+Inf"), "took_seconds_bucket"), CounterType::PERF_COUNTER_BULK_COUNT, 4),
        ((all[3], Some("1"), "took_seconds_bucket"), CounterType::PERF_COUNTER_BULK_COUNT, 3),
    ] {
        let found = raw(&mut host, &snapshot, path).unwrap();
        assert_eq!((found.0, found.1), (counter_type, value), "{path:?}");
    }
    let average = raw(&mut host, &snapshot, (all[2], None, "Avg. took_seconds")).unwrap();
    assert_eq!(average.2, 4, "the base is the number of observations");
    let titles = host.titles(Language::ENGLISH).unwrap();
    let object = snapshot.object(index(&mut host, all[0])).unwrap();
    let help = titles.help(object.counters()[0].help).unwrap();
    assert!(help.starts_with("Requests that were answered."), "{help}");
    assert!(object.window().is_some());
    // The titles exist in every language that has a table.
    assert!(host.titles(Language::KOREAN).unwrap().name(object.header().name).is_some());
}

#[test]
fn a_request_contacts_only_the_endpoints_that_it_means() {
    let place = Place::new();
    let (one, two) = (TextServer::says("one_a 1\none_b 2\n"), TextServer::says("two_a 1\ntwo_b 2\n"));
    place.add("one", settings(&one), LONG);
    place.add("two", settings(&two), LONG);
    assert_eq!((one.requests(), two.requests()), (1, 1), "adding scrapes once");
    let mut host = place.host();
    host.definitions(true).unwrap();
    host.definitions(false).unwrap();
    for kind in [RequestKind::Global, RequestKind::OldGlobal] {
        assert_eq!(host.snapshot(&kind.into()).unwrap().objects().len(), 0);
    }
    host.findings();
    assert_eq!((one.requests(), two.requests()), (1, 1), "nobody asked for their objects");
    ask(&mut host, &["one"]);
    assert_eq!((one.requests(), two.requests()), (2, 1));
    host.snapshot(&RequestKind::Costly.into()).unwrap();
    assert_eq!((one.requests(), two.requests()), (3, 2));
}

#[test]
fn requests_at_one_time_share_one_scrape() {
    let (place, endpoint) = (Place::new(), TextServer::says("one_a 1\none_b 2\n"));
    place.add("one", settings(&endpoint), LONG);
    let gate = Gate::default();
    endpoint.set(Reply::Gated("one_a 5\none_b 2\n".to_owned(), gate.clone()));
    let before = endpoint.requests();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut host = place.host();
                    let snapshot = ask(&mut host, &["one"]);
                    raw(&mut host, &snapshot, ("one", None, "one_a")).unwrap().1
                })
            })
            .collect();
        let begin = Instant::now();
        while endpoint.requests() == before {
            assert!(begin.elapsed() < PATIENCE);
            std::thread::yield_now();
        }
        gate.open();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), 5f64.to_bits());
        }
    });
    // Threads that came after the gate was open share a later one.
    assert!(endpoint.requests() - before <= 8, "{}", endpoint.requests() - before);
}

#[test]
fn indexes_stay_when_everything_starts_again() {
    let (place, endpoint) = (Place::new(), TextServer::says("one_a 1\none_b 2\n"));
    let range = place.add("one", settings(&endpoint), LONG);
    let other = place.add("two", settings(&TextServer::says("two_a 1\n")), LONG);
    let mut host = place.host();
    let names = ["one", "one_a", "one_b"].map(|name| index(&mut host, name));
    assert_eq!(names[0], range.first_counter);
    // The endpoint has more in another order, and lost one.
    endpoint.set(Reply::Text("zzz 1\naaa 1\none_b 7\n".to_owned()));
    let mut host = place.host();
    assert_eq!(["one", "one_a", "one_b"].map(|name| index(&mut host, name)), names);
    let snapshot = ask(&mut host, &["one"]);
    assert_eq!(raw(&mut host, &snapshot, ("one", None, "one_b")).unwrap().1, 7f64.to_bits());
    assert!(matches!(raw(&mut host, &snapshot, ("one", None, "one_a")), Err(NoValue::NoData(_))));
    let status = host.sources().into_iter().find(|source| source.collections > 0).unwrap();
    assert_eq!(status.health, Health::Degraded);
    assert!(status.reason.starts_with("2 series are newer than the bridge"), "{}", status.reason);
    let inspection = inspect(&place.roots, Scope::System, "one", read_secret).unwrap().unwrap();
    let named = |list: &[(String, String)]| list.iter().map(|(_, name)| name.clone()).collect::<Vec<_>>();
    assert_eq!(
        (named(&inspection.new), named(&inspection.missing)),
        (vec!["aaa".into(), "zzz".into()], vec!["one_a".into()])
    );
    // Without the bridge its objects are gone, and those of the other stay.
    place.writer().remove("one").unwrap();
    assert!(forget(&place.roots, Scope::System, "one").unwrap());
    let mut host = place.host();
    assert_eq!(index(&mut host, "two"), other.first_counter);
    let definitions = host.definitions(true).unwrap();
    assert_eq!(definitions.objects().len(), 1);
}

#[test]
fn labels_that_are_not_chosen_are_summed() {
    let text = "# TYPE jobs_total counter\njobs_total{q=\"a\",k=\"1\"} 2\njobs_total{q=\"a\",k=\"2\"} 3\n\
                jobs_total{q=\"b\",k=\"1\"} 7\njobs_total{q=\"_Total\",k=\"1\"} 1\n";
    let (place, endpoint) = (Place::new(), TextServer::says(text));
    place.add("x", Settings { labels: Some(vec!["q".to_owned()]), ..settings(&endpoint) }, LONG);
    let mut host = place.host();
    let object = "x jobs by q";
    let snapshot = ask(&mut host, &[object]);
    for (instance, value) in [("a", 5), ("b", 7), ("[_Total]", 1)] {
        assert_eq!(raw(&mut host, &snapshot, (object, Some(instance), "jobs_total")).unwrap().1, value);
    }
}

/// A sick endpoint beside a healthy one: the sick one names itself, without what may be a secret.
fn is_alone(sick: &TextServer, reply: Reply, timeout: u64, words: &[&str]) {
    let place = Place::new();
    let healthy = TextServer::says("two_a 1\ntwo_b 2\n");
    sick.set(Reply::Text("one_a 1\none_b 2\n".to_owned()));
    let timeout = Some(Duration::from_millis(timeout));
    place.add("one", Settings { timeout, ..settings(sick) }, LONG);
    place.add("two", settings(&healthy), LONG);
    sick.set(reply);
    let mut host = place.host();
    let snapshot = ask(&mut host, &["one", "two"]);
    assert_eq!(raw(&mut host, &snapshot, ("two", None, "two_b")).unwrap().1, 2f64.to_bits(), "{words:?}");
    let one = index(&mut host, "one");
    assert!(snapshot.object(one).is_none(), "{words:?}");
    let trouble = host.trouble(one).unwrap();
    for word in words {
        assert!(trouble.contains(word), "{word}: {trouble}");
    }
    assert!(trouble.contains(&sick.at().to_string()) && !trouble.contains("secret"), "{trouble}");
    let two = index(&mut host, "two");
    assert_eq!(host.trouble(two), None);
    let status = host.sources().into_iter().find(|source| source.health == Health::Failed).unwrap();
    assert_eq!(status.reason, trouble);
    // It comes back.
    sick.set(Reply::Text("one_a 3\none_b 2\n".to_owned()));
    let snapshot = ask(&mut host, &["one"]);
    assert_eq!(raw(&mut host, &snapshot, ("one", None, "one_a")).unwrap().1, 3f64.to_bits());
    assert_eq!(host.trouble(one), None);
}

#[test]
fn attack_endpoints_that_answer_wrongly_lose_only_their_own_objects() {
    for (reply, words) in [
        (Reply::bytes(""), &["no answer"][..]),
        (Reply::bytes("SSH-2.0-x\r\n"), &["no answer"]),
        (Reply::bytes("HTTP/1.1 302 Found\r\nLocation: http://x/\r\n\r\n"), &["302", "not followed"]),
        (Reply::bytes("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), &["404"]),
        (Reply::bytes("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na 1\n"), &["no answer"]),
        (Reply::Text("<html>\u{1b}[31m</html>".to_owned()), &["no metrics", "<html>"]),
        (Reply::Text(String::new()), &["empty"]),
        (Reply::Text("a{b=\"".repeat(300_000)), &["no metrics"]),
        (Reply::Flood(HEAD.to_vec(), b"web_heat 1\n".to_vec()), &["more than 16777216 bytes"]),
    ] {
        is_alone(&TextServer::says(""), reply, 100_000, words);
    }
    attack(
        "bridges",
        "answer with garbage, another protocol, a redirect, half an answer or 1 GB of metrics",
        "its own objects are missing, with its name and the reason; other endpoints answer",
    );
}

#[test]
fn attack_endpoints_that_never_end_are_given_up() {
    for reply in [Reply::Nothing, Reply::Drip(HEAD.to_vec())] {
        is_alone(&TextServer::says(""), reply, 300, &["no answer within 0.3 s"]);
    }
    // The deadline of a request is not that of the scrape, which the next request joins.
    let (place, sick) = (Place::new(), TextServer::says("one_a 1\none_b 2\n"));
    place.add("one", settings(&sick), 50);
    let gate = Gate::default();
    sick.set(Reply::Gated("one_a 4\none_b 2\n".to_owned(), gate.clone()));
    let mut host = place.host();
    let one = index(&mut host, "one");
    for _ in 0..3 {
        assert!(ask(&mut host, &["one"]).object(one).is_none());
        assert!(host.trouble(one).unwrap().contains("no answer within 50 ms"));
    }
    assert_eq!(sick.requests(), 2, "one to add it, and one for all three");
    assert_eq!(host.sources()[0].late, Some(3));
    gate.open();
    let begin = Instant::now();
    while ask(&mut host, &["one"]).object(one).is_none() {
        assert!(begin.elapsed() < PATIENCE);
    }
    attack(
        "bridges",
        "never answer, or send a byte now and then",
        "a request waits until the deadline; one scrape runs at a time, and ends at its timeout",
    );
}

#[test]
fn nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let place = Place::new();
    let declared = Declared { name: "a".to_owned(), settings: Settings { url, ..Settings::default() } };
    let error = Plan::new(&place.roots, Scope::System, &declared, read_secret).unwrap_err();
    assert!(error.contains("no connection") && error.contains("127.0.0.1"), "{error}");
    assert!(!place.file("a").exists());
}

#[test]
fn attack_files_of_bridges_that_others_can_change_are_not_used() {
    let Some(user) = other_user() else { return };
    type Change = fn(&Path, u32);
    let changes: [(&str, Change); 5] = [
        ("belongs to user", |file, user| chown(file, Some(user), None).unwrap()),
        ("every user", |file, _| {
            std::fs::set_permissions(file, PermissionsExt::from_mode(0o666)).unwrap();
        }),
        ("group", |file, user| {
            chown(file, None, Some(user)).unwrap();
            std::fs::set_permissions(file, PermissionsExt::from_mode(0o664)).unwrap();
        }),
        ("link", |file, _| {
            let behind = file.with_extension("behind");
            std::fs::rename(file, &behind).unwrap();
            symlink(behind, file).unwrap();
        }),
        ("belongs to user", |file, user| chown(file.parent().unwrap(), Some(user), None).unwrap()),
    ];
    for (words, change) in changes {
        let place = Place::new();
        let (one, two) = (TextServer::says("one_a 1\none_b 2\n"), TextServer::says("two_a 1\ntwo_b 2\n"));
        place.add("one", settings(&one), LONG);
        place.add("two", settings(&two), LONG);
        change(&place.file("one"), user);
        let mut host = place.host();
        let named = index(&mut host, "one");
        assert!(ask(&mut host, &["one"]).object(named).is_none(), "{words}");
        assert_eq!(one.requests(), 1, "{words}: it was contacted");
        let finding = host.findings().into_iter().find(|finding| finding.subject == "bridge one").unwrap();
        assert!(finding.detail.contains(words), "{words}: {}", finding.detail);
        assert!(!finding.detail.contains("secret"), "{}", finding.detail);
        let two = index(&mut host, "two");
        // A folder of another user costs all bridges in it.
        let is_theirs = place.folder.join("bridges").metadata().unwrap().uid() == user;
        assert_eq!(ask(&mut host, &["two"]).object(two).is_some(), !is_theirs, "{words}");
    }
    attack(
        "bridges",
        "change the file of a bridge, or put a link in its place",
        "the bridge is not used, and nobody is contacted; 'tally doctor' names the file and why",
    );
}

#[test]
fn a_file_that_does_not_fit_the_registry_is_not_used() {
    let (place, endpoint) = (Place::new(), TextServer::says("one_a 1\none_b 2\n"));
    place.add("one", settings(&endpoint), LONG);
    let text = std::fs::read_to_string(place.file("one")).unwrap();
    for (from, to, words) in [
        ("one_a", "one_c", "should be at the index"),
        ("offset = 2", "offset = 4294967295", "should be at the index"),
        ("offset = 2", "offset = 3", "should be at the index"),
        ("url = ", "uri = ", "unknown field"),
        ("gauge", "gouge", "unknown variant"),
    ] {
        std::fs::write(place.file("one"), text.replacen(from, to, 1)).unwrap();
        let mut host = place.host();
        let findings = host.findings();
        let finding = findings.iter().find(|finding| finding.subject == "bridge one").unwrap();
        assert!(finding.detail.contains(words), "{to}: {}", finding.detail);
        assert_eq!(host.definitions(true).unwrap().objects().len(), 0, "{to}");
    }
    // As after a rollback.
    std::fs::write(place.file("one"), text).unwrap();
    place.writer().remove("one").unwrap();
    let findings = place.host().findings();
    assert!(
        findings.iter().any(|finding| finding.detail.contains("does not have its names")),
        "{findings:?}"
    );
}

/// What an exporter says, without us.
fn read_text(at: SocketAddr) -> Option<String> {
    let mut stream = TcpStream::connect(at).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /metrics HTTP/1.0\r\n\r\n").ok()?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).ok()?;
    Some(reply.split_once("\r\n\r\n")?.1.to_owned())
}

/// A value of a series in such a text.
fn value(text: &str, series: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(series) && line[series.len()..].starts_with(' '));
    line.unwrap_or_else(|| panic!("{series}")).split_once(' ').unwrap().1.parse().unwrap()
}

#[test]
fn node_exporter_is_read_whole() {
    let Some(program) = peer("prometheus-node-exporter") else { return };
    let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut node = Command::new(program);
    node.arg(format!("--web.listen-address={at}")).stdout(Stdio::null()).stderr(Stdio::null());
    let _running = Ends(node.spawn().unwrap());
    let begin = Instant::now();
    while read_text(at).is_none() {
        assert!(begin.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(50));
    }
    let place = Place::new();
    let settings = Settings { url: format!("http://{at}"), ..Settings::default() };
    let declared = Declared { name: "node".to_owned(), settings: settings.clone() };
    let plan = Plan::new(&place.roots, Scope::System, &declared, read_secret).unwrap();
    assert_eq!(plan.omission(), None);
    place.add("node", settings, LONG);
    let mut host = place.host();
    let (cpu, memory) = ("node cpu by cpu, mode", "node memory");
    let first = read_text(at).unwrap();
    let snapshot = ask(&mut host, &[cpu, memory]);
    let last = read_text(at).unwrap();
    assert_eq!(
        raw(&mut host, &snapshot, (memory, None, "node_memory_MemTotal_bytes")).unwrap().1,
        value(&first, "node_memory_MemTotal_bytes").to_bits()
    );
    let idle = raw(&mut host, &snapshot, (cpu, Some("0,idle"), "node_cpu_seconds_total")).unwrap();
    let series = "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"}";
    #[allow(clippy::cast_precision_loss, reason = "seconds since the start of this machine")]
    let seconds = idle.1 as f64 / 1e7;
    let range = value(&first, series) - 1e-6..=value(&last, series) + 1e-6;
    assert!(range.contains(&seconds), "{seconds} {range:?}");
    // Every sample of the text has a counter.
    let everything = host.snapshot(&RequestKind::Costly.into()).unwrap();
    assert!(everything.objects().len() > 20, "{}", everything.objects().len());
    let status = host.sources();
    assert_eq!(status[0].health, Health::Healthy, "{}", status[0].reason);
}
