//! Reads event streams of the runtime (`.nettrace` files) as profiles.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufReader, Read};
use std::path::Path;

use tallymon::log::open_regular;
use tallymon_clr::names::RawName;
use tallymon_clr::reader::{Module, Profile, SampledMethod, SampledProgram, SampledTree};
use tallymon_dotnet::events;
use tallymon_dotnet::nettrace::TraceError;
use tallymon_dotnet::samples::Samples;

use crate::exit::{Failure, Kind};

/// Begins every event stream.
const MAGIC: &[u8; 8] = b"Nettrace";

/// Whether a file is an event stream.
pub(super) fn is_stream(file: &Path) -> bool {
    let mut begin = [0; MAGIC.len()];
    open_regular(file).and_then(|mut file| file.read_exact(&mut begin)).is_ok() && begin == *MAGIC
}

/// Reads an event stream as a profile of its samples.
pub(super) fn open(file: &Path) -> Result<Profile, Failure> {
    let input = open_regular(file).map_err(|error| Failure::file(file, &error))?;
    let samples = Samples::read(BufReader::new(input)).map_err(|error| failure(file, &error))?;
    if samples.threads.is_empty() {
        let words =
            format!("{}: it has no samples of threads; 'tally prof sample' records them", file.display());
        return Err(Failure::new(Kind::NoData, words));
    }
    Ok(profile(&samples))
}

/// The failure for a stream that cannot be read.
pub(super) fn failure(file: &Path, error: &TraceError) -> Failure {
    match error {
        TraceError::Io(error) => Failure::file(file, error),
        error => Failure::new(Kind::BadFile, format_args!("{}: {error}", file.display())),
    }
}

/// The call trees of samples.
fn profile(samples: &Samples) -> Profile {
    let numbers: BTreeMap<u64, usize> = samples.modules.keys().copied().zip(0..).collect();
    let modules = samples.modules.values().map(|path| Module {
        path: path.clone(),
        user: !is_framework(path),
        unloaded: false,
        domain: String::new(),
    });
    let modules: Vec<Module> = modules.collect();
    let mut methods = Methods::default();
    let mut number_of = |address: u64| match samples.method_at(address).and_then(|at| samples.methods.get(at))
    {
        Some(method) => {
            let module = numbers.get(&method.module).copied();
            methods.number(SampledMethod { raw: raw_name(method), module, token: method.token })
        }
        None => methods.number(SampledMethod {
            raw: RawName { method: "(code without a name)".into(), ..RawName::default() },
            ..SampledMethod::default()
        }),
    };
    let mut known: HashMap<u64, usize> = HashMap::new();
    let paths: Vec<Vec<usize>> = samples
        .stacks
        .iter()
        .map(|stack| {
            // The address of a caller is where it goes on, which may be after the end of its code.
            let inner = stack.iter().zip(std::iter::once(0).chain(std::iter::repeat(1)));
            let found = inner.map(|(address, back)| {
                let address = address.saturating_sub(back);
                *known.entry(address).or_insert_with(|| number_of(address))
            });
            let mut path: Vec<usize> = found.collect();
            path.reverse();
            path
        })
        .collect();
    let mut tree = SampledTree::default();
    for (thread, all) in &samples.threads {
        for sample in all {
            let path = paths.get(sample.stack).map(Vec::as_slice).unwrap_or_default();
            let thread = u32::try_from(*thread).unwrap_or(u32::MAX);
            tree.add(thread, sample.at, path.iter().copied());
        }
    }
    let mut problem = samples.damage.clone().unwrap_or_default();
    if samples.lost > 0 {
        problem.push_str(&format!(" the runtime dropped {} events", samples.lost));
    }
    tree.finish(SampledProgram {
        pid: samples.start.pid,
        started: samples.start.civil,
        duration: samples.duration,
        // .NET Core 3.1 calls itself by the number of its predecessor, which the profiler has in full.
        runtime: match samples.runtime {
            [4, 0, ..] => [4, 0, 30319, 0],
            version => version,
        },
        command: samples.command.clone(),
        problem: problem.trim().to_string(),
        modules,
        methods: methods.all,
    })
}

/// The methods that samples have. Code that was compiled twice is one method.
#[derive(Default)]
struct Methods {
    all: Vec<SampledMethod>,
    numbers: HashMap<(Option<usize>, u32, String), usize>,
}

