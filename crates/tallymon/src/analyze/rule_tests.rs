use super::*;

fn toml(text: &str) -> Result<RuleSet, RuleError> {
    let mut set = RuleSet::default();
    set.add_toml(text, Path::new("own.toml")).map(|()| set)
}

const RULE: &str = r#"
[[rule]]
id = "slow"
title = "Slow"
severity = "warning"
resource = "disk"
counters = { latency = '\PhysicalDisk(*)\Avg. Disk sec/Transfer', rate = '\PhysicalDisk(*)\Disk Transfers/sec' }
each = "latency"
except = ["_Total"]
when = "latency > 0.025 and rate > 5"
for = "2m"
means = "It waits."
"#;

#[test]
fn built_in_rules_are_rules() {
    let set = RuleSet::built_in().unwrap();
    assert!(set.rules.len() > 30, "{}", set.rules.len());
    let mut ids = HashSet::new();
    for rule in &set.rules {
        assert!(ids.insert(&rule.id), "{} is there twice", rule.id);
        assert!(rule.means.ends_with('.') && rule.next.ends_with('.'), "{}: whole sentences", rule.id);
        assert!(
            rule.counters
                .iter()
                .enumerate()
                .all(|(slot, _)| { slot == rule.each || rule.when.uses(slot) || rule.value.uses(slot) })
        );
    }
}

#[test]
fn reads_a_rule() {
    let set = toml(RULE).unwrap();
    let rule = &set.rules[0];
    assert_eq!(
        (rule.severity, rule.resource, rule.lasting.as_secs()),
        (Severity::Warning, Resource::Disk, 120)
    );
    assert!(!rule.low_is_bad && rule.is_about("0 C:") && !rule.is_about("_Total"));
    assert_eq!(rule.when.holds(&[Some(0.03), Some(10.0)]), Some(true));
}

#[test]
fn instances_of_one_device_belong_together() {
    let turns = RULE.replace(r"\PhysicalDisk(*)\Disk Transfers/sec", r"\Block Device(*)\Rotational");
    let other = toml(&turns).unwrap();
    let same = toml(&turns.replace("for = ", "same = \"device\"\nfor = ")).unwrap();
    for (instance, name) in [
        ("0 sda /", "sda"),
        ("10 nvme0n1", "nvme0n1"),
        ("sda", "sda"),
        ("md 0", "md 0"),
        ("0", "0"),
        ("", ""),
        ("_Total", "_Total"),
    ] {
        assert_eq!(same.rules[0].device(1, instance), Some(name), "{instance}");
        // Mount points tell the instances of one object apart.
        assert_eq!(same.rules[0].device(0, instance), None);
        assert_eq!(other.rules[0].device(1, instance), None);
    }
}

#[test]
fn faults_say_where_and_what_is_expected() {
    for (from, to, words) in [
        ("[[rule]]", "[[rule", "own.toml: line 2, column 7: "),
        (
            "severity = \"warning\"",
            "severity = \"bad\"",
            "severity is \"bad\"; it can be note, warning, critical",
        ),
        ("for = \"2m\"", "growth = [\"errors\"]", "growth is \"errors\", which is none of its counters"),
        ("resource = \"disk\"", "resource = \"disc\"", "resource is \"disc\"; it can be processor, memory"),
        ("for = \"2m\"", "for = \"2 minutes\"", "for is \"2 minutes\"; write 30s, 5m or 1h"),
        ("title", "titel", "\"titel\" is not known; there are id, title"),
        ("title = \"Slow\"", "title = 1", "title is not a text"),
        ("means = \"It waits.\"", "", "means is missing"),
        ("each = \"latency\"", "", "each is missing: it names the counter"),
        ("each = \"latency\"", "each = \"late\"", "each is \"late\", which is none of its counters"),
        ("rate > 5", "rat > 5", "nor a name of this rule (latency, rate, memory_mb, processors)"),
        (
            "\\PhysicalDisk(*)\\Disk Transfers/sec",
            "\\Physical*(*)\\Disk Transfers/sec",
            "only the instance may have",
        ),
        ("[\"_Total\"]", "[1]", "except has no text"),
        ("for = \"2m\"", "same = \"disk\"", "same is \"disk\"; it may be \"device\""),
        ("for = \"2m\"", "per_hour = 1", "per_hour is neither true nor false"),
        ("for = ", "per_hour = true\nfor = ", "so it cannot go with for"),
        ("for = \"2m\"", "per_hour = true\nuntil = \"rate < 5\"", "so it cannot go with until"),
        ("for = \"2m\"", "per_hour = true\ngrowth = [\"rate\"]", "so it cannot go with growth"),
    ] {
        let text = RULE.replacen(from, to, 1);
        let error = toml(&text).expect_err(from).to_string();
        assert!(error.starts_with("own.toml: ") && error.contains(words), "{from}: {error}");
    }
    let twice = toml(&RULE.repeat(2)).unwrap_err().to_string();
    assert!(twice.contains("rule \"slow\": another rule of this file has the same id"), "{twice}");
}

