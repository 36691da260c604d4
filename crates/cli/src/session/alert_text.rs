//! What an alert says, as text.

use tallymon::record::session::Alert;

/// An alert on its way to a log of the system.
pub(super) struct Message<'a> {
    pub(super) host: &'a str,
    pub(super) session: &'a str,
    pub(super) alert: &'a Alert,
}

/// The value; `gone` when the alert ended because the instance is gone.
pub(super) fn value(alert: &Alert) -> String {
    alert.value.map_or_else(|| "gone".to_owned(), |value| value.to_string())
}

/// The limit with its direction.
pub(super) fn limit(alert: &Alert) -> String {
    format!("{} {}", if alert.limit.is_maximum { '>' } else { '<' }, alert.limit.value)
}
