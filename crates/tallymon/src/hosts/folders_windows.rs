//! Folders of settings on Windows: `%ProgramData%\Tallymon` and `%APPDATA%\Tallymon`. A shell of Unix there
//! sets variables of XDG, which go before the second.

use std::path::PathBuf;

use tallymon_provider::trust;

/// A file of settings for everybody.
pub(super) fn of_everybody(name: &str) -> Option<PathBuf> {
    Some(trust::program_data().join("Tallymon").join(name))
}

/// The folder for settings of the user. `absolute` has the absolute paths of variables.
pub(super) fn of_user(absolute: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    if let Some(settings) = absolute("XDG_CONFIG_HOME") {
        return Some(settings.join("tallymon"));
    }
    // Without a profile there is at least the folder of a shell.
    absolute("APPDATA")
        .map(|folder| folder.join("Tallymon"))
        .or_else(|| Some(absolute("HOME")?.join(".config").join("tallymon")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_has_the_folder() {
        let folder = |set: &[(&str, &str)]| {
            of_user(&|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
        };
        let data = ("APPDATA", r"C:\Users\Ann\AppData\Roaming");
        let home = ("HOME", r"C:\Users\Ann");
        assert_eq!(folder(&[home, data]), Some(r"C:\Users\Ann\AppData\Roaming\Tallymon".into()));
        assert_eq!(folder(&[home]), Some(r"C:\Users\Ann\.config\tallymon".into()));
        assert_eq!(
            folder(&[data, ("XDG_CONFIG_HOME", r"D:\settings")]),
            Some(r"D:\settings\tallymon".into())
        );
        assert_eq!(folder(&[]), None);
    }

    #[test]
    fn everybody_has_the_folder_of_the_system() {
        let file = of_everybody("hosts").unwrap();
        assert!(file.is_absolute() && file.ends_with(r"Tallymon\hosts"), "{}", file.display());
    }
}
