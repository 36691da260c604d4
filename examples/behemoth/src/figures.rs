//! The service's raw values at one instant: all counters in the order of their tables, as numbers in the
//! program and as lines of text on the socket.
//!
//! ```text
//! behemoths  <performance clock>  <numbers and texts of the summary>
//! <id>  <mother's id or ->  <name>  <numbers and texts of a behemoth>      for each
//! end
//! ```
//!
//! Tabs separate the fields. A reader with fewer or more counters than the service rejects the answer.

use std::fmt;

use tallymon_provider::FileTime;

use crate::life::{Behemoth, Sex, World};
use crate::table::{self, BEHEMOTH, SUMMARY, Table};

/// First and last word of an answer.
const FIRST: &str = "behemoths";
const LAST: &str = "end";

/// All values at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figures {
    /// Time on the performance clock, in units of 100 ns.
    pub time: u64,
    /// The values of all behemoths together.
    pub summary: Values,
    /// The values of each behemoth.
    pub behemoths: Vec<Row>,
}

/// The values of one behemoth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its unique id.
    pub id: u32,
    /// Its mother's id.
    pub mother: Option<u32>,
    /// Its name.
    pub name: String,
    /// Its counters.
    pub values: Values,
}

/// The values of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    /// Raw numbers, including bases.
    pub numbers: Vec<u64>,
    /// Texts.
    pub texts: Vec<String>,
}

impl Figures {
    /// The figures of a world.
    pub fn of(world: &World) -> Figures {
        let all = world.behemoths();
        let sum = |figure: fn(&Behemoth) -> u64| all.iter().map(figure).fold(0, u64::saturating_add);
        let heaviest = all.iter().max_by_key(|one| one.weight).map_or("", |one| &one.name);
        let count = u64::try_from(all.len()).unwrap_or(u64::MAX);
        let females = sum(|one| u64::from(one.sex == Sex::Female));
        let summary = Values {
            numbers: vec![
                count,
                sum(|one| one.weight),
                females,
                count,
                world.births,
                world.deaths,
                world.lived,
                world.deaths,
            ],
            texts: vec![heaviest.to_string()],
        };
        Figures { time: world.now().perf, summary, behemoths: all.iter().map(row).collect() }
    }

    /// Position of a behemoth's mother, if she is alive.
    pub fn mother_of(&self, row: &Row) -> Option<usize> {
        let mother = row.mother?;
        self.behemoths.iter().position(|one| one.id == mother)
    }

    /// Parses the lines of an answer.
    ///
    /// # Errors
    ///
    /// The text is not an answer, or one of another version.
    pub fn parse(text: &str) -> Result<Figures, NotFigures> {
        let mut lines = text.lines().enumerate();
        let wrong = |line: usize, needed: &'static str| NotFigures { line: line.saturating_add(1), needed };
        let (_, first) = lines.next().ok_or(wrong(0, "an answer"))?;
        let mut fields = first.split('\t');
        if fields.next() != Some(FIRST) {
            return Err(wrong(0, "the word behemoths"));
        }
        let time = fields.next().and_then(|time| time.parse().ok()).ok_or(wrong(0, "the time"))?;
        let summary = Values::parse(&SUMMARY, fields).ok_or(wrong(0, "the figures of the summary"))?;
        let mut behemoths = Vec::new();
        for (number, line) in lines {
            if line == LAST {
                return Ok(Figures { time, summary, behemoths });
            }
            let row = Row::parse(line).ok_or(wrong(number, "id, mother, name and figures of a behemoth"))?;
            behemoths.push(row);
        }
        Err(wrong(behemoths.len().saturating_add(1), "the word end"))
    }
}

impl Row {
    fn parse(line: &str) -> Option<Row> {
        let mut fields = line.split('\t');
        let id = fields.next()?.parse().ok()?;
        let mother = match fields.next()? {
            "-" => None,
            id => Some(id.parse().ok()?),
        };
        let name = fields.next().filter(|name| !name.is_empty())?.to_string();
        Some(Row { id, mother, name, values: Values::parse(&BEHEMOTH, fields)? })
    }

    /// The number of a counter; 0 if there is no such counter.
    pub fn number(&self, symbol: &str) -> u64 {
        let position = BEHEMOTH.position(symbol);
        position.and_then(|position| self.values.numbers.get(position)).copied().unwrap_or(0)
    }

