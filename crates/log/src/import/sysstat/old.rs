//! The structures of sysstat's files before 11.7.1: the formats 0x2171 (10.0 to 10.2) and 0x2173 (10.3 to
//! 11.6).
//!
//! These files do not describe their structures: a file only has the version and the length of each. So
//! their fields are listed here, and are placed by the rules of C. An activity whose version is that of
//! today has the structure of today.
//!
//! Facts: `sa.h`, `rd_stats.h`, `sadc.c` and `sa_common.c` of sysstat 10.0.0, 10.0.5, 10.2.1, 11.0.0,
//! 11.2.0, 11.4.0 and 11.6.1, and `sa_conv.h` of 12.6.1.

use tallymon_core::bytes::Bytes;
use tallymon_core::error::Error;

use super::activities::{ACTIVITIES, Activity};
use super::read::Width;

/// The format of 10.0 to 10.2.
pub(super) const FIRST: u16 = 0x2171;
/// The format of 10.3 to 11.6.
pub(super) const SECOND: u16 = 0x2173;

/// The length of an entry in the list of activities.
pub(super) const ENTRY: usize = 20;
/// The length of a record's header.
pub(super) const RECORD: usize = 48;

/// A structure: the activity, its version, the version that has the same counters today, and its fields.
struct Old(u32, u32, u32, &'static str);

/// `Q` has 64 bits, `L` is a `long` of the machine, `I` has 32 bits, and `T` is the text that names an
/// item. The number is what its place is a multiple of; all names behind it are of this type.
const STRUCTURES: &[Old] = &[
    Old(1, 0x8a, 0x8b, "Q16 user nice sys idle iowait steal hardirq softirq guest guest_nice"),
    Old(2, 0x8a, 0x8b, "Q16 cswch L16 proc"),
    Old(3, 0x8a, 0x8b, "Q16 interrupts"),
    Old(6, 0x8a, 0x8b, "I4 dk_drive dk_drive_rio dk_drive_wio dk_drive_rblk dk_drive_wblk"),
    Old(
        7,
        0x8a,
        0x8b,
        "L8 frmkb bufkb camkb tlmkb frskb tlskb caskb comkb activekb inactkb dirtykb anonpgkb slabkb \
         kstackkb pgtblkb \
         vmusedkb availablekb",
    ),
    Old(8, 0x8a, 0x8b, "I4 file_used inode_used dentry_stat pty_nr"),
    Old(9, 0x8a, 0x8c, "L8 nr_running I8 load_avg_1 I4 load_avg_5 load_avg_15 nr_threads"),
    Old(9, 0x8b, 0x8c, "L8 nr_running procs_blocked I8 load_avg_1 I4 load_avg_5 load_avg_15 nr_threads"),
    Old(10, 0x8a, 0x8b, "I4 rx tx frame parity brk overrun line"),
    Old(
        11,
        0x8a,
        0x8c,
        "Q16 rd_sect wr_sect L16 rd_ticks L8 wr_ticks tot_ticks rq_ticks nr_ios I8 major I4 minor",
    ),
    Old(
        11,
        0x8b,
        0x8c,
        "Q16 nr_ios L16 rd_sect L8 wr_sect I8 rd_ticks I4 wr_ticks tot_ticks rq_ticks major minor",
    ),
    Old(
        12,
        0x8a,
        0x8d,
        "L8 rx_packets tx_packets rx_bytes tx_bytes rx_compressed tx_compressed multicast T8 name",
    ),
    Old(
        12,
        0x8b,
        0x8d,
        "Q16 rx_packets tx_packets rx_bytes tx_bytes rx_compressed tx_compressed multicast T16 name",
    ),
    Old(
        12,
        0x8c,
        0x8d,
        "Q16 rx_packets tx_packets rx_bytes tx_bytes rx_compressed tx_compressed multicast I16 speed T4 name",
    ),
    Old(13, 0x8a, 0x8c, "L8 coll rxerr txerr rxdrop txdrop rxfifo txfifo rxfram txcarr T8 name"),
    Old(13, 0x8b, 0x8c, "Q16 coll rxerr txerr rxdrop txdrop rxfifo txfifo rxfram txcarr T16 name"),
    Old(17, 0x8a, 0x8c, "L8 irec fwddgm idel orq asmrq asmok fragok fragcrt"),
    Old(17, 0x8b, 0x8c, "Q16 irec fwddgm idel orq asmrq asmok fragok fragcrt"),
    Old(18, 0x8a, 0x8c, "L8 ihdrerr iadrerr iukwnpr idisc odisc onort asmf fragf"),
    Old(18, 0x8b, 0x8c, "Q16 ihdrerr iadrerr iukwnpr idisc odisc onort asmf fragf"),
    Old(25, 0x8a, 0x8c, "L8 irec6 fwddgm6 idel6 orq6 asmrq6 asmok6 imcpck6 omcpck6 fragok6 fragcr6"),
    Old(25, 0x8b, 0x8c, "Q16 irec6 fwddgm6 idel6 orq6 asmrq6 asmok6 imcpck6 omcpck6 fragok6 fragcr6"),
    Old(26, 0x8a, 0x8c, "L8 ihdrer6 iadrer6 iukwnp6 i2big6 idisc6 odisc6 inort6 onort6 asmf6 fragf6 itrpck6"),
    Old(
        26,
        0x8b,
        0x8c,
        "Q16 ihdrer6 iadrer6 iukwnp6 i2big6 idisc6 odisc6 inort6 onort6 asmf6 fragf6 itrpck6",
    ),
    Old(34, 0x8a, 0x8b, "L8 frhkb tlhkb"),
    Old(35, 0x8a, 0x8b, "Q16 time_in_state L16 freq"),
    Old(37, 0x8a, 0x8b, "Q16 f_blocks f_bfree f_bavail f_files f_ffree T16 name"),
];

/// Where a field is in an item of an old file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FieldOffset {
    pub(super) name: &'static str,
    pub(super) width: Width,
    pub(super) at: usize,
}

