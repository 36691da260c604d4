//! Who may do what with a file or folder on Windows: its owner and its access list.
//!
//! The system returns both as bytes; they are parsed here, and every offset in them is checked. Unsafe for
//! asking for them, and for creating a file with an access list of its own.
#![allow(unsafe_code, reason = "security descriptors of the system")]

use std::fs::File;
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::Path;
use std::ptr::{null_mut, with_exposed_provenance};

use windows_sys::Win32::Foundation::{ERROR_INSUFFICIENT_BUFFER, HANDLE, INVALID_HANDLE_VALUE, LocalFree};
use windows_sys::Win32::Foundation::{GENERIC_ALL, GENERIC_READ, GENERIC_WRITE};
use windows_sys::Win32::Security::Authorization::{
    ConvertStringSecurityDescriptorToSecurityDescriptorW, SDDL_REVISION_1,
};
use windows_sys::Win32::Security::{
    DACL_SECURITY_INFORMATION, GetKernelObjectSecurity, GetLengthSid, GetTokenInformation,
    OWNER_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, PSID, SECURITY_ATTRIBUTES, TOKEN_QUERY, TOKEN_USER,
    TokenUser,
};
use windows_sys::Win32::Storage::FileSystem::{
    CREATE_NEW, CreateDirectoryW, CreateFileW, DELETE, FILE_APPEND_DATA, FILE_ATTRIBUTE_NORMAL,
    FILE_DELETE_CHILD, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_READ_ATTRIBUTES,
    FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_WRITE_DATA, READ_CONTROL, WRITE_DAC, WRITE_OWNER,
};
use windows_sys::Win32::System::Threading::OpenProcessToken;

/// `S-1-5-18`, the system itself.
const SYSTEM: &[u8] = &[1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0];
/// `S-1-5-32-544`, the administrators.
const ADMINISTRATORS: &[u8] = &[1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 32, 2, 0, 0];
/// `S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464`, the installer of Windows.
const INSTALLER: &[u8] = &[
    1, 6, 0, 0, 0, 0, 0, 5, 80, 0, 0, 0, 0xb5, 0x89, 0xfb, 0x38, 0x19, 0x84, 0xc2, 0xcb, 0x5c, 0x6c, 0x23,
    0x6d, 0x57, 0x00, 0x77, 0x6e, 0xc0, 0x02, 0x64, 0x87,
];
/// `S-1-1-0`, everybody.
pub(crate) const EVERYBODY: &[u8] = &[1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
/// `S-1-3-0` and `S-1-3-4`: the owner, whoever that is.
const CREATOR: &[u8] = &[1, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0];
const OWNER_RIGHTS: &[u8] = &[1, 1, 0, 0, 0, 0, 0, 3, 4, 0, 0, 0];

/// The rights by which a file or folder is replaced by another one, or what is in a folder.
const REPLACE: u32 = FILE_DELETE_CHILD | DELETE | WRITE_DAC | WRITE_OWNER | GENERIC_ALL;

/// Whether somebody may do anything on this machine.
pub(crate) fn is_system(sid: &[u8]) -> bool {
    [SYSTEM, ADMINISTRATORS, INSTALLER].contains(&sid)
}

/// The owner and the access list of a file or folder.
#[derive(Debug)]
pub(crate) struct Security {
    owner: Vec<u8>,
    /// `None` when everybody may do everything.
    entries: Option<Vec<Entry>>,
}

/// Who may do something.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    sid: Vec<u8>,
    rights: u32,
}

impl Security {
    /// The security identifier of the owner.
    pub(crate) fn owner(&self) -> &[u8] {
        &self.owner
    }

    /// Somebody else than the owner and the system who can write a file or add to a folder, or replace
    /// either, or change who can; nothing at all where no access list keeps anybody out.
    pub(crate) fn writer(&self) -> Option<&[u8]> {
        const ADD: u32 = FILE_WRITE_DATA | FILE_APPEND_DATA | GENERIC_WRITE;
        self.other_with(ADD | REPLACE)
    }

    /// Somebody else than the owner and the system who can replace what is in a folder, or change who can;
    /// they may add to it.
    pub(crate) fn replacer(&self) -> Option<&[u8]> {
        self.other_with(REPLACE)
    }

    /// Whether others than the owner and the system can write a file, or change who can.
    pub(crate) fn others_write_file(&self) -> bool {
        let change =
            FILE_WRITE_DATA | FILE_APPEND_DATA | WRITE_DAC | WRITE_OWNER | GENERIC_WRITE | GENERIC_ALL;
        self.other_with(change).is_some()
    }

    /// Whether others than the owner and the system can replace what is in a folder, which they may add to.
    pub(crate) fn others_replace_in_folder(&self) -> bool {
        self.replacer().is_some()
    }

