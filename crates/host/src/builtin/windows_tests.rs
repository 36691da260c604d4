//! Tests: what `tally doctor` says about the services that are registered.

use super::*;

#[test]
fn what_is_wrong_with_a_service_is_named() {
    let titles = Titles::from_pairs([(2000, "Gadgets"), (2001, "They count gadgets.")]);
    let whole = || Registration {
        service: "gadgets".to_owned(),
        library: Some(r"C:\gadgets\gadgets.dll".to_owned()),
        first_counter: Some(2000),
        last_counter: Some(2004),
        is_disabled: false,
    };
    let cases = [
        (whole(), FindingState::Good, r"library C:\gadgets\gadgets.dll", ""),
        (Registration { first_counter: None, ..whole() }, FindingState::Good, "library", ""),
        (
            Registration { is_disabled: true, ..whole() },
            FindingState::Limited,
            "disabled",
            "lodctr /E:gadgets",
        ),
        (Registration { library: None, ..whole() }, FindingState::Limited, "no library", "lodctr /R"),
        (
            Registration { first_counter: Some(2002), ..whole() },
            FindingState::Limited,
            "2002 to 2004",
            "lodctr /R",
        ),
    ];
    for (registration, state, detail, remedy) in cases {
        let finding = registered(&registration, &titles);
        assert_eq!(finding.state, state, "{registration:?}");
        assert!(finding.detail.contains(detail), "{finding:?}");
        assert!(finding.remedy.contains(remedy), "{finding:?}");
        assert_eq!(finding.remedy.is_empty(), state == FindingState::Good, "{finding:?}");
    }
}
