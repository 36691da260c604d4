//! `/proc/self/mountinfo`: the mounted file systems as this process sees them.
//!
//! ```text
//! 36 35 98:0 /root /mnt/point rw,noatime master:1 - ext3 /dev/root rw,errors=continue
//! id parent  root  mount point  options  optional -  type source   options of the file system
//!       major:minor                      fields (any number)
//! ```
//!
//! Fields are separated by exactly one blank, and a field can be empty: a source without a name gives two
//! blanks in a row. Blank, tab, line feed, backslash and (in some fields) `#` inside a field are written as
//! `\` and three octal digits.

use std::borrow::Cow;

use super::error::ParseError;
use super::scan::{Line, Lines, Location, decimal, lines, split_at_byte, unescape};

/// One mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount<'a> {
    /// The id of the mount, unique while it exists.
    pub id: u32,
    /// The id of its parent mount; its own id for the root mount.
    pub parent: u32,
    /// The device numbers of the file system; major 0 means that it has no block device (tmpfs, nfs, overlay,
    /// btrfs, zfs).
    pub device: (u32, u32),
    /// The directory of the file system that is mounted: `/`, or another one for a bind mount.
    pub root: Cow<'a, [u8]>,
    /// The mount point, seen from the root directory of this process.
    pub point: Cow<'a, [u8]>,
    /// The mount options, separated by commas.
    pub options: &'a [u8],
    /// The type, for example `ext4`, with the subtype after a dot, if any (`fuse.sshfs`).
    pub kind: Cow<'a, [u8]>,
    /// The device or server, as named by whoever mounted it; can be empty.
    pub source: Cow<'a, [u8]>,
    /// The options of the file system, separated by commas.
    pub file_system_options: &'a [u8],
}

impl Mount<'_> {
    /// Whether it may have a block device with statistics of its own.
    pub(crate) fn has_device(&self) -> bool {
        self.device.0 != 0
    }
}

/// The mounts in the order of the file; a mount that covers another one comes later.
///
/// A malformed line is an error, and the iterator continues with the next line.
pub(crate) fn mounts(bytes: &[u8]) -> Mounts<'_> {
    Mounts { lines: lines("/proc/self/mountinfo", bytes) }
}

/// The iterator of [`mounts`].
#[derive(Clone, Debug)]
pub(crate) struct Mounts<'a> {
    lines: Lines<'a>,
}

impl<'a> Iterator for Mounts<'a> {
    type Item = Result<Mount<'a>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.lines.next().map(mount)
    }
}

impl std::iter::FusedIterator for Mounts<'_> {}

fn mount(line: Line<'_>) -> Result<Mount<'_>, ParseError> {
    let mut rest = LineFields { location: line.location, rest: Some(line.bytes) };
    let id = rest.number("mount ID")?;
    let parent = rest.number("parent ID")?;
    let device = rest.field("major:minor")?;
    let numbers = split_at_byte(device, b':').and_then(|(major, minor)| Some((small(major)?, small(minor)?)));
    let device = numbers
        .ok_or_else(|| line.location.error("major:minor", "two decimal numbers below 2^32", device))?;
    let root = unescape(rest.field("root")?);
    let point = unescape(rest.field("mount point")?);
    let options = rest.field("mount options")?;
    // Optional fields (`shared:2`), to which later kernels may add, end at a single hyphen.
    while rest.field("separator")? != b"-" {}
    Ok(Mount {
        id,
        parent,
        device,
        root,
        point,
        options,
        kind: unescape(rest.field("file system type")?),
        source: unescape(rest.field("mount source")?),
        file_system_options: rest.field("file system options")?,
    })
}

/// The rest of a line; `None` after its last field.
struct LineFields<'a> {
    location: Location,
    rest: Option<&'a [u8]>,
}

