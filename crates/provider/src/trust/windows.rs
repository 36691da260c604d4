//! Owners and access lists of Windows.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use super::program_data::program_data;
use super::security::{self, Security, is_system};
use super::{Distrust, Untrusted};

/// The most links that a path may lead through, as on Linux.
const MAX_LINKS: usize = 40;

/// `FILE_FLAG_OPEN_REPARSE_POINT`: a link is opened itself, and what it leads to is not.
const NO_FOLLOW: u32 = 0x0020_0000;

/// How long a file may be in use before that is an error. Everybody here has files open for moments only.
const PATIENCE: Duration = Duration::from_secs(2);

/// Our folder in that of all programs.
const FOLDER: &str = "Tallymon";

/// Whether this process has rights that its user has not: there are no rights of program files here.
pub fn has_more_rights_than_its_user() -> bool {
    false
}

/// Checks that only the system, its administrators and this user can change a file or folder, or put another
/// one in its place: owner and access list of it and of every folder on the way, also through links. What
/// does not exist is not checked.
///
/// A folder in which others may create files, such as `C:\ProgramData`, is a safe place on the way if they
/// cannot remove or replace what others created there.
///
/// # Errors
///
/// The first part that somebody else could change.
pub fn check_path(path: &Path) -> Result<(), Untrusted> {
    let fail = |part: &Path, why| Err(Untrusted { part: part.to_path_buf(), why });
    let absolute = match std::path::absolute(path) {
        Ok(absolute) => absolute,
        Err(error) => return fail(path, Distrust::Io(error.to_string())),
    };
    let (mut at, mut rest) = root_and_parts(&absolute);
    let mut links = 0usize;
    loop {
        let about = match std::fs::symlink_metadata(&at) {
            Ok(about) => about,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return fail(&at, Distrust::Io(error.to_string())),
        };
        let security = match security::of_path(&at) {
            Ok((security, _)) => security,
            Err(error) => return fail(&at, Distrust::Io(format!("its access list: {error}"))),
        };
        if about.is_symlink() {
            links = links.saturating_add(1);
            if links > MAX_LINKS {
                return fail(&at, Distrust::Io("too many links".to_string()));
            }
            if let Some(why) = distrust(&security, Security::writer) {
                return fail(&at, why);
            }
            let target = match std::fs::read_link(&at) {
                Ok(target) => target,
                Err(error) => return fail(&at, Distrust::Io(error.to_string())),
            };
            at.pop();
            let (root, parts) = root_and_parts(&at.join(target));
            at = root;
            for part in parts.into_iter().rev() {
                rest.push_front(part);
            }
        } else {
            let changes = if rest.is_empty() { Security::writer } else { Security::replacer };
            if let Some(why) = distrust(&security, changes) {
                return fail(&at, why);
            }
        }
        match rest.pop_front() {
            None => return Ok(()),
            Some(part) if part == ".." => {
                at.pop();
            }
            Some(part) => at.push(part),
        }
    }
}

/// The drive or share of a path, and the names in it.
fn root_and_parts(path: &Path) -> (PathBuf, VecDeque<OsString>) {
    let (mut root, mut parts) = (PathBuf::new(), VecDeque::new());
    for component in path.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => root.push(component),
            Component::Normal(name) => parts.push_back(name.to_os_string()),
            Component::ParentDir => parts.push_back("..".into()),
            Component::CurDir => {}
        }
    }
    (root, parts)
}

/// What is wrong with a file or folder; `changes` finds somebody who can change it.
fn distrust(security: &Security, changes: fn(&Security) -> Option<&[u8]>) -> Option<Distrust> {
    static OWN: LazyLock<Option<Vec<u8>>> = LazyLock::new(security::this_user);
    let owner = security.owner();
    if !is_system(owner) && OWN.as_deref() != Some(owner) {
        return Some(Distrust::Account { owns: true, who: security::text_of(owner) });
    }
    let who = changes(security)?;
    let is_everybody = who.is_empty() || who == security::EVERYBODY;
    let account = || Distrust::Account { owns: false, who: security::text_of(who) };
    Some(if is_everybody { Distrust::Everybody } else { account() })
}

