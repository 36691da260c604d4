//! From the path of a control group to the service or container that it belongs to.

/// The path of the control group of a process, from the text of `/proc/PID/cgroup`: that of version 2, else
/// that of the controller whose path says most.
pub(crate) fn group_of(text: &str) -> String {
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

/// A container, as the path of its control group says it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Container {
    /// The program that made it: `docker`, `podman`, `lxc`; `container` where the path does not say.
    pub(crate) runtime: &'static str,
    /// 64 hexadecimal digits; or a name, for the runtimes that use no numbers.
    pub(crate) id: String,
}

impl Container {
    /// The container whose own group has this path; `None` for the groups above it and inside it.
    pub(crate) fn of_group(path: &str) -> Option<Container> {
        let mut parts = path.rsplit('/');
        let part = parts.next()?;
        Container::of_part(part, parts.next().unwrap_or_default())
    }

    fn of_part(part: &str, before: &str) -> Option<Container> {
        let container = |runtime, id: &str| Some(Container { runtime, id: id.to_string() });
        if let Some(scope) = part.strip_suffix(".scope") {
            let found =
                RUNTIMES.iter().find_map(|(prefix, runtime)| Some((*runtime, scope.strip_prefix(prefix)?)));
            return match found {
                Some((runtime, id)) if is_id(id) => container(runtime, id),
                _ => container("machine", &unescaped(scope.strip_prefix("machine-")?)),
            };
        }
        if is_id(part) {
            return container(
                match before {
                    "docker" => "docker",
                    "libpod_parent" => "podman",
                    before if before.starts_with("pod") || before.starts_with("kube") => "pod",
                    _ => "container",
                },
                part,
            );
        }
        match before {
            "lxc" | "lxc.payload" if !part.is_empty() => container("lxc", part),
            _ => container("lxc", part.strip_prefix("lxc.payload.")?),
        }
    }

    /// The runtime and the id, as short as runtimes print it.
    pub(crate) fn label(&self) -> String {
        let id = if is_id(&self.id) { self.id.get(..12).unwrap_or(&self.id) } else { &self.id };
        format!("{} {id}", self.runtime)
    }
}

/// The service or container of a control group; `None` for a group that nobody has named. `name` returns the
/// name of a container, if it has one.
pub(crate) fn unit_of(path: &str, mut name: impl FnMut(&Container) -> Option<String>) -> Option<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    // The innermost part that says something wins: a container is a part of its service.
    for (nth, part) in parts.iter().enumerate().rev() {
        let before = nth.checked_sub(1).and_then(|nth| parts.get(nth)).copied().unwrap_or_default();
        if let Some(container) = Container::of_part(part, before) {
            return Some(match name(&container) {
                Some(name) => format!("{} {name}", container.runtime),
                None => container.label(),
            });
        }
        if let Some(unit) = service_of(part) {
            return Some(unit);
        }
    }
    None
}

fn service_of(part: &str) -> Option<String> {
    match part.strip_suffix(".scope") {
        Some(scope) => Some(match scope.strip_prefix("session-") {
            Some(number) => format!("session {number}"),
            None => unescaped(scope),
        }),
        None => part.ends_with(".service").then(|| unescaped(part)),
    }
}

/// Whether a text is the id of a container: 64 hexadecimal digits.
pub(crate) fn is_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|letter| letter.is_ascii_hexdigit())
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
        for (path, expected, is_container) in [
            ("/".to_string(), None, false),
            ("/system.slice/nginx.service".to_string(), Some("nginx.service"), false),
            (format!("/system.slice/docker-{id}.scope"), Some("docker 3f2a1b4c5d6e"), true),
            (format!("/machine.slice/libpod-{id}.scope/container"), Some("podman 3f2a1b4c5d6e"), false),
            (format!("/machine.slice/libpod-{id}.scope"), Some("podman 3f2a1b4c5d6e"), true),
            (format!("/docker/{id}"), Some("docker 3f2a1b4c5d6e"), true),
            (format!("/kubepods/besteffort/pod12/{id}"), Some("pod 3f2a1b4c5d6e"), true),
            (format!("/kubepods.slice/cri-containerd-{id}.scope"), Some("containerd 3f2a1b4c5d6e"), true),
            (
                format!("/machine.slice/libpod-conmon-{id}.scope"),
                Some(&*format!("libpod-conmon-{id}")),
                false,
            ),
            ("/user.slice/user-0.slice/session-3.scope".to_string(), Some("session 3"), false),
            (
                "/user.slice/user-1000.slice/user@1000.service/app.slice/app-code\\x2d1.scope".to_string(),
                Some("app-code-1"),
                false,
            ),
            ("/machine.slice/machine-web\\x2d1.scope".to_string(), Some("machine web-1"), true),
            ("/lxc/web".to_string(), Some("lxc web"), true),
            ("/lxc/".to_string(), None, false),
            ("/lxc.payload.web/system.slice/cron.service".to_string(), Some("cron.service"), false),
            ("/lxc.payload.web".to_string(), Some("lxc web"), true),
            ("/some/group".to_string(), None, false),
        ] {
            assert_eq!(unit_of(&path, |_| None).as_deref(), expected, "{path}");
            assert_eq!(Container::of_group(&path).is_some(), is_container, "{path}");
        }
        let path = format!("/system.slice/docker-{id}.scope");
        assert_eq!(unit_of(&path, |_| Some("web".to_string())).as_deref(), Some("docker web"));
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
