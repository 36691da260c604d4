//! Short notation for the tables of counters: one line per counter, with name, help, type, scale and detail.

use tallymon_provider::{
    CounterSpec, CounterType, DetailLevel, HelpIndex, InstanceKind, ObjectSpec, TitleIndex,
};

/// An object whose values may be absent one by one.
pub(super) const fn object(
    name: u32,
    help: u32,
    detail: DetailLevel,
    default_counter: usize,
    instances: InstanceKind,
    counters: &'static [CounterSpec],
) -> ObjectSpec<'static> {
    ObjectSpec {
        help: HelpIndex(help),
        detail,
        // No object has more than a few dozen counters.
        default_counter: default_counter as u16,
        status: true,
        ..ObjectSpec::new(TitleIndex(name), instances, counters)
    }
}

/// A counter. An average timer is 8 bytes, although the size in its type says 4, as on real systems.
pub(super) const fn counter(
    name: u32,
    help: u32,
    counter_type: CounterType,
    scale: i32,
    detail: DetailLevel,
) -> CounterSpec {
    let size = if counter_type.0 == CounterType::PERF_AVERAGE_TIMER.0 { Some(8) } else { None };
    CounterSpec {
        help: HelpIndex(help),
        scale,
        detail,
        size,
        ..CounterSpec::new(TitleIndex(name), counter_type)
    }
}

/// A text of up to so many bytes of UTF-16, with its terminator; its help index follows its name index.
pub(super) const fn text(name: u32, bytes: u32) -> CounterSpec {
    let counter =
        counter(name, name.saturating_add(1), CounterType::PERF_COUNTER_TEXT, 0, DetailLevel::NOVICE);
    CounterSpec { size: Some(bytes), ..counter }
}

/// A counter that shares the data of the one at position `shares`, as all disk times share one time stamp.
pub(super) const fn sharing(counter: CounterSpec, shares: u16) -> CounterSpec {
    CounterSpec { shares: Some(shares), ..counter }
}

/// How well a value on Linux matches the meaning of the NT counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quality {
    /// Exact.
    E,
    /// Close: the same meaning with a small difference.
    C,
    /// An approximation.
    A,
    /// Computed by the collector: a peak, or a difference.
    D,
    /// Read only on request, because it is expensive or needs rights.
    O,
    /// Always 0, which is the true value.
    Z,
    /// No equivalent on Linux: no data.
    N,
}

impl Quality {
    /// Its letter in the reference of the counters.
    pub const fn letter(self) -> &'static str {
        match self {
            Quality::E => "E",
            Quality::C => "C",
            Quality::A => "A",
            Quality::D => "D",
            Quality::O => "O",
            Quality::Z => "Z",
            Quality::N => "-",
        }
    }
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// How well it matches.
    pub quality: Quality,
    /// The file and the key in it. `file:key + :key * 10 | other` is a scaled sum, and a second source for
    /// when the first is missing. Empty for a value without a source.
    pub source: &'static str,
    /// The first kernel version that has it; empty if all known ones do.
    pub since: &'static str,
}

/// The origin of a value, in the notation of the tables.
macro_rules! origin {
    ($quality:ident $source:literal $since:literal) => {
        $crate::objects::spec::Origin {
            quality: $crate::objects::spec::Quality::$quality,
            source: $source,
            since: $since,
        }
    };
    ($quality:ident $source:literal) => {
        $crate::objects::spec::origin!($quality $source "")
    };
    ($quality:ident) => {
        $crate::objects::spec::origin!($quality "" "")
    };
}

/// Declares the counters and origins of an object without code of its own.
///
/// Each line is `name type scale detail: quality "expression" "first kernel";`. The help index follows the
/// name index, unless it is given: `name (help) type`, where objects mean different things by the same name.
/// Such a help has NT's number, or a unique one from 908001 on.
macro_rules! rows {
    ($table:ident, $origins:ident {
        $($name:literal $(($help:literal))? $type:ident $scale:literal $detail:ident:
          $quality:ident $($source:literal)*;)*
    }) => {
        const $table: &[tallymon_provider::CounterSpec] = &[$(
            $crate::objects::spec::counter(
                $name,
                [$($help,)? $name + 1][0],
                tallymon_provider::CounterType::$type,
                $scale,
                tallymon_provider::DetailLevel::$detail,
            )
        ),*];

        const $origins: &[$crate::objects::spec::Origin] =
            &[$($crate::objects::spec::origin!($quality $($source)*)),*];
    };
}

pub(super) use {origin, rows};

/// Declares the counters of an object: an enumeration of their positions, the table, and the origins.
///
/// Each line is `Position: name, help, type, scale, detail: quality "source" "first kernel"`, with `, sharing
/// Position` after the detail for shared data. The source is documentation; the object's code reads it.
macro_rules! counters {
    ($(#[$doc:meta])* $positions:ident, $table:ident, $origins:ident {
        $($position:ident: $name:literal, $help:literal, $type:ident, $scale:literal, $detail:ident
          $(, sharing $shared:ident)?: $quality:ident $($source:literal)*;)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(dead_code, reason = "a base is set together with its numerator")]
        #[allow(clippy::enum_variant_names, reason = "the names are those of the counters")]
        enum $positions { $($position),* }

        const $table: &[tallymon_provider::CounterSpec] = &[$(
            {
                let counter = $crate::objects::spec::counter(
                    $name,
                    $help,
                    tallymon_provider::CounterType::$type,
                    $scale,
                    tallymon_provider::DetailLevel::$detail,
                );
                $(let counter = $crate::objects::spec::sharing(counter, $positions::$shared as u16);)?
                counter
            }
        ),*];

        const $origins: &[$crate::objects::spec::Origin] =
            &[$($crate::objects::spec::origin!($quality $($source)*)),*];

        impl $positions {
            /// The position in the table.
            const fn at(self) -> usize {
                self as usize
            }
        }
    };
}

pub(super) use counters;
