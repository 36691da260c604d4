//! What the events of meters (`System.Diagnostics.Metrics`) say: which instruments there are, and their
//! values.
//!
//! A runtime from .NET 8 on collects its meters for all readers together, who agree on an interval and on
//! limits. Numbers are texts, those of quantiles in the language of the program.

use crate::nettrace::{Event, Values};

/// The name of the session that all readers share.
pub const SHARED: &str = "SHARED";

/// What an event of the meters says.
#[derive(Debug, Clone, PartialEq)]
pub enum MeterEvent {
    /// There is an instrument.
    Published(Instrument),
    /// All instruments that exist were published.
    AllPublished,
    /// A value.
    Value(MeterValue),
    /// The values of an interval begin.
    CollectionStart,
    /// The values of an interval are complete.
    CollectionStop,
    /// There are more series than readers want; the others have no values.
    SeriesLimit,
    /// There are more histograms than readers want; the others have no values.
    HistogramLimit,
    /// The program failed to compute a value, or the runtime to collect: its words.
    Failed(String),
    /// Another reader does not share its session; this reader gets nothing.
    OtherSession(String),
    /// The readers that share a session have other settings than a new one, which gets nothing.
    OtherSettings {
        /// The name of the new reader.
        client: String,
        /// The settings of the others.
        settings: Settings,
    },
}

/// An instrument of a meter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instrument {
    /// The meter, such as `System.Runtime`.
    pub meter: String,
    /// Its name, such as `dotnet.gc.collections`.
    pub name: String,
    /// What its values are; `None` for a kind that this module does not know.
    pub kind: Option<InstrumentKind>,
    /// Its unit, such as `s` or `{request}`; often empty.
    pub unit: String,
    /// What it says, in a sentence; often empty.
    pub description: String,
}

/// What the values of an instrument are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstrumentKind {
    /// A sum that only grows. It is counted from the time at which somebody reads.
    Counter,
    /// A sum that only grows, which the program knows as a whole.
    ObservableCounter,
    /// A sum that goes up and down.
    UpDownCounter,
    /// A number.
    Gauge,
    /// Many numbers of which the runtime tells how many, their sum, and quantiles.
    Histogram,
}

impl InstrumentKind {
    /// The kind of a .NET type such as ``Counter`1``.
    fn of_type(name: &str) -> Option<InstrumentKind> {
        Some(match name.split('`').next()? {
            "Counter" => InstrumentKind::Counter,
            "ObservableCounter" => InstrumentKind::ObservableCounter,
            "UpDownCounter" | "ObservableUpDownCounter" => InstrumentKind::UpDownCounter,
            "Gauge" | "ObservableGauge" => InstrumentKind::Gauge,
            "Histogram" => InstrumentKind::Histogram,
            _ => return None,
        })
    }
}

/// A value of an instrument for one set of tags.
#[derive(Debug, Clone, PartialEq)]
pub struct MeterValue {
    /// The meter.
    pub meter: String,
    /// The instrument.
    pub name: String,
    /// The tags, as `key=value` with commas between them.
    pub tags: String,
    /// The value.
    pub number: MeterNumber,
}

/// The value of an instrument at the end of an interval.
#[derive(Debug, Clone, PartialEq)]
pub enum MeterNumber {
    /// A sum, since somebody reads or since the program began.
    Sum(f64),
    /// The last value.
    Last(f64),
    /// What was seen in the interval.
    Histogram {
        /// How many values.
        count: u64,
        /// Their sum.
        sum: f64,
        /// Quantiles: the share and the value that this share does not exceed. None in an interval without
        /// values.
        quantiles: Vec<(f64, f64)>,
    },
}

/// What the readers of a shared session must agree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Seconds of an interval, as the program writes numbers.
    pub interval: String,
    /// The most sets of tags of all instruments.
    pub series: String,
    /// The most sets of tags of histograms.
    pub histograms: String,
}

/// What an event of the meters says; `None` for one that this module does not know, or of another session.
pub fn meter_event(event: &Event<'_>) -> Option<MeterEvent> {
    let values = event.values();
    let text = |name| values.text(name).unwrap_or_default().to_string();
    Some(match event.kind.name.as_str() {
        "InstrumentPublished" | "BeginInstrumentReporting" => MeterEvent::Published(Instrument {
            meter: values.text("meterName")?.to_string(),
            name: values.text("instrumentName")?.to_string(),
            kind: InstrumentKind::of_type(values.text("instrumentType")?),
            unit: text("unit"),
            description: text("description"),
        }),
        "InitialInstrumentEnumerationComplete" => MeterEvent::AllPublished,
        "MultipleSessionsNotSupportedError" => MeterEvent::OtherSession(text("runningSessionId")),
        "MultipleSessionsConfiguredIncorrectlyError" => MeterEvent::OtherSettings {
            client: text("clientId"),
            settings: Settings {
                interval: text("expectedRefreshInterval"),
                series: text("expectedMaxTimeSeries"),
                histograms: text("expectedMaxHistograms"),
            },
        },
        _ if values.text("sessionId") != Some(SHARED) => return None,
        "CollectionStart" => MeterEvent::CollectionStart,
        "CollectionStop" => MeterEvent::CollectionStop,
        "TimeSeriesLimitReached" => MeterEvent::SeriesLimit,
        "HistogramLimitReached" => MeterEvent::HistogramLimit,
        "Error" | "ObservableInstrumentCallbackError" => MeterEvent::Failed(text("errorMessage")),
        name => MeterEvent::Value(MeterValue {
            meter: values.text("meterName")?.to_string(),
            name: values.text("instrumentName")?.to_string(),
            tags: text("tags"),
            number: number(name, &values)?,
        }),
    })
}

fn number(event: &str, values: &Values) -> Option<MeterNumber> {
    let parsed = |name| values.text(name).and_then(parse);
    Some(match event {
        "CounterRateValuePublished" | "UpDownCounterRateValuePublished" => MeterNumber::Sum(parsed("value")?),
        "GaugeValuePublished" => MeterNumber::Last(parsed("lastValue")?),
        "HistogramValuePublished" => {
            let pairs = values.text("quantiles").unwrap_or_default().split(';');
            let quantiles = pairs.filter_map(|pair| {
                let (share, value) = pair.split_once('=')?;
                Some((parse(share)?, parse(value)?))
            });
            MeterNumber::Histogram {
                quantiles: quantiles.collect(),
                // A whole number that is below zero only in damaged streams.
                count: values.number("count")?.max(0.0) as u64,
                sum: values.number("sum").filter(|sum| sum.is_finite())?,
            }
        }
        _ => return None,
    })
}

/// A number as a program writes it, with a point or, in most of Europe, a comma.
fn parse(text: &str) -> Option<f64> {
    let number = text.trim().replace(',', ".").parse().ok()?;
    f64::is_finite(number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_points_or_commas() {
        for (text, number) in [("0.5", Some(0.5)), ("0,013", Some(0.013)), ("1E-05", Some(1e-5))] {
            assert_eq!(parse(text), number, "{text}");
        }
        for text in ["", "NaN", "∞", "1,000,000.5", "x", "Infinity"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn types_are_kinds() {
        let of = InstrumentKind::of_type;
        assert_eq!(of("ObservableCounter`1"), Some(InstrumentKind::ObservableCounter));
        assert_eq!((of("Gauge`1"), of("Summary`1"), of("")), (Some(InstrumentKind::Gauge), None, None));
    }
}
