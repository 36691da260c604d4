//! Makes names of counters from any text.

use super::layout::instance;

/// A text as the name of an object or instance: what parts counter paths (`\`, `/`, `(`, `)`, `*`, `#`) and
/// control characters become `_`, and more than 216 bytes are cut off.
///
/// ```
/// use tallymon_provider::shm::plain_name;
///
/// assert_eq!(plain_name("GET /orders (all)"), "GET _orders _all_");
/// ```
pub fn plain_name(text: &str) -> String {
    let end = (0..=text.len().min(instance::MAX_NAME)).rev().find(|end| text.is_char_boundary(*end));
    let parts = |one: char| one.is_control() || r"\/()*#".contains(one);
    let text = text.get(..end.unwrap_or(0)).unwrap_or_default();
    text.chars().map(|one| if parts(one) { '_' } else { one }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(plain_name(&"ä".repeat(300)), "ä".repeat(108));
        assert_eq!(plain_name(&format!("a{}", "ä".repeat(300))), format!("a{}", "ä".repeat(107)));
        assert_eq!(plain_name("a\tb\u{85}c"), "a_b_c");
        assert_eq!(plain_name(""), "");
    }
}
