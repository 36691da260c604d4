//! What a reader asks.

use tallymon_core::request::{Interest, Request};
use tallymon_core::title::{Language, TitleIndex};

use super::FrameError;
use super::fields::{Reader, Writer};

/// What a reader asks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Question {
    /// A snapshot.
    Snapshot(Request),
    /// The definitions of the objects, see [`Source::definitions`](tallymon_core::flow::Source::definitions).
    Definitions {
        /// The costly ones instead of the others.
        costly: bool,
    },
    /// The names and help texts in a language.
    Titles(Language),
    /// The translations of names that Windows leaves in English.
    Translations(Language),
    /// The languages of names.
    Languages,
    /// The objects that are known by their registration.
    Registered,
}

const SNAPSHOT: u8 = 1;
const DEFINITIONS: u8 = 2;
const TITLES: u8 = 3;
const TRANSLATIONS: u8 = 4;
const LANGUAGES: u8 = 5;
const REGISTERED: u8 = 6;

impl Question {
    /// The body of its frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Question::Snapshot(request) => {
                let mut writer = Writer::of(SNAPSHOT);
                writer.text(&request.to_string());
                let entries: Vec<_> = request.interest.entries().collect();
                writer.count(entries.len());
                for (object, counters) in entries {
                    writer.u32(object.0);
                    writer.u8(u8::from(counters.is_some()));
                    if let Some(counters) = counters {
                        writer.count(counters.len());
                        counters.iter().for_each(|counter| writer.u32(counter.0));
                    }
                }
                writer.finish()
            }
            Question::Definitions { costly } => {
                let mut writer = Writer::of(DEFINITIONS);
                writer.u8(u8::from(*costly));
                writer.finish()
            }
            Question::Titles(language) => with_language(TITLES, *language),
            Question::Translations(language) => with_language(TRANSLATIONS, *language),
            Question::Languages => Writer::of(LANGUAGES).finish(),
            Question::Registered => Writer::of(REGISTERED).finish(),
        }
    }

    /// The question in the body of a frame.
    ///
    /// # Errors
    ///
    /// The frame is damaged or of no kind that is known.
    pub fn decode(body: &[u8]) -> Result<Question, FrameError> {
        let mut reader = Reader::new(body);
        let question = match reader.u8("kind")? {
            SNAPSHOT => {
                let request = Request::parse(reader.text("request")?);
                let mut interest = Interest::everything();
                reader.list("objects of interest", |reader| {
                    let object = TitleIndex(reader.u32("object")?);
                    if reader.u8("whether counters are listed")? == 0 {
                        interest.add_object(object);
                        return Ok(());
                    }
                    reader
                        .list("counters of interest", |reader| {
                            interest.add(object, TitleIndex(reader.u32("counter")?));
                            Ok(())
                        })
                        .map(drop)
                })?;
                Question::Snapshot(request.with_interest(interest))
            }
            DEFINITIONS => Question::Definitions { costly: reader.u8("costly")? != 0 },
            TITLES => Question::Titles(Language::new(reader.u16("language")?)),
            TRANSLATIONS => Question::Translations(Language::new(reader.u16("language")?)),
            LANGUAGES => Question::Languages,
            REGISTERED => Question::Registered,
            kind => return Err(FrameError::Kind(kind)),
        };
        reader.end()?;
        Ok(question)
    }

    /// The question in words, for messages.
    pub fn words(&self) -> String {
        match self {
            Question::Snapshot(request) => {
                let text = request.to_string();
                // A list of many objects says no more than its beginning.
                let most = text.char_indices().nth(40).map_or(text.len(), |(at, _)| at);
                let (begin, rest) = text.split_at_checked(most).unwrap_or((&text, ""));
                format!("the values of {begin:?}{}", if rest.is_empty() { "" } else { " and others" })
            }
            Question::Definitions { .. } => "the list of its objects".to_string(),
            Question::Titles(language) | Question::Translations(language) => {
                format!("its names in language {language}")
            }
            Question::Languages => "its languages".to_string(),
            Question::Registered => "its registered libraries".to_string(),
        }
    }
}

fn with_language(kind: u8, language: Language) -> Vec<u8> {
    let mut writer = Writer::of(kind);
    writer.u16(language.langid());
    writer.finish()
}
