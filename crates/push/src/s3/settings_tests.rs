//! Where credentials come from, and what is said when there are none.

use super::*;

use tallymon_testkit::Scratch;

const CREDENTIALS: &str = "# mine\n[default]\naws_access_key_id = ID\naws_secret_access_key=SE/CR+ET=\n\n\
                           [other]\naws_access_key_id=ID2\naws_secret_access_key=S2\naws_session_token=T==\n\
                           nested =\n  aws_access_key_id = no\n[half]\naws_access_key_id=x\n";
const CONFIG: &str = "[default]\nregion = eu-central-1\n[profile other]\nregion=eu-west-3\n\
                      endpoint_url = http://localhost:9000\n[profile sso]\nsso_session = mine\n";

fn settings(variables: &[(&str, &str)]) -> Result<Settings, String> {
    let folder = Scratch::new();
    std::fs::create_dir(folder.join(".aws")).unwrap();
    std::fs::write(folder.join(".aws/credentials"), CREDENTIALS).unwrap();
    std::fs::write(folder.join(".aws/config"), CONFIG).unwrap();
    let home = folder.to_string_lossy().into_owned();
    Settings::read(&|name| match variables.iter().find(|(known, _)| *known == name) {
        Some((_, value)) => Some((*value).to_owned()),
        None => (name == "HOME").then(|| home.clone()),
    })
}

#[test]
fn credentials_come_from_variables_or_a_profile() {
    let found = settings(&[]).unwrap();
    assert_eq!((found.credentials.id.as_str(), found.credentials.secret.as_str()), ("ID", "SE/CR+ET="));
    assert_eq!((found.region.as_str(), found.credentials.token), ("eu-central-1", None));
    assert_eq!(found.endpoint, "https://s3.eu-central-1.amazonaws.com");
    let found = settings(&[("AWS_PROFILE", "other")]).unwrap();
    assert_eq!((found.credentials.id.as_str(), found.credentials.token.as_deref()), ("ID2", Some("T==")));
    assert_eq!((found.region.as_str(), found.endpoint.as_str()), ("eu-west-3", "http://localhost:9000"));
    // Keys come before a profile, which says the rest.
    let pair = [("AWS_ACCESS_KEY_ID", "A\r\n"), ("AWS_SECRET_ACCESS_KEY", " B\n")];
    let found = settings(&[&pair[..], &[("AWS_PROFILE", "other"), ("AWS_SESSION_TOKEN", "T\n")]].concat());
    let found = found.unwrap();
    assert_eq!((found.credentials.id.as_str(), found.credentials.secret.as_str()), ("A", "B"));
    assert_eq!((found.credentials.token.as_deref(), found.region.as_str()), (Some("T"), "eu-west-3"));
    let both = [("AWS_ACCESS_KEY_ID", "A"), ("AWS_SECRET_ACCESS_KEY", "B"), ("AWS_REGION", "x")];
    let found = settings(&[&both[..], &[("AWS_ENDPOINT_URL", "http://h:1")]].concat()).unwrap();
    assert_eq!((found.credentials.id.as_str(), found.region.as_str()), ("A", "x"));
    assert_eq!((found.endpoint.as_str(), found.source.as_str()), ("http://h:1", "the environment"));
    assert!(!format!("{found:?}").contains('B'));
}

#[test]
fn missing_credentials_say_where_they_were_looked_for() {
    for (variables, words) in [
        (&[("AWS_PROFILE", "nobody")][..], "\"nobody\""),
        (&[("AWS_PROFILE", "half")], "AWS_SECRET_ACCESS_KEY"),
        (&[("AWS_PROFILE", "sso")], "sso_session"),
        (&[("AWS_ACCESS_KEY_ID", "A")], "AWS_SECRET_ACCESS_KEY is not"),
        (&[("AWS_SECRET_ACCESS_KEY", "A")], "AWS_ACCESS_KEY_ID is not"),
        (&[("AWS_REGION", "a/b")], "no region"),
        (&[("AWS_SHARED_CREDENTIALS_FILE", "/dev/zero")], "not a regular file"),
        (&[("AWS_SHARED_CREDENTIALS_FILE", "/nowhere/c")], "/nowhere/c"),
    ] {
        let error = settings(variables).unwrap_err();
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn only_a_usual_file_may_be_one_that_nobody_may_read() {
    // The tests often run as a user who may read everything.
    use io::ErrorKind::{NotFound, Other, PermissionDenied};
    assert!(is_absent(PermissionDenied, true) && !is_absent(PermissionDenied, false));
    assert!(is_absent(NotFound, false) && !is_absent(Other, true));
}
