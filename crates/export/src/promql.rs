//! Queries of Prometheus that show what a counter shows.

use tallymon_core::counter::{CounterType, Formula};

use crate::metric::metrics;

/// The query whose result is the displayed value of a counter, for each of its series: a rate, a percentage,
/// an average, as its type says. Of a difference it is the rate, because the interval of samples is the
/// engine's. `None` for texts, bases and labels.
///
/// `name` is the name of the counter's metrics without their suffixes, `selector` the label matchers
/// between braces, `range` the range of rates, such as `1m` or `$__rate_interval`.
pub fn query(counter_type: CounterType, name: &str, selector: &str, range: &str) -> Option<String> {
    let braces = if selector.is_empty() { String::new() } else { format!("{{{selector}}}") };
    let suffix = |position: usize| metrics(counter_type).get(position).map(|metric| metric.suffix);
    let value = |suffix: &str| format!("{name}{suffix}{braces}");
    let rate = |suffix: &str| format!("rate({name}{suffix}{braces}[{range}])");
    let first = suffix(0)?;
    let counted = format!("{first}_total");
    Some(match Formula::of(counter_type)? {
        Formula::Raw | Formula::Double => value(first),
        Formula::Delta | Formula::Rate | Formula::QueueLength => rate(&counted),
        Formula::Share => format!("100 * {}", rate(&counted)),
        Formula::InverseShare => format!("100 * (1 - {})", rate(&counted)),
        Formula::MultiShare => format!("100 * {} / {}", rate(&counted), value(suffix(1)?)),
        Formula::InverseMultiShare => format!("100 * ({} - {})", value(suffix(1)?), rate(&counted)),
        Formula::Fraction => format!("100 * {}", value(first)),
        Formula::BaseShare => {
            format!("100 * {} / {}", rate(&counted), rate(&format!("{}_total", suffix(1)?)))
        }
        Formula::AverageTime | Formula::AverageBulk => {
            format!("{} / {}", rate(&format!("{first}_sum")), rate(&format!("{first}_count")))
        }
        Formula::Elapsed => format!("time() - {}", value(first)),
        // Texts have no number; a formula that this table does not know yet has no query.
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use tallymon_core::counter::TYPES;

    use super::*;

    #[test]
    fn every_number_has_a_query() {
        for info in TYPES {
            let has_number = !metrics(info.value).is_empty() && !info.value.is_text();
            assert_eq!(query(info.value, "x", "", "1m").is_some(), has_number, "{}", info.name);
        }
    }

    #[test]
    fn labels_stand_at_every_metric() {
        let average = query(CounterType::PERF_AVERAGE_TIMER, "nt_o_read", "name=\"a\"", "5m");
        let expected =
            "rate(nt_o_read_seconds_sum{name=\"a\"}[5m]) / rate(nt_o_read_seconds_count{name=\"a\"}[5m])";
        assert_eq!(average.as_deref(), Some(expected));
    }
}
