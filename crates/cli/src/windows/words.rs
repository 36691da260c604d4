//! Command lines in the style of Windows' programs: `-si 5`, `/si 5`, `/SI:5`, `--r`, `-config FILE`.

use std::path::Path;

use tallymon::registry::read_text;

use crate::exit::{Failure, Kind};

/// An option that a program knows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) takes: Takes,
}

/// The values that an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    /// One word.
    One,
    /// One word, unless the next one is an option.
    Optional,
    /// All words up to the next option.
    Many,
}

/// A parsed command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    /// Arguments that are not options, in order.
    pub(super) names: Vec<String>,
    options: Vec<(&'static str, Vec<String>)>,
}

impl Words {
    /// Parses a command line. `-config FILE` adds the options of a file: lines `[option]`, each followed by
    /// lines of values.
    pub(super) fn parse(program: &str, known: &[Known], words: &[String]) -> Result<Words, Failure> {
        let mut parsed = Words::default();
        parsed.add(program, known, words)?;
        let configurations: Vec<String> = parsed.all("config").map(str::to_owned).collect();
        for file in configurations {
            let more = configuration(&lines(Path::new(&file))?);
            parsed.add(program, known, &more)?;
        }
        Ok(parsed)
    }

    fn add(&mut self, program: &str, known: &[Known], words: &[String]) -> Result<(), Failure> {
        let mut rest = words.iter().peekable();
        while let Some(word) = rest.next() {
            if word == "--" {
                self.names.extend(rest.by_ref().cloned());
                break;
            }
            let Some((option, value)) = option(known, word) else {
                if word.len() > 1 && word.starts_with('-') {
                    let words = format!("{program}: no option {word:?}; '{program} -?' shows them");
                    return Err(Failure::new(Kind::Usage, words));
                }
                self.names.push(word.clone());
                continue;
            };
            let mut values: Vec<String> = value.map(str::to_owned).into_iter().collect();
            let most = match option.takes {
                Takes::Nothing => 0,
                Takes::One | Takes::Optional => 1,
                Takes::Many => usize::MAX,
            };
            while values.len() < most {
                match rest.next_if(|next| self::option(known, next).is_none() && *next != "--") {
                    Some(next) => values.push(next.clone()),
                    None => break,
                }
            }
            if values.is_empty() && matches!(option.takes, Takes::One | Takes::Many) {
                let words = format!("{program}: -{} needs a value", option.name);
                return Err(Failure::new(Kind::Usage, words));
            }
            self.options.push((option.name, values));
        }
        Ok(())
    }

    /// Whether an option was given.
    pub(super) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(option, _)| *option == name)
    }

    /// All values of an option.
    pub(super) fn all<'s>(&'s self, name: &'static str) -> impl Iterator<Item = &'s str> {
        let given = self.options.iter().filter(move |(option, _)| *option == name);
        given.flat_map(|(_, values)| values).map(String::as_str)
    }

    /// The value of an option; the last one when it was given several times.
    pub(super) fn one(&self, name: &'static str) -> Option<&str> {
        self.all(name).last()
    }

    /// Parses the value of an option, or returns a usage error that names the option.
    pub(super) fn parsed<T>(
        &self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, Failure> {
        let wrong = |words| Failure::new(Kind::Usage, format_args!("-{name}: {words}"));
        self.one(name).map(parse).transpose().map_err(wrong)
    }

    /// The file of the option `-o`.
    pub(super) fn output(&self) -> Result<Option<&Path>, Failure> {
        self.one("o").map(log_file).transpose()
    }

    /// The counters of `-c` and `-cf`, after the counters given without an option.
    pub(super) fn counters(&self, alone: &[String]) -> Result<Vec<String>, Failure> {
        let mut counters = alone.to_vec();
        counters.extend(self.all("c").map(str::to_owned));
        for file in self.all("cf") {
            counters.extend(lines(Path::new(file))?);
        }
        Ok(counters)
    }
}