    fn other_with(&self, rights: u32) -> Option<&[u8]> {
        let Some(entries) = &self.entries else { return Some(&[]) };
        let is_other =
            |sid: &[u8]| sid != self.owner && sid != CREATOR && sid != OWNER_RIGHTS && !is_system(sid);
        let has = |entry: &&Entry| entry.rights & rights != 0 && is_other(&entry.sid);
        entries.iter().find(has).map(|entry| entry.sid.as_slice())
    }

    /// Parses a descriptor in its self-relative form; the error is what is wrong with it.
    fn parse(bytes: &[u8]) -> Result<Security, &'static str> {
        /// The access list is there, in the control word.
        const DACL_PRESENT: u16 = 4;
        let control = u16_at(bytes, 2).ok_or("it has no head")?;
        let offset = |at| u32_at(bytes, at).and_then(|offset| usize::try_from(offset).ok());
        let owner =
            offset(4).filter(|at| *at != 0).and_then(|at| sid_at(bytes, at)).ok_or("it has no owner")?;
        let entries = match offset(16).ok_or("it has no head")? {
            // No list at all lets everybody do everything.
            0 => None,
            _ if control & DACL_PRESENT == 0 => None,
            at => Some(entries(bytes, at).ok_or("its access list is damaged")?),
        };
        Ok(Security { owner: owner.to_vec(), entries })
    }
}

/// The entries of an access list that allow something for the object itself.
fn entries(bytes: &[u8], at: usize) -> Option<Vec<Entry>> {
    const INHERIT_ONLY: u8 = 8;
    let count = u16_at(bytes, at.checked_add(4)?)?;
    let mut entries = Vec::new();
    let mut at = at.checked_add(8)?;
    for _ in 0..count {
        let head = bytes.get(at..)?.first_chunk::<2>()?;
        let size = usize::from(u16_at(bytes, at.checked_add(2)?)?);
        let rights = u32_at(bytes, at.checked_add(4)?)?;
        // An entry that does not step on would be read for ever.
        let next = at.checked_add(size.max(8))?;
        let entry = bytes.get(at..next)?;
        let sid = match head[0] {
            // Allowed, and allowed on a condition, which is taken as fulfilled.
            0 | 9 => Some(sid_at(entry, 8)?.to_vec()),
            // For a kind of objects: two names may stand in front. Whose it is does not matter here, as files
            // have none of these.
            4 | 5 | 11 => Some(Vec::new()),
            _ => None,
        };
        if let Some(sid) = sid.filter(|_| head[1] & INHERIT_ONLY == 0) {
            entries.push(Entry { sid, rights });
        }
        at = next;
    }
    Some(entries)
}

/// The security identifier at a place.
fn sid_at(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let parts = usize::from(*bytes.get(at.checked_add(1)?)?);
    bytes.get(at..at.checked_add(parts.checked_mul(4)?.checked_add(8)?)?)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk::<2>().map(|word| u16::from_le_bytes(*word))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk::<4>().map(|word| u32::from_le_bytes(*word))
}

/// A security identifier as text, `S-1-5-18`.
pub(crate) fn text_of(sid: &[u8]) -> String {
    let authority = sid.get(2..8).unwrap_or_default();
    let authority = authority.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    let parts = sid.get(8..).unwrap_or_default().as_chunks::<4>().0;
    let parts: String = parts.iter().map(|part| format!("-{}", u32::from_le_bytes(*part))).collect();
    format!("S-{}-{authority}{parts}", sid.first().copied().unwrap_or(1))
}

/// The owner and the access list of an open file.
pub(crate) fn of_file(file: &File) -> io::Result<Security> {
    let what = OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
    let mut bytes = vec![0u8; 1024];
    loop {
        let room = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let mut needed = 0u32;
        // SAFETY: the buffer has as many bytes as it is said to have.
        let known = unsafe {
            let buffer: PSECURITY_DESCRIPTOR = bytes.as_mut_ptr().cast();
            GetKernelObjectSecurity(file.as_raw_handle(), what, buffer, room, &raw mut needed)
        };
        if known != 0 {
            let damaged =
                |why| io::Error::new(io::ErrorKind::InvalidData, format!("security descriptor: {why}"));
            return Security::parse(&bytes).map_err(damaged);
        }
        let error = io::Error::last_os_error();
        let is_short = error.raw_os_error() == Some(ERROR_INSUFFICIENT_BUFFER.cast_signed());
        // An access list has at most 64 KiB.
        if !is_short || needed <= room || needed > 1 << 17 {
            return Err(error);
        }
        bytes.resize(usize::try_from(needed).unwrap_or(0), 0);
    }
}

