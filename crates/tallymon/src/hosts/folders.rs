//! Folders of settings: those of the XDG base directories, and `/etc`.

use std::path::PathBuf;

/// A file of settings for everybody.
pub(super) fn of_everybody(name: &str) -> Option<PathBuf> {
    Some(PathBuf::from("/etc/tallymon").join(name))
}

/// The folder for settings of the user. `absolute` has the absolute paths of variables.
pub(super) fn of_user(absolute: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let settings = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    settings.map(|folder| folder.join("tallymon"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_has_the_folder() {
        let folder = |set: &[(&str, &str)]| {
            of_user(&|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
        };
        let (home, settings) = (("HOME", "/home/ann"), ("XDG_CONFIG_HOME", "/home/ann/settings"));
        assert_eq!(folder(&[home, settings]), Some("/home/ann/settings/tallymon".into()));
        assert_eq!(folder(&[home]), Some("/home/ann/.config/tallymon".into()));
        assert_eq!(folder(&[("APPDATA", "/data")]), None);
    }
}
