//! The footer of a Parquet file: the schema, and where the columns of each row group are.

use super::bytes::{Bad, Input, STRUCT};
use super::{BIAS_KEY, ZONE_KEY};

/// What the columns of our files are called. Only the parts of a lake have the last one.
pub(super) const NAMES: [&str; 10] =
    ["time", "path", "type", "value", "first", "second", "frequency", "multi_count", "missing", "scale"];

/// The columns that every file must have.
const NEEDED: usize = 9;

/// One column of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) physical: i64,
    pub(super) optional: bool,
    /// Units of a timestamp in a second; 1,000,000 if the file does not say.
    pub(super) units: u64,
}

/// Where a column of a row group is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Chunk {
    pub(super) codec: i64,
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// A row group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) rows: u64,
    /// Chunks in the order of [`NAMES`].
    pub(super) chunks: [Chunk; NAMES.len()],
}

/// What is read of the footer.
#[derive(Debug)]
pub(super) struct Footer {
    /// Columns in the order of [`NAMES`]; `None` for one that the file does not have.
    pub(super) leaves: [Option<Leaf>; NAMES.len()],
    pub(super) groups: Vec<Group>,
    /// Rows of all row groups, by the file's own sum.
    pub(super) rows: u64,
    pub(super) created_by: String,
    /// Name and bias of the zone of local times, if the footer has them.
    pub(super) zone: Option<(String, i32)>,
}

/// A schema element.
struct Element {
    name: String,
    leaf: Leaf,
    children: usize,
    repeated: bool,
}

impl Footer {
    pub(super) fn parse(bytes: &[u8]) -> Result<Footer, Bad> {
        let mut input = Input::new(bytes);
        let mut elements: Vec<Element> = Vec::new();
        let mut groups: Vec<(u64, Vec<Chunk>)> = Vec::new();
        let (mut rows, mut created_by, mut zone, mut bias) = (0, String::new(), None, None);
        input.fields(|input, field, _| {
            match field {
                2 => input.structures(|input| {
                    elements.push(element(input)?);
                    Ok(())
                })?,
                3 => rows = number(input)?,
                4 => input.structures(|input| {
                    groups.push(group(input)?);
                    Ok(())
                })?,
                5 => input.structures(|input| {
                    let (mut key, mut value) = ("".into(), "".into());
                    input.fields(|input, field, _| {
                        match field {
                            1 => key = String::from_utf8_lossy(input.binary()?),
                            2 => value = String::from_utf8_lossy(input.binary()?),
                            _ => return Ok(false),
                        }
                        Ok(true)
                    })?;
                    match key.as_ref() {
                        ZONE_KEY => zone = Some(value.into_owned()),
                        BIAS_KEY => bias = value.parse().ok(),
                        _ => {}
                    }
                    Ok(())
                })?,
                6 => created_by = String::from_utf8_lossy(input.binary()?).into_owned(),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        // The root is first. A flat table has columns only.
        let columns = elements.get(1..).unwrap_or_default();
        let at = |name: &str| {
            let found = columns.iter().position(|element| element.name == name);
            found.ok_or_else(|| format!("the column {name:?} is missing"))
        };
        if let Some(nested) = columns.iter().find(|element| element.children > 0 || element.repeated) {
            return Err(format!("the column {:?} has other columns or lists in it", nested.name));
        }
        let mut places: [Option<usize>; NAMES.len()] = [None; NAMES.len()];
        let mut leaves = [None; NAMES.len()];
        for (nth, ((name, place), leaf)) in NAMES.iter().zip(&mut places).zip(&mut leaves).enumerate() {
            *place = if nth < NEEDED { Some(at(name)?) } else { at(name).ok() };
            *leaf = place.and_then(|place| columns.get(place)).map(|element| element.leaf);
        }
        let groups = groups.into_iter().map(|(rows, chunks)| {
            let mut group = Group { rows, chunks: [Chunk::default(); NAMES.len()] };
            for ((place, chunk), name) in places.iter().zip(&mut group.chunks).zip(NAMES) {
                let Some(place) = *place else { continue };
                *chunk = *chunks.get(place).ok_or_else(|| format!("a row group has no column {name:?}"))?;
            }
            Ok(group)
        });
        Ok(Footer {
            leaves,
            groups: groups.collect::<Result<_, Bad>>()?,
            rows,
            created_by,
            zone: zone.zip(bias),
        })
    }
}

fn element(input: &mut Input<'_>) -> Result<Element, Bad> {
    let mut element = Element {
        name: String::new(),
        leaf: Leaf { physical: -1, optional: false, units: 1_000_000 },
        children: 0,
        repeated: false,
    };
    input.fields(|input, field, kind| {
        match field {
            1 => element.leaf.physical = input.zigzag()?,
            3 => {
                let repetition = input.zigzag()?;
                element.leaf.optional = repetition == 1;
                element.repeated = repetition == 2;
            }
            4 => element.name = String::from_utf8_lossy(input.binary()?).into_owned(),
            5 => element.children = usize::try_from(input.zigzag()?).unwrap_or(usize::MAX),
            // Old files say the unit here.
            6 if input.clone().zigzag()? == 9 => {
                input.zigzag()?;
                element.leaf.units = 1000;
            }
            10 if kind == STRUCT => logical(input, &mut element.leaf)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(element)
}

/// The logical type; only the unit of a timestamp matters here.
fn logical(input: &mut Input<'_>, leaf: &mut Leaf) -> Result<(), Bad> {
    input.fields(|input, field, kind| {
        if field != 8 || kind != STRUCT {
            return Ok(false);
        }
        input.fields(|input, field, kind| {
            if field != 2 || kind != STRUCT {
                return Ok(false);
            }
            input.fields(|_, unit, _| {
                leaf.units = match unit {
                    1 => 1000,
                    3 => 1_000_000_000,
                    _ => 1_000_000,
                };
                Ok(false)
            })?;
            Ok(true)
        })?;
        Ok(true)
    })
}

fn group(input: &mut Input<'_>) -> Result<(u64, Vec<Chunk>), Bad> {
    let (mut rows, mut chunks) = (0, Vec::new());
    input.fields(|input, field, _| {
        match field {
            1 => input.structures(|input| {
                chunks.push(chunk(input)?);
                Ok(())
            })?,
            3 => rows = number(input)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok((rows, chunks))
}

fn chunk(input: &mut Input<'_>) -> Result<Chunk, Bad> {
    let mut chunk = Chunk::default();
    input.fields(|input, field, kind| {
        if field != 3 || kind != STRUCT {
            return Ok(false);
        }
        let mut dictionary = None;
        input.fields(|input, field, _| {
            match field {
                4 => chunk.codec = input.zigzag()?,
                7 => chunk.length = number(input)?,
                9 => chunk.offset = number(input)?,
                11 => dictionary = Some(number(input)?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        // Some writers say 0 when there is no dictionary.
        chunk.offset = dictionary.filter(|at| *at > 0).map_or(chunk.offset, |at| at.min(chunk.offset));
        Ok(true)
    })?;
    Ok(chunk)
}

fn number(input: &mut Input<'_>) -> Result<u64, Bad> {
    let number = input.zigzag()?;
    u64::try_from(number).map_err(|_| format!("a length or an offset of {number}"))
}
