//! Names of instances that come from others: processes, interfaces, print queues.

/// A name as NT writes it in an instance name: characters with a meaning in counter paths and control
/// characters are replaced. Whoever calls itself `_Total` is no total: it is written as `[_Total]`, so that
/// no path of the total leads to it.
pub(crate) fn instance_name(name: &[u8]) -> String {
    let replace = |char: char| match char {
        '(' => '[',
        ')' => ']',
        '/' | '\\' | '#' => '_',
        char if char.is_control() => '_',
        char => char,
    };
    let name: String = String::from_utf8_lossy(name).chars().map(replace).collect();
    // Names are compared without blanks around them and without case.
    if name.trim().eq_ignore_ascii_case("_Total") { format!("[{}]", name.trim()) } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_one_instance() {
        let cases: [(&[u8], &str); 8] = [
            (b"eth0", "eth0"),
            (b"a(b)#c/d\\e", "a[b]_c_d_e"),
            (b"a\nb\x1b", "a_b_"),
            (b"\xff", "\u{fffd}"),
            (b"_Total", "[_Total]"),
            (b"_total ", "[_total]"),
            (b"_Totals", "_Totals"),
            (b"(_Total)", "[_Total]"),
        ];
        for (name, expected) in cases {
            assert_eq!(instance_name(name), expected);
        }
    }
}
