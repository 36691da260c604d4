//! Reads the struct: what each field is, and what its attributes say.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, Fields, Ident, Lit, LitStr, Meta, Result, Type,
};

/// A struct that declares a counter set.
pub(crate) struct Set {
    pub(crate) ident: Ident,
    pub(crate) texts: Vec<Text>,
    /// Whether it has instances, and about how many if that is said.
    pub(crate) instances: Option<Option<Expr>>,
    pub(crate) detail: Option<Ident>,
    pub(crate) fields: Vec<Field>,
}

/// A field of the struct.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    pub(crate) handle: Handle,
    /// None of an instance, several of a group, otherwise one.
    pub(crate) counters: Vec<Counter>,
}

/// What a field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handle {
    Instance,
    Counter,
    Gauge,
    SharedCounter,
    Elapsed,
    Text,
    Average,
    Histogram,
    SharedAverage,
    SharedHistogram,
    Group,
}

const HANDLES: [(&str, Handle); 11] = [
    ("Instance", Handle::Instance),
    ("Counter", Handle::Counter),
    ("Gauge", Handle::Gauge),
    ("SharedCounter", Handle::SharedCounter),
    ("Elapsed", Handle::Elapsed),
    ("Text", Handle::Text),
    ("Average", Handle::Average),
    ("Histogram", Handle::Histogram),
    ("SharedAverage", Handle::SharedAverage),
    ("SharedHistogram", Handle::SharedHistogram),
    ("Group", Handle::Group),
];

/// One `#[counter]`.
pub(crate) struct Counter {
    pub(crate) texts: Vec<Text>,
    pub(crate) kind: Option<Ident>,
    pub(crate) scale: Option<Expr>,
    pub(crate) detail: Option<Ident>,
    pub(crate) first_shown: bool,
    pub(crate) most: Option<Expr>,
    pub(crate) lanes: Option<Expr>,
    pub(crate) bits: Option<Expr>,
    pub(crate) percentiles: Option<Expr>,
    pub(crate) time: bool,
}

/// Name, help text and unit in one language; the first of each is English.
#[derive(Default)]
pub(crate) struct Text {
    /// A constant of `Language`, or a number; none is English.
    pub(crate) language: Option<Expr>,
    pub(crate) name: Option<LitStr>,
    pub(crate) help: Option<LitStr>,
    pub(crate) unit: Option<LitStr>,
}

/// Reads the struct.
pub(crate) fn read(input: &DeriveInput) -> Result<Set> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "CounterSet can only be derived for a struct"));
    };
    let Fields::Named(named) = &data.fields else {
        return Err(Error::new(input.ident.span(), "CounterSet needs a struct with named fields"));
    };
    if let Some(parameter) = input.generics.params.first() {
        return Err(Error::new(
            parameter.span(),
            "CounterSet cannot be derived for a struct with parameters",
        ));
    }
    let mut set = Set {
        ident: input.ident.clone(),
        texts: Vec::new(),
        instances: None,
        detail: None,
        fields: Vec::new(),
    };
    for attribute in &input.attrs {
        if attribute.path().is_ident("set") {
            let mut text = Text::default();
            attribute.parse_nested_meta(|meta| set.part(&mut text, &meta))?;
            set.texts.push(text);
        } else if attribute.path().is_ident("text") {
            let place = &mut set.texts;
            push_text(place, attribute, "#[text] comes after #[set]")?;
        }
    }
    let missing = "the struct needs a name: #[set(name = \"...\")]";
    complete(&mut set.texts, &input.attrs, input.ident.span(), missing)?;
    for field in &named.named {
        set.fields.push(read_field(field)?);
    }
    let mut instances = set.fields.iter().filter(|field| field.handle == Handle::Instance);
    match (instances.next(), instances.next()) {
        (Some(_), None) => {}
        (None, _) => {
            let words = "the struct needs a field of the type `Instance`: without it the values would be \
                gone at once";
            return Err(Error::new(input.ident.span(), words));
        }
        (_, Some(second)) => {
            let words = format!("the field `{}` is a second `Instance`: one needed", second.ident);
            return Err(Error::new(second.ident.span(), words));
        }
    }
    Ok(set)
}

impl Set {
    /// One part of `#[set(...)]`.
    fn part(&mut self, text: &mut Text, meta: &ParseNestedMeta<'_>) -> Result<()> {
        if text.part(meta)? {
            return Ok(());
        }
        if meta.path.is_ident("instances") {
            let given = meta.input.peek(syn::Token![=]);
            self.instances = Some(if given { Some(meta.value()?.parse()?) } else { None });
        } else if meta.path.is_ident("detail") {
            self.detail = Some(meta.value()?.parse()?);
        } else {
            return Err(meta.error("unknown: `name`, `help`, `instances` or `detail` needed"));
        }
        Ok(())
    }
}

