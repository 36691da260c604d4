//! Writes the code: the declaration as a program would write it by hand, and the opening of the handles.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Expr, ExprLit, Lit};

use crate::declare::{Counter, Field, Handle, Set, Text};

/// The implementation of `Declare`.
pub(crate) fn write(set: &Set) -> TokenStream {
    let Set { ident, texts, instances, detail, fields } = set;
    let name = texts.first().and_then(|text| text.name.as_ref());
    let of_set = texts_of(texts);
    let instances = match instances {
        None => quote!(),
        Some(None) => quote!(.instances()),
        Some(Some(about)) => quote!(.instances_about(#about)),
    };
    let detail = detail.iter().map(|detail| quote!(.detail(::tallymon_provider::DetailLevel::#detail)));
    let declared = fields.iter().map(declaration);
    let opened = fields.iter().filter(|field| field.handle != Handle::Instance).map(|field| {
        let Field { ident, handle, counters } = field;
        let name = counters.first().and_then(english).map(|text| &text.name);
        let method = match handle {
            Handle::Instance | Handle::Counter => "counter",
            Handle::Gauge => "gauge",
            Handle::SharedCounter => "shared",
            Handle::Elapsed => "elapsed",
            Handle::Text => "text",
            Handle::Average => "average",
            Handle::Histogram => "histogram",
            Handle::SharedAverage => "shared_average",
            Handle::SharedHistogram => "shared_histogram",
            Handle::Group => "group",
        };
        let method = format_ident!("{method}");
        quote!(#ident: instance.#method(#name)?,)
    });
    let instance = fields.iter().filter(|field| field.handle == Handle::Instance).map(|field| &field.ident);
    quote! {
        impl ::tallymon_provider::shm::Declare for #ident {
            fn set() -> ::tallymon_provider::shm::CounterSet {
                ::tallymon_provider::shm::CounterSet::new(#name) #of_set #instances #(#detail)* #(#declared)*
            }

            fn open(
                instance: ::tallymon_provider::shm::Instance,
            ) -> ::core::result::Result<Self, ::tallymon_provider::shm::PublishError> {
                ::core::result::Result::Ok(Self { #(#opened)* #(#instance: instance,)* })
            }
        }
    }
}

/// What a field adds to the set.
fn declaration(field: &Field) -> TokenStream {
    let counters = field.counters.iter().map(|counter| one(field.handle, counter));
    match field.handle {
        Handle::Group => quote!(.together(|set| set #(#counters)*)),
        _ => quote!(#(#counters)*),
    }
}

fn one(handle: Handle, counter: &Counter) -> TokenStream {
    let Counter { texts, kind, scale, detail, first_shown, most, lanes, bits, percentiles, time } = counter;
    let name = english(counter).map(|text| &text.name);
    let counter_type = |usual: &str| {
        let kind = kind.clone().unwrap_or_else(|| format_ident!("{usual}"));
        quote!(::tallymon_provider::CounterType::#kind)
    };
    let shared = lanes.as_ref().map_or(quote!(.shared()), |lanes| quote!(.shared_lanes(#lanes)));
    let shared = match handle {
        Handle::SharedCounter | Handle::SharedAverage | Handle::SharedHistogram => shared,
        _ => quote!(),
    };
    let declared = match handle {
        Handle::Instance => quote!(),
        Handle::Counter | Handle::SharedCounter => {
            let kind = counter_type("PERF_COUNTER_BULK_COUNT");
            quote!(.counter(#name, #kind) #shared)
        }
        Handle::Gauge | Handle::Group => {
            let kind = counter_type("PERF_COUNTER_LARGE_RAWCOUNT");
            quote!(.counter(#name, #kind))
        }
        Handle::Elapsed => quote!(.elapsed(#name)),
        Handle::Text => quote!(.text(#name, #most)),
        Handle::Average | Handle::SharedAverage => {
            let kind = counter_type("PERF_AVERAGE_BULK");
            quote!(.with_usual_base(#name, #kind) #shared)
        }
        Handle::Histogram | Handle::SharedHistogram => {
            let method = if *time { quote!(histogram_time) } else { quote!(histogram) };
            let all = most.is_some() && bits.is_some() && percentiles.is_some();
            let rest = (!all).then(|| quote!(..::core::default::Default::default()));
            let most = most.iter().map(|most| quote!(most: #most,));
            let bits = bits.iter().map(|bits| quote!(bits: #bits,));
            let percentiles = percentiles.iter().map(|parts| quote!(percentiles: (#parts).to_vec(),));
            quote! {
                .#method(#name, &::tallymon_provider::shm::HistogramShape {
                    #(#most)* #(#bits)* #(#percentiles)*
                    #rest
                }) #shared
            }
        }
    };
    let texts = texts_of(texts);
    let scale = scale.iter().map(|scale| quote!(.scale(#scale)));
    let detail = detail.iter().map(|detail| quote!(.detail(::tallymon_provider::DetailLevel::#detail)));
    let first = first_shown.then(|| quote!(.first_shown()));
    quote!(#declared #texts #(#scale)* #(#detail)* #first)
}

fn english(counter: &Counter) -> Option<&Text> {
    counter.texts.first()
}

/// Everything that is said in words; the English name was the declaration itself.
fn texts_of(texts: &[Text]) -> TokenStream {
    let each = texts.iter().map(|text| {
        let language = match &text.language {
            None => quote!(::tallymon_provider::Language::ENGLISH),
            Some(Expr::Lit(ExprLit { lit: Lit::Int(number), .. })) => {
                quote!(::tallymon_provider::Language::new(#number))
            }
            Some(name) => quote!(::tallymon_provider::Language::#name),
        };
        let name = text.name.iter().filter(|_| text.language.is_some());
        let name = name.map(|name| quote!(.name_in(#language, #name)));
        let help = text.help.iter().map(|help| quote!(.help_in(#language, #help)));
        let unit = text.unit.iter().map(|unit| quote!(.unit_in(#language, #unit)));
        quote!(#(#name)* #(#help)* #(#unit)*)
    });
    quote!(#(#each)*)
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use crate::declare::read;

    /// Checks the words of the compiler's error for a declaration.
    fn refuses(input: &str, words: &str) {
        let parsed: syn::DeriveInput = syn::parse_str(input).unwrap();
        let error = read(&parsed).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(words), "{input}: the error is {error:?}, expected {words:?}");
    }

    #[test]
    fn errors_name_the_field() {
        let set = r#"#[set(name = "S")] struct S"#;
        for (fields, words) in [
            ("{ i: Instance, meals: Counter }", "the field `meals` needs a name"),
            (r#"{ i: Instance, #[counter(help = "?")] meals: Counter }"#, "the field `meals` needs a name"),
            (
                r#"{ i: Instance, #[counter(name = "M")] meals: u64 }"#,
                "the field `meals` is of no type that can be published: one of `Instance`, `Counter`,",
            ),
            (r#"{ #[counter(name = "M")] meals: Counter }"#, "needs a field of the type `Instance`"),
            ("{ a: Instance, b: Instance }", "the field `b` is a second `Instance`"),
            (r#"{ #[counter(name = "M")] i: Instance }"#, "the field `i` is the instance"),
            (
                r#"{ i: Instance, #[counter(name = "M")] mood: Text }"#,
                "the field `mood` is a text and needs to say",
            ),
            (
                r#"{ i: Instance, #[counter(name = "M", lanes = 2)] n: Gauge }"#,
                "the field `n`: `lanes` is unknown here",
            ),
            (
                r#"{ i: Instance, #[counter(name = "M", name = "N")] n: Gauge }"#,
                "the field `n`: it is said twice",
            ),
            (
                r#"{ i: Instance, #[counter(name = "M")] #[counter(name = "N")] n: Gauge }"#,
                "the field `n` has more than one #[counter]",
            ),
            (
                r#"{ i: Instance, #[text(GERMAN, name = "M")] n: Gauge }"#,
                "the field `n` lacks one: #[text] comes after #[counter]",
            ),
            ("(u8);", "named fields"),
        ] {
            refuses(&format!("{set} {fields}"), words);
        }
        for (input, words) in [
            ("struct S { i: Instance }", "the struct needs a name: #[set"),
            (r#"#[set(nam = "S")] struct S { i: Instance }"#, "unknown: `name`"),
            (r#"#[set(name = "S")] enum S {}"#, "only be derived for a struct"),
            ("enum S {}", "only be derived for a struct"),
            ("struct S(u8);", "named fields"),
        ] {
            refuses(input, words);
        }
    }

    #[test]
    fn declaration_becomes_code() {
        let set = read(&parse_quote! {
            #[set(name = "Behemoth", instances = 100)]
            #[text(0x412, name = "B")]
            struct Behemoth {
                instance: shm::Instance,
                /// Meals
                /// eaten.
                #[counter(name = "Meals/sec", scale = -1)]
                #[text(GERMAN, name = "Mahlzeiten/s")]
                meals: SharedCounter,
            }
        });
        let code = super::write(&set.unwrap()).to_string().replace(' ', "");
        for part in [
            "CounterSet::new(\"Behemoth\").name_in(::tallymon_provider::Language::new(0x412),\"B\").instances_about(100)",
            ".counter(\"Meals/sec\",::tallymon_provider::CounterType::PERF_COUNTER_BULK_COUNT).shared()",
            ".help_in(::tallymon_provider::Language::ENGLISH,\"Mealseaten.\")",
            ".name_in(::tallymon_provider::Language::GERMAN,\"Mahlzeiten/s\").scale(-1)",
            "meals:instance.shared(\"Meals/sec\")?,instance:instance,",
        ] {
            assert!(code.contains(part), "{part} is not in {code}");
        }
    }
}
