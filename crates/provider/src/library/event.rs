//! The events of provider libraries and their registration, with NT's ids, levels and fields.
//!
//! There is one table of events. To report something, make an [`Event`] from a kind and the values of its
//! fields; the kind has the words.

use std::fmt;

/// One kind of event: a row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct EventKind {
    /// The source of the event.
    pub source: EventSource,
    /// NT's id; an id means something only together with its source.
    pub id: u32,
    /// How bad it is.
    pub level: EventLevel,
    /// NT's names of the fields, in NT's order.
    pub fields: &'static [&'static str],
    /// What happened, with the names of fields in braces where their values go.
    words: &'static str,
}

/// The source of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventSource {
    /// The part that calls providers.
    Perflib,
    /// What installs and removes names of counters.
    LoadPerf,
    /// Events that NT does not have.
    Tallymon,
}

impl EventSource {
    /// NT's name of the source.
    pub const fn name(self) -> &'static str {
        match self {
            EventSource::Perflib => "Microsoft-Windows-Perflib",
            EventSource::LoadPerf => "Microsoft-Windows-LoadPerf",
            EventSource::Tallymon => "Tallymon",
        }
    }
}

/// How bad an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventLevel {
    /// Something does not work.
    Error,
    /// Something could be better.
    Warning,
    /// Something was done.
    Information,
}

impl EventLevel {
    /// The level in one word.
    pub const fn word(self) -> &'static str {
        match self {
            EventLevel::Error => "error",
            EventLevel::Warning => "warning",
            EventLevel::Information => "information",
        }
    }

    /// The level as syslog and the journal number it.
    pub const fn syslog(self) -> u8 {
        match self {
            EventLevel::Error => 3,
            EventLevel::Warning => 4,
            EventLevel::Information => 6,
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// What kind of thing.
    pub kind: &'static EventKind,
    /// The values of the kind's fields, in their order.
    pub values: Vec<String>,
    /// Details beyond NT's fields: the wrong byte, the loader's message. Empty when there are none.
    pub detail: String,
}

impl Event {
    /// An event of a kind. Missing values are empty.
    pub fn new<const N: usize>(kind: &'static EventKind, values: [&str; N]) -> Event {
        let mut values: Vec<String> = values.iter().map(ToString::to_string).collect();
        values.resize(kind.fields.len(), String::new());
        Event { kind, values, detail: String::new() }
    }

    /// The same event with more about it.
    #[must_use]
    pub fn with_detail(self, detail: impl Into<String>) -> Event {
        Event { detail: detail.into(), ..self }
    }

    /// The fields: NT's name and the value of each.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.kind.fields.iter().copied().zip(self.values.iter().map(String::as_str))
    }

    /// The value of a field by NT's name; `None` when the kind has no such field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields().find(|(field, _)| *field == name).map(|(_, value)| value)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.kind.words;
        while let Some((before, behind)) = rest.split_once('{') {
            let (name, behind) = behind.split_once('}').unwrap_or((behind, ""));
            write!(f, "{before}{}", self.field(name).unwrap_or_default())?;
            rest = behind;
        }
        f.write_str(rest)?;
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $source:ident $id:literal $level:ident [$($field:literal),*] $words:literal;)*) => {
        $(
            $(#[$doc])*
            pub const $name: EventKind = EventKind {
                source: EventSource::$source,
                id: $id,
                level: EventLevel::$level,
                fields: &[$($field),*],
                words: $words,
            };
        )*
        /// Every kind of event.
        pub const KINDS: &[&EventKind] = &[$(&$name),*];
    };
}

