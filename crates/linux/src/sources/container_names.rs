//! The names of containers, from the files in which their runtimes keep their state. No runtime is asked: its
//! socket may not answer.
//!
//! | runtime | file |
//! |---|---|
//! | docker | `/var/lib/docker/containers/ID/config.v2.json`: `Name` |
//! | podman | `/var/lib/containers/storage/*-containers/{,volatile-}containers.json`: `id` and `names` |
//! | Kubernetes | the names of `/var/log/containers/POD_NAMESPACE_CONTAINER-ID.log` |
//! | containerd, nerdctl | `/run/containerd/io.containerd.runtime.v2.task/NAMESPACE/ID/config.json`: annotations |
//! | cri-o | `/run/containers/storage/*-containers/ID/userdata/config.json`: annotations |
//!
//! Most of them are readable by root only. A container of somebody who may not read them has its id.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tallymon_provider::FileTime;

use super::units::{Container, is_id};
use crate::kernel::root::Root;

/// Bytes that are read of the file of one container, and of a list of containers.
const ONE: u64 = 4 << 20;
const LIST: u64 = 32 << 20;

/// Units of 100 ns for which a name is believed, and for which none is looked for again.
const BELIEVED: u64 = 600_000_000;
const MISSING: u64 = 100_000_000;

/// Names that were found, and when.
#[derive(Debug, Default)]
pub(crate) struct ContainerNames {
    names: HashMap<Container, (Option<String>, FileTime)>,
    /// The names from files with many containers, by id.
    listed: HashMap<String, String>,
    listed_at: Option<FileTime>,
    tidied_at: FileTime,
}

impl ContainerNames {
    /// The name of a container, if its runtime has given it one and we may read it.
    pub(crate) fn of(&mut self, container: &Container, root: &Root, now: FileTime) -> Option<String> {
        // Runtimes without ids have put the name into the path.
        if !is_id(&container.id) {
            return Some(container.id.clone());
        }
        if let Some((name, at)) = self.names.get(container) {
            let lasts = if name.is_some() { BELIEVED } else { MISSING };
            if now.0.saturating_sub(at.0) < lasts {
                return name.clone();
            }
        }
        let name = self.find(&container.id, root, now).filter(|name| !name.is_empty());
        if now.0.saturating_sub(self.tidied_at.0) >= BELIEVED {
            // Containers that are gone leave: those of today are asked for again within a minute.
            self.names.retain(|_, (_, at)| now.0.saturating_sub(at.0) < BELIEVED.saturating_mul(2));
            self.tidied_at = now;
        }
        self.names.insert(container.clone(), (name.clone(), now));
        name
    }

    fn find(&mut self, id: &str, root: &Root, now: FileTime) -> Option<String> {
        let docker = root.var(&format!("lib/docker/containers/{id}/config.v2.json"));
        if let Some(name) = json(&docker, ONE).as_ref().and_then(|config| config.get("Name")?.as_str()) {
            return Some(name.trim_start_matches('/').to_string());
        }
        if self.listed_at.is_none_or(|at| now.0.saturating_sub(at.0) >= MISSING) {
            self.listed = listed(root);
            self.listed_at = Some(now);
        }
        if let Some(name) = self.listed.get(id) {
            return Some(name.clone());
        }
        let tasks = root.run("containerd/io.containerd.runtime.v2.task");
        let stores = root.run("containers/storage");
        let of_tasks = folders(&tasks).map(|namespace| namespace.join(id).join("config.json"));
        let of_stores = folders(&stores).map(|store| store.join(id).join("userdata/config.json"));
        of_tasks.chain(of_stores).find_map(|path| annotated(json(&path, ONE)?.get("annotations")?))
    }
}

/// The names from the files with many containers.
fn listed(root: &Root) -> HashMap<String, String> {
    let mut names = HashMap::new();
    for store in folders(&root.var("lib/containers/storage")) {
        for file in ["containers.json", "volatile-containers.json"] {
            let list = json(&store.join(file), LIST);
            for container in list.as_ref().and_then(Value::as_array).into_iter().flatten() {
                let id = container.get("id").and_then(Value::as_str);
                let name = container.get("names").and_then(|names| names.get(0)?.as_str());
                if let (Some(id), Some(name)) = (id, name) {
                    names.insert(id.to_string(), name.to_string());
                }
            }
        }
    }
    for entry in std::fs::read_dir(root.var("log/containers")).into_iter().flatten().flatten() {
        if let Some((id, name)) = entry.file_name().to_str().and_then(of_log) {
            names.insert(id.to_string(), name);
        }
    }
    names
}

/// The id and the name from `POD_NAMESPACE_CONTAINER-ID.log`.
fn of_log(file: &str) -> Option<(&str, String)> {
    let (rest, id) = file.strip_suffix(".log")?.rsplit_once('-')?;
    let mut parts = rest.splitn(3, '_');
    let (pod, namespace, container) = (parts.next()?, parts.next()?, parts.next()?);
    is_id(id).then(|| (id, full_name(namespace, pod, container)))
}

