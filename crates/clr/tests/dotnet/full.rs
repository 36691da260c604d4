//! Call trees with more places than the profile file has room for.

use crate::support::{calls_of, everywhere, finish};
use tallymon_clr::export;
use tallymon_clr::reader::Profile;
use tallymon_clr::settings::{Mode, Settings};

#[test]
fn full_tree_keeps_the_counts_of_every_method_and_no_wrong_caller() {
    for bench in everywhere() {
        let program = bench.program("crowd", "crowd");
        let plain = finish(&mut program.command());
        for mode in [Mode::User, Mode::All] {
            // What an earlier run left may be there or not.
            let _ = std::fs::remove_file(program.profile());
            let settings = Settings { mode, exact: true, ..Settings::default() };
            let profiled = finish(&mut program.profiled(&settings));
            assert_eq!((&plain.stdout, plain.status), (&profiled.stdout, profiled.status));
            let profile = Profile::open(&program.profile()).unwrap();
            let totals = profile.method_totals();
            let of = |name: &str| {
                let sum = totals.iter().find(|sum| profile.methods[sum.method].name == name).unwrap();
                (sum.enters, sum.ended)
            };
            // The first level has one call, each other one four times as many as the one before.
            let counts = [("A(int)", 21_846), ("B(int)", 21_845), ("C(int)", 21_845), ("D(int)", 21_845)];
            for (name, count) in
                counts.into_iter().chain([("Leaf(int)", 1001), ("Often(int)", 1), ("Once(int)", 1)])
            {
                let found = of(&format!("Crowd.{name}"));
                assert_eq!(found, (count, count), "{name} {mode:?} .NET {}", bench.version);
            }
            assert!(profile.enters_elsewhere() > 0 && profile.elsewhere.is_some());
            for leaf in calls_of(&profile, "Crowd.Leaf(int)") {
                let caller = profile.name(&profile.calls[leaf.parent.unwrap()]);
                let most = match caller {
                    "Crowd.Once(int)" => 1,
                    "Crowd.Often(int)" => 1000,
                    other => panic!("{other} does not call Leaf"),
                };
                assert_eq!(leaf.enters, most);
            }
            // A caller's time is its own and that of its callees.
            for call in &profile.calls {
                let callees: u64 = call.children.iter().map(|at| profile.calls[*at].total).sum();
                assert_eq!(call.total, call.own + callees, "{}", profile.name(call));
                assert!(call.parent.is_none() || call.open || call.enters == call.ended());
            }
            // Neither the summary nor a comparison hides it.
            let words = |write: &dyn Fn(&mut Vec<u8>)| {
                let mut out = Vec::new();
                write(&mut out);
                String::from_utf8(out).unwrap()
            };
            let summary = words(&|out| export::summary(&profile, out).unwrap());
            assert!(summary.contains("lost     the place of "), "{summary}");
            let diff = words(&|out| export::diff(&profile, &profile, 5, out).unwrap());
            assert!(diff.starts_with("before lost the place of "), "{diff}");
            let html = words(&|out| export::html(&profile, out).unwrap());
            assert!(html.contains("\"losses\":[\"the place of "));
        }
    }
}