    /// The text of a counter; empty if there is no such counter.
    pub fn text(&self, symbol: &str) -> &str {
        let position = BEHEMOTH.texts().position(|counter| table::symbol(counter.number) == symbol);
        position.and_then(|position| self.values.texts.get(position)).map_or("", |text| text)
    }
}

impl Values {
    /// Parses the fields of a table, no more and no fewer.
    fn parse<'f>(table: &Table, mut fields: impl Iterator<Item = &'f str>) -> Option<Values> {
        let mut numbers = Vec::new();
        for _ in table.numbers() {
            numbers.push(fields.next()?.parse().ok()?);
        }
        let mut texts = Vec::new();
        for _ in table.texts() {
            texts.push(fields.next()?.to_string());
        }
        fields.next().is_none().then_some(Values { numbers, texts })
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST}\t{}{}", self.time, self.summary)?;
        for row in &self.behemoths {
            match row.mother {
                Some(mother) => write!(f, "{}\t{mother}", row.id)?,
                None => write!(f, "{}\t-", row.id)?,
            }
            writeln!(f, "\t{}{}", row.name, row.values)?;
        }
        writeln!(f, "{LAST}")
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.numbers.iter().try_for_each(|number| write!(f, "\t{number}"))?;
        self.texts.iter().try_for_each(|text| write!(f, "\t{text}"))
    }
}

/// Why a text is not an answer of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotFigures {
    /// The line number, from 1.
    pub line: usize,
    /// What was expected.
    pub needed: &'static str,
}

impl fmt::Display for NotFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the answer is not {}", self.line, self.needed)
    }
}

impl std::error::Error for NotFigures {}

fn row(one: &Behemoth) -> Row {
    // A behemoth weighs 960 kilograms per cubic metre. Both numbers are small enough to be exact.
    let volume = f64::from(u32::try_from(one.weight).unwrap_or(u32::MAX)) / 960.0;
    let metres = |at: i64| u64::try_from(at).unwrap_or(0);
    let numbers = vec![
        one.born.perf,
        metres(one.place.0),
        metres(one.place.1),
        one.weight,
        volume.to_bits(),
        one.genes,
        one.weight,
        one.steps,
        one.meals,
        one.eaten,
        one.meals,
        one.napped,
        one.naps,
        one.stomach.0,
        one.stomach.1,
        one.found,
        one.searches,
        one.slept,
        one.slept,
        one.fly_time,
    ];
    let texts = vec![one.sex.word().to_string(), date(one.born.civil), one.mother_name.clone()];
    Row { id: one.id, mother: one.mother, name: one.name.clone(), values: Values { numbers, texts } }
}

fn date(time: FileTime) -> String {
    let time = time.system_time();
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
        time.year, time.month, time.day, time.hour, time.minute, time.second
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::life::Moment;

    fn figures() -> Figures {
        let mut world = World::new(7, 8, Moment { perf: 1, civil: FileTime(133_000_000_000_000_000) });
        (1..900).for_each(|step| world.step(Moment { perf: 1 + step * 1_000_000, ..world.now() }));
        Figures::of(&world)
    }

    #[test]
    fn printed_figures_parse_back() {
        let figures = figures();
        assert_eq!(Figures::parse(&figures.to_string()), Ok(figures.clone()));
        assert!(figures.behemoths.iter().any(|row| figures.mother_of(row).is_some()));
        for (table, values) in
            figures.behemoths.iter().map(|row| (BEHEMOTH, &row.values)).chain([(SUMMARY, &figures.summary)])
        {
            assert_eq!(values.numbers.len(), table.numbers().count());
            assert_eq!(values.texts.len(), table.texts().count());
            let most = usize::from(table::MOST_TEXT);
            assert!(values.texts.iter().all(|text| text.len() <= most), "{:?}", values.texts);
        }
    }

    #[test]
    fn truncated_or_foreign_text_is_rejected() {
        let text = figures().to_string();
        // Without the last line break the text is still complete.
        for end in 0..text.len() - 1 {
            assert!(Figures::parse(&text[..end]).is_err(), "cut at {end}");
        }
        for wrong in
            ["", "error\tno", "behemoths\tx", &text.replace("\t-\t", "\t?\t"), &text.replace('\n', "\t1\n")]
        {
            assert!(Figures::parse(wrong).is_err(), "{wrong}");
        }
    }
}
