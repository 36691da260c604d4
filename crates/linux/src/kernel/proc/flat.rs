//! Statistics files in which each number has a name, in the few forms that the kernel uses.
//!
//! You name the keys, and get their numbers. Everything else in the file is skipped, so kernels may add what
//! they like.

use super::error::ParseError;
use super::scan::{Fields, Line, NEEDED_NUMBER, decimal, lines, signed_decimal, split_at_byte};

/// How a file writes names and numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `name number number …`, with or without a colon after the name; or only numbers, as
    /// `/proc/sys/fs/file-nr`.
    Lines,
    /// Two lines per section: `TcpExt: names`, then `TcpExt: numbers`.
    Columns,
    /// `TCP: inuse 1 orphan 0`.
    Sections,
    /// `some avg10=0.00 total=12`: the first word is the section.
    Assignments,
    /// The same, with the numbers of all sections added up: `io.stat` of a control group.
    Sums,
    /// One line per item; the number is how many there are: `cgroup.procs`.
    Count,
    /// Rows of hexadecimal numbers, one per CPU, to be added up; with or without a first row of names.
    Hexadecimal,
    /// Lines of words, then one row of hexadecimal numbers, then rates: `/proc/net/ip_vs_stats`.
    Totals,
    /// `eth0: number number …`, added up over all interfaces but the loopback one: `/proc/net/dev`.
    Interfaces,
    /// A Samba database; the number is how many records it has.
    Records,
}

/// A key: `name`, `section.name`, `name#2` for the second number, `#2` for a number without a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    section: &'static str,
    name: &'static str,
    /// Counted from 1.
    position: usize,
    /// The whole key, for errors.
    text: &'static str,
}

impl Key {
    /// Parses a key; in a file without sections, a dot belongs to the name.
    pub(crate) fn new(form: Form, text: &'static str) -> Key {
        let (section, rest) = match form {
            Form::Columns | Form::Sections | Form::Assignments => text.split_once('.').unwrap_or(("", text)),
            _ => ("", text),
        };
        let (name, position) = rest.split_once('#').unwrap_or((rest, "1"));
        Key { section, name, position: position.parse().unwrap_or(1), text }
    }

    /// The text of the key.
    pub(crate) const fn text(&self) -> &'static str {
        self.text
    }

    fn names(&self) -> (&'static [u8], &'static [u8]) {
        (self.section.as_bytes(), self.name.as_bytes())
    }
}

/// A number that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    /// The number with its sign, in hundredths if the file has two decimals.
    Of(i128),
    /// `max`: no limit.
    Unlimited,
}

/// Finds the numbers of the sorted `keys`: one result per key, `None` where the file does not have it.
///
/// # Errors
///
/// A requested number is malformed.
pub(crate) fn find(
    file: &'static str,
    form: Form,
    bytes: &[u8],
    keys: &[Key],
) -> Result<Vec<Option<Number>>, ParseError> {
    let mut search =
        Search { keys, found: vec![None; keys.len()], adds: matches!(form, Form::Sums | Form::Interfaces) };
    match form {
        Form::Lines => search.lines(file, bytes)?,
        Form::Columns => search.columns(file, bytes)?,
        Form::Sections => search.sections(file, bytes)?,
        Form::Assignments | Form::Sums => search.assignments(file, bytes)?,
        Form::Count => {
            let count = i128::try_from(lines(file, bytes).count()).unwrap_or(i128::MAX);
            search.found.fill(Some(Number::Of(count)));
        }
        Form::Hexadecimal => search.hexadecimal(file, bytes)?,
        Form::Totals => search.totals(file, bytes)?,
        Form::Interfaces => search.interfaces(file, bytes)?,
        Form::Records => {
            let count = super::tdb::records(file, bytes)?;
            search.found.fill(Some(Number::Of(i128::from(count))));
        }
    }
    Ok(search.found)
}

struct Search<'k> {
    keys: &'k [Key],
    found: Vec<Option<Number>>,
    /// Whether numbers of the same key are added up. Otherwise the first one counts.
    adds: bool,
}

