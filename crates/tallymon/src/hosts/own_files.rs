//! Where the tables of hosts and the other files of the user are.

use std::path::{Path, PathBuf};

use tallymon_provider::environment;

use super::folders;

/// Where the tables are, that of everybody first.
pub(super) fn table_paths() -> Vec<PathBuf> {
    let everybody = environment::ROOT.value().is_none().then(|| folders::of_everybody("hosts")).flatten();
    everybody.into_iter().chain(own_file("hosts")).collect()
}

/// A file of settings of the user.
pub(super) fn own_file(name: &str) -> Option<PathBuf> {
    if let Some(root) = environment::ROOT.value() {
        return Some(Path::new(&root).join(name));
    }
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    folders::of_user(&absolute).map(|folder| folder.join(name))
}
