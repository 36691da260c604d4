use super::*;

#[test]
fn addresses_are_taken_apart_or_refused_without_their_secrets() {
    let schemes = ["redis"];
    for (url, user, host, port, path) in [
        ("redis://a", None, "a", None, None),
        ("redis://a/", None, "a", None, None),
        ("redis://me@a:7/x", Some("me"), "a", Some(7), Some("x")),
        ("redis://[::1]:7", None, "::1", Some(7), None),
        ("redis://[::1]/1", None, "::1", None, Some("1")),
    ] {
        let found = Address::of(url, &schemes).unwrap();
        let own = |text: Option<&str>| text.map(str::to_owned);
        let wanted = Address { user: own(user), host: host.to_owned(), port, path: own(path) };
        assert_eq!(found, wanted, "{url}");
    }
    for (url, words) in [
        ("a:1", "redis://"),
        ("http://a", "redis://"),
        ("redis://", "host"),
        ("redis://a:99999", "the port"),
        ("redis://me:secret@a", "in a file"),
        ("redis://:secret@a", "in a file"),
        ("redis://me:secret/x@a", "the port"),
        ("redis://a/0?password=secret", "'?'"),
    ] {
        let error = Address::of(url, &schemes).unwrap_err();
        assert!(error.contains(words) && !error.contains("secret"), "{url}: {error}");
    }
}