/// The fields of an activity of an old file.
pub(super) struct Fields {
    pub(super) known: &'static Activity,
    pub(super) places: Vec<FieldOffset>,
    /// Where the text begins, or the fields end.
    pub(super) text_at: usize,
}

/// The fields of this version of an activity, as far as `size` bytes have them.
pub(super) fn fields(id: u32, version: u32, size: usize, long: u8) -> Option<Fields> {
    let find = |version| ACTIVITIES.iter().find(|known| known.id == id && known.magic == version);
    let old = STRUCTURES.iter().find(|old| (old.0, old.1) == (id, version));
    let Some(Old(.., today, words)) = old else {
        return find(version).map(|known| as_today(known, size, long));
    };
    let mut fields = Fields { known: find(*today)?, places: Vec::new(), text_at: 0 };
    let (mut width, mut align, mut at) = (Width::Long, 1_usize, 0_usize);
    let mut is_text = false;
    for word in words.split(' ') {
        if let Some((kind, multiple)) = kind_of(word) {
            (width, align, is_text) = (kind.unwrap_or(Width::Int), multiple, kind.is_none());
            continue;
        }
        at = at.next_multiple_of(align.max(1));
        if is_text {
            break;
        }
        let end = at.saturating_add(length(width, long));
        if end > size {
            break;
        }
        fields.places.push(FieldOffset { name: word, width, at });
        at = end;
    }
    fields.text_at = at;
    Some(fields)
}

/// `Q16` and the like: the width, which a text has none of, and the multiple.
fn kind_of(word: &str) -> Option<(Option<Width>, usize)> {
    let mut letters = word.chars();
    let width = match letters.next()? {
        'Q' => Some(Width::Long),
        'L' => Some(Width::Word),
        'I' => Some(Width::Int),
        'T' => None,
        _ => return None,
    };
    Some((width, letters.as_str().parse().ok()?))
}

/// The bytes of a number in an old file.
fn length(width: Width, long: u8) -> usize {
    match width {
        Width::Long | Width::Float => 8,
        Width::Word => usize::from(long),
        Width::Int => 4,
    }
}

/// The fields of an activity whose structure is that of today: numbers of 64 bits, of the machine's
/// width, of 32 bits, each width in its order.
fn as_today(known: &'static Activity, size: usize, long: u8) -> Fields {
    let groups = [(known.longs, Width::Long), (known.words, Width::Word), (known.ints, Width::Int)];
    let mut fields = Fields { known, places: Vec::new(), text_at: 0 };
    for (names, width) in groups {
        for name in names.split_ascii_whitespace() {
            let plain = name.trim_start_matches('~').trim_end_matches('/');
            let width = if name.starts_with('~') { Width::Float } else { width };
            // A `long` stands at a multiple of 8 on every machine.
            let at = fields.text_at.next_multiple_of(if width == Width::Int { 4 } else { 8 });
            let end = at.saturating_add(length(width, long));
            if end > size {
                return fields;
            }
            fields.places.push(FieldOffset { name: plain, width, at });
            fields.text_at = end;
        }
    }
    fields
}

/// What the header of an old file says.
pub(super) struct Header {
    pub(super) activities: u32,
    /// How many of them can change their number of items; a restart lists those again.
    pub(super) changing: u32,
    pub(super) long: u8,
    pub(super) host: String,
}

impl Header {
    /// Reads the header, which is behind the first one.
    pub(super) fn of(bytes: Bytes<'_>, format: u16) -> Result<Header, Error> {
        let numbers =
            |first: bool, at| if first == (format == FIRST) { bytes.u32(at, "header") } else { Ok(0) };
        // Behind the numbers are day, month, year and the length of a `long`, then the system and the host.
        let texts = if format == FIRST { 12 } else { 20 };
        let texts = bytes.rest(texts, "header")?;
        Ok(Header {
            activities: numbers(true, 8)?.max(numbers(false, 12)?),
            changing: numbers(false, 16)?,
            long: texts.slice(3, 1, "length of a long")?.data().first().copied().unwrap_or(0),
            host: super::read::text(texts.slice(69, 65, "host")?.data()),
        })
    }
}
