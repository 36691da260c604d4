use std::path::Path;

use super::*;

fn table() -> Result<HostTable, HostError> {
    HostTable::parse("web1 ssh://ann@one web\ndb rrp://ann@two\n", Path::new("hosts"))
}

fn unreadable() -> Result<HostTable, HostError> {
    Err(HostError::File("hosts".into(), std::io::ErrorKind::PermissionDenied.into()))
}

#[test]
fn a_name_means_this_machine_a_host_of_the_table_or_an_address() {
    let found =
        |name: &str| find(name, &table).map(|host| host.map(|host| (host.name, host.address.to_string())));
    let own = tallymon_host::system_name();
    for name in ["", ".", "localhost", "LOCALHOST", r"\\.", &own, &format!(r"\\{own}")] {
        assert_eq!(found(name).unwrap(), None, "{name}");
        // They need no table.
        assert_eq!(find(name, &unreadable).unwrap(), None, "{name}");
    }
    for name in ["web1", r"\\WEB1", r"\web1"] {
        assert_eq!(found(name).unwrap(), Some(("web1".to_string(), "ssh://ann@one".to_string())), "{name}");
    }
    let address = find("tls://three:7448", &unreadable).unwrap().unwrap();
    assert_eq!(address.name, "three");
    // A group is not one machine.
    for name in ["web", "nobody"] {
        assert!(matches!(found(name), Err(HostError::Unknown(unknown)) if unknown == name), "{name}");
    }
    assert!(matches!(found("ftp://x"), Err(HostError::Address(_))));
    let error = SourceError::from(find("web1", &unreadable).unwrap_err());
    assert_eq!(error.kind, SourceErrorKind::AccessDenied, "{error}");
}

#[test]
fn paths_of_one_query_name_one_machine() {
    let one = |paths: &[&str]| the_one(paths.iter().copied(), &table).map(|host| host.map(|host| host.name));
    let own = format!(r"\\{}\System\Processes", tallymon_host::system_name());
    assert_eq!(one(&[]).unwrap(), None);
    assert_eq!(one(&[r"\Memory\*", own.as_str(), r"\\.\Memory\*", "no path"]).unwrap(), None);
    assert_eq!(one(&[r"\\web1\Memory\*", r"\\WEB1\System\*"]).unwrap().as_deref(), Some("web1"));
    let error = one(&[r"\\web1\Memory\*", r"\\db\Memory\*"]).unwrap_err().to_string();
    assert_eq!(error, "the paths name 2 machines, and a query reads one: web1, db");
    assert!(one(&[r"\\web1\Memory\*", r"\Memory\*"]).unwrap_err().to_string().contains("web1, "));
    assert!(matches!(one(&[r"\\nobody\Memory\*"]), Err(HostError::Unknown(_))));
}
