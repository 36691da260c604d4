//! Files of rules from anyone: what they cost depends on their length.
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::fs;

use tallymon::analyze::RuleSet;
use tallymon_testkit::{Scratch, attack};

fn threshold(code: &str) -> String {
    format!("<THRESHOLD NAME='T' CONDITION='Warning'><CODE>{code}</CODE></THRESHOLD>")
}

/// A threshold file of PAL with one analysis.
fn pal(before: &str, within: &str) -> String {
    format!(
        "<PAL>{before}<ANALYSIS NAME='A'><DATASOURCE EXPRESSIONPATH='\\Disk(*)\\Busy' COLLECTIONVARNAME='B'/>\
         {within}</ANALYSIS></PAL>"
    )
}

fn rule(when: &str) -> String {
    let path = "'\\Memory\\Available MBytes'";
    format!("[[rule]]\nid='a'\ntitle='A'\nseverity='note'\nmeans='M'\ncounters={{v={path}}}\nwhen='{when}'\n")
}

#[test]
fn attack_a_file_of_rules_that_is_large_or_deep() {
    let scratch = Scratch::new();
    let call = "StaticThreshold -CollectionOfCounterInstances $B -Operator 'gt' -Threshold";
    let constant = |at: usize| threshold(&format!("{call} {at}"));
    let thresholds = |count: usize| (0..count).map(constant).collect::<String>();
    let words = "x".repeat(1 << 20);
    let generated = format!(
        "<DATASOURCE TYPE='generated' EXPRESSIONPATH='{words}' COLLECTIONVARNAME='C'/>{}",
        threshold(&format!("{} 1", call.replace("$B", "$C"))).repeat(100)
    );
    let questions: String =
        (0..100_000).map(|at| format!("<QUESTION QUESTIONVARNAME='q{at}' DEFAULTVALUE='1'/>")).collect();
    let joined = ["*1", "+1", "<1", " and 1", " or 1"].map(|part| part.repeat(64)).concat();
    let deep = format!("{}v{}", "(".repeat(60), format!("{joined})").repeat(60));
    let names: String = (0..50_000).map(|at| format!("p{at}=1\n")).collect();
    for (name, text, expected) in [
        ("long.toml", "#".repeat((16 << 20) + 1), "longer than 16 MiB"),
        ("deep.toml", rule(&deep), "more than 1024 operators"),
        ("names.toml", format!("[parameters]\n{names}"), "more than 256 parameters"),
        ("name.toml", format!("[parameters]\n{} = 1", "n".repeat(300)), "longer than 256 bytes"),
        ("questions.xml", pal(&questions, ""), "more than 256 parameters"),
        ("nested.xml", format!("<PAL>{}", "<a>".repeat(1_000_000)), "nested more than 64 deep"),
        ("many.xml", pal("", &thresholds(60_000)), "more than 20000 rules"),
        (
            "shared.xml",
            pal("", &format!("{}<DESCRIPTION>{words}</DESCRIPTION>", thresholds(10_000))),
            "longer than 64 MiB",
        ),
        ("unused.xml", pal("", &generated), "longer than 64 MiB"),
    ] {
        let path = scratch.join(name);
        fs::write(&path, text).unwrap();
        let mut set = RuleSet::default();
        let error = set.add(&path).unwrap_err().to_string();
        assert!(
            error.contains(name) && error.contains(expected),
            "{name}: {}",
            &error[..error.len().min(500)]
        );
    }
    let many = (0..20_000).map(|at| rule(&format!("v < {at}")).replace("'a'", &format!("'a{at}'")));
    let path = scratch.join("own.toml");
    fs::write(&path, many.collect::<String>()).unwrap();
    let mut set = RuleSet::default();
    set.add(&path).unwrap();
    assert_eq!(set.rules.len(), 20_000);
    attack(
        "logs and other files",
        "rules of `analyze` that are too long, too many or too deep",
        "the file is refused with the limit, before it costs more than its length",
    );
}