fn read_field(field: &syn::Field) -> Result<Field> {
    let ident = field.ident.clone().unwrap_or_else(|| Ident::new("_", Span::call_site()));
    let of_field = |words: String| Error::new(ident.span(), format!("the field `{ident}` {words}"));
    let last = match &field.ty {
        Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
        _ => None,
    };
    let known = HANDLES.iter().find(|(name, _)| last.as_deref() == Some(*name));
    let Some((_, handle)) = known.copied() else {
        let names: Vec<String> = HANDLES.iter().map(|(name, _)| format!("`{name}`")).collect();
        return Err(of_field(format!(
            "is of no type that can be published: one of {} needed",
            names.join(", ")
        )));
    };
    let mut counters: Vec<Counter> = Vec::new();
    for attribute in &field.attrs {
        let named = |error: Error| Error::new(error.span(), format!("the field `{ident}`: {error}"));
        if attribute.path().is_ident("counter") {
            let mut counter = Counter::new();
            attribute.parse_nested_meta(|meta| counter.part(handle, &meta)).map_err(named)?;
            counters.push(counter);
        } else if attribute.path().is_ident("text") {
            let missing = "#[text] comes after #[counter]";
            let Some(counter) = counters.last_mut() else {
                return Err(of_field(format!("lacks one: {missing}")));
            };
            push_text(&mut counter.texts, attribute, missing).map_err(named)?;
        }
    }
    match (handle, counters.len()) {
        (Handle::Instance, 0) | (Handle::Group, 1..) | (_, 1)
            if handle != Handle::Instance || counters.is_empty() => {}
        (Handle::Instance, _) => return Err(of_field("is the instance, which is no counter".to_string())),
        (_, 0) => return Err(of_field("needs a name: #[counter(name = \"...\")]".to_string())),
        _ => return Err(of_field("has more than one #[counter], which only a `Group` can have".to_string())),
    }
    for counter in &mut counters {
        let missing = format!("the field `{ident}` needs a name: #[counter(name = \"...\")]");
        complete(&mut counter.texts, &field.attrs, ident.span(), &missing)?;
        if handle == Handle::Text && counter.most.is_none() {
            return Err(of_field(
                "is a text and needs to say how many bytes it has at most: `most = 40`".to_string(),
            ));
        }
    }
    Ok(Field { ident, handle, counters })
}

impl Counter {
    fn new() -> Counter {
        Counter {
            texts: vec![Text::default()],
            kind: None,
            scale: None,
            detail: None,
            first_shown: false,
            most: None,
            lanes: None,
            bits: None,
            percentiles: None,
            time: false,
        }
    }

    /// One part of `#[counter(...)]`.
    fn part(&mut self, handle: Handle, meta: &ParseNestedMeta<'_>) -> Result<()> {
        if let Some(text) = self.texts.first_mut()
            && text.part(meta)?
        {
            return Ok(());
        }
        let is = |name: &str| meta.path.is_ident(name);
        let histogram = matches!(handle, Handle::Histogram | Handle::SharedHistogram);
        let shared =
            matches!(handle, Handle::SharedCounter | Handle::SharedAverage | Handle::SharedHistogram);
        if is("kind") && !histogram && !matches!(handle, Handle::Text | Handle::Elapsed) {
            self.kind = Some(meta.value()?.parse()?);
        } else if is("scale") {
            self.scale = Some(meta.value()?.parse()?);
        } else if is("detail") {
            self.detail = Some(meta.value()?.parse()?);
        } else if is("first_shown") {
            self.first_shown = true;
        } else if is("most") && (histogram || handle == Handle::Text) {
            self.most = Some(meta.value()?.parse()?);
        } else if is("lanes") && shared {
            self.lanes = Some(meta.value()?.parse()?);
        } else if is("bits") && histogram {
            self.bits = Some(meta.value()?.parse()?);
        } else if is("percentiles") && histogram {
            self.percentiles = Some(meta.value()?.parse()?);
        } else if is("time") && histogram {
            self.time = true;
        } else {
            let word = meta.path.get_ident().map(Ident::to_string).unwrap_or_default();
            return Err(meta.error(format!("`{word}` is unknown here, or not for a handle of this type")));
        }
        Ok(())
    }
}

impl Text {
    /// Takes a part of an attribute that is a text; false when it is none.
    fn part(&mut self, meta: &ParseNestedMeta<'_>) -> Result<bool> {
        let place = if meta.path.is_ident("name") {
            &mut self.name
        } else if meta.path.is_ident("help") {
            &mut self.help
        } else if meta.path.is_ident("unit") {
            &mut self.unit
        } else {
            return Ok(false);
        };
        if place.replace(meta.value()?.parse()?).is_some() {
            return Err(meta.error("it is said twice"));
        }
        Ok(true)
    }
}

/// Reads `#[text(LANGUAGE, ...)]`.
fn push_text(texts: &mut Vec<Text>, attribute: &Attribute, missing: &str) -> Result<()> {
    if texts.is_empty() {
        return Err(Error::new(attribute.span(), missing));
    }
    let mut text = Text::default();
    attribute.parse_args_with(|input: syn::parse::ParseStream<'_>| {
        text.language = Some(input.parse()?);
        if input.parse::<Option<syn::Token![,]>>()?.is_none() {
            return Ok(());
        }
        let rest = syn::meta::parser(|meta| {
            if text.part(&meta)? {
                Ok(())
            } else {
                Err(meta.error("unknown: `name`, `help` or `unit` needed"))
            }
        });
        syn::parse::Parser::parse2(rest, input.parse()?)
    })?;
    texts.push(text);
    Ok(())
}

/// Sees to it that there is an English name, and takes a doc comment for the help text if there is none.
fn complete(texts: &mut [Text], attributes: &[Attribute], at: Span, missing: &str) -> Result<()> {
    let Some(english) = texts.first_mut().filter(|text| text.name.is_some()) else {
        return Err(Error::new(at, missing));
    };
    if english.help.is_none() {
        let lines: Vec<String> = attributes.iter().filter_map(doc_line).collect();
        let words = lines.join(" ");
        english.help = (!words.is_empty()).then(|| LitStr::new(&words, at));
    }
    Ok(())
}

/// A line of a doc comment.
fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    let Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) = &pair.value else { return None };
    let line = line.value().trim().to_string();
    (pair.path.is_ident("doc") && !line.is_empty()).then_some(line)
}