impl<'a> LineFields<'a> {
    /// The next field, which can be empty but must exist.
    fn field(&mut self, column: &'static str) -> Result<&'a [u8], ParseError> {
        let rest = self.rest.ok_or_else(|| self.location.error(column, "a field after a blank", b""))?;
        let (field, after) =
            split_at_byte(rest, b' ').map_or((rest, None), |(field, after)| (field, Some(after)));
        self.rest = after;
        Ok(field)
    }

    fn number(&mut self, column: &'static str) -> Result<u32, ParseError> {
        let field = self.field(column)?;
        small(field).ok_or_else(|| self.location.error(column, "a decimal number below 2^32", field))
    }
}

fn small(text: &[u8]) -> Option<u32> {
    u32::try_from(decimal(text)?).ok()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::*;

    fn is_read_only(mount: &Mount<'_>) -> bool {
        let has = |options: &[u8]| options.split(|byte| *byte == b',').any(|option| option == b"ro");
        has(mount.options) || has(mount.file_system_options)
    }

    #[test]
    fn captured_mounts() {
        let bytes = fixture("6.18/mountinfo");
        let all: Vec<_> = mounts(&bytes).map(Result::unwrap).collect();
        let root = all.iter().find(|mount| *mount.point == *b"/").unwrap();
        assert_eq!((root.id, root.parent, root.device, root.has_device()), (27, 1, (254, 0), true));
        assert_eq!((&*root.root, &*root.kind, &*root.source), (&b"/"[..], &b"ext4"[..], &b"/dev/vda"[..]));
        assert_eq!(root.options, b"rw,relatime");
        assert_eq!(root.file_system_options, b"rw,discard,resv_strict,resuid=65534,resgid=65534");
        assert!(!is_read_only(root));
        // Version 1 control groups and the unified hierarchy side by side.
        let kinds = |kind: &[u8]| all.iter().filter(|mount| *mount.kind == *kind).count();
        assert_eq!((kinds(b"cgroup"), kinds(b"cgroup2")), (9, 1));
        let read_only: Vec<_> = all.iter().filter(|mount| is_read_only(mount)).collect();
        assert_eq!(read_only.len(), 1);
        assert!(!read_only[0].has_device());
    }

    #[test]
    fn written_mounts_with_everything_the_documentation_allows() {
        let bytes = fixture("written/mountinfo");
        let all: Vec<_> = mounts(&bytes).map(Result::unwrap).collect();
        let points: Vec<_> =
            all.iter().map(|mount| String::from_utf8_lossy(&mount.point).into_owned()).collect();
        assert_eq!(
            points,
            ["/mnt2", "/media/My Disk\t#1\n\\", "/srv/data", "/home/me/s", "/empty", "/plain"]
        );
        assert_eq!((all[0].id, all[0].device, &*all[0].root), (36, (98, 0), &b"/mnt1"[..]));
        assert_eq!(all[0].file_system_options, b"rw,errors=continue");
        assert_eq!(&*all[1].source, b"//server/My Share");
        assert_eq!((&*all[2].kind, is_read_only(&all[2])), (&b"nfs4"[..], true));
        assert_eq!(&*all[3].kind, b"fuse.sshfs");
        assert_eq!((&*all[4].source, all[4].file_system_options), (&b""[..], &b"rw,size=4k"[..]));
        assert_eq!(all[5].device, (259, 1_048_575));
    }

    #[test]
    fn a_malformed_line_is_located_and_the_next_one_parsed() {
        let text = b"1 2 3:x / / rw - t s o\n1 2 3:4 / / rw shared:1\n1 -2 3:4 / / rw - t s o\n1 2 3:4 / / \
            rw - t s\n1 2 3:4 / /p rw - t s o";
        let found: Vec<String> = mounts(text)
            .map(|mount| mount.map_or_else(|error| error.to_string(), |mount| format!("{:?}", mount.device)))
            .collect();
        assert_eq!(
            found,
            [
                "/proc/self/mountinfo line 1: major:minor: needed two decimal numbers below 2^32, found \
                    \"3:x\"",
                "/proc/self/mountinfo line 2: separator: needed a field after a blank, found nothing",
                "/proc/self/mountinfo line 3: parent ID: needed a decimal number below 2^32, found \"-2\"",
                "/proc/self/mountinfo line 4: file system options: needed a field after a blank, found \
                    nothing",
                "(3, 4)",
            ]
        );
    }

    #[test]
    fn damaged_files_do_not_panic() {
        for file in ["6.18/mountinfo", "written/mountinfo"] {
            check_damage(file, |bytes| {
                mounts(bytes).map(|mount| mount.map(|mount| mount.id)).collect::<Result<Vec<_>, _>>()
            });
        }
    }
}
