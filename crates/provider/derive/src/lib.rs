//! `#[derive(CounterSet)]`: a struct of handles declares the counter set that they write.
//!
//! Used through `tallymon_provider::shm`, where the trait `Declare` says what comes out and has an example.
//! Of the struct this crate reads the attributes and the last words of the types; everything else, such as
//! names that are there twice, is checked when the set is published.
//!
//! `declare.rs` reads the attributes, `expand.rs` writes the code.
#![forbid(unsafe_code)]

mod declare;
mod expand;

use proc_macro::TokenStream;

/// Declares a counter set by a struct of handles.
///
/// On the struct `#[set(name = "...")]`, with `instances` or `instances = 100` (about so many) if it has any,
/// and `help`. On each field that is a handle `#[counter(name = "...")]`, with as many as are needed of
///
/// * `kind = PERF_COUNTER_RAWCOUNT`: the counter type, if it is not the usual one of the handle;
/// * `help`, `unit`, `scale = -2`, `detail = ADVANCED`, `first_shown`;
/// * `most = 40`: the most bytes, of a `Text`;
/// * `lanes = 4`: the number of lanes, of a `SharedCounter`, `SharedAverage` or `SharedHistogram`;
/// * `time`, `bits = 4`, `most = 1_000_000`, `percentiles = [50_000, 99_900]`: of a `Histogram` or
///   `SharedHistogram`.
///
/// A `Group` has one `#[counter]` for each of its numbers. `#[text(GERMAN, name = "...", help = "...", unit =
/// "...")]` behind `#[set]` or `#[counter]` says it in another language, which is a constant of `Language` or
/// a number. A doc comment is the help text where there is none. One field is the `Instance`.
#[proc_macro_derive(CounterSet, attributes(set, counter, text))]
pub fn counter_set(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    let code = declare::read(&input).map(|set| expand::write(&set));
    code.unwrap_or_else(|error| error.to_compile_error()).into()
}
