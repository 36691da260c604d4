//! Lines of metrics as text: OpenMetrics, the text format of Prometheus, and the output of
//! `promtool tsdb dump`. Logs and bridges share this parser.
//!
//! ```
//! use tallymon_log::exposition::{Line, parse};
//!
//! let Some(Line::Sample(sample)) = parse(r#"requests_total{path="/"} 5 1520879607.789"#) else { panic!() };
//! assert_eq!((sample.name.as_str(), sample.value), ("requests_total", "5"));
//! assert_eq!(sample.time, Some("1520879607.789"));
//! assert_eq!(sample.labels, [("path".to_string(), "/".to_string())]);
//! assert_eq!(parse("# TYPE requests counter"), Some(Line::Type { name: "requests", kind: "counter" }));
//! assert_eq!(parse("<html>"), None);
//! ```

/// One line.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Line<'a> {
    /// The type of a family: `counter`, `gauge`, `histogram`, and others.
    Type {
        /// The family.
        name: &'a str,
        /// The word for the type.
        kind: &'a str,
    },
    /// What a family means, as the line has it, with its escapes.
    Help {
        /// The family.
        name: &'a str,
        /// The words.
        text: &'a str,
    },
    /// The unit of a family.
    Unit {
        /// The family.
        name: &'a str,
        /// The unit, such as `seconds`.
        unit: &'a str,
    },
    /// A value.
    Sample(Sample<'a>),
    /// `# EOF`, with which OpenMetrics ends.
    End,
    /// An empty line, or a comment.
    Nothing,
}

/// A value of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample<'a> {
    /// The metric.
    pub name: String,
    /// Its labels in their order, without `__name__`.
    pub labels: Vec<(String, String)>,
    /// The value: a text that `f64` can parse.
    pub value: &'a str,
    /// The time, if there is one.
    pub time: Option<&'a str>,
}

impl Sample<'_> {
    /// The value as a number; it may be infinite, or not a number.
    pub fn number(&self) -> f64 {
        self.value.parse().unwrap_or(f64::NAN)
    }
}

/// Reads one line; `None` for one that is neither a sample nor a comment. An exemplar is left out.
pub fn parse(line: &str) -> Option<Line<'_>> {
    let line = line.trim();
    let Some(comment) = line.strip_prefix('#') else {
        return if line.is_empty() { Some(Line::Nothing) } else { sample(line).map(Line::Sample) };
    };
    let comment = comment.trim_start();
    if comment == "EOF" {
        return Some(Line::End);
    }
    let words = comment.split_once([' ', '\t']).and_then(|(word, rest)| {
        let rest = rest.trim_start();
        let (name, text) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
        (!name.is_empty()).then_some((word, name, text.trim()))
    });
    Some(match words {
        Some(("TYPE", name, kind)) => Line::Type { name, kind },
        Some(("HELP", name, text)) => Line::Help { name, text },
        Some(("UNIT", name, unit)) => Line::Unit { name, unit },
        _ => Line::Nothing,
    })
}

fn sample(line: &str) -> Option<Sample<'_>> {
    let brace = line.find('{').filter(|at| !line.get(..*at).is_some_and(|name| name.contains([' ', '\t'])));
    let (mut name, labels, rest) = match brace {
        Some(at) => {
            let (labels, rest) = labels(line.get(at..)?.strip_prefix('{')?)?;
            (line.get(..at)?.to_owned(), labels, rest)
        }
        None => {
            let (name, rest) = line.split_once([' ', '\t'])?;
            (name.to_owned(), Vec::new(), rest)
        }
    };
    // An exemplar follows behind a hash.
    let rest = rest.split(" # ").next()?;
    let mut words = rest.split_whitespace();
    let value = words.next().filter(|value| value.parse::<f64>().is_ok())?;
    let mut others = Vec::with_capacity(labels.len());
    for (label, text) in labels {
        if label == "__name__" {
            name = text;
        } else {
            others.push((label, text));
        }
    }
    (!name.is_empty()).then(|| Sample { name, labels: others, value, time: words.next() })
}

/// Reads the labels between braces; the rest of the line behind them.
fn labels(text: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut rest = text;
    let mut found = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((found, behind));
        }
        let (name, value) = rest.split_once("=\"")?;
        let mut text = String::new();
        let mut letters = value.char_indices();
        let end = loop {
            match letters.next()? {
                (at, '"') => break at,
                (_, '\\') => match letters.next()?.1 {
                    'n' => text.push('\n'),
                    letter => text.push(letter),
                },
                (_, letter) => text.push(letter),
            }
        };
        found.push((name.trim().to_owned(), text));
        rest = value.get(end..)?.strip_prefix('"')?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_what_prometheus_writes() {
        let sample = |name: &str, labels: &[(&str, &str)], value, time| {
            let labels = labels.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
            Some(Line::Sample(Sample { name: name.to_owned(), labels, value, time }))
        };
        for (line, wanted) in [
            ("", Some(Line::Nothing)),
            ("# a comment", Some(Line::Nothing)),
            ("# EOF", Some(Line::End)),
            ("# TYPE a counter", Some(Line::Type { name: "a", kind: "counter" })),
            ("#TYPE\ta  gauge ", Some(Line::Type { name: "a", kind: "gauge" })),
            ("# HELP a What it\\nis.", Some(Line::Help { name: "a", text: "What it\\nis." })),
            ("# HELP a", Some(Line::Help { name: "a", text: "" })),
            ("# UNIT a seconds", Some(Line::Unit { name: "a", unit: "seconds" })),
            ("# TYPE ", Some(Line::Nothing)),
            ("a 1", sample("a", &[], "1", None)),
            ("a\t+Inf 5", sample("a", &[], "+Inf", Some("5"))),
            ("a{} NaN", sample("a", &[], "NaN", None)),
            (r#"a{b="c",} 1"#, sample("a", &[("b", "c")], "1", None)),
            (r#"a{b="\"\\\n}", c="d"} 1e3"#, sample("a", &[("b", "\"\\\n}"), ("c", "d")], "1e3", None)),
            (r#"a{b="c"} 1 # {x="y"} 2"#, sample("a", &[("b", "c")], "1", None)),
            (r#"{__name__="a",b="c"} 1 7"#, sample("a", &[("b", "c")], "1", Some("7"))),
            ("a", None),
            ("a b", None),
            (r#"a{b="c} 1"#, None),
            (r#"a{b="c"}"#, None),
            ("{} 1", None),
        ] {
            assert_eq!(parse(line), wanted, "{line}");
        }
    }
}