/// The owner and the access list of a file or folder; a link is not followed. The second part is whether it
/// is a real folder.
pub(crate) fn of_path(path: &Path) -> io::Result<(Security, bool)> {
    let mut options = File::options();
    options.access_mode(READ_CONTROL | FILE_READ_ATTRIBUTES);
    let file = options.custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT).open(path)?;
    Ok((of_file(&file)?, file.metadata()?.file_type().is_dir()))
}

/// The security identifier of the user of a process; `None` when it may not be asked.
pub(crate) fn user_of(process: &OwnedHandle) -> Option<Vec<u8>> {
    user_of_process(process.as_raw_handle())
}

/// The security identifier of the user of this process.
pub(crate) fn this_user() -> Option<Vec<u8>> {
    /// What `GetCurrentProcess` returns: it needs not be closed.
    const THIS_PROCESS: isize = -1;
    user_of_process(with_exposed_provenance::<()>(THIS_PROCESS.cast_unsigned()).cast_mut().cast())
}

fn user_of_process(process: HANDLE) -> Option<Vec<u8>> {
    let mut token: HANDLE = null_mut();
    // SAFETY: the handle is one of a process, and the result has a place.
    if unsafe { OpenProcessToken(process, TOKEN_QUERY, &raw mut token) } == 0 {
        return None;
    }
    // SAFETY: it is a new handle that nobody else closes.
    let token = unsafe { OwnedHandle::from_raw_handle(token) };
    // Of words, since it begins with an address. An identifier has at most 68 bytes.
    let mut buffer = [0usize; 32];
    let (room, mut length) = (u32::try_from(size_of_val(&buffer)).ok()?, 0u32);
    // SAFETY: the buffer has as many bytes as it is said to have.
    let known = unsafe {
        let buffer = buffer.as_mut_ptr().cast();
        GetTokenInformation(token.as_raw_handle(), TokenUser, buffer, room, &raw mut length)
    };
    if known == 0 {
        return None;
    }
    // SAFETY: the system has written this structure at the start of the buffer, which is aligned for it.
    let user = unsafe { buffer.as_ptr().cast::<TOKEN_USER>().read() };
    let sid: PSID = user.User.Sid;
    // SAFETY: the address is that of an identifier in the buffer.
    let length = usize::try_from(unsafe { GetLengthSid(sid) }).ok()?;
    // SAFETY: it has as many bytes, and the buffer lives until after the copy.
    Some(unsafe { std::slice::from_raw_parts(sid.cast::<u8>(), length) }.to_vec())
}

/// A security descriptor made of its text form.
struct Descriptor(PSECURITY_DESCRIPTOR);

impl Descriptor {
    fn new(text: &str) -> io::Result<Descriptor> {
        let text: Vec<u16> = text.encode_utf16().chain([0]).collect();
        let mut descriptor: PSECURITY_DESCRIPTOR = null_mut();
        // SAFETY: the text ends with 0, and the result has a place.
        let made = unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                text.as_ptr(),
                SDDL_REVISION_1,
                &raw mut descriptor,
                null_mut(),
            )
        };
        if made == 0 { Err(io::Error::last_os_error()) } else { Ok(Descriptor(descriptor)) }
    }

    fn attributes(&self) -> SECURITY_ATTRIBUTES {
        let length = u32::try_from(size_of::<SECURITY_ATTRIBUTES>()).unwrap_or(0);
        SECURITY_ATTRIBUTES { nLength: length, lpSecurityDescriptor: self.0, bInheritHandle: 0 }
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the system allocated it for the caller to free, and nobody uses it after this.
        unsafe { LocalFree(self.0.cast()) };
    }
}

fn wide(path: &Path) -> io::Result<Vec<u16>> {
    let mut text: Vec<u16> = path.as_os_str().encode_wide().collect();
    if text.contains(&0) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path has a character 0 in it"));
    }
    text.push(0);
    Ok(text)
}

/// Creates a file for reading and writing with this descriptor. As long as it is open, nobody else can open
/// it for writing.
pub(crate) fn create_file(path: &Path, descriptor: &str) -> io::Result<File> {
    let (path, descriptor) = (wide(path)?, Descriptor::new(descriptor)?);
    let attributes = descriptor.attributes();
    // SAFETY: the path ends with 0; the attributes and their descriptor live until after the call.
    let handle = unsafe {
        CreateFileW(
            path.as_ptr(),
            GENERIC_READ | GENERIC_WRITE | DELETE,
            FILE_SHARE_READ | FILE_SHARE_DELETE,
            &raw const attributes,
            CREATE_NEW,
            FILE_ATTRIBUTE_NORMAL,
            null_mut(),
        )
    };
    if handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is a new handle that nobody else closes.
    Ok(File::from(unsafe { OwnedHandle::from_raw_handle(handle) }))
}

