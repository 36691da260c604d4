//! Answers the questions of one reader.

use std::io::{Read, Write};

use tallymon_core::flow::{Source, SourceError};
use tallymon_core::request::{Request, RequestKind};
use tallymon_core::title::TitleIndex;

use crate::frames::{Answer, FrameError, Question, read_frame, read_greeting, write_frame, write_greeting};

/// Answers questions from `input` on `output`, until the reader closes `input`.
///
/// A question that the source cannot answer has an error as its answer, and the next question is read.
///
/// # Errors
///
/// The reader does not speak this protocol, or reading or writing failed.
pub fn serve(
    source: &mut dyn Source,
    input: &mut dyn Read,
    output: &mut dyn Write,
) -> Result<(), FrameError> {
    // First our own, so that an older reader can say which versions there are.
    write_greeting(output)?;
    match read_greeting(input) {
        Err(FrameError::Closed) => return Ok(()),
        greeting => greeting?,
    }
    loop {
        let body = match read_frame(input) {
            Err(FrameError::Closed) => return Ok(()),
            body => body?,
        };
        answer_frame(source, &body, output)?;
    }
}

/// Answers one question.
pub(crate) fn answer_frame(
    source: &mut dyn Source,
    body: &[u8],
    output: &mut dyn Write,
) -> Result<(), FrameError> {
    let answer = answer(source, &Question::decode(body)?).encode();
    match write_frame(output, &answer) {
        Err(FrameError::TooLong { length, .. }) => {
            let words = format!("the answer has {length} bytes, more than a frame may have");
            let failed = SourceError::new(tallymon_core::flow::SourceErrorKind::Unsupported, words);
            write_frame(output, &Answer::Failed(failed).encode())
        }
        written => written,
    }
}

fn answer(source: &mut dyn Source, question: &Question) -> Answer {
    let answer = match question {
        Question::Snapshot(request) => block(source, request),
        Question::Definitions { costly } => source.definitions(*costly).map(|snapshot| Answer::Block {
            read_infos: Vec::new(),
            troubles: Vec::new(),
            bytes: snapshot.into_bytes(),
        }),
        Question::Titles(language) => source.titles(*language).map(Answer::Titles),
        Question::Translations(language) => source.translations(*language).map(Answer::Titles),
        Question::Languages => Ok(Answer::Languages(source.languages())),
        Question::Registered => {
            let registered = source.registered();
            let troubles = troubles(source, registered.listed.iter().copied());
            Ok(Answer::Registered(registered, troubles))
        }
    };
    answer.unwrap_or_else(Answer::Failed)
}

fn block(source: &mut dyn Source, request: &Request) -> Result<Answer, SourceError> {
    let snapshot = source.snapshot(request)?;
    let requested = match &request.kind {
        RequestKind::Objects(objects) => objects.clone(),
        _ => Vec::new(),
    };
    let answer = Answer::Block {
        read_infos: snapshot.read_infos().to_vec(),
        troubles: troubles(source, requested.into_iter()),
        bytes: snapshot.bytes().to_vec(),
    };
    source.give_back(snapshot);
    Ok(answer)
}

fn troubles(source: &dyn Source, objects: impl Iterator<Item = TitleIndex>) -> Vec<(TitleIndex, String)> {
    objects.filter_map(|object| Some((object, source.trouble(object)?))).collect()
}