/// Opens a plain file for reading that only the system, its administrators and this user can write. Follows
/// no link in the last part of the path. The folders above it are for [`check_path`].
///
/// # Errors
///
/// It cannot be opened; it is not a plain file, or others can write it.
pub fn open_file(path: &Path) -> io::Result<File> {
    checked(path, patiently(|| File::options().read(true).custom_flags(NO_FOLLOW).open(path))?)
}

/// A file that was opened, if it is a plain one that others cannot write.
fn checked(path: &Path, file: File) -> io::Result<File> {
    let why = match file.metadata()?.is_file() {
        true => distrust(&security::of_file(&file)?, Security::writer),
        false => Some(Distrust::NotAFile),
    };
    match why {
        Some(why) => Err(Untrusted { part: path.to_path_buf(), why }.into()),
        None => Ok(file),
    }
}

/// Creates a folder and those above it; access is inherited. Only an administrator can create our folder in
/// `%ProgramData%`: there nobody else may add anything, as others could in a folder of any other program.
///
/// # Errors
///
/// They cannot be created.
pub fn create_folders(path: &Path) -> io::Result<()> {
    if let Some(shared) = shared_folder(path).filter(|folder| !folder.is_dir()) {
        security::create_folder(&shared, SHARED)?;
    }
    std::fs::create_dir_all(path)
}

/// The access list of our folder in `%ProgramData%`: the system and its administrators may do everything with
/// it and all that is in it, and every user may read it.
pub(crate) const SHARED: &str = "O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;AU)";

/// Our folder in `%ProgramData%`, if a path is in it.
fn shared_folder(path: &Path) -> Option<PathBuf> {
    let data = program_data();
    let mut names = path.strip_prefix(&data).ok()?.components();
    // Names do not differ by case.
    let Component::Normal(name) = names.next()? else { return None };
    name.eq_ignore_ascii_case(FOLDER).then(|| data.join(FOLDER))
}

/// Creates a new file for writing; access is inherited.
///
/// # Errors
///
/// It cannot be created, or something of that name is there.
pub fn create_file(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

/// Opens a plain file for appending that others cannot write, or creates it. Follows no link.
///
/// # Errors
///
/// It cannot be opened; it is not a plain file, or others can write it.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    let open = || File::options().append(true).read(true).create(true).custom_flags(NO_FOLLOW).open(path);
    checked(path, patiently(open)?)
}

/// Creates a new file for writing that only this user and the system can read.
///
/// # Errors
///
/// It cannot be created, or something of that name is there.
pub fn create_secret(path: &Path) -> io::Result<File> {
    security::create_file(path, &private("")?)
}

/// Creates a folder that only this user and the system can enter, unless it is there.
///
/// # Errors
///
/// It cannot be created.
pub fn private_folder(path: &Path) -> io::Result<()> {
    security::create_folder(path, &private("OICI")?)
}

/// The access list of what is for this user, with flags of inheritance.
fn private(inherits: &str) -> io::Result<String> {
    let me = security::this_user();
    let me = me.ok_or_else(|| io::Error::other("the system does not say who runs this program"))?;
    let me = security::text_of(&me);
    Ok(format!("D:P(A;{inherits};FA;;;{me})(A;{inherits};FA;;;SY)(A;{inherits};FA;;;BA)"))
}

/// Opens the file of a lock, or creates it.
pub(super) fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false).custom_flags(NO_FOLLOW);
    patiently(|| options.open(path))
}

/// Renames a file, in place of one that may be there. A file that somebody reads at this moment cannot be
/// replaced everywhere: then it is tried again for a while.
///
/// # Errors
///
/// As [`std::fs::rename`].
pub fn replace(from: &Path, to: &Path) -> io::Result<()> {
    patiently(|| std::fs::rename(from, to))
}

/// Tries again for a while what another process or thread prevents by having the file open.
fn patiently<T>(mut act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let start = Instant::now();
    loop {
        match act() {
            Err(error) if is_in_use(&error) && start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(2));
            }
            done => return done,
        }
    }
}