/// Creates a folder with this descriptor, unless something of that name is there.
pub(crate) fn create_folder(path: &Path, descriptor: &str) -> io::Result<()> {
    let (path, descriptor) = (wide(path)?, Descriptor::new(descriptor)?);
    let attributes = descriptor.attributes();
    // SAFETY: as in `create_file`.
    if unsafe { CreateDirectoryW(path.as_ptr(), &raw const attributes) } != 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        error => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: &[u8] = &[1, 2, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 232, 3, 0, 0];

    /// A descriptor of an owner and entries: type, flags, rights, whose.
    fn descriptor(owner: &[u8], entries: Option<&[(u8, u8, u32, &[u8])]>) -> Vec<u8> {
        let mut bytes = vec![1, 0, 4, 0x80];
        for offset in [20u32, 0, 0, entries.map_or(0, |_| 20 + u32::try_from(owner.len()).unwrap())] {
            bytes.extend(offset.to_le_bytes());
        }
        bytes.extend(owner);
        let Some(entries) = entries else { return bytes };
        let list: Vec<u8> = entries
            .iter()
            .flat_map(|(kind, flags, rights, sid)| {
                let mut entry = vec![*kind, *flags];
                entry.extend(u16::try_from(8 + sid.len()).unwrap().to_le_bytes());
                entry.extend(rights.to_le_bytes());
                entry.extend(*sid);
                entry
            })
            .collect();
        bytes.extend([2, 0]);
        bytes.extend(u16::try_from(8 + list.len()).unwrap().to_le_bytes());
        bytes.extend(u16::try_from(entries.len()).unwrap().to_le_bytes());
        bytes.extend([0, 0]);
        bytes.extend(list);
        bytes
    }

    #[test]
    fn entries_say_who_can_change_a_file_or_folder() {
        let all = 0x1f_01ff;
        let add = 0x12_00ab;
        let read = 0x12_0089;
        let rows: [(&[(u8, u8, u32, &[u8])], bool, bool); 8] = [
            (&[(0, 0, all, USER), (0, 0, all, SYSTEM), (0, 0, read, EVERYBODY)], false, false),
            (&[(0, 0, all, ADMINISTRATORS), (0, 0, all, OWNER_RIGHTS), (0, 0, all, CREATOR)], false, false),
            (&[(0, 0, add, EVERYBODY)], true, false),
            (&[(0, 0, all, EVERYBODY)], true, true),
            (&[(9, 0, WRITE_DAC, EVERYBODY)], true, true),
            (&[(0, 8, all, EVERYBODY)], false, false),
            (&[(1, 0, all, EVERYBODY)], false, false),
            (&[(5, 0, all, EVERYBODY)], true, true),
        ];
        for (entries, file, folder) in rows {
            let security = Security::parse(&descriptor(USER, Some(entries))).unwrap();
            assert_eq!(security.owner(), USER);
            assert_eq!(
                (security.others_write_file(), security.others_replace_in_folder()),
                (file, folder),
                "{entries:?}"
            );
        }
        let open = Security::parse(&descriptor(USER, None)).unwrap();
        assert!(open.others_write_file() && open.others_replace_in_folder());
    }

    #[test]
    fn every_prefix_and_byte_of_a_descriptor_is_survived() {
        let whole = descriptor(USER, Some(&[(0, 0, 1, EVERYBODY), (5, 0, 1, USER)]));
        for end in 0..whole.len() {
            assert!(Security::parse(&whole[..end]).is_err(), "{end}");
        }
        for at in 0..whole.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[at] = byte;
                let _ = Security::parse(&changed);
            }
        }
    }

    #[test]
    fn identifiers_have_their_text() {
        assert_eq!(text_of(SYSTEM), "S-1-5-18");
        assert_eq!(text_of(ADMINISTRATORS), "S-1-5-32-544");
        let installer = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464";
        assert_eq!(text_of(INSTALLER), installer);
    }

    #[test]
    fn created_file_is_ours_and_nobody_else_writes_it() {
        let me = this_user().unwrap();
        let path = std::env::temp_dir().join(format!("tallymon-security-{}", std::process::id()));
        let text = text_of(&me);
        let file = create_file(&path, &format!("O:{text}D:P(A;;FA;;;{text})(A;;FR;;;AU)")).unwrap();
        let security = of_file(&file).unwrap();
        assert_eq!(text_of(security.owner()), text);
        assert!(!security.others_write_file(), "{security:?}");
        drop(file);
        let (security, is_folder) = of_path(&path).unwrap();
        assert!(security.owner() == me && !is_folder);
        std::fs::remove_file(&path).unwrap();
    }
}
