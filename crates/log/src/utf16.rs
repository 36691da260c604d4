//! UTF-16 that does not say so.

use tallymon_core::text::ByteOrder;

/// The byte order of UTF-16 without a mark: of Latin letters and digits, one byte of each is 0.
pub(crate) fn order_without_mark(bytes: &[u8]) -> Option<ByteOrder> {
    let start = bytes.get(..bytes.len().min(4096)).unwrap_or_default();
    let zeros = |at: usize| start.chunks_exact(2).filter(|unit| unit.get(at) == Some(&0)).count();
    let half = start.len().checked_div(8).filter(|half| *half > 0)?;
    match (zeros(0) > half, zeros(1) > half) {
        (false, true) => Some(ByteOrder::Little),
        (true, false) => Some(ByteOrder::Big),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_beside_latin_letters_tell_the_order() {
        let wide = |text: &str, order| tallymon_core::text::encode_wide(text, order);
        let head = "\"(PDH-CSV 4.0) (東京)\"";
        for order in [ByteOrder::Little, ByteOrder::Big] {
            assert_eq!(order_without_mark(&wide(head, order)), Some(order));
        }
        for narrow in [head.as_bytes(), &[0; 64], b"", b"ab"] {
            assert_eq!(order_without_mark(narrow), None, "{narrow:?}");
        }
    }
}