fn is_in_use(error: &io::Error) -> bool {
    /// `ERROR_ACCESS_DENIED`, `ERROR_SHARING_VIOLATION`, `ERROR_LOCK_VIOLATION`.
    const IN_USE: [i32; 3] = [5, 32, 33];
    error.raw_os_error().is_some_and(|code| IN_USE.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_begin_behind_the_drive_or_share() {
        for (path, root, names) in [
            (r"C:\a\b", r"C:\", &["a", "b"][..]),
            (r"\\?\C:\a\..\b", r"\\?\C:\", &["a", "..", "b"]),
            (r"\\host\share\a", r"\\host\share\", &["a"]),
            (r"C:\", r"C:\", &[]),
        ] {
            let (found, parts) = root_and_parts(Path::new(path));
            assert_eq!(
                (found.as_path(), parts),
                (Path::new(root), names.iter().map(OsString::from).collect())
            );
        }
    }

    #[test]
    fn our_folder_is_found_whatever_its_case_is() {
        let data = program_data();
        let ours = data.join("Tallymon");
        for (name, is_ours) in
            [("tallymon/state", true), ("Tallymon", true), ("Tallymon2", false), ("", false)]
        {
            let found = shared_folder(&data.join(name));
            assert_eq!(found, is_ours.then(|| ours.clone()), "{name}");
        }
        assert_eq!(shared_folder(Path::new(r"C:\Tallymon")), None);
    }

    #[test]
    fn a_file_that_is_in_use_is_replaced_when_it_is_free() {
        let folder = tallymon_testkit::Scratch::new();
        let (new, old) = (folder.join("new"), folder.join("old"));
        std::fs::write(&new, "new").unwrap();
        std::fs::write(&old, "old").unwrap();
        // Without sharing, as an editor or a scanner of viruses may have it.
        let held = File::options().read(true).share_mode(0).open(&old).unwrap();
        let later = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(held);
        });
        replace(&new, &old).unwrap();
        later.join().unwrap();
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "new");
    }

    /// Attacks by access lists: everybody may write a file, or replace what is in a folder.
    #[test]
    fn what_others_can_change_is_not_trusted() {
        let folder = tallymon_testkit::Scratch::new();
        let me = security::text_of(&security::this_user().unwrap());
        let list = |more: &str| format!("D:P(A;OICI;FA;;;{me}){more}");
        let names = |name: &str| folder.join(name);
        // Wine makes a mode of Linux of the list, from which the mask takes what others may write.
        let is_wine = std::env::var_os("WINEPREFIX").is_some();
        for (name, more, as_file, as_folder) in [
            ("own", "", true, true),
            ("readable", "(A;;FR;;;WD)", true, true),
            ("writable", "(A;;FA;;;WD)", false, false),
        ] {
            if is_wine && !as_file {
                tallymon_testkit::skip("Wine creates no file that every user may write");
                continue;
            }
            let file = names(&format!("{name}.txt"));
            drop(security::create_file(&file, &list(more)).unwrap());
            assert_eq!(check_path(&file).is_ok(), as_file, "{name}: {:?}", check_path(&file));
            assert_eq!(open_file(&file).is_ok(), as_file, "{name}");
            let inner = names(name);
            security::create_folder(&inner, &list(more)).unwrap();
            std::fs::write(inner.join("in.txt"), "").unwrap();
            assert_eq!(check_path(&inner).is_ok(), as_folder, "{name}: {:?}", check_path(&inner));
            let words = check_path(&inner.join("in.txt")).map_err(|untrusted| untrusted.to_string());
            assert_eq!(words.is_ok(), as_folder, "{name}: {words:?}");
        }
        let words = Untrusted { part: names("writable"), why: Distrust::Everybody }.to_string();
        assert!(words.contains("can be written by every user") && words.contains("icacls"), "{words}");
        assert!(open_file(&names("own")).is_err());
        assert!(check_path(&names("not there")).is_ok());
    }

    #[test]
    fn what_is_private_is_for_this_user_only() {
        let folder = tallymon_testkit::Scratch::new();
        let inner = folder.join("private");
        private_folder(&inner).unwrap();
        private_folder(&inner).unwrap();
        drop(create_secret(&inner.join("key")).unwrap());
        assert!(create_secret(&inner.join("key")).is_err());
        assert_eq!(check_path(&inner.join("key")), Ok(()));
    }
}
