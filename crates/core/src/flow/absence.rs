//! Why a counter that exists has no value.

/// Why an existing counter has no value, as its provider reports.
///
/// A data block carries it in a status counter, see [`crate::block`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Absence {
    /// This system has nothing like the counter.
    NotOnThisSystem = 2,
    /// The running kernel is too old, or was built without the feature.
    NotInThisKernel = 3,
    /// The device or its driver does not report it.
    NotFromThisDevice = 4,
    /// More rights are needed.
    AccessDenied = 5,
    /// It is collected only with an option.
    NotEnabled = 6,
    /// The counted process, device or file disappeared during the read.
    Vanished = 7,
    /// The read failed or took too long.
    ReadFailed = 8,
    /// The request did not include this counter, so it was not read.
    NotRequested = 9,
    /// The number does not fit in the counter.
    OutOfRange = 10,
    /// The provider needs a second sample to compute it.
    FirstSample = 11,
    /// A reason that this version does not know.
    Other = 255,
}

impl Absence {
    /// All reasons.
    pub const ALL: [Absence; 11] = [
        Absence::NotOnThisSystem,
        Absence::NotInThisKernel,
        Absence::NotFromThisDevice,
        Absence::AccessDenied,
        Absence::NotEnabled,
        Absence::Vanished,
        Absence::ReadFailed,
        Absence::NotRequested,
        Absence::OutOfRange,
        Absence::FirstSample,
        Absence::Other,
    ];

    /// The reason as text, to follow "no data: ".
    pub const fn words(self) -> &'static str {
        match self {
            Absence::NotOnThisSystem => "this system has nothing like it",
            Absence::NotInThisKernel => "the running kernel does not provide it",
            Absence::NotFromThisDevice => "the device or its driver does not report it",
            Absence::AccessDenied => "more rights are needed to read it",
            Absence::NotEnabled => "it is collected only with an option",
            Absence::Vanished => "what it counts disappeared during the read",
            Absence::ReadFailed => "reading it failed or took too long",
            Absence::NotRequested => "it was not requested",
            Absence::OutOfRange => "the number does not fit in the counter",
            Absence::FirstSample => "it needs a second sample",
            Absence::Other => "the provider has no value",
        }
    }
}
