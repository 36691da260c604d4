//! Names of methods as people write them, from the names that compilers put into metadata.
//!
//! You pass a [`RawName`]; [`RawName::display`] returns namespaces, nested types, generic parameters and
//! overloads as in C# source. It folds compiler-made types and methods (state machines of `async` methods and
//! iterators, lambdas, closures, local functions) back into the method in the source. The file keeps the raw
//! name.
//!
//! | metadata | shown |
//! |---|---|
//! | ``N.List`1`` `Add` with `T` and `(!0)` | `N.List<T>.Add(T)` |
//! | `N.Outer+Inner` `Run` | `N.Outer.Inner.Run()` |
//! | `N.C+<Load>d__7` `MoveNext` | `async N.C.Load`, or `iterator N.C.Load` |
//! | `N.C+<>c` `<Run>b__3_0` | `N.C.Run.<lambda 3_0>(int)` |
//! | `N.C+<>c__DisplayClass3_0` `<Run>b__1` | `N.C.Run.<lambda 1>()` |
//! | `N.C` `<Run>g__Add\|3_0` | `N.C.Run.Add(int, int)` |

use crate::signature::without_arity;

/// The most levels of compiler-made names inside compiler-made names.
const MAX_NESTED: u32 = 8;

/// The parts of a method's name, as in metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawName {
    /// The type: namespace with dots, nested types after `+`, arity after a backtick. Empty for a global
    /// method.
    pub type_name: String,
    /// Names of the type's generic parameters (the outermost type's first), or of the types in their place.
    pub type_parameters: Vec<String>,
    /// The method.
    pub method: String,
    /// Names of the method's generic parameters, or of the types in their place.
    pub method_parameters: Vec<String>,
    /// The parameters in parentheses, with full type names; empty when the signature could not be read.
    pub signature: String,
    /// Whether the type is the state machine of an `async` method, which its name does not say.
    pub state_machine: bool,
}

impl RawName {
    /// The name as one text for the file: type, type parameters, method, method parameters and signature with
    /// a NUL between them, parameters with a line feed between them.
    pub fn encode(&self) -> String {
        let type_parameters = self.type_parameters.join("\n");
        let method_parameters = self.method_parameters.join("\n");
        [&self.type_name, &type_parameters, &self.method, &method_parameters, &self.signature]
            .map(String::as_str)
            .join("\0")
    }

    /// The reverse of [`RawName::encode`]; missing parts are empty.
    pub fn decode(text: &str, state_machine: bool) -> RawName {
        let mut parts = text.split('\0');
        let mut next = || parts.next().unwrap_or_default();
        let list =
            |text: &str| text.split('\n').filter(|part| !part.is_empty()).map(str::to_string).collect();
        RawName {
            type_name: next().to_string(),
            type_parameters: list(next()),
            method: next().to_string(),
            method_parameters: list(next()),
            signature: next().to_string(),
            state_machine,
        }
    }

    /// Type and method exactly as in metadata, such as `N.C+<Load>d__7::MoveNext`.
    pub fn raw(&self) -> String {
        if self.type_name.is_empty() {
            return self.method.clone();
        }
        format!("{}::{}", self.type_name, self.method)
    }

    /// The name as people write it, see the table at the top of this module.
    pub fn display(&self) -> String {
        let (mut path, made) = type_path(&self.type_name, &self.type_parameters);
        if let Some(CompilerType::Machine { method, kind }) = made {
            let owner = join(&path, &source_method(&method, 0));
            let word = match kind {
                Machine::Async => "async",
                Machine::Iterator => "iterator",
                Machine::Unknown if self.state_machine => "async",
                Machine::Unknown => "iterator",
            };
            // The steps of a state machine are the method in the source; its other methods are generated.
            return if self.method == "MoveNext" {
                format!("{word} {owner}")
            } else {
                format!("{word} {owner}.{}{}", self.method, short_types(&self.signature))
            };
        }
        if let Some(CompilerType::Closure { method }) = made
            && self.method.starts_with("<>")
        {
            path = join(&path, &source_method(&method, 0));
        }
        let method = source_method(&self.method, 0);
        // A property's accessor reads as the property; only the plain form, an explicit one keeps its name.
        let method = match method
            .strip_prefix("get_")
            .map(|name| (name, "get"))
            .or_else(|| method.strip_prefix("set_").map(|name| (name, "set")))
        {
            // What has parameters beside the value is an indexer, by the name that compilers give it.
            Some(("Item", word))
                if self.signature != "()" && (word == "get" || self.signature.contains(',')) =>
            {
                format!("this.{word}")
            }
            Some((property, word)) if !property.is_empty() => format!("{property}.{word}"),
            _ => method,
        };
        path = join(&path, &method);
        if !self.method_parameters.is_empty() {
            path.push('<');
            path.push_str(
                &self.method_parameters.iter().map(|t| short_types(t)).collect::<Vec<_>>().join(", "),
            );
            path.push('>');
        }
        path.push_str(&short_types(&self.signature));
        path
    }
}

