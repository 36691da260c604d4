//! Name and help tables.

/// Index of a name in the name table; even by NT's convention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TitleIndex(pub u32);

/// Index of a help text in the help table; odd by NT's convention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct HelpIndex(pub u32);

/// A primary language identifier of Windows, with a sublanguage for Chinese and Portuguese.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Language(pub u16);

/// Names and help texts of one language.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Titles;