impl Methods {
    fn number(&mut self, method: SampledMethod) -> usize {
        let key = (method.module, method.token, method.raw.encode());
        *self.numbers.entry(key).or_insert_with(|| {
            self.all.push(method);
            self.all.len() - 1
        })
    }
}

/// Whether a module belongs to .NET itself, by its folder and name.
fn is_framework(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path.contains("/shared/Microsoft.") || name.starts_with("System.") || name.starts_with("Microsoft.")
}

/// The name of a method out of the runtime's texts for it.
fn raw_name(method: &events::Method) -> RawName {
    let (type_name, type_parameters) = without_types(&method.type_name);
    let (name, method_parameters) = without_types(&method.name);
    let parameters = method.signature.split_once("  (").and_then(|(_, rest)| rest.strip_suffix(')'));
    let signature = parameters.map(|parameters| {
        let words: Vec<String> = split(parameters).into_iter().map(type_word).collect();
        format!("({})", words.join(", "))
    });
    RawName {
        type_name,
        type_parameters,
        method: name,
        method_parameters,
        signature: signature.unwrap_or_default(),
        ..RawName::default()
    }
}

/// A name without the types in brackets behind it, and these types.
fn without_types(name: &str) -> (String, Vec<String>) {
    match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
        Some((name, types)) if !name.is_empty() => {
            (name.to_string(), split(types).into_iter().map(type_word).collect())
        }
        _ => (name.to_string(), Vec::new()),
    }
}

/// Splits a list of types at the commas that are in no brackets.
fn split(types: &str) -> Vec<&str> {
    let mut depth = 0i32;
    let parts = types.split(|c| {
        match c {
            '<' | '[' | '(' => depth += 1,
            '>' | ']' | ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// A type of a signature as people write it.
fn type_word(name: &str) -> String {
    // The longer words first.
    let words = [
        ("value class ", ""),
        ("valuetype ", ""),
        ("class ", ""),
        ("unsigned int8", "byte"),
        ("unsigned int16", "ushort"),
        ("unsigned int32", "uint"),
        ("unsigned int64", "ulong"),
    ];
    let name = words.iter().fold(name.to_string(), |name, (from, to)| name.replace(from, to));
    let mut out = String::new();
    let mut word = String::new();
    for c in name.chars().map(Some).chain([None]) {
        match c {
            Some(c) if c.is_alphanumeric() || matches!(c, '.' | '_' | '`') => word.push(c),
            _ => {
                out.push_str(keyword(&word));
                out.extend(c);
                word.clear();
            }
        }
    }
    out
}

/// The word of C# for a type.
fn keyword(word: &str) -> &str {
    match word {
        "int8" => "sbyte",
        "int16" => "short",
        "int32" => "int",
        "int64" => "long",
        "float32" => "float",
        "float64" => "double",
        "System.String" => "string",
        "System.Object" => "object",
        word => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_named_as_in_exact_profiles() {
        let cases = [
            ("Shop.Cart", "Add", "instance void  (int32,class System.String)", "Shop.Cart.Add(int, string)"),
            ("Shop.Cart", "Main", "void  (class System.String[])", "Shop.Cart.Main(string[])"),
            ("Shop.Cart", "Sum", "float64  (float64[],unsigned int8)", "Shop.Cart.Sum(double[], byte)"),
            (
                "Shop.Cart",
                "Read",
                "int32  (value class System.Span`1<unsigned int8>)",
                "Shop.Cart.Read(Span<byte>)",
            ),
            ("Shop.Cart", "None", "void  ()", "Shop.Cart.None()"),
            ("", "IL_STUB_PInvoke", "", "IL_STUB_PInvoke"),
        ];
        for (type_name, name, signature, expected) in cases {
            let method = events::Method {
                start: 0,
                size: 1,
                module: 0,
                token: 0,
                type_name: type_name.into(),
                name: name.into(),
                signature: signature.into(),
            };
            assert_eq!(raw_name(&method).display(), expected);
        }
        assert_eq!(split("a<b,c>,d[e,f],(g,h)"), ["a<b,c>", "d[e,f]", "(g,h)"]);
        let generic = without_types("List`1[System.__Canon,int32]");
        assert_eq!(generic, ("List`1".into(), vec!["System.__Canon".into(), "int".into()]));
    }
}
