//! The modules of a crate as its sources say them: their files, what they declare, and what they name of each
//! other.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Item, Lit, Macro, Meta, UseTree};

use super::platform::is_for_tests;
use super::sources::{SourceFile, module_paths};

/// A module: a file, or a block in one.
#[derive(Default)]
pub(super) struct Module {
    /// Its name below the crate, such as `shm::reader`; nothing for the crate itself.
    pub(super) path: Vec<String>,
    /// The file that holds it.
    pub(super) file: String,
    /// The first sentence of its header.
    pub(super) summary: String,
    parent: Option<usize>,
    /// Whether it is a block in a file.
    pub(super) is_block: bool,
    /// A name may stand for several files, of which `cfg` chooses one.
    children: BTreeMap<String, Vec<usize>>,
    items: BTreeSet<String>,
    /// The names that `use` brings in, and where from.
    names: BTreeMap<String, Vec<Vec<String>>>,
    /// Where `use` brings everything in from.
    globs: Vec<Vec<String>>,
    /// The paths that its code writes out.
    paths: BTreeSet<Vec<String>>,
}

/// The names whose meaning is being looked for, each in its module.
type Seen = BTreeSet<(usize, String)>;

/// All modules of a crate; the first is the crate itself.
pub(super) struct Modules(pub(super) Vec<Module>);

impl Modules {
    /// Reads the crate whose root is a file such as `crates/core/src/lib.rs`.
    pub(super) fn read(root: &str, files: &BTreeMap<&str, &SourceFile>) -> Result<Modules, String> {
        let mut modules = Modules(Vec::new());
        modules.read_file(root, Vec::new(), None, files)?;
        Ok(modules)
    }

    fn read_file(
        &mut self,
        path: &str,
        name: Vec<String>,
        parent: Option<usize>,
        files: &BTreeMap<&str, &SourceFile>,
    ) -> Result<usize, String> {
        let source = files.get(path).ok_or_else(|| format!("{path}: a module without a file"))?;
        let parsed = source.parse()?;
        let at = self.0.len();
        let summary = summary_of(&parsed.attrs);
        self.0.push(Module { path: name, file: path.to_string(), summary, parent, ..Module::default() });
        self.read_items(at, &parsed.items, files)?;
        Ok(at)
    }

    fn read_items(
        &mut self,
        at: usize,
        items: &[Item],
        files: &BTreeMap<&str, &SourceFile>,
    ) -> Result<(), String> {
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            if let Item::Mod(module) = item {
                self.read_module(at, module, files)?;
                continue;
            }
            if let Some(name) = name_of(item) {
                self.0[at].items.insert(name);
            }
            Names { module: &mut self.0[at] }.visit_item(item);
        }
        Ok(())
    }

    fn read_module(
        &mut self,
        at: usize,
        module: &syn::ItemMod,
        files: &BTreeMap<&str, &SourceFile>,
    ) -> Result<(), String> {
        let name = module.ident.to_string();
        let mut path = self.0[at].path.clone();
        path.push(name.clone());
        let file = self.0[at].file.clone();
        let mut children = Vec::new();
        if let Some((_, items)) = &module.content {
            children.push(self.0.len());
            self.0.push(Module { path, file, parent: Some(at), is_block: true, ..Module::default() });
            self.read_items(self.0.len() - 1, items, files)?;
        } else {
            let chosen: Vec<Option<String>> = chosen_paths(&module.attrs).into_iter().map(Some).collect();
            for chosen in if chosen.is_empty() { vec![None] } else { chosen } {
                let candidates = module_paths(&file, &name, chosen.as_deref());
                let found = candidates.into_iter().find(|candidate| files.contains_key(candidate.as_str()));
                let found = found.ok_or_else(|| format!("{file}: the file of module {name} is not found"))?;
                children.push(self.read_file(&found, path.clone(), Some(at), files)?);
            }
        }
        self.0[at].children.entry(name).or_default().extend(children);
        Ok(())
    }

    /// What each file names of other files of the crate: from, to, and a name. What a file takes from its own
    /// parent is not among it.
    pub(super) fn arrows(&self) -> BTreeMap<(&str, &str), String> {
        let mut arrows = BTreeMap::new();
        for (from, module) in self.0.iter().enumerate() {
            let above = self.file_above(from);
            let names = module.names.values().flatten().chain(&module.globs).chain(&module.paths);
            for path in names {
                for to in self.resolve(from, path) {
                    let to = self.0[to].file.as_str();
                    if to != module.file && Some(to) != above {
                        arrows.entry((module.file.as_str(), to)).or_insert_with(|| path.join("::"));
                    }
                }
            }
        }
        arrows
    }

    /// The file of the parent.
    fn file_above(&self, at: usize) -> Option<&str> {
        let file = &self.0[at].file;
        let mut above = self.0[at].parent;
        while let Some(parent) = above {
            if self.0[parent].file != *file {
                return Some(&self.0[parent].file);
            }
            above = self.0[parent].parent;
        }
        None
    }

    /// The modules that define what a path means in a module; several, if `cfg` chooses one. None for what
    /// other crates define.
    fn resolve(&self, from: usize, path: &[String]) -> Vec<usize> {
        self.resolve_from(from, path, &mut Seen::new())
    }

    fn resolve_from(&self, from: usize, path: &[String], seen: &mut Seen) -> Vec<usize> {
        let Some((first, rest)) = path.split_first() else { return vec![from] };
        match (first.as_str(), self.0[from].parent) {
            ("crate", _) => self.within(0, rest, seen),
            ("self", _) => self.within(from, rest, seen),
            ("super", Some(parent)) => {
                // `super::super::x` goes on from the parent.
                if rest.first().is_some_and(|word| word == "super") {
                    self.resolve_from(parent, rest, seen)
                } else {
                    self.within(parent, rest, seen)
                }
            }
            ("super", None) => Vec::new(),
            _ => self.named(from, first, rest, seen).unwrap_or_default(),
        }
    }

    /// A path whose first name belongs to a module.
    fn within(&self, module: usize, path: &[String], seen: &mut Seen) -> Vec<usize> {
        let Some((first, rest)) = path.split_first() else { return vec![module] };
        // What a macro makes is seen by nobody here, and belongs to the module that names it.
        self.named(module, first, rest, seen).unwrap_or_else(|| vec![module])
    }

    fn named(&self, module: usize, name: &str, rest: &[String], seen: &mut Seen) -> Option<Vec<usize>> {
        let this = &self.0[module];
        if let Some(children) = this.children.get(name) {
            return Some(children.iter().flat_map(|child| self.within(*child, rest, seen)).collect());
        }
        if this.items.contains(name) {
            return Some(vec![module]);
        }
        if let Some(targets) = this.names.get(name) {
            // `use log::log` is a name of another crate, and not of itself.
            if !seen.insert((module, name.to_string())) {
                return Some(Vec::new());
            }
            let of = |target: &Vec<String>, seen: &mut Seen| {
                let path: Vec<String> = target.iter().chain(rest).cloned().collect();
                self.resolve_from(module, &path, seen)
            };
            let found = targets.iter().flat_map(|target| of(target, seen)).collect();
            seen.remove(&(module, name.to_string()));
            return Some(found);
        }
        if this.globs.is_empty() || !seen.insert((module, name.to_string())) {
            return None;
        }
        let found = this.globs.iter().find_map(|target| {
            let targets = self.resolve_from(module, target, seen);
            targets.into_iter().find_map(|target| self.named(target, name, rest, seen))
        });
        seen.remove(&(module, name.to_string()));
        found
    }
}

