//! Tests counter paths: a table of texts with their meaning, paths of real logs, and properties of every
//! path.

use tallymon_core::path::{CounterPath, InstanceIndex, InstancePath, Part, PathErrorKind, Pattern, Repair};

/// A small generator of pseudo-random numbers (xorshift), so that tests repeat exactly.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    fn text(&mut self, pieces: &[&str], most: usize) -> String {
        (0..self.below(most + 1)).map(|_| self.pick(pieces)).collect()
    }
}

#[test]
fn texts_parse_as_in_the_table() {
    let mut rows = 0;
    for (number, line) in include_str!("data/paths.txt").lines().enumerate() {
        // An empty line and a row with an empty text differ in their tabs.
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        rows += 1;
        let expected: Vec<&str> = line.split('\t').collect();
        let text = expected[0];
        let found = match CounterPath::parse(text) {
            Ok(parsed) => {
                let path = &parsed.path;
                let printed = path.to_string();
                let note = match parsed.repaired {
                    Some(Repair::LostBackslash) => "repaired",
                    Some(_) => "repaired otherwise",
                    None if printed == text => "same",
                    None => "",
                };
                let part = |part: &Part| match part {
                    Part::Name(name) => name.clone(),
                    Part::Index(index) => format!("{{{index}}}"),
                };
                let index = path.instance.as_ref().map(InstancePath::index).unwrap_or_default();
                let index = match index {
                    InstanceIndex::Implied => "-".to_string(),
                    InstanceIndex::At(index) => index.to_string(),
                    InstanceIndex::Any => "*".to_string(),
                };
                assert!(path.round_trips(), "line {}: {printed}", number + 1);
                vec![
                    text.to_string(),
                    path.machine.clone().unwrap_or("-".into()),
                    part(&path.object),
                    path.instance.as_ref().map_or("-", InstancePath::text).to_string(),
                    index,
                    part(&path.counter),
                    note.to_string(),
                ]
            }
            Err(error) => {
                assert!(text.is_char_boundary(error.at));
                assert!(error.to_string().contains(&format!("byte {}", error.at)), "{error}");
                let kind = format!("{:?}", error.kind);
                vec![text.to_string(), "!".into(), kind, error.part.to_string(), error.at.to_string()]
            }
        };
        assert_eq!(found, expected, "line {}", number + 1);
    }
    assert!(rows > 90, "{rows} rows");
}

