use super::*;

fn pal(thresholds: &str) -> RuleSet {
    let text = format!(
        r#"<?xml version="1.0"?><PAL NAME="T"><QUESTION QUESTIONVARNAME="Ram" DEFAULTVALUE="16">Ask</QUESTION>
        <ANALYSIS NAME="A" ENABLED="True"><DATASOURCE TYPE="CounterLog" EXPRESSIONPATH="\Disk(*)\Busy"
        COLLECTIONVARNAME="Busy"><EXCLUDE INSTANCE="_Total"/></DATASOURCE><DATASOURCE TYPE="Generated"
        EXPRESSIONPATH="\Disk(*)\Made" COLLECTIONVARNAME="Made"/>{thresholds}<DESCRIPTION><![CDATA[It is <B>busy</B>.
        <br>References:<a>x</a>]]></DESCRIPTION></ANALYSIS></PAL>"#
    );
    let mut set = RuleSet::default();
    add(&mut set, text.as_bytes(), Path::new("t.xml")).unwrap();
    set
}

fn threshold(code: &str) -> String {
    format!("<THRESHOLD NAME=\"Too busy\" CONDITION=\"Critical\"><CODE><![CDATA[{code}]]></CODE></THRESHOLD>")
}

#[test]
fn constant_thresholds_become_rules() {
    let call = "StaticThreshold -CollectionOfCounterInstances $Busy -Operator";
    for (code, condition) in [
        (format!("{call} 'gt' -Threshold 50"), "value > 50"),
        (format!("# a comment\n\n{call} \"le\" -Threshold 0.5"), "value <= 0.5"),
        (format!("{call} 'gt' -Threshold 100MB -IsTrendOnly $False"), "value > 100MB"),
        (
            format!("$Tenth = $([Int] $Ram * 1024) * 0.10\n{call} 'lt' -Threshold $Tenth"),
            "value < (( Ram * 1024) * 0.10)",
        ),
        (
            format!("$T = $Ram * 4\nIf ($T -lt 80)\n{{\n\t$T = 80\n}}\n{call} 'lt' -Threshold $T"),
            "value < max((Ram * 4), 80)",
        ),
    ] {
        let set = pal(&threshold(&code));
        let rule = set.rules.first().unwrap_or_else(|| panic!("{code}: {:?}", set.skipped));
        assert_eq!(rule.when.to_string(), condition, "{code}");
        assert_eq!((rule.title.as_str(), rule.means.as_str()), ("Too busy", "It is busy ."));
        assert_eq!((rule.severity, rule.is_about("_Total")), (Severity::Critical, false));
        assert!(!rule.per_hour, "{code}");
    }
    let set = pal(&threshold(&format!("{call} 'gt' -Threshold 100MB -IsTrendOnly $True")));
    assert_eq!((set.rules[0].when.to_string().as_str(), set.rules[0].per_hour), ("value > 100MB", true));
}

#[test]
fn other_thresholds_are_named_with_the_reason() {
    for (code, reason) in [
        ("For ($i=0;$i -lt 5;$i++) { CreateAlert }", "a program"),
        ("If AvgX > 5 Then\nIsAvgThresholdBroken = True\nEnd If", "Visual Basic"),
        (
            "StaticThreshold -CollectionOfCounterInstances $Made -Operator 'gt' -Threshold 1",
            "computed by a program",
        ),
        (
            "StaticThreshold -CollectionOfCounterInstances $Gone -Operator 'gt' -Threshold 1",
            "no counter of the analysis",
        ),
        (
            "StaticThreshold -CollectionOfCounterInstances $Busy -Operator 'like' -Threshold 1",
            "operator \"like\"",
        ),
        (
            "StaticThreshold -CollectionOfCounterInstances $Busy -Operator 'gt' -Threshold $Unknown",
            "\"Unknown\" is neither a number nor a name",
        ),
        (
            "$A = @(Get-Content x)\nStaticThreshold -CollectionOfCounterInstances $Busy -Operator 'gt' -Threshold $A",
            "a program",
        ),
    ] {
        let set = pal(&threshold(code));
        assert!(set.rules.is_empty(), "{code}");
        assert!(set.skipped[0].reason.contains(reason), "{code}: {:?}", set.skipped);
    }
}

#[test]
fn broken_files_say_where() {
    for (text, words) in
        [("<html/>", "no element PAL"), ("<PAL><A></PAL>", "byte "), ("<PAL a='&x;'/>", "byte ")]
    {
        let error =
            add(&mut RuleSet::default(), text.as_bytes(), Path::new("x.xml")).unwrap_err().to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
}

#[test]
fn files_inherit_only_from_their_folder() {
    let folder = tallymon_testkit::Scratch::new();
    let file = |name: &str, inherits: &str| {
        let text = format!("<PAL><INHERITANCE FILEPATH=\"{inherits}\"/></PAL>");
        std::fs::write(folder.join(name), text).unwrap();
    };
    // A circle ends; a path that leaves the folder is not followed.
    file("one.xml", "two.xml");
    file("PAL_two.xml", "one.xml");
    let mut set = RuleSet::default();
    set.add(&folder.join("one.xml")).unwrap();
    assert!(set.skipped.is_empty(), "{:?}", set.skipped);
    file("three.xml", "../../etc/passwd");
    set.add(&folder.join("three.xml")).unwrap();
    assert_eq!(set.skipped[0].rule, "all of ../../etc/passwd");
}
