//! Platform code is an item or a file that `cfg` chooses: no function has a `cfg` inside, except for
//! features.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Block, ImplItemFn, ItemFn, ItemMod, Macro, Meta, Signature, TraitItemFn};

/// The lines on which the functions of a file choose by platform, or by who compiles them.
pub(super) fn choices(file: &syn::File) -> Vec<usize> {
    let mut finder = Finder::default();
    finder.visit_file(file);
    finder.lines.dedup();
    finder.lines
}

#[derive(Default)]
struct Finder {
    /// How many functions are around the place that is visited.
    depth: usize,
    lines: Vec<usize>,
}

impl Finder {
    /// Looks at the attributes of a function from outside, and at the rest from inside.
    fn function(&mut self, attributes: &[Attribute], signature: &Signature, block: Option<&Block>) {
        attributes.iter().for_each(|attribute| self.visit_attribute(attribute));
        self.depth += 1;
        self.visit_signature(signature);
        block.into_iter().for_each(|block| self.visit_block(block));
        self.depth -= 1;
    }

    fn predicate(&mut self, span: Span, tokens: &TokenStream) {
        if self.depth > 0 && names_platform(tokens) {
            self.lines.push(span.start().line);
        }
    }

    /// What a macro gets is no syntax yet: `cfg!(..)` may stand in it.
    fn tokens(&mut self, tokens: &TokenStream) {
        let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            let TokenTree::Group(group) = token else { continue };
            match at.checked_sub(2).and_then(|start| tokens.get(start..at)) {
                Some([TokenTree::Ident(name), TokenTree::Punct(mark)])
                    if *name == "cfg" && mark.as_char() == '!' =>
                {
                    self.predicate(name.span(), &group.stream());
                }
                _ => self.tokens(&group.stream()),
            }
        }
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        if !is_for_tests(&function.attrs) {
            self.function(&function.attrs, &function.sig, Some(&function.block));
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            self.function(&function.attrs, &function.sig, Some(&function.block));
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        self.function(&function.attrs, &function.sig, function.default.as_ref());
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let Meta::List(list) = &attribute.meta else { return };
        let span = attribute.pound_token.span;
        if list.path.is_ident("cfg") {
            self.predicate(span, &list.tokens);
        } else if list.path.is_ident("cfg_attr") {
            // Behind the first comma is what is chosen.
            let is_comma =
                |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',');
            let predicate = list.tokens.clone().into_iter().take_while(|token| !is_comma(token)).collect();
            self.predicate(span, &predicate);
        }
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        match call.path.get_ident() {
            Some(name) if name == "cfg" => self.predicate(name.span(), &call.tokens),
            _ => self.tokens(&call.tokens),
        }
    }
}

/// Whether an item exists in tests only.
pub(super) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            let mut words = list.tokens.clone().into_iter();
            match (words.next(), words.next()) {
                (Some(TokenTree::Ident(word)), None) => word == "test",
                (Some(TokenTree::Ident(word)), Some(TokenTree::Group(group))) if word == "all" => {
                    let words = group.stream().into_iter();
                    words.into_iter().any(|word| matches!(word, TokenTree::Ident(word) if word == "test"))
                }
                _ => false,
            }
        }
        _ => false,
    })
}

/// Whether a predicate asks for something else than features.
fn names_platform(predicate: &TokenStream) -> bool {
    predicate.clone().into_iter().any(|token| match token {
        TokenTree::Ident(word) => !["all", "any", "not", "feature"].iter().any(|known| word == known),
        TokenTree::Group(group) => names_platform(&group.stream()),
        _ => false,
    })
}