kinds! {
    /// Collect reports that it wrote more than its buffer holds.
    COLLECT_SIZE = Perflib 1001 Error ["Library", "Service", "Size"]
        "Collect of {Library} of the service {Service} answered with a size that it cannot have, {Size} \
        bytes";
    /// A guard area around the buffer was written to.
    GUARD = Perflib 1002 Error ["Library", "Service"]
        "Collect of {Library} of the service {Service} wrote outside of its buffer";
    /// The lengths of the objects do not add up.
    OBJECTS = Perflib 1003 Error ["Library", "Service", "ObjectCount"]
        "the lengths of the {ObjectCount} objects that {Library} of the service {Service} answered with do \
        not add up";
    /// The length of an instance is wrong.
    INSTANCE = Perflib 1004 Error ["Library", "Service", "ObjectIndex"]
        "an instance of the object {ObjectIndex} of {Library} of the service {Service} has a wrong length";
    /// The library has no such function for Open.
    NO_OPEN = Perflib 1005 Error ["ProcName", "Library", "Service", "Win32Error"]
        "the function {ProcName} for Open is not in {Library} of the service {Service}";
    /// The library has no such function for Collect.
    NO_COLLECT = Perflib 1006 Error ["ProcName", "Library", "Service", "Win32Error"]
        "the function {ProcName} for Collect is not in {Library} of the service {Service}";
    /// The library has no such function for Close.
    NO_CLOSE = Perflib 1007 Error ["ProcName", "Library", "Service", "Win32Error"]
        "the function {ProcName} for Close is not in {Library} of the service {Service}";
    /// Open returned an error.
    OPEN_FAILED = Perflib 1008 Warning ["Service", "Library", "Win32Error"]
        "Open of the service {Service} in {Library} failed with error {Win32Error}; its counters are not \
        there";
    /// Open crashed.
    OPEN_CRASHED = Perflib 1009 Error ["Library", "Service", "ExceptionCode", "ExceptionAddress"]
        "Open of {Library} of the service {Service} crashed with {ExceptionCode}";
    /// Collect crashed.
    COLLECT_CRASHED = Perflib 1010 Error ["Library", "Service", "ExceptionCode", "ExceptionAddress"]
        "Collect of {Library} of the service {Service} crashed with {ExceptionCode}";
    /// Close crashed.
    CLOSE_CRASHED = Perflib 1011 Error ["Library", "Service", "ExceptionCode", "ExceptionAddress"]
        "Close of {Library} of the service {Service} crashed with {ExceptionCode}";
    /// Collect reports that it wrote past the end of its buffer.
    OVERRUN = Perflib 1013 Error ["Library", "Service", "Size"]
        "Collect of {Library} of the service {Service} wrote {Size} bytes more than its buffer holds";
    /// Collect returned an error.
    COLLECT_FAILED = Perflib 1014 Warning ["Service", "Library", "Win32Error"]
        "Collect of the service {Service} in {Library} failed with error {Win32Error}";
    /// Collect took too long.
    COLLECT_LATE = Perflib 1015 Warning ["Service", "Library"]
        "Collect of the service {Service} in {Library} takes too long";
    /// The answer does not end at a multiple of 8.
    ALIGNMENT = Perflib 1016 Warning ["Library", "Service", "Buffer", "BytesLeft"]
        "the answer of {Library} of the service {Service} does not end at a multiple of 8 bytes; ask its \
        author for a newer one";
    /// The service is disabled, in all processes.
    DISABLED = Perflib 1017 Error ["Service"]
        "the service {Service} is disabled because of errors of its library; 'tally provider enable \
        {Service}' has it asked again";
    /// The service is disabled in this process.
    DISABLED_HERE = Perflib 1018 Error ["Service"]
        "the service {Service} is disabled in this process because of errors of its library";
    /// A field of a definition is wrong.
    DEFINITION = Perflib 1019 Error ["Library", "Service", "ObjectIndex"]
        "a definition of the object {ObjectIndex} of {Library} of the service {Service} has a wrong field";
    /// The answer needs more than any buffer holds.
    TOO_LARGE = Perflib 1020 Error ["Library", "Service", "BufferSize", "RequiredSize"]
        "Collect of {Library} of the service {Service} needs more than the largest buffer of {BufferSize} \
        bytes";
    /// The library is not trusted.
    NOT_TRUSTED = Perflib 1022 Error ["Library", "Win32Error"]
        "the library {Library} is not trusted, so it is not loaded into the process of whoever asks";
    /// The library cannot be loaded.
    NOT_LOADED = Perflib 1023 Error ["Library", "Win32Error"]
        "the library {Library} cannot be loaded";
    /// Returned pointer and length do not agree.
    POINTER = Perflib 2000 Warning ["Library", "Service", "BytesLeft", "BytesAvailable"]
        "Collect of {Library} of the service {Service} left {BytesLeft} bytes by its pointer and \
        {BytesAvailable} by its length";
    /// The registration of a service is not usable.
    NO_REGISTRATION = Perflib 2001 Warning ["Service", "Win32Error", "NTSTATUS"]
        "the registration of the service {Service} is not usable";
    /// Open took longer than the wait time.
    OPEN_LATE = Perflib 2002 Error ["Service", "Library"]
        "Open of the service {Service} in {Library} takes too long";
    /// The library was changed since it was marked as trusted.
    CHANGED = Perflib 2003 Warning ["Library", "Service"]
        "the library {Library} of the service {Service} was changed since it was marked as trusted";
    /// Names of counters were installed.
    NAMES_LOADED = LoadPerf 1000 Information ["Service", "FirstCounter", "LastCounter", "FirstHelp", "LastHelp"]
        "the counters of the service {Service} are installed, names {FirstCounter} to {LastCounter}, help \
        texts {FirstHelp} to {LastHelp}";
    /// Names of counters were removed.
    NAMES_REMOVED = LoadPerf 1001 Information ["Service", "LastCounter", "LastHelp"]
        "the counters of the service {Service} are removed";
    /// Names of counters are there already.
    ALREADY_THERE = LoadPerf 1002 Warning ["Service"]
        "the counters of the service {Service} are installed already";
    /// An INI file lists no objects, so the library is called for every unknown one.
    NO_OBJECTS = LoadPerf 2000 Warning ["Service", "File"]
        "{File} of the service {Service} has no [objects]; its library is asked for every object that \
        nobody has";
    /// A language that other services have texts in has none for this service.
    LANGUAGE_MISSING = LoadPerf 2005 Warning ["Service", "Language"]
        "the service {Service} has no texts in the languages {Language}; English ones stand there";
    /// The registry cannot be repaired.
    NOT_REPAIRED = LoadPerf 2007 Warning ["Service", "Win32Error"]
        "the registry cannot be repaired; install again what is needed";
    /// The registry cannot be read or written.
    REGISTRY_CLOSED = LoadPerf 3000 Error ["Win32Error"]
        "the registry cannot be read or written, error {Win32Error}";
    /// Installing failed.
    INSTALL_FAILED = LoadPerf 3009 Error ["Service", "Win32Error"]
        "the counters of the service {Service} were not installed";
    /// Removing failed.
    REMOVE_FAILED = LoadPerf 3011 Error ["Service", "Win32Error"]
        "the counters of the service {Service} were not removed";
    /// A library printed something, or showed a message box.
    PRINTED = Tallymon 1 Information ["Service", "Library", "Text"]
        "{Library} of the service {Service} printed: {Text}";
    /// Close took too long.
    CLOSE_LATE = Tallymon 2 Warning ["Service", "Library"]
        "Close of {Library} of the service {Service} did not return, and its process was killed";
    /// A value crossed the limit of an alert. NT's event of it is 2031 of Microsoft-Windows-Diagnosis-PLA.
    ALERT_BEGAN = Tallymon 3 Warning ["Session", "Counter", "Value", "Limit"]
        "the alert of the session {Session} has begun: {Counter} is {Value}, and the limit is {Limit}";
    /// Values are on the right side of the limit again, or the instance is gone.
    ALERT_ENDED = Tallymon 4 Information ["Session", "Counter", "Value", "Limit"]
        "the alert of the session {Session} has ended: {Counter} is {Value}, and the limit is {Limit}";
    /// A library did something that no library needs, and that harms others.
    ATTEMPT = Tallymon 5 Warning ["Service", "Library", "What"]
        "{Library} of the service {Service} {What}";
    /// The webhook of an alert did not take it.
    WEBHOOK_FAILED = Tallymon 6 Warning ["Session", "Counter", "Receiver"]
        "the webhook of the session {Session} at {Receiver} was not told of the alert of {Counter}";
    /// A table of texts, or a file beside it, is damaged.
    TABLES_DAMAGED = LoadPerf 3012 Error ["Win32Error"]
        "the registry is damaged; 'tally lodctr /R' goes back to the newest version that is whole";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn words_name_existing_fields() {
        let mut ids = BTreeSet::new();
        for kind in KINDS {
            assert!(ids.insert((kind.source.name(), kind.id)), "{} twice", kind.id);
            for part in kind.words.split('{').skip(1) {
                let name = part.split_once('}').unwrap().0;
                assert!(kind.fields.contains(&name), "{}: {name}", kind.id);
            }
        }
        assert_eq!(KINDS.first().map(|kind| kind.id), Some(1001));
    }

    #[test]
    fn values_replace_field_names_in_the_words() {
        let event = Event::new(&COLLECT_FAILED, ["MyPerf", "myperf.so", "5"]).with_detail("access denied");
        let words = "Collect of the service MyPerf in myperf.so failed with error 5: access denied";
        assert_eq!(event.to_string(), words);
        assert_eq!(event.field("Library"), Some("myperf.so"));
        assert_eq!(Event::new(&GUARD, ["only one"]).field("Service"), Some(""));
    }
}
