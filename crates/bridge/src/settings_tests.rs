use tallymon_testkit::Scratch;

use super::*;
use crate::catalog::{CatalogCounter, CatalogObject, CounterKind};

fn read(text: &str) -> Result<Vec<Declared>, String> {
    let folder = Scratch::new();
    let file = folder.join("bridges.toml");
    std::fs::write(&file, text).unwrap();
    read_declared(&file)
}

#[test]
fn declared_bridges_are_read_or_refused_with_their_line() {
    let all = read(
        "[[bridge]]\nname = \"web\"\nurl = \"http://localhost:1/m\"\ntimeout = 500\nlabels = [\"a\"]\n\
         [[bridge]]\nurl = \"https://[::1]:2/x?token=secret\"\nheaders = \"/etc/h\"\n",
    )
    .unwrap();
    assert_eq!((all[0].name.as_str(), all[1].name.as_str()), ("web", "1--2"));
    assert_eq!(all[0].settings.timeout(), Duration::from_millis(500));
    assert_eq!(all[1].settings.timeout(), TIMEOUT);
    assert!(!format!("{all:?}").contains("secret"), "{all:?}");
    for (text, words) in [
        ("[[bridge]]\nname = 5\nurl = \"\"\n", "line 2"),
        ("[[bridge]]\nurl = \"http://a\"\nurls = \"x\"\n", "line 3"),
        ("[[bridge]]\nname = \"../a\"\nurl = \"http://a\"\n", "cannot be the name"),
        ("[[bridge]]\nname = \"a\"\nurl = \"http://a\"\nlabels = [\"b/c\"]\n", "names of labels"),
        ("[[bridge]]\nname = \"a\"\nurl = \"http://a\"\nheaders = \"h\"\n", "begins with /"),
        ("[[bridge]]\nurl = \"http://a\"\nkind = \"mysql\"\n", "line 3"),
        ("[[bridge]]\nurl = \"http://a\"\npassword = \"/p\"\n", "takes headers"),
        ("[[bridge]]\nurl = \"http://a\"\nkind = \"redis\"\n", "redis://"),
        ("[[bridge]]\nurl = \"redis://a/1\"\n", "no path"),
        ("[[bridge]]\nurl = \"redis://u@a\"\n", "name its file"),
        ("[[bridge]]\nurl = \"redis://a\"\nheaders = \"/h\"\n", "does not speak HTTP"),
        ("[[bridge]]\nurl = \"redis://a\"\npassword = \"p\"\n", "begins with /"),
        ("[[bridge]]\nurl = \"postgresql://a/db\"\n", "names the user"),
        (
            "[[bridge]]\nurl = \"http://a\"\nobject = [{ offset = 0, name = \"x\", counter = [] }]\n",
            "when it is added",
        ),
        ("", "bridge"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(words) && error.contains("bridges.toml"), "{text}: {error}");
    }
}

#[test]
fn addresses_are_shown_without_secrets() {
    for (url, shown) in [
        ("http://a:1/m", "http://a:1/m"),
        ("http://a/m?key=secret", "http://a/m"),
        ("http://user:secret@a/m", "http://a/m"),
        ("http://a/#secret", "http://a/"),
        ("redis://user:sec?ret@a", "redis://user:…"),
        ("redis://user:sec/ret@a", "redis://a"),
    ] {
        assert_eq!(Settings { url: url.to_owned(), ..Settings::default() }.address(), shown);
    }
    let url = "redis://user@a".to_owned();
    let settings = Settings { url, socket: Some("/run/r.sock".into()), ..Settings::default() };
    assert_eq!(
        (settings.address().as_str(), usual_name(&settings).as_str()),
        ("redis://a at /run/r.sock", "a")
    );
    let settings = Settings { url: "http://user:secret@a/m".to_owned(), ..Settings::default() };
    let error = settings.endpoint(|_| Ok(String::new())).unwrap_err();
    assert!(error.contains("Authorization") && !error.contains("secret"), "{error}");
}

#[test]
fn headers_come_from_their_file() {
    let settings = |file: &str| Settings {
        url: "http://a/".to_owned(),
        headers: Some(file.into()),
        ..Settings::default()
    };
    let read = |file: &Path| match file.to_str() {
        Some("/good") => Ok("Authorization: Bearer x\n\nX-Org: 1\n".to_owned()),
        Some("/bad") => Ok("\nsecret without colon\n".to_owned()),
        Some("/host") => Ok("Host: secret\n".to_owned()),
        _ => Err(io::Error::new(io::ErrorKind::PermissionDenied, "others can read it")),
    };
    assert!(settings("/good").endpoint(read).is_ok());
    for (file, words) in [("/bad", "line 2"), ("/host", "line 1"), ("/none", "others can read it")] {
        let error = settings(file).endpoint(read).unwrap_err();
        assert!(error.contains(words) && error.contains(file) && !error.contains("secret"), "{error}");
    }
}

#[test]
fn the_file_of_a_bridge_is_read_as_it_was_written() {
    let folder = Scratch::new();
    let file = folder.join("a.toml");
    let counter = |offset, metric: &str, kind| {
        let name = (offset > 10).then(|| "% \"T\"".to_owned());
        CatalogCounter { offset, metric: metric.to_owned(), kind, name }
    };
    let catalog = vec![
        CatalogObject {
            offset: 0,
            name: "a \"b\" by c".to_owned(),
            labels: vec!["c".to_owned()],
            counters: vec![
                counter(2, "m_total", CounterKind::Count),
                counter(4, "s_seconds_total", CounterKind::Seconds),
                counter(6, "g", CounterKind::Gauge),
                counter(8, "h", CounterKind::Average),
                counter(10, "t", CounterKind::AverageSeconds),
                counter(12, "w", CounterKind::Whole),
                counter(14, "r", CounterKind::HitRate),
                counter(16, "p", CounterKind::Share),
            ],
        },
        CatalogObject { offset: 18, name: "é".to_owned(), labels: Vec::new(), counters: Vec::new() },
    ];
    let settings = Settings {
        url: "http://a/\u{7f}\"\\".replace('\u{7f}', ""),
        kind: Some(Kind::Nginx),
        socket: Some("/run/n".into()),
        password: None,
        timeout: Some(Duration::from_millis(7)),
        headers: Some("/etc/x y".into()),
        certificate: Some("/etc/c".into()),
        labels: Some(vec!["c".to_owned()]),
    };
    std::fs::write(&file, to_text("a", &settings, &catalog)).unwrap();
    assert_eq!(read_installed(&file).unwrap(), (settings, catalog));
}
