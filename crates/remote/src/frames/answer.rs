//! What the other side answers.

use std::sync::Arc;

use tallymon_core::block::{ReadInfo, ReadWindow};
use tallymon_core::bytes::ByteOrder;
use tallymon_core::flow::{RegisteredObjects, SourceError, SourceErrorKind, UnlistedService};
use tallymon_core::time::FileTime;
use tallymon_core::title::{Language, TitleIndex, Titles};

use super::FrameError;
use super::fields::{Reader, Writer};

/// What the other side answers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// A data block.
    Block {
        /// Its bytes; nobody has validated them.
        bytes: Vec<u8>,
        /// When its objects were read, and the resolution of their counts.
        read_infos: Vec<ReadInfo>,
        /// Why values of requested objects are old or missing.
        troubles: Vec<(TitleIndex, String)>,
    },
    /// Names and help texts.
    Titles(Titles),
    /// Languages of names.
    Languages(Vec<Language>),
    /// Objects that are known by their registration, and why some of them do not work.
    Registered(RegisteredObjects, Vec<(TitleIndex, String)>),
    /// The source there has no answer.
    Failed(SourceError),
}

const BLOCK: u8 = 0x81;
const TITLES: u8 = 0x83;
const LANGUAGES: u8 = 0x85;
const REGISTERED: u8 = 0x86;
const FAILED: u8 = 0xff;

/// Kinds of errors by their numbers.
const KINDS: [(SourceErrorKind, u8); 6] = [
    (SourceErrorKind::Io, 0),
    (SourceErrorKind::NotFound, 1),
    (SourceErrorKind::AccessDenied, 2),
    (SourceErrorKind::Unreachable, 3),
    (SourceErrorKind::BadData, 4),
    (SourceErrorKind::Unsupported, 5),
];

impl Answer {
    /// The body of its frame.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer;
        match self {
            Answer::Block { bytes, read_infos, troubles } => {
                writer = Writer::of(BLOCK);
                writer.count(read_infos.len());
                for info in read_infos {
                    writer.u32(info.object.0);
                    writer.u64(info.window.begin.0);
                    writer.u64(info.window.end.0);
                    writer.count(info.quanta.len());
                    info.quanta.iter().for_each(|quantum| writer.u64(*quantum));
                    writer.count(info.means.len());
                    info.means.iter().for_each(|mean| writer.u8(u8::from(*mean)));
                }
                write_troubles(&mut writer, troubles);
                writer.bytes(bytes);
            }
            Answer::Titles(titles) => {
                writer = Writer::of(TITLES);
                writer.bytes(&titles.to_multi_sz_names(ByteOrder::Little));
                writer.bytes(&titles.to_multi_sz_helps(ByteOrder::Little));
            }
            Answer::Languages(languages) => {
                writer = Writer::of(LANGUAGES);
                writer.count(languages.len());
                languages.iter().for_each(|language| writer.u16(language.langid()));
            }
            Answer::Registered(objects, troubles) => {
                writer = Writer::of(REGISTERED);
                writer.count(objects.listed.len());
                objects.listed.iter().for_each(|object| writer.u32(object.0));
                writer.count(objects.unlisted.len());
                for service in &objects.unlisted {
                    writer.text(&service.service);
                    writer.u32(service.first.0);
                    writer.u32(service.last.0);
                }
                write_troubles(&mut writer, troubles);
            }
            Answer::Failed(error) => {
                writer = Writer::of(FAILED);
                let kind = KINDS.iter().find(|(kind, _)| *kind == error.kind);
                writer.u8(kind.map_or(0, |(_, number)| *number));
                writer.text(&error.message);
            }
        }
        writer.finish()
    }

    /// The answer in the body of a frame.
    ///
    /// # Errors
    ///
    /// The frame is damaged or of no kind that is known.
    pub fn decode(body: &[u8]) -> Result<Answer, FrameError> {
        let mut reader = Reader::new(body);
        let answer = match reader.u8("kind")? {
            BLOCK => Answer::Block {
                read_infos: reader.list("read windows", read_info)?,
                troubles: read_troubles(&mut reader)?,
                bytes: reader.bytes("data block")?.to_vec(),
            },
            TITLES => {
                let names = reader.bytes("names")?;
                let helps = reader.bytes("help texts")?;
                let titles = Titles::from_multi_sz(names, helps, ByteOrder::Little);
                Answer::Titles(titles.map_err(FrameError::Titles)?)
            }
            LANGUAGES => {
                let language = |reader: &mut Reader<'_>| reader.u16("language").map(Language::new);
                Answer::Languages(reader.list("languages", language)?)
            }
            REGISTERED => {
                let index = |reader: &mut Reader<'_>| reader.u32("object").map(TitleIndex);
                let listed = reader.list("listed objects", index)?.into_iter().collect();
                let service = |reader: &mut Reader<'_>| {
                    Ok(UnlistedService {
                        service: reader.text("service")?.to_string(),
                        first: TitleIndex(reader.u32("first index")?),
                        last: TitleIndex(reader.u32("last index")?),
                    })
                };
                let unlisted = reader.list("services", service)?;
                Answer::Registered(RegisteredObjects { listed, unlisted }, read_troubles(&mut reader)?)
            }
            FAILED => {
                let number = reader.u8("kind of error")?;
                let kind = KINDS.iter().find(|(_, known)| *known == number);
                let kind = kind.map_or(SourceErrorKind::Io, |(kind, _)| *kind);
                Answer::Failed(SourceError::new(kind, reader.text("message")?.to_string()))
            }
            kind => return Err(FrameError::Kind(kind)),
        };
        reader.end()?;
        Ok(answer)
    }
}

fn read_info(reader: &mut Reader<'_>) -> Result<ReadInfo, FrameError> {
    Ok(ReadInfo {
        object: TitleIndex(reader.u32("object")?),
        window: ReadWindow {
            begin: FileTime(reader.u64("begin of the window")?),
            end: FileTime(reader.u64("end of the window")?),
        },
        quanta: Arc::from(reader.list("quanta", |reader| reader.u64("quantum"))?),
        means: Arc::from(reader.list("means", |reader| Ok(reader.u8("mean")? != 0))?),
    })
}

fn write_troubles(writer: &mut Writer, troubles: &[(TitleIndex, String)]) {
    writer.count(troubles.len());
    for (object, why) in troubles {
        writer.u32(object.0);
        writer.text(why);
    }
}

fn read_troubles(reader: &mut Reader<'_>) -> Result<Vec<(TitleIndex, String)>, FrameError> {
    reader.list("troubles", |reader| {
        Ok((TitleIndex(reader.u32("object")?), reader.text("trouble")?.to_string()))
    })
}
