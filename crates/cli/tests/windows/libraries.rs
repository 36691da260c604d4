//! Provider libraries for Windows: the sample of an article, in its own C++ and by `export_provider!`.

use tallymon_testkit::Scratch;

use crate::provider::{Provider, reader};
use crate::{parsed, printed};

const SERVICE: &str = "MyPerf1_inst";
const FIRST: u32 = 9000;

/// Both find their indexes in the key of their service, and the command has the block that another program
/// gets.
#[test]
fn libraries_in_rust_and_in_cpp_answer_under_the_indexes_of_their_service() {
    let folder = Scratch::new();
    for library in ["rust.dll", "article.dll"] {
        let Some(provider) = Provider::behind_gap(SERVICE, library, FIRST, None) else { return };
        let file = folder.join(library).with_extension("bin");
        let theirs = parsed(&reader(&["9000"]));
        printed(&["dump", "9000", "--raw", file.to_str().unwrap()]);
        let ours = parsed(&reader(&["--file", file.to_str().unwrap()]));
        for answer in [&theirs, &ours] {
            let places: Vec<&str> = answer.iter().map(|(place, _)| place.as_str()).collect();
            let expected = ["first", "second", "the third"];
            let expected = expected.map(|instance| format!("9000\t{instance}\t9002\t00000000"));
            assert_eq!(places, expected, "{library}");
            // As data_provider.h makes them up.
            for ((_, value), hundred) in answer.iter().zip(1..) {
                assert_eq!(value / 100, hundred, "{library}: {answer:?}");
            }
        }
        drop(provider);
    }
}

/// A library whose names are not installed is not there, and its neighbours are.
#[test]
fn a_library_without_indexes_costs_nothing_but_itself() {
    let Some(provider) = Provider::behind_gap(SERVICE, "rust.dll", FIRST, None) else { return };
    provider.unset("First Help");
    let neighbour = Provider::register_library(
        "MyPerf1",
        crate::provider::peer("provider.dll").unwrap().to_str().unwrap(),
    );
    assert_eq!(reader(&["9000"]), "");
    assert!(!printed(&["get", "--plain", r"\Processor(0)\Interrupts/sec"]).trim().is_empty());
    drop((provider, neighbour));
}