/// Type names without their namespaces, nested types with a dot: `(System.String, N.A+B[])` is `(String,
/// A.B[])`.
pub fn short_types(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    for c in text.chars() {
        match c {
            // Everything up to a dot was a namespace.
            '.' => word.clear(),
            '+' => word.push('.'),
            c if c.is_alphanumeric() || c == '_' || c == '`' || c == '@' => word.push(c),
            c => {
                out.push_str(without_arity(&word));
                word.clear();
                out.push(c);
            }
        }
    }
    out.push_str(without_arity(&word));
    out
}

/// C#'s word for a type of the framework, or the name itself.
pub fn keyword(name: &str) -> &str {
    match name {
        "System.Boolean" => "bool",
        "System.Byte" => "byte",
        "System.SByte" => "sbyte",
        "System.Char" => "char",
        "System.Int16" => "short",
        "System.UInt16" => "ushort",
        "System.Int32" => "int",
        "System.UInt32" => "uint",
        "System.Int64" => "long",
        "System.UInt64" => "ulong",
        "System.Single" => "float",
        "System.Double" => "double",
        "System.String" => "string",
        "System.Object" => "object",
        name => name,
    }
}

/// A compiler-made type that holds parts of a method.
enum CompilerType {
    /// A state machine of the method of this name.
    Machine { method: String, kind: Machine },
    /// A closure, of the method with this name when the compiler records it.
    Closure { method: String },
}

#[derive(Clone, Copy)]
enum Machine {
    Async,
    Iterator,
    /// Roslyn names both kinds `d__N`.
    Unknown,
}

fn join(path: &str, name: &str) -> String {
    if name.is_empty() {
        return path.to_string();
    }
    if path.is_empty() { name.to_string() } else { format!("{path}.{name}") }
}

/// The source form of a type name with its generic parameters, and the innermost compiler-made type.
fn type_path(name: &str, parameters: &[String]) -> (String, Option<CompilerType>) {
    let mut parameters = parameters.iter();
    let mut path = String::new();
    let mut made = None;
    for part in name.split('+').filter(|part| *part != "<Module>") {
        if let Some(found) = made_type(part) {
            made = Some(found);
            continue;
        }
        let plain = without_arity(part);
        path = join(&path, plain);
        // Each type shows the parameters that it adds; metadata lists those of the enclosing types before
        // them.
        let own = part
            .get(plain.len().saturating_add(1)..)
            .and_then(|arity| arity.parse::<usize>().ok())
            .unwrap_or(0);
        let mine: Vec<String> = parameters.by_ref().take(own).map(|t| short_types(t)).collect();
        if !mine.is_empty() {
            path.push('<');
            path.push_str(&mine.join(", "));
            path.push('>');
        }
    }
    (path, made)
}

/// Splits `<inner>rest` at the matching bracket.
fn bracketed(name: &str) -> Option<(&str, &str)> {
    let body = name.strip_prefix('<')?;
    let mut depth = 1u32;
    for (at, c) in body.char_indices() {
        match c {
            '<' => depth = depth.saturating_add(1),
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some((body.get(..at)?, body.get(at.saturating_add(1)..)?));
        }
    }
    None
}

fn made_type(part: &str) -> Option<CompilerType> {
    let (inner, rest) = bracketed(part)?;
    let method = inner.to_string();
    if rest.starts_with("d__") {
        Some(CompilerType::Machine { method, kind: Machine::Unknown })
    } else if rest.starts_with("c__async") {
        Some(CompilerType::Machine { method, kind: Machine::Async })
    } else if rest.starts_with("c__Iterator") {
        Some(CompilerType::Machine { method, kind: Machine::Iterator })
    } else if rest == "c" || rest.starts_with("c__") || rest.starts_with("c`") {
        Some(CompilerType::Closure { method })
    } else {
        None
    }
}