impl Search<'_> {
    /// Whether one of the keys has this name, so that its number has to be read.
    fn wants(&self, section: &[u8], name: &[u8]) -> bool {
        self.keys.binary_search_by(|key| key.names().cmp(&(section, name))).is_ok()
    }

    /// Takes the number at a position after a name.
    fn take(
        &mut self,
        line: Line<'_>,
        section: &[u8],
        name: &[u8],
        position: usize,
        text: &[u8],
    ) -> Result<(), ParseError> {
        let first = self.keys.partition_point(|key| key.names() < (section, name));
        let all = self.keys.iter().zip(&mut self.found).skip(first);
        for (key, found) in all.take_while(|(key, _)| key.names() == (section, name)) {
            if key.position != position {
                continue;
            }
            let number = number(text).ok_or_else(|| line.location.error(key.text, NEEDED_NUMBER, text))?;
            let number = match number {
                Number::Of(limit) if name.is_empty() && NO_LIMIT.contains(&limit) => Number::Unlimited,
                number => number,
            };
            *found = match (*found, number) {
                (Some(Number::Of(sum)), Number::Of(more)) if self.adds => {
                    Some(Number::Of(sum.saturating_add(more)))
                }
                (None, number) => Some(number),
                (found, _) => found,
            };
        }
        Ok(())
    }

    fn lines(&mut self, file: &'static str, bytes: &[u8]) -> Result<(), ParseError> {
        for line in lines(file, bytes) {
            // The files of a NUMA node begin each line with its number.
            let text = line.bytes.strip_prefix(b"Node ").and_then(|rest| split_at_byte(rest, b' '));
            let mut fields = Fields::new(line.location, text.map_or(line.bytes, |(_, rest)| rest));
            let Some(first) = { fields }.next_field() else { continue };
            let name = if number(first).is_some() {
                if line.location.line > 1 {
                    continue;
                }
                &[]
            } else {
                fields.skip(1);
                first.strip_suffix(b":").unwrap_or(first)
            };
            if !self.wants(b"", name) {
                continue;
            }
            for position in 1_usize.. {
                let Some(text) = fields.next_field() else { break };
                self.take(line, b"", name, position, text)?;
            }
        }
        Ok(())
    }

    fn columns(&mut self, file: &'static str, bytes: &[u8]) -> Result<(), ParseError> {
        let mut all = lines(file, bytes);
        while let (Some(names), Some(numbers)) = (all.next(), all.next()) {
            let (Some((section, mut names)), Some((other, mut numbers))) =
                (names.key_and_fields(), numbers.key_and_fields())
            else {
                return Err(names.location.error("section", "a name and a colon", names.bytes));
            };
            if section != other {
                return Err(numbers.location().error("section", "the name of the line before", other));
            }
            let line = Line { location: numbers.location(), bytes: &[] };
            while let (Some(name), Some(text)) = (names.next_field(), numbers.next_field()) {
                self.take(line, section, name, 1, text)?;
            }
        }
        Ok(())
    }

    fn sections(&mut self, file: &'static str, bytes: &[u8]) -> Result<(), ParseError> {
        for line in lines(file, bytes) {
            let Some((section, mut fields)) = line.key_and_fields() else { continue };
            while let (Some(name), Some(text)) = (fields.next_field(), fields.next_field()) {
                self.take(line, section, name, 1, text)?;
            }
        }
        Ok(())
    }

    fn assignments(&mut self, file: &'static str, bytes: &[u8]) -> Result<(), ParseError> {
        for line in lines(file, bytes) {
            let mut fields = line.fields();
            let section = fields.next_field().unwrap_or_default();
            let section = if self.adds { &[] } else { section };
            while let Some(field) = fields.next_field() {
                if let Some((name, text)) = split_at_byte(field, b'=') {
                    self.take(line, section, name, 1, text)?;
                }
            }
        }
        Ok(())
    }

    fn interfaces(&mut self, file: &'static str, bytes: &[u8]) -> Result<(), ParseError> {
        for line in lines(file, bytes) {
            // The two lines above the interfaces have no colon.
            let Some((_, mut fields)) = line.key_and_fields().filter(|(name, _)| *name != b"lo") else {
                continue;
            };
            for position in 1_usize.. {
                let Some(text) = fields.next_field() else { break };
                self.take(line, b"", b"", position, text)?;
            }
        }
        // No interface but the loopback one has moved nothing.
        if !bytes.is_empty() {
            self.found.iter_mut().for_each(|found| *found = found.or(Some(Number::Of(0))));
        }
        Ok(())
    }

    fn totals(&mut self, file: &'static str, bytes: &[u8]) -> Result<(), ParseError> {
        let is_row =
            |line: &Line<'_>| line.fields().next_field().is_some_and(|first| hexadecimal(first).is_some());
        let Some(line) = lines(file, bytes).find(is_row) else { return Ok(()) };
        let mut fields = line.fields();
        for position in 1_usize.. {
            let Some(text) = fields.next_field() else { break };
            for (key, found) in self.keys.iter().zip(&mut self.found) {
                if key.name.is_empty() && key.position == position {
                    let number = hexadecimal(text)
                        .ok_or_else(|| line.location.error(key.text, NEEDED_HEXADECIMAL, text))?;
                    *found = Some(Number::Of(i128::from(number)));
                }
            }
        }
        Ok(())
    }

    fn hexadecimal(&mut self, file: &'static str, bytes: &[u8]) -> Result<(), ParseError> {
        let mut names: Vec<&[u8]> = Vec::new();
        for line in lines(file, bytes) {
            let mut fields = line.fields();
            let Some(first) = { fields }.next_field() else { continue };
            if line.location.line == 1 && hexadecimal(first).is_none() {
                while let Some(name) = fields.next_field() {
                    names.push(name);
                }
                continue;
            }
            for position in 1_usize.. {
                let Some(text) = fields.next_field() else { break };
                let name = names.get(position.wrapping_sub(1)).copied();
                for (key, found) in self.keys.iter().zip(&mut self.found) {
                    let same = match name {
                        Some(name) => key.name.as_bytes() == name,
                        None => key.name.is_empty() && key.position == position,
                    };
                    if same {
                        let more = hexadecimal(text)
                            .ok_or_else(|| line.location.error(key.text, NEEDED_HEXADECIMAL, text))?;
                        let sum = match *found {
                            Some(Number::Of(sum)) => sum,
                            _ => 0,
                        };
                        *found = Some(Number::Of(sum.saturating_add(i128::from(more))));
                    }
                }
            }
        }
        Ok(())
    }
}