/// The file of a log. ODBC data sources, which Windows accepts as `SQL:name!set`, are refused.
pub(super) fn log_file(name: &str) -> Result<&Path, Failure> {
    match name.get(..4) {
        Some(start) if start.eq_ignore_ascii_case("SQL:") && name.contains('!') => {
            let words = format!(
                "{name}: no data source of ODBC can be reached; name a file, and -f SQL writes a SQLite database \
                 with Windows' tables"
            );
            Err(Failure::new(Kind::Usage, words))
        }
        _ => Ok(Path::new(name)),
    }
}

/// Reads an argument as an option with the value after its colon. `None` for `/etc/passwd`, and for `/x` if
/// there is no option `x`.
fn option<'w>(known: &[Known], word: &'w str) -> Option<(Known, Option<&'w str>)> {
    let rest = word.strip_prefix("--").or_else(|| word.strip_prefix(['-', '/']))?;
    let (name, value) = match rest.find([':', '=']) {
        Some(at) => (rest.get(..at)?, rest.get(at.checked_add(1)?..)),
        None => (rest, None),
    };
    let found = known.iter().find(|known| known.name.eq_ignore_ascii_case(name))?;
    // An option that takes no value must not have a colon.
    (value.is_none() || found.takes != Takes::Nothing).then_some((*found, value))
}

/// The lines of a file of paths or options, in UTF-8 or UTF-16, without blank lines and comments.
fn lines(path: &Path) -> Result<Vec<String>, Failure> {
    let text = read_text(path, None)?;
    let lines = text.lines().map(|line| line.trim().trim_matches('"'));
    Ok(lines.filter(|line| !line.is_empty() && !line.starts_with([';', '#'])).map(str::to_owned).collect())
}

/// Turns the lines of a settings file into arguments.
fn configuration(lines: &[String]) -> Vec<String> {
    let word = |line: &String| match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
        Some(option) => format!("-{}", option.trim()),
        None => line.clone(),
    };
    lines.iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Known] = &[
        Known { name: "si", takes: Takes::One },
        Known { name: "c", takes: Takes::Many },
        Known { name: "q", takes: Takes::Optional },
        Known { name: "y", takes: Takes::Nothing },
        Known { name: "f", takes: Takes::One },
    ];

    fn parse(line: &[&str]) -> Result<Words, Failure> {
        Words::parse("x", KNOWN, &line.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn every_spelling_of_an_option() {
        for line in [["-si", "5"], ["/si", "5"], ["/SI", "5"], ["--si", "5"]] {
            assert_eq!(parse(&line).unwrap().one("si"), Some("5"), "{line:?}");
        }
        for line in [["/si:5"], ["-Si=5"]] {
            assert_eq!(parse(&line).unwrap().one("si"), Some("5"), "{line:?}");
        }
    }

    #[test]
    fn does_not_take_paths_for_options() {
        let words =
            parse(&[r"\P(*)\%", "/si", "1", "-c", "a", "b", "/y", "/etc/hosts", "/var", "--", "-q"]).unwrap();
        assert_eq!(words.names, [r"\P(*)\%", "/etc/hosts", "/var", "-q"]);
        assert_eq!(words.all("c").collect::<Vec<_>>(), ["a", "b"]);
        assert!(words.has("y") && !words.has("q"));
        let words = parse(&["-q", "-y"]).unwrap();
        assert_eq!((words.has("q"), words.one("q")), (true, None));
        assert_eq!(parse(&["-q", "Memory"]).unwrap().one("q"), Some("Memory"));
    }

    #[test]
    fn reports_missing_values_and_unknown_options() {
        for (line, words) in
            [(&["-si"][..], "-si needs a value"), (&["-si", "-y"], "-si needs a value"), (&["-x"], "\"-x\"")]
        {
            let message = parse(line).unwrap_err().message.unwrap();
            assert!(message.contains(words), "{message}");
        }
    }

    #[test]
    fn turns_settings_files_into_arguments() {
        let lines = ["[cf]", "counters.txt", "[y]"].map(str::to_owned);
        assert_eq!(configuration(&lines), ["-cf", "counters.txt", "-y"]);
    }
}