/// The name from the annotations of an OCI container.
fn annotated(annotations: &Value) -> Option<String> {
    let text = |key: &str| annotations.get(key).and_then(Value::as_str);
    if let Some(name) = text("nerdctl/name") {
        return Some(name.to_string());
    }
    let of = |namespace, pod, container, fallback: &str| {
        Some(full_name(text(namespace)?, text(pod)?, text(container).unwrap_or(fallback)))
    };
    // The first container of a pod holds its network, and has no name of its own.
    of(
        "io.kubernetes.cri.sandbox-namespace",
        "io.kubernetes.cri.sandbox-name",
        "io.kubernetes.cri.container-name",
        "sandbox",
    )
    .or_else(|| {
        of("io.kubernetes.pod.namespace", "io.kubernetes.pod.name", "io.kubernetes.container.name", "sandbox")
    })
}

/// A container of a pod. A slash would read as a parent in a counter path.
fn full_name(namespace: &str, pod: &str, container: &str) -> String {
    format!("{namespace}.{pod}.{container}")
}

fn json(path: &Path, most: u64) -> Option<Value> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(most).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn folders(path: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> String {
        digit.to_string().repeat(64)
    }

    #[test]
    fn every_runtime_s_own_file() {
        let folder = std::env::temp_dir().join(format!("tallymon-containers-{}", std::process::id()));
        let root = Root::below(&folder);
        let write = |path: PathBuf, text: &str| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let (a, b, c, d, e, f) = (id('a'), id('b'), id('c'), id('d'), id('e'), id('f'));
        write(root.var(&format!("lib/docker/containers/{a}/config.v2.json")), r#"{"Name":"/web","ID":"x"}"#);
        let list = format!(r#"[{{"id":"{b}","names":["db","other"]}},{{"id":"{c}"}}]"#);
        write(root.var("lib/containers/storage/overlay-containers/containers.json"), &list);
        write(root.var(&format!("log/containers/shop-7d4b_prod_cart-{c}.log")), "");
        let tasks = "containerd/io.containerd.runtime.v2.task";
        write(
            root.run(&format!("{tasks}/k8s.io/{d}/config.json")),
            r#"{"annotations":{"io.kubernetes.cri.sandbox-name":"p","io.kubernetes.cri.sandbox-namespace":"n"}}"#,
        );
        write(
            root.run(&format!("{tasks}/default/{e}/config.json")),
            r#"{"annotations":{"nerdctl/name":"sidecar"}}"#,
        );
        write(
            root.run(&format!("containers/storage/overlay-containers/{f}/userdata/config.json")),
            r#"{"annotations":{"io.kubernetes.container.name":"c","io.kubernetes.pod.name":"p",
                "io.kubernetes.pod.namespace":"n"}}"#,
        );
        let mut names = ContainerNames::default();
        let mut name = |id: &str, now| {
            names.of(&Container { runtime: "docker", id: id.to_string() }, &root, FileTime(now))
        };
        for (id, expected) in [
            (&a, Some("web")),
            (&b, Some("db")),
            (&c, Some("prod.shop-7d4b.cart")),
            (&d, Some("n.p.sandbox")),
            (&e, Some("sidecar")),
            (&f, Some("n.p.c")),
            (&id('0'), None),
            (&"web".to_string(), Some("web")),
        ] {
            assert_eq!(name(id, 1).as_deref(), expected, "{id}");
        }
        // A renamed container keeps its name for a minute, and one without name is looked for after ten
        // seconds.
        write(root.var(&format!("lib/docker/containers/{a}/config.v2.json")), r#"{"Name":"/shop"}"#);
        write(root.var(&format!("lib/docker/containers/{}/config.v2.json", id('0'))), r#"{"Name":"/new"}"#);
        assert_eq!(name(&a, BELIEVED).as_deref(), Some("web"));
        assert_eq!(name(&id('0'), MISSING).as_deref(), None);
        assert_eq!(name(&a, BELIEVED + 1).as_deref(), Some("shop"));
        assert_eq!(name(&id('0'), MISSING + 1).as_deref(), Some("new"));
        // Files that say something else, or nothing.
        for text in ["", "{", "[]", r#"{"Name":7}"#, r#"{"Name":"/"}"#, &"[".repeat(100_000)] {
            write(root.var(&format!("lib/docker/containers/{}/config.v2.json", id('1'))), text);
            assert_eq!(
                ContainerNames::default().of(
                    &Container { runtime: "docker", id: id('1') },
                    &root,
                    FileTime(1)
                ),
                None,
                "{text:.20}"
            );
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_names_of_kubernetes_logs() {
        let id = id('a');
        for (file, expected) in [
            (format!("p_n_c-{id}.log"), Some("n.p.c".to_string())),
            (format!("p_n_with-hyphen-{id}.log"), Some("n.p.with-hyphen".to_string())),
            (format!("p_n-{id}.log"), None),
            (format!("p_n_c-{id}"), None),
            ("p_n_c-1.log".to_string(), None),
        ] {
            assert_eq!(of_log(&file).map(|(_, name)| name), expected, "{file}");
        }
    }
}