/// What version 1 of control groups writes for no limit: the largest 64-bit number in whole pages, of up to
/// 64 KiB.
const NO_LIMIT: std::ops::RangeInclusive<i128> = 0x7fff_ffff_ffff_0000..=0x7fff_ffff_ffff_ffff;

fn number(text: &[u8]) -> Option<Number> {
    if text == b"max" {
        return Some(Number::Unlimited);
    }
    let whole = decimal(text).map(i128::from).or_else(|| signed_decimal(text).map(i128::from));
    whole.or_else(|| super::scan::hundredths(text).map(i128::from)).map(Number::Of)
}

const NEEDED_HEXADECIMAL: &str = "a hexadecimal number below 2^64";

fn hexadecimal(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok().filter(|text| !text.starts_with('+'))?;
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::*;

    fn look(form: Form, bytes: &[u8], names: &[&'static str]) -> Vec<Option<i128>> {
        let mut keys: Vec<Key> = names.iter().map(|name| Key::new(form, name)).collect();
        keys.sort();
        let found = find("f", form, bytes, &keys).unwrap();
        let of = |name: &&'static str| {
            let at = keys.iter().position(|key| key.text == *name).unwrap();
            match found[at] {
                Some(Number::Of(number)) => Some(number),
                Some(Number::Unlimited) => Some(-1),
                None => None,
            }
        };
        names.iter().map(of).collect()
    }

    #[test]
    fn each_form() {
        let text = b"Node 0 MemFree:   12 kB\nrc 1 2 3\nlimit max\n";
        assert_eq!(
            look(Form::Lines, text, &["MemFree", "rc#2", "rc", "limit", "no"]),
            [Some(12), Some(2), Some(1), Some(-1), None]
        );
        assert_eq!(
            look(Form::Lines, b"834\t0\t2466177\n7\n", &["#3", "#4", ""]),
            [Some(2_466_177), None, Some(834)]
        );
        assert_eq!(look(Form::Lines, b"-4500\n", &[""]), [Some(-4500)]);
        let text = b"A: y x\nA: 1 2\nB: x\nB: 3\n";
        assert_eq!(look(Form::Columns, text, &["A.x", "B.x", "B.y"]), [Some(2), Some(3), None]);
        assert_eq!(look(Form::Sections, b"TCP: inuse 1 tw 2\nsockets: used 9\n", &["TCP.tw"]), [Some(2)]);
        let text = b"some avg10=1.50 total=7\nfull avg10=0.00 total=8\n";
        assert_eq!(look(Form::Assignments, text, &["full.total", "some.avg10"]), [Some(8), Some(150)]);
        let text = b"8:0 rbytes=1 wbytes=2\n8:16 rbytes=10 wbytes=20\n";
        assert_eq!(look(Form::Sums, text, &["rbytes", "wbytes", "dios"]), [Some(11), Some(22), None]);
        assert_eq!(look(Form::Hexadecimal, b"0a 01\nff 00\n", &["#1", "#2"]), [Some(265), Some(1)]);
        assert_eq!(look(Form::Count, b"812\n4711\n", &[""]), [Some(2)]);
        assert_eq!(look(Form::Lines, b"9223372036854771712\n", &[""]), [Some(-1)], "no limit");
        assert_eq!(look(Form::Lines, b"a 9223372036854771712\n", &["a"]), [Some(9_223_372_036_854_771_712)]);
        let text = b"Inter-| Receive | Transmit\n face |bytes packets|bytes\n  lo: 5 5 5\neth0:10 1 20\n wg0: 3 0 4\n";
        assert_eq!(look(Form::Interfaces, text, &["#1", "#3", "#4"]), [Some(13), Some(24), Some(0)]);
        assert_eq!(look(Form::Interfaces, b"", &["#1"]), [None]);
        let text = b"entries  drop\n00000010 1\n00000010 2\n";
        assert_eq!(look(Form::Hexadecimal, text, &["drop", "found"]), [Some(3), None]);
    }

    #[test]
    fn totals_are_the_row_before_the_rates() {
        let found = look(Form::Totals, &fixture("written/ip_vs_stats"), &["#1", "#2", "#4", "#6"]);
        assert_eq!(found, [Some(0x15), Some(0x1_0001_2345), Some(0x1_0000_0001), None]);
        assert_eq!(look(Form::Totals, b"   Total Incoming\n   Conns  Packets\n", &["#1"]), [None]);
    }

    #[test]
    fn only_requested_values_have_to_be_numbers() {
        let key = [Key::new(Form::Lines, "nr_dirty")];
        assert!(find("/proc/vmstat", Form::Lines, b"other x\nnr_dirty 3\n", &key).is_ok());
        assert_eq!(
            find("/proc/vmstat", Form::Lines, b"other x\nnr_dirty x\n", &key).unwrap_err().to_string(),
            "/proc/vmstat line 2: nr_dirty: needed a decimal number below 2^64, found \"x\""
        );
        let key = [Key::new(Form::Columns, "A.x")];
        assert!(find("f", Form::Columns, b"A: x\nB: 1\n", &key).is_err());
    }

    #[test]
    fn captured_files() {
        let names = ["TcpExt.ListenOverflows", "IpExt.InOctets"];
        assert!(look(Form::Columns, &fixture("6.18/net-netstat"), &names).iter().all(Option::is_some));
        assert!(
            look(Form::Lines, &fixture("6.18/vmstat"), &["nr_dirty", "pgfault"]).iter().all(Option::is_some)
        );
        assert_eq!(look(Form::Sections, &fixture("6.18/net-sockstat"), &["TCP.mem"]), [Some(112)]);
    }

    #[test]
    fn damaged_files_do_not_panic() {
        for (file, form, name) in [
            ("6.18/net-netstat", Form::Columns, "TcpExt.ListenDrops"),
            ("6.18/net-sockstat", Form::Sections, "TCP.mem"),
            ("6.18/loadavg", Form::Lines, "#1"),
            ("6.18/uptime", Form::Hexadecimal, "#2"),
            ("written/ip_vs_stats", Form::Totals, "#5"),
        ] {
            check_damage(file, |bytes| find("f", form, bytes, &[Key::new(form, name)]));
        }
    }
}