#[test]
fn parameters_can_be_set() {
    let mut set =
        toml(&format!("[parameters]\nlimit = 5\n{}", RULE.replace("rate > 5", "rate > limit"))).unwrap();
    assert_eq!(set.parameters[0], ("limit".to_owned(), Some(5.0)));
    set.set("limit", 7.5).unwrap();
    assert_eq!(set.parameters[0].1, Some(7.5));
    let error = set.set("limits", 1.0).unwrap_err();
    assert!(error.contains("there are limit, memory_mb, processors"), "{error}");
}

#[test]
fn folders_are_read_in_order_and_other_files_refused() {
    let folder = tallymon_testkit::Scratch::new();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    let add = |path: &Path| RuleSet::default().add(path).map_err(|error| error.to_string());
    assert!(add(&folder).unwrap_err().contains("no .toml or .xml file is in this folder"));
    write("b.toml", &RULE.replace("\"slow\"", "\"second\""));
    write("a.toml", RULE);
    write("notes.txt", "not read");
    let mut set = RuleSet::default();
    set.add(&folder).unwrap();
    assert_eq!(set.rules.iter().map(|rule| rule.id.as_str()).collect::<Vec<_>>(), ["slow", "second"]);
    assert!(add(&folder.join("notes.txt")).unwrap_err().contains("rules are in a .toml file"));
    assert!(add(&folder.join("none.toml")).unwrap_err().contains("none.toml"));
    std::fs::write(folder.join("c.toml"), [0xFF, 0xFE]).unwrap();
    assert!(add(&folder).unwrap_err().contains("byte 0 is not UTF-8"));
}

#[test]
fn the_first_file_of_a_folder_gives_a_parameter_its_value() {
    let folder = tallymon_testkit::Scratch::new();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    let limit = || {
        let mut set = RuleSet::default();
        set.add(&folder).unwrap();
        set.parameters.iter().find(|(name, _)| name == "Limit").unwrap().1
    };
    // A rule uses what a later file asks for.
    write("a.toml", &RULE.replace("rate > 5", "rate > Limit"));
    let question = r#"<QUESTION QUESTIONVARNAME="Limit" DEFAULTVALUE="16">Ask</QUESTION>"#;
    write("b.xml", &format!("<?xml version=\"1.0\"?><PAL NAME=\"T\">{question}</PAL>"));
    assert_eq!(limit(), Some(16.0));
    write("c.toml", "[parameters]\nLimit = 99\n");
    assert_eq!(limit(), Some(16.0));
    write("a.toml", "[parameters]\nLimit = 99\n");
    assert_eq!(limit(), Some(99.0));
}

#[test]
fn the_example_of_the_documents_is_a_rule() {
    let source = include_str!("rule.rs");
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let block = lines.skip_while(|line| *line != " ```toml").skip(1).take_while(|line| *line != " ```");
    let text: Vec<&str> = block.map(str::trim_start).collect();
    let set = toml(&text.join("\n")).unwrap();
    assert_eq!(set.rules.len(), 1, "{text:?}");
}
