//! What a text log does not say, guessed: its code page and its time zone.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::Encoding;

/// The most likely code page of a text that is not UTF-8.
pub(super) fn code_page(text: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(text, true);
    detector.guess(None, Utf8Detection::Deny)
}

/// A guessed time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GuessedZone {
    /// Minutes to add to local time to get UTC.
    pub(super) bias: i32,
    /// Where it is, and what the guess is from.
    pub(super) reason: &'static str,
}

/// The short names of Windows for the zones of Russia, since October 2014: they differ only before the first
/// letter that is not ASCII, where Windows cuts them. None has summer time.
const RUSSIAN: [(&str, i32, &str); 11] = [
    ("RTZ 1", -120, "RTZ 1 is Kaliningrad"),
    ("RTZ 2", -180, "RTZ 2 is Moscow"),
    ("RTZ 3", -240, "RTZ 3 is Samara"),
    ("RTZ 4", -300, "RTZ 4 is Yekaterinburg"),
    ("RTZ 5", -360, "RTZ 5 is Omsk"),
    ("RTZ 6", -420, "RTZ 6 is Krasnoyarsk"),
    ("RTZ 7", -480, "RTZ 7 is Irkutsk"),
    ("RTZ 8", -540, "RTZ 8 is Yakutsk"),
    ("RTZ 9", -600, "RTZ 9 is Vladivostok"),
    ("RTZ 10", -660, "RTZ 10 is Chokurdakh"),
    ("RTZ 11", -720, "RTZ 11 is Kamchatka"),
];

/// Code pages of countries with one time zone without summer time.
const COUNTRIES: [(&str, i32, &str); 5] = [
    ("Shift_JIS", -540, "the code page is Japanese"),
    ("EUC-KR", -540, "the code page is Korean"),
    ("GBK", -480, "the code page is Chinese"),
    ("gb18030", -480, "the code page is Chinese"),
    ("Big5", -480, "the code page is Chinese"),
];

/// The most likely zone of a first field whose zone was cut at a letter that is not ASCII. `rest` begins
/// with the parenthesis before the name.
pub(super) fn zone(rest: &str, code_page: Option<&'static Encoding>) -> Option<GuessedZone> {
    let name = rest.strip_prefix('(')?;
    let short = |(short, ..): &&(&str, i32, &str)| {
        name.strip_prefix(short).is_some_and(|rest| !rest.starts_with(|letter: char| letter.is_ascii_digit()))
    };
    let by_name = RUSSIAN.iter().find(short);
    // A name that begins with ASCII letters is that of another country.
    let country = code_page.filter(|_| !name.starts_with(|letter: char| letter.is_ascii_alphanumeric()));
    let by_country =
        || COUNTRIES.iter().find(|(label, ..)| country.is_some_and(|page| page.name() == *label));
    by_name.or_else(by_country).map(|(_, bias, reason)| GuessedZone { bias: *bias, reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_of_cut_names() {
        let of = |rest: &str, code_page: &str| {
            zone(rest, Encoding::for_label(code_page.as_bytes())).map(|zone| zone.bias)
        };
        for (rest, code_page, bias) in [
            ("(RTZ 2 (", "windows-1251", Some(-180)),
            ("(RTZ 1 (", "windows-1251", Some(-120)),
            ("(RTZ 11 (", "windows-1251", Some(-720)),
            ("(RTZ 12 (", "windows-1251", None),
            ("(", "euc-kr", Some(-540)),
            ("(", "shift_jis", Some(-540)),
            ("(", "gbk", Some(-480)),
            ("(", "windows-1251", None),
            ("(Maroc (heure d", "windows-1252", None),
            // A Korean system in another zone.
            ("(Pacific", "euc-kr", None),
            // typeperf on the console writes no zone.
            ("", "euc-kr", None),
        ] {
            assert_eq!(of(rest, code_page), bias, "{rest} {code_page}");
        }
    }

    #[test]
    fn code_pages_of_counter_names() {
        for (label, text) in [
            (
                "windows-1251",
                "\"\\\\ПК\\Процессор(_Total)\\% загруженности процессора\",\"\\\\ПК\\Память\\Обмен страниц/с\"",
            ),
            (
                "EUC-KR",
                "\"\\\\서버\\프로세서(_Total)\\% 프로세서 시간\",\"\\\\서버\\메모리\\사용 가능한 바이트\"",
            ),
            (
                "Shift_JIS",
                "\"\\\\サーバー\\プロセッサ(_Total)\\% プロセッサ時間\",\"\\\\サーバー\\メモリ\\利用可能バイト数\"",
            ),
            (
                "GBK",
                "\"\\\\服务器\\处理器(_Total)\\% 处理器时间\",\"\\\\服务器\\内存\\可用字节数\",\"\\\\服务器\\物理磁盘\\磁盘读取\"",
            ),
            (
                "windows-1252",
                "\"\\\\PC\\Prozessor(_Total)\\Prozessorzeit (%)\",\"\\\\PC\\Arbeitsspeicher\\Verfügbare Bytes\",\"Größe\"",
            ),
            (
                "windows-1252",
                "\"\\\\PC\\Mémoire\\Défauts de page/s\",\"\\\\PC\\Processeur\\% temps privilégié\"",
            ),
        ] {
            let encoding = Encoding::for_label(label.as_bytes()).unwrap();
            let (bytes, _, _) = encoding.encode(text);
            let guessed = code_page(&bytes);
            assert_eq!(guessed.name(), encoding.name(), "{text}");
            assert_eq!(guessed.decode_without_bom_handling(&bytes).0, text);
        }
    }
}
