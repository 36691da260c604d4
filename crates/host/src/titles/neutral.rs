//! Help texts without what is true of Linux only.
//!
//! A help text says first what a counter counts, then how Linux counts it. For a log that Windows wrote, only
//! the former is true. So whole sentences, and the parts of sentences after a semicolon, are left out if they
//! mention anything of Linux.

/// What only sentences about Linux, or about how Tallymon reads it, mention. In lower case.
const MARKS: &[&str] = &[
    "linux",
    "/proc",
    "/sys",
    "cgroup",
    "ebpf",
    "memavailable",
    "committed_as",
    "commitlimit",
    "memfree",
    "rss",
    "vmswap",
    "root",
    "collector",
    "iowait",
    "steal",
    "vm.overcommit",
    "slab",
    "softirq",
    "workingset_",
    "kernel 2",
    "kernel 3",
    "kernel 4",
    "nice ",
    "nfs",
    "qdisc",
    "netlink",
    "x86",
    "vmalloc",
    "established",
    "descriptor",
    "off by default",
    "queueing discipline",
    "neighbouring requests",
    "namespace",
    "tallymon",
    "tally ", // In our other languages:
    "컨테이너",
    "수집기",
    "하이퍼바이저",
    "커널 3",
    "네임스페이스",
    "페이지 캐시",
    "コンテナ",
    "コレクター",
    "ハイパーバイザー",
    "カーネル 3",
    "名前空間",
    "контейнер",
    "сборщик",
    "гипервизор",
    "ядро 3",
    "ядра 3",
    "пространства имен",
    "по умолчанию",
    "дисциплины очереди",
    "соседние запросы", // And in English again:
    "container",
    "hypervisor",
];

/// A help text without its parts about Linux. `None` if nothing is left.
pub(super) fn help(text: &str) -> Option<String> {
    let mut kept = String::new();
    for part in parts(text) {
        let lower = part.words.to_lowercase();
        if MARKS.iter().any(|mark| lower.contains(mark)) {
            continue;
        }
        let is_inside = part.continues && kept.ends_with(';');
        if !is_inside {
            end_sentence(&mut kept);
        }
        if !kept.is_empty() && !kept.ends_with('。') {
            kept.push(' ');
        }
        let mut letters = part.words.chars();
        if !is_inside {
            kept.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        }
        kept.push_str(letters.as_str());
    }
    end_sentence(&mut kept);
    (!kept.is_empty()).then_some(kept)
}

/// Makes a semicolon at the end a full stop.
fn end_sentence(kept: &mut String) {
    if kept.ends_with(';') {
        kept.pop();
        kept.push('.');
    }
}

/// A part of a text with its last character.
struct Part<'t> {
    words: &'t str,
    /// It continues a sentence, after a semicolon.
    continues: bool,
}

/// The sentences of a text and, in these, the parts that semicolons separate.
fn parts(text: &str) -> impl Iterator<Item = Part<'_>> {
    let is_end = |at: usize, letter: char| match letter {
        '。' => true,
        '.' | ';' => {
            text.get(at.saturating_add(1)..).is_none_or(|rest| rest.is_empty() || rest.starts_with(' '))
        }
        _ => false,
    };
    let ends: Vec<usize> = text
        .char_indices()
        .filter(|(at, letter)| is_end(*at, *letter))
        .map(|(at, letter)| at.saturating_add(letter.len_utf8()))
        .chain([text.len()])
        .collect();
    let (mut start, mut continues) = (0usize, false);
    ends.into_iter().filter_map(move |end| {
        let words = text.get(start..end)?.trim();
        let part = Part { words, continues };
        (start, continues) = (end, words.ends_with(';'));
        (!words.is_empty()).then_some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::help;

    #[test]
    fn parts_about_linux_are_left_out() {
        for (text, neutral) in [
            ("Bytes of files. On Linux this is an approximation.", Some("Bytes of files.")),
            ("Bytes of files; Linux counts pages. It is a total.", Some("Bytes of files. It is a total.")),
            ("A sum; an average; see /proc/stat.", Some("A sum; an average.")),
            ("On Linux it is 0; elsewhere it grows.", Some("Elsewhere it grows.")),
            ("A sum. Linux has none; it is a total.", Some("A sum. It is a total.")),
            ("Only Linux has it.", None),
            ("バイト数です。Linux では 0 です。現在の値です。", Some("バイト数です。現在の値です。")),
            ("바이트 수입니다. Linux에서는 0입니다.", Some("바이트 수입니다.")),
            ("В секунду, 1.5 раза; в Linux нет данных.", Some("В секунду, 1.5 раза.")),
            ("", None),
        ] {
            assert_eq!(help(text).as_deref(), neutral, "{text}");
        }
    }
}
