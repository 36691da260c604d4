//! Writes a manual page in the macros of man(7), which groff and mandoc both read.

use std::fmt::Write as _;

/// A page in the making.
pub(super) struct Page {
    text: String,
}

impl Page {
    /// Begins the page of a command, with its day as YYYY-MM-DD.
    pub(super) fn new(name: &str, day: &str, version: &str) -> Page {
        let title = escaped(&name.to_uppercase());
        Page {
            text: format!(".TH \"{title}\" 1 {day} \"Tallymon {}\" \"User Commands\"\n", escaped(version)),
        }
    }

    pub(super) fn section(&mut self, title: &str) {
        // Writing into a string cannot fail, here and below.
        let _ = writeln!(self.text, ".SH \"{}\"", escaped(title));
    }

    pub(super) fn subsection(&mut self, title: &str) {
        let _ = writeln!(self.text, ".SS \"{}\"", escaped(title));
    }

    pub(super) fn paragraph(&mut self) {
        self.text.push_str(".PP\n");
    }

    /// Running text. Each line of the page is a sentence at most, as the format wants it.
    pub(super) fn text(&mut self, text: &str) {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut line = String::new();
        for word in &words {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            if word.ends_with(['.', '?', '!']) && !word.ends_with("e.g.") {
                self.line(&line);
                line.clear();
            }
        }
        if !line.is_empty() {
            self.line(&line);
        }
    }

    /// A line of text that is formatted already.
    pub(super) fn raw(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    fn line(&mut self, line: &str) {
        let text = escaped(line);
        // A line that begins with a dot or an apostrophe would be a request.
        let guard = if text.starts_with(['.', '\'']) { "\\&" } else { "" };
        self.raw(&format!("{guard}{text}"));
    }

    /// An item of a list, in bold.
    pub(super) fn item(&mut self, head: &str) {
        self.raw_item(&bold(head));
    }

    /// An item whose head is formatted already.
    pub(super) fn raw_item(&mut self, head: &str) {
        let _ = writeln!(self.text, ".TP\n{head}");
    }

    /// A further paragraph of an item.
    pub(super) fn indented(&mut self, text: &str) {
        self.text.push_str(".IP\n");
        self.text(text);
    }

    /// Lines as the user types them.
    pub(super) fn example(&mut self, lines: &str) {
        self.text.push_str(".nf\n");
        lines.lines().for_each(|line| self.line(line));
        self.text.push_str(".fi\n");
    }

    /// Names another page, and ends the sentence.
    pub(super) fn reference(&mut self, name: &str) {
        let _ = writeln!(self.text, ".BR {} (1).", escaped(name));
    }

    /// Names other pages.
    pub(super) fn references(&mut self, names: &[String]) {
        for (at, name) in names.iter().enumerate() {
            let comma = if at.saturating_add(1) < names.len() { "," } else { "" };
            let _ = writeln!(self.text, ".BR {} (1){comma}", escaped(name));
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

pub(super) fn bold(text: &str) -> String {
    format!("\\fB{}\\fR", escaped(text))
}

pub(super) fn italic(text: &str) -> String {
    format!("\\fI{}\\fR", escaped(text))
}

/// A text whose backslashes are printed, and whose dashes and quotes can be copied into a shell.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => escaped.push_str("\\e"),
            '-' => escaped.push_str("\\-"),
            '\'' => escaped.push_str("\\(aq"),
            '"' => escaped.push_str("\\(dq"),
            '`' => escaped.push_str("\\(ga"),
            '~' => escaped.push_str("\\(ti"),
            '^' => escaped.push_str("\\(ha"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_formatter_obeys_is_escaped() {
        let mut page = Page::new("tally-x", "2026-01-02", "0.1");
        page.text("'\\Memory\\*' is a path. .So is this");
        let text = page.finish();
        assert!(text.ends_with("\\(aq\\eMemory\\e*\\(aq is a path.\n\\&.So is this\n"), "{text}");
    }
}
