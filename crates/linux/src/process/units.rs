//! From the path of a control group to the service or container that it belongs to.

/// The path of the control group of a process, from the text of `/proc/PID/cgroup`: that of version 2, else
/// that of the controller whose path says most.
pub(super) fn group_of(text: &str) -> String {
    let paths = text.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (hierarchy, _, path) = (fields.next()?, fields.next()?, fields.next()?);
        Some((hierarchy, path))
    });
    let longest = paths.max_by_key(|(hierarchy, path)| (*hierarchy == "0" && *path != "/", path.len()));
    longest.map_or_else(|| "/".to_string(), |(_, path)| path.to_string())
}

/// How container runtimes name the groups of their containers, before an id.
const RUNTIMES: [(&str, &str); 6] = [
    ("docker-", "docker"),
    ("libpod-", "podman"),
    ("cri-containerd-", "containerd"),
    ("crio-", "cri-o"),
    ("nerdctl-", "nerdctl"),
    ("buildkit-", "buildkit"),
];

/// The service or container of a control group; `None` for a group that nobody has named.
pub(super) fn unit_of(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    // The innermost part that says something wins: a container is a part of its service.
    for (nth, part) in parts.iter().enumerate().rev() {
        let before = nth.checked_sub(1).and_then(|nth| parts.get(nth)).copied().unwrap_or_default();
        if let Some(unit) = of_part(part, before) {
            return Some(unit);
        }
    }
    None
}

fn of_part(part: &str, before: &str) -> Option<String> {
    let scope = part.strip_suffix(".scope");
    if let Some(scope) = scope {
        let container =
            RUNTIMES.iter().find_map(|(prefix, runtime)| Some((*runtime, scope.strip_prefix(prefix)?)));
        if let Some((runtime, id)) = container.filter(|(_, id)| is_id(id)) {
            return Some(format!("{runtime} {}", short(id)));
        }
        if let Some(number) = scope.strip_prefix("session-") {
            return Some(format!("session {number}"));
        }
        if let Some(name) = scope.strip_prefix("machine-") {
            return Some(format!("machine {}", unescaped(name)));
        }
        return Some(unescaped(scope));
    }
    if is_id(part) {
        let runtime = match before {
            "docker" => "docker",
            "libpod_parent" => "podman",
            before if before.starts_with("pod") || before.starts_with("kube") => "pod",
            _ => return Some(format!("container {}", short(part))),
        };
        return Some(format!("{runtime} {}", short(part)));
    }
    if matches!(before, "lxc" | "lxc.payload") {
        return Some(format!("lxc {part}"));
    }
    if let Some(name) = part.strip_prefix("lxc.payload.") {
        return Some(format!("lxc {name}"));
    }
    part.ends_with(".service").then(|| unescaped(part))
}

/// Whether a text is the id of a container: 64 hexadecimal digits.
fn is_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|letter| letter.is_ascii_hexdigit())
}

/// As long as runtimes print it.
fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

/// A name as systemd's users write it: `\x2d` is a hyphen.
fn unescaped(name: &str) -> String {
    name.replace("\\x2d", "-").replace("\\x5f", "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_and_containers_have_names() {
        let id = "3f2a1b4c5d6e".to_string() + &"0".repeat(52);
        for (path, expected) in [
            ("/".to_string(), None),
            ("/system.slice/nginx.service".to_string(), Some("nginx.service")),
            (format!("/system.slice/docker-{id}.scope"), Some("docker 3f2a1b4c5d6e")),
            (format!("/machine.slice/libpod-{id}.scope/container"), Some("podman 3f2a1b4c5d6e")),
            (format!("/docker/{id}"), Some("docker 3f2a1b4c5d6e")),
            (format!("/kubepods/besteffort/pod12/{id}"), Some("pod 3f2a1b4c5d6e")),
            ("/user.slice/user-0.slice/session-3.scope".to_string(), Some("session 3")),
            (
                "/user.slice/user-1000.slice/user@1000.service/app.slice/app-code\\x2d1.scope".to_string(),
                Some("app-code-1"),
            ),
            ("/lxc/web".to_string(), Some("lxc web")),
            ("/lxc.payload.web/system.slice/cron.service".to_string(), Some("cron.service")),
            ("/some/group".to_string(), None),
        ] {
            assert_eq!(unit_of(&path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn the_group_of_version_2_wins() {
        for (text, expected) in [
            ("0::/system.slice/a.service\n", "/system.slice/a.service"),
            ("12:cpu:/docker/x\n1:name=systemd:/docker/x\n0::/\n", "/docker/x"),
            ("4:memory:/a:b\n0::/c\n", "/c"),
            ("", "/"),
            ("broken", "/"),
        ] {
            assert_eq!(group_of(text), expected, "{text}");
        }
    }
}