#[test]
fn errors_say_what_is_needed() {
    let error = |text: &str| CounterPath::parse(text).unwrap_err().to_string();
    assert_eq!(error(""), r"counter path at byte 0: \object\counter needed, found nothing");
    assert_eq!(error(r"\System"), "counter path at byte 7: a separator and the counter needed");
    assert_eq!(error(r"\System\"), "counter path at byte 8: the name of the counter needed, found nothing");
    assert_eq!(
        error(r"\Processor(_Total\x"),
        "counter path at byte 10: the parenthesis of the instance is not closed, or no separator follows"
    );
    let words = Repair::LostBackslash.to_string();
    assert!(words.contains("single quotes") && words.contains("//machine/object/counter"), "{words}");
}

#[test]
fn paths_of_a_real_csv_log_round_trip() {
    let mut paths = 0;
    for (file, separator) in
        [("logs/PowerShell_CounterSamples.csv", ','), ("logs/PowerShell_CounterSamples.tsv", '\t')]
    {
        let Some(file) = tallymon_testkit::shared(file) else {
            return;
        };
        let text = String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned();
        for cell in text.lines().next().unwrap().split(separator).skip(1) {
            let text = cell.trim_matches('"');
            let parsed = CounterPath::parse(text).unwrap();
            assert_eq!(parsed.repaired, None);
            assert_eq!(parsed.path.to_string(), text);
            assert_eq!(parsed.path.machine.as_deref(), Some("charlieparker"));
            let is_memory = text.contains(r"\memory\");
            assert_eq!(parsed.path.instance.is_none(), is_memory, "{text}");
            paths += 1;
        }
    }
    assert_eq!(paths, 20);
}

#[test]
fn every_windows_name_works_as_a_counter() {
    let Some(file) = tallymon_testkit::shared("titles/perflib_names_009_vista6000.tsv") else {
        return;
    };
    let text = std::fs::read_to_string(file).unwrap();
    let mut names = 0;
    for name in text.lines().filter_map(|line| line.split_once('\t')).map(|(_, name)| name) {
        for (open, close) in [("\\", "\\"), ("/", "/")] {
            let text = format!("{open}Some Object(x (1) y){close}{name}");
            let path: CounterPath = text.parse().unwrap();
            assert_eq!(path.object, Part::Name("Some Object".into()), "{text}");
            assert_eq!(path.instance, Some(InstancePath::parse("x (1) y")));
            assert_eq!(path.counter, Part::parse(name));
        }
        names += 1;
    }
    assert_eq!(names, 1839);
}

#[test]
fn printed_paths_parse_again() {
    let machines = ["srv1", "10.1.2.3", "хост", "a b"];
    let objects = [
        "Processor",
        "WF (System.Workflow) 4.0.0.0",
        "SQLServer:Locks",
        "프로세스",
        "*",
        ".NET CLR (x)(y) z",
    ];
    let counters =
        ["% Processor Time", "Data File(s) Size (KB)", "Disk Reads/sec", "# of a (b) #2", "*", "Байт/с"];
    let pieces = ["a", "(", "/", "#", "0", "17", "*", " ", "[1]", "é", "한"];
    let mut random = Random(11);
    for _ in 0..50_000 {
        let part = |random: &mut Random, names: &[&str]| match random.below(4) {
            0 => Part::Index(random.below(1 << 32) as u32),
            _ => Part::Name(random.pick(names).into()),
        };
        let parent = random.text(&pieces, 4);
        let name = format!("n{}", random.text(&pieces, 6));
        let index = random.below(3) as u32;
        let path = CounterPath {
            machine: (random.below(2) == 0).then(|| random.pick(&machines).into()),
            object: part(&mut random, &objects),
            instance: (random.below(4) != 0)
                .then(|| InstancePath::new((random.below(2) == 0).then_some(&parent), &name, index)),
            counter: part(&mut random, &counters),
        };
        let text = path.to_string();
        let parsed = CounterPath::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(parsed.path, path, "{text}");
        assert_eq!(parsed.repaired, None, "{text}");
        assert!(path.round_trips());
    }
}

#[test]
fn any_text_is_a_path_or_an_error_with_a_valid_offset() {
    let pieces = [
        "\\", "\\", "\\\\", "/", "//", "(", ")", ")\\", ")/", "#", "*", "0", "12", "a", "Memory", " ", "\n",
        "ж", "\0",
    ];
    let mut random = Random(5);
    let (mut good, mut exact) = (0, 0);
    for _ in 0..200_000 {
        let text = random.text(&pieces, 14);
        match CounterPath::parse(&text) {
            Ok(parsed) => {
                good += 1;
                let printed = parsed.path.to_string();
                let canonical = text.starts_with('\\') && parsed.repaired.is_none();
                if canonical {
                    exact += 1;
                    assert_eq!(printed, text.trim_end_matches(['\r', '\n']));
                    assert!(parsed.path.round_trips(), "{text:?}");
                }
                if parsed.repaired.is_some() {
                    assert!(parsed.path.round_trips(), "{text:?}");
                }
                for (parent, name) in parsed.path.instance.iter().flat_map(InstancePath::candidates) {
                    assert!(!name.is_empty() && parent != Some(""));
                }
            }
            Err(error) => {
                assert!(text.is_char_boundary(error.at), "{text:?} {error:?}");
                assert_eq!(error.kind == PathErrorKind::NoPath, text.trim().is_empty(), "{text:?}");
            }
        }
    }
    assert!(good > 20_000 && exact > 3_000, "{good} {exact}");
}

#[test]
fn a_path_that_does_not_round_trip_says_so() {
    let path = |object: &str, instance: Option<&str>, counter: &str| CounterPath {
        machine: None,
        object: Part::Name(object.into()),
        instance: instance.map(|name| InstancePath::new(None, name, 0)),
        counter: Part::Name(counter.into()),
    };
    assert!(path("Process", Some("a(b"), "x").round_trips());
    for (object, instance, counter) in [
        ("Process", Some("a)b(c"), "x"),
        ("Process", Some(""), "x"),
        ("Process", Some("a"), "b)\\c"),
        ("Process", None, "a\\b"),
        ("Process (x)", None, "y"),
        ("230", None, "x"),
        ("", None, "x"),
    ] {
        assert!(!path(object, instance, counter).round_trips(), "{object} {instance:?} {counter}");
    }
}

#[test]
fn instances_have_readings_with_and_without_parent() {
    let readings = |text| {
        let instance = InstancePath::parse(text);
        instance
            .candidates()
            .map(|(parent, name)| format!("{}|{name}", parent.unwrap_or("-")))
            .collect::<Vec<_>>()
    };
    assert_eq!(readings("_Total"), ["-|_Total"]);
    assert_eq!(readings("firefox/3#1"), ["-|firefox/3", "firefox|3"]);
    assert_eq!(readings("/var/log"), ["-|/var/log", "/var|log"]);
    assert_eq!(readings("/"), ["-|/"]);
    assert_eq!(InstancePath::new(Some("a"), "b", 0).to_string(), "a/b");
    assert_eq!(InstancePath::new(Some("a"), "b", 2).to_string(), "a/b#2");
    assert_eq!(InstancePath::new(None, "b#7", 0).to_string(), "b#7#0");
    assert_eq!(InstancePath::new(None, "b#*", 0).to_string(), "b#*#0");
}

#[test]
fn instance_patterns_match() {
    // Pattern; parent and name; whether they match.
    for (pattern, parent, name, expected) in [
        ("_total", None, "_Total", true),
        ("/var/log", None, "/var/log", true),
        ("/var/*", None, "/var/log", true),
        ("log", None, "/var/log", false),
        ("*", None, "", true),
        ("firefox/3", Some("Firefox"), "3", true),
        ("firefox/3", Some("firefox"), "13", false),
        ("firefox/*", Some("firefox"), "3", true),
        ("*/3", Some("firefox"), "3", true),
        ("*/3", Some("a/b"), "3", true),
        ("*/3", Some("a"), "b/3", false),
        ("kworker/0:1/17", Some("kworker/0:1"), "17", true),
        ("kworker/0:1/17", Some("kworker"), "0:1/17", true),
        ("*", Some("firefox"), "3", true),
        ("fire*", Some("firefox"), "3", true),
        ("3", Some("firefox"), "3", false),
        ("firefox", Some("firefox"), "3", false),
        ("ПРО*", None, "процесс", true),
    ] {
        let matches = InstancePath::parse(pattern).pattern().matches(parent, name);
        assert_eq!(matches, expected, "{pattern} {parent:?} {name}");
    }
    let indexes = |text| {
        let pattern = InstancePath::parse(text).pattern();
        (0..3).filter(|index| pattern.matches_index(*index)).collect::<Vec<_>>()
    };
    assert_eq!(indexes("svchost"), [0]);
    assert_eq!(indexes("svchost#2"), [2]);
    assert_eq!(indexes("svchost#*"), [0, 1, 2]);
    assert_eq!(indexes("svc*"), [0, 1, 2]);
    assert_eq!(indexes("svc*#1"), [1]);
}

#[test]
fn wildcards_are_recognized() {
    let wild = |text: &str| text.parse::<CounterPath>().unwrap().is_wild();
    assert!(wild(r"\Process(*)\ID Process") && wild(r"\Process(a#*)\ID Process") && wild(r"\Memory\*"));
    assert!(wild(r"\*\x") && !wild(r"\Process(a#1)\ID Process") && !wild(r"\4\24"));
}

/// Matches by trying everything, slow on purpose; only for short texts.
fn matches_slowly(pattern: &[char], text: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('*', rest)) => (0..=text.len()).any(|taken| matches_slowly(rest, &text[taken..])),
        Some((char, rest)) => {
            text.split_first().is_some_and(|(head, tail)| head == char && matches_slowly(rest, tail))
        }
    }
}

#[test]
fn patterns_match_like_the_slow_matcher() {
    let mut random = Random(3);
    let mut matched = 0;
    for _ in 0..100_000 {
        let pattern = random.text(&["a", "b", "*", "ж"], 7);
        let text = random.text(&["a", "b", "ж"], 9);
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        let expected = matches_slowly(&chars(&pattern), &chars(&text));
        assert_eq!(Pattern::new(&pattern).matches(&text.to_uppercase()), expected, "{pattern} {text}");
        matched += usize::from(expected);
    }
    assert!(matched > 1_000, "{matched}");
    assert!(Pattern::new("a").is_literal() && !Pattern::new("a*").is_literal());
}

#[test]
fn patterns_have_no_exponential_case() {
    // Trying everything would take longer than the age of the universe.
    let pattern = Pattern::new(&"*a".repeat(500));
    assert!(!pattern.matches(&format!("{}b", "a".repeat(5_000))));
    assert!(pattern.matches(&"a".repeat(5_000)));
    // Many parentheses and separators also take only one walk.
    let deep = format!("\\{}", "(".repeat(200_000));
    assert!(CounterPath::parse(&deep).is_err());
    let wide = format!("\\{}", "()x".repeat(100_000));
    assert!(CounterPath::parse(&wide).is_err());
    let many = format!("\\O({})\\c", "a/".repeat(50_000));
    assert_eq!(CounterPath::parse(&many).unwrap().path.instance.unwrap().candidates().count(), 50_000);
}
