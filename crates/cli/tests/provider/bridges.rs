//! Metrics of other programs are added, listed, read, checked and removed like other providers.

use tallymon_testkit::{Reply, TextServer};

use crate::support::Place;

const TEXT: &str = "\
# HELP web_requests_total Requests that were answered.
# TYPE web_requests_total counter
web_requests_total{code=\"200\"} 41
web_requests_total{code=\"500\"} 2
# TYPE web_heat gauge
web_heat 20.5
web_cold 1
";

/// A request waits as long as a loaded machine needs.
const DEADLINE: [&str; 2] = ["--deadline", "100000"];

#[test]
fn a_bridge_is_added_read_checked_and_removed() {
    let (place, server) = (Place::new(), TextServer::says(TEXT));
    let at = server.at();
    let url = format!("http://{at}/metrics?key=hidden");
    let add = ["provider", "add", "--metrics", &url, "--name", "web"];
    let shown = place.ok(&["provider", "check", "--metrics", &url, "--name", "web"]);
    assert!(shown.starts_with("bridge web: names 1848 to "), "{shown}");
    assert!(shown.contains("  object   web by code (instances)\n"), "{shown}");
    assert_eq!(place.ok(&["provider", "list"]), "", "a check installs nothing");
    place.ok(&[&add[..], &DEADLINE].concat());
    let list = place.ok(&["provider", "list"]);
    assert!(list.contains("web (system)\n") && list.contains("web by code"), "{list}");
    assert!(
        list.contains(&format!("  address  http://{at}/metrics\n  kind     metrics\n"))
            && !list.contains("hidden"),
        "{list}"
    );
    let (code, _, err) = place.run(&add);
    assert!(code != 0 && err.contains("installed already"), "{err}");
    // Its objects are like those of this machine.
    let value = place.ok(&["get", r"\web\web_heat"]);
    assert!(value.contains("20.5"), "{value}");
    let values = place.ok(&["get", r"\web by code(*)\*"]);
    for code in ["200", "500"] {
        assert!(values.contains(&format!(r"\web by code({code})\web_requests_total")), "{values}");
    }
    let objects = place.ok(&["list"]);
    assert!(objects.contains("web by code"), "{objects}");
    let help = place.ok(&["explain", r"\web by code(200)\web_requests_total"]);
    assert!(help.contains("Requests that were answered."), "{help}");
    // What is new and what is missing.
    server.set(Reply::Text(TEXT.replace("web_heat", "web_hot")));
    let checked = place.ok(&["provider", "check", "web"]);
    assert!(checked.contains("  new      web: web_hot\n"), "{checked}");
    assert!(checked.contains("  missing  web: web_heat\n"), "{checked}");
    let (code, _, err) = place.run(&["get", r"\web\web_heat"]);
    assert!(code != 0 && !err.contains("hidden"), "{err}");
    // What is new is taken in, and nothing else moves.
    assert_eq!(place.ok(&["provider", "update", "web"]), "new  web: web_hot\n");
    let value = place.ok(&["get", r"\web\web_hot"]);
    assert!(value.contains("20.5"), "{value}");
    assert_eq!(place.ok(&["provider", "update", "web"]), "");
    let (code, _, err) = place.run(&["provider", "update", "other"]);
    assert!(code == 3 && err.contains("other"), "{code} {err}");
    place.ok(&["provider", "remove", "web"]);
    assert_eq!(place.ok(&["provider", "list"]), "");
    let (code, _, _) = place.run(&["get", r"\web\web_cold"]);
    assert_ne!(code, 0);
    place.ok(&[&add[..], &DEADLINE].concat());
}

#[test]
fn a_file_declares_several_bridges() {
    let (place, one, two) = (Place::new(), TextServer::says("a 1\n"), TextServer::says("b{l=\"x\"} 2\n"));
    let (one, two) = (one.at(), two.at());
    let file = place.file(
        "bridges.toml",
        format!(
            "[[bridge]]\nname = \"one\"\nurl = \"http://{one}/\"\n\
             [[bridge]]\nname = \"two\"\nurl = \"http://{two}\"\n"
        ),
    );
    place.ok(&["provider", "add", &file, DEADLINE[0], DEADLINE[1]]);
    let json = place.ok(&["provider", "list", "--json"]);
    assert!(json.contains(&format!("http://{one}/")) && json.contains("two b by l"), "{json}");
    let value = place.ok(&["get", r"\two b by l(x)\b"]);
    assert!(value.contains('2'), "{value}");
    for (words, said) in [
        (&["provider", "add", "--metrics", "ftp://a/", "--name", "x"][..], "http://"),
        (&["provider", "add", "--metrics", "http://u:hidden@a/", "--name", "x"], "Authorization"),
        (&["provider", "add", "--metrics", "http://127.0.0.1:1/", "--name", "../x"], "cannot be the name"),
        (&["provider", "add", "--name", "x"], "--metrics"),
        (&["provider", "add", "--metrics", "redis://:hidden@a", "--name", "x"], "in a file"),
        (&["provider", "add", "--metrics", "http://a", "--kind", "mysql"], "postgresql"),
    ] {
        let (code, _, err) = place.run(words);
        assert!(code != 0 && err.contains(said) && !err.contains("hidden"), "{words:?}: {err}");
    }
}

#[test]
fn an_endpoint_that_is_gone_names_itself() {
    let (place, server) = (Place::new(), TextServer::says(TEXT));
    let at = server.at();
    place.ok(&[
        "provider",
        "add",
        "--metrics",
        &format!("http://{at}"),
        "--name",
        "web",
        "--deadline",
        "100000",
    ]);
    server.set(Reply::Text("<html>nothing here</html>".to_owned()));
    let (code, _, err) = place.run(&["get", r"\web\web_heat"]);
    assert!(code != 0 && err.contains(&at.to_string()) && err.contains("no metrics"), "{err}");
    let (code, out, _) = place.run(&["get", r"\Memory\Available Bytes"]);
    assert!(code == 0 && !out.is_empty());
    let (code, _, err) = place.run(&["provider", "check", "web"]);
    assert!(code != 0 && err.contains("no metrics"), "{err}");
}

#[test]
fn servers_of_other_kinds_are_added_listed_and_checked() {
    let place = Place::new();
    let page = |requests: u64| {
        let page = format!(
            "Active connections: 2 \nserver accepts handled requests\n 5 5 {requests} \nReading: 0 Writing: 1 \
             Waiting: 1 \n"
        );
        Reply::Text(page)
    };
    let info = "# Stats\r\nkeyspace_hits:3\r\nkeyspace_misses:1\r\n";
    let redis = |info: &str| Reply::Bytes(format!("${}\r\n{info}\r\n", info.len()).into_bytes());
    let (web, cache) = (TextServer::start(page(9)), TextServer::start(redis(info)));
    let file = place.file(
        "bridges.toml",
        format!(
            "[[bridge]]\nname = \"web\"\nkind = \"nginx\"\nurl = \"http://{}/status\"\n\
             [[bridge]]\nname = \"cache\"\nurl = \"redis://{}\"\n",
            web.at(),
            cache.at()
        ),
    );
    let shown = place.ok(&["provider", "check", &file]);
    assert!(shown.contains("  kind     nginx\n") && shown.contains("    Key Hit %\n"), "{shown}");
    place.ok(&["provider", "add", &file, DEADLINE[0], DEADLINE[1]]);
    let list = place.ok(&["provider", "list"]);
    assert!(list.contains("  kind     nginx\n") && list.contains("  kind     redis\n"), "{list}");
    let value = place.ok(&["get", r"\web Web Service\Current Connections"]);
    assert!(value.contains('2'), "{value}");
    let help = place.ok(&["explain", r"\cache Commands\Key Hits/sec"]);
    assert!(help.contains("Reads of keys that exist.") && help.contains("PERF_COUNTER_BULK_COUNT"), "{help}");
    cache.set(redis(&format!("{info}new_one:7\r\n")));
    let checked = place.ok(&["provider", "check", "cache"]);
    assert!(checked.contains("  kind     redis\n"), "{checked}");
    assert!(checked.contains("  new      cache Commands: new_one\n"), "{checked}");
    cache.set(Reply::bytes("-LOADING Redis is loading\r\n"));
    let (code, _, err) = place.run(&["get", r"\cache Commands\Key Hit %"]);
    assert!(code != 0 && err.contains("LOADING") && err.contains(&cache.at().to_string()), "{err}");
}