/// The source form of a method name: lambdas and local functions under the method that contains them.
fn source_method(name: &str, depth: u32) -> String {
    if depth > MAX_NESTED {
        return name.to_string();
    }
    let Some((inner, rest)) = bracketed(name) else { return name.to_string() };
    let owner = source_method(inner, depth.saturating_add(1));
    if let Some(ordinal) = rest.strip_prefix("b__").or_else(|| rest.strip_prefix("m__")) {
        return join(&owner, &format!("<lambda {ordinal}>"));
    }
    if let Some((local, _)) = rest.strip_prefix("g__").and_then(|rest| rest.split_once('|')) {
        return join(&owner, local);
    }
    // Top-level statements: Roslyn calls them `<Main>$`.
    if rest == "$" {
        return owner;
    }
    name.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(
        type_name: &str,
        type_parameters: &[&str],
        method: &str,
        method_parameters: &[&str],
        signature: &str,
    ) -> RawName {
        let list = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        RawName {
            type_name: type_name.into(),
            type_parameters: list(type_parameters),
            method: method.into(),
            method_parameters: list(method_parameters),
            signature: signature.into(),
            state_machine: false,
        }
    }

    fn check(type_name: &str, method: &str, signature: &str, expected: &str) {
        assert_eq!(raw(type_name, &[], method, &[], signature).display(), expected);
    }

    #[test]
    fn plain_names() {
        check("TestApp.Program", "sum", "(int, int)", "TestApp.Program.sum(int, int)");
        check("TestApp.MethodTest", ".ctor", "()", "TestApp.MethodTest..ctor()");
        check("N.Outer+Inner", "Run", "(System.String, N.A+B[])", "N.Outer.Inner.Run(String, A.B[])");
        check("<Module>", "Global", "()", "Global()");
        check("", "Global", "()", "Global()");
        check("N.C", "get_Count", "()", "N.C.Count.get()");
        check("N.C", "set_Count", "(int)", "N.C.Count.set(int)");
        check("N.C", "get_Item", "(int)", "N.C.this.get(int)");
        check("N.C", "set_Item", "(int, string)", "N.C.this.set(int, string)");
        check("N.C", "get_Item", "()", "N.C.Item.get()");
        check("N.C", "set_Item", "(int)", "N.C.Item.set(int)");
        check("N.C", "System.IDisposable.Dispose", "()", "N.C.System.IDisposable.Dispose()");
    }

    #[test]
    fn generic_parameters_are_at_the_type_that_adds_them() {
        let name = raw("N.Map`2+Entry`1+Leaf", &["K", "V", "E"], "Get", &["R"], "(K, System.Func`2<K, R>)");
        assert_eq!(name.display(), "N.Map<K, V>.Entry<E>.Leaf.Get<R>(K, Func<K, R>)");
        let name = raw("N.List`1", &["System.Int32"], "Add", &[], "(T)");
        assert_eq!(name.display(), "N.List<Int32>.Add(T)");
        assert_eq!([keyword("System.Int32"), keyword("N.Int32")], ["int", "N.Int32"]);
    }

    #[test]
    fn compiler_made_names_fold_into_the_method_that_was_written() {
        check("N.C+<Load>c__async0", "MoveNext", "()", "async N.C.Load");
        check("N.C+<Items>c__Iterator2", "MoveNext", "()", "iterator N.C.Items");
        check("N.C+<Items>d__7", "MoveNext", "()", "iterator N.C.Items");
        check("N.C+<Items>d__7", "Dispose", "()", "iterator N.C.Items.Dispose()");
        let mut machine = raw("N.C`1+<Load>d__7", &["T"], "MoveNext", &[], "()");
        machine.state_machine = true;
        assert_eq!(machine.display(), "async N.C<T>.Load");
        check("N.C+<>c", "<Run>b__3_0", "(int)", "N.C.Run.<lambda 3_0>(int)");
        check("N.C+<>c__DisplayClass3_0", "<Run>b__1", "()", "N.C.Run.<lambda 1>()");
        check("N.C", "<Run>m__0", "()", "N.C.Run.<lambda 0>()");
        check("N.C+<Run>c__AnonStorey0", "<>m__1", "()", "N.C.Run.<lambda 1>()");
        check("N.C", "<Run>g__Add|3_0", "(int)", "N.C.Run.Add(int)");
        check("Program", "<Main>$", "(string[])", "Program.Main(string[])");
        check("N.C+<>c+<<Run>b__0_0>d", "SetStateMachine", "()", "N.C.<<Run>b__0_0>d.SetStateMachine()");
        check("N.C+<>c+<<Run>b__0_0>d__1", "MoveNext", "()", "iterator N.C.Run.<lambda 0_0>");
    }

    #[test]
    fn strange_names_stay_as_they_are() {
        check("<", "<", "", "<.<");
        check("<>", "<>", "", "<>.<>");
        check("A`", "b`x", "", "A`.b`x");
        check("+", "+", "", "+");
        let nested = format!("{}x{}", "<".repeat(100), ">b__0".repeat(100));
        assert!(raw("C", &[], &nested, &[], "").display().starts_with("C.<"));
    }

    #[test]
    fn the_text_of_the_file_decodes_to_the_same_name() {
        let name = raw("N.Map`2", &["K", "V"], "Get", &["R"], "(K)");
        assert_eq!(RawName::decode(&name.encode(), false), name);
        assert_eq!(RawName::decode("", true), RawName { state_machine: true, ..RawName::default() });
        assert_eq!(RawName::decode("a\0\0b", false).raw(), "a::b");
    }
}