/// Collects the names and paths of items.
struct Names<'m> {
    module: &'m mut Module,
}

impl Names<'_> {
    fn tree(&mut self, tree: &UseTree, mut before: Vec<String>) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.tree(&path.tree, before);
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                // `use a::{self}` is `use a`.
                if name != "self" {
                    before.push(name);
                }
                if let Some(name) = before.last().cloned() {
                    self.module.names.entry(name).or_default().push(before);
                }
            }
            UseTree::Rename(rename) => {
                if rename.ident != "self" {
                    before.push(rename.ident.to_string());
                }
                self.module.names.entry(rename.rename.to_string()).or_default().push(before);
            }
            UseTree::Glob(_) => self.module.globs.push(before),
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.tree(tree, before.clone()));
            }
        }
    }

    /// Paths such as `a::b` in what a macro gets.
    fn tokens(&mut self, tokens: &TokenStream) {
        let mut path = Vec::new();
        let mut colons = 0;
        for token in tokens.clone() {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.path(std::mem::take(&mut path));
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' && !path.is_empty() => colons += 1,
                other => {
                    self.path(std::mem::take(&mut path));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(&group.stream());
                    }
                }
            }
        }
        self.path(path);
    }

    fn path(&mut self, path: Vec<String>) {
        if path.len() > 1 {
            self.module.paths.insert(path);
        }
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_none() {
            self.tree(&item.tree, Vec::new());
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.path(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.visit_path(&call.path);
        self.tokens(&call.tokens);
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// The text of `#[path = "..."]`, or of a documentation line.
fn text_of(attribute: &Attribute, name: &str) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident(name) => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// The files that attributes name for a module, also those that `cfg_attr` chooses.
fn chosen_paths(attributes: &[Attribute]) -> Vec<String> {
    let chosen = |attribute: &Attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg_attr") => {
            let tokens: Vec<TokenTree> = list.tokens.clone().into_iter().collect();
            tokens.windows(3).find_map(|tokens| match tokens {
                [TokenTree::Ident(name), TokenTree::Punct(_), TokenTree::Literal(text)] if name == "path" => {
                    syn::parse_str::<syn::LitStr>(&text.to_string()).map(|text| text.value()).ok()
                }
                _ => None,
            })
        }
        _ => text_of(attribute, "path"),
    };
    attributes.iter().filter_map(chosen).collect()
}

/// The first sentence of a header.
fn summary_of(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| text_of(attribute, "doc"));
    let paragraph: Vec<String> =
        lines.map(|line| line.trim().to_string()).take_while(|line| !line.is_empty()).collect();
    let text = paragraph.join(" ");
    let end = text.find(". ").unwrap_or(text.len());
    without_links(text[..end].trim_end_matches('.'))
}

/// A text whose links, such as [`Vec`] or [a word](Vec), are words.
fn without_links(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        words.push_str(before);
        let found = link.split_once(']').map(|(name, behind)| {
            let target = behind.strip_prefix('(').and_then(|target| target.split_once(')'));
            (name, target.map(|(_, behind)| behind), behind)
        });
        rest = match found {
            Some((name, Some(behind), _)) => {
                words.push_str(name);
                behind
            }
            Some((name, None, behind)) if name.starts_with('`') => {
                words.push_str(name);
                behind
            }
            _ => {
                words.push('[');
                link
            }
        };
    }
    words + rest
}
