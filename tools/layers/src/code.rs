//! Code: the names that the modules of one file define, import and use. Code for tests is left out.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Item, Meta, UseTree, Visibility};

/// A path as the words that are written: `crate`, `point`, `Point`.
pub(crate) type Written = Vec<String>;

/// A module: a file, or a `mod name { ... }` in a file.
#[derive(Default, Debug)]
pub(crate) struct Module {
    /// The names of the modules from the crate's root to this one.
    pub path: Vec<String>,
    /// The items that the module defines.
    pub items: BTreeSet<String>,
    /// The names that `use` brings into the module, with the paths that they stand for.
    pub aliases: BTreeMap<String, Written>,
    /// The paths of `use ...::*`.
    pub globs: Vec<Written>,
    /// The names that the module re-exports.
    pub exports: BTreeSet<String>,
    /// All paths in its code, except for those that it re-exports.
    pub named: BTreeSet<Written>,
    /// Single words in macros and their calls: names of modules, or items that a call defines.
    pub called_with: BTreeSet<String>,
    /// The functions of `impl` blocks without a trait, each with the path of its type.
    pub functions: Vec<(Written, String)>,
    /// Submodules that have their own files and exist only for tests.
    pub for_tests: BTreeSet<String>,
}

/// Returns the comment at the start of a file, and the file's modules, the file itself first.
///
/// Fails when the text is not Rust.
pub(crate) fn read(text: &str, path: Vec<String>) -> syn::Result<(String, Vec<Module>)> {
    let file = syn::parse_file(text)?;
    let mut modules = Vec::new();
    module(&file.items, path, &mut modules);
    let lines: Vec<String> = file.attrs.into_iter().filter_map(doc).collect();
    Ok((lines.join("\n"), modules))
}

fn doc(attribute: Attribute) -> Option<String> {
    match attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match pair.value {
            syn::Expr::Lit(syn::ExprLit {
                lit: syn::Lit::Str(text),
                ..
            }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// Reads a module and the modules inside it.
fn module(items: &[Item], path: Vec<String>, modules: &mut Vec<Module>) {
    let place = modules.len();
    modules.push(Module::default());
    let mut module = Module {
        path,
        ..Module::default()
    };
    for item in items {
        let tests_only = attributes(item).iter().any(is_for_tests);
        match item {
            Item::Mod(inner) => match &inner.content {
                _ if tests_only => {
                    module.for_tests.insert(inner.ident.to_string());
                }
                Some((_, items)) => {
                    let mut path = module.path.clone();
                    path.push(inner.ident.to_string());
                    self::module(items, path, modules);
                }
                None => {}
            },
            _ if tests_only => {}
            Item::Use(item) => {
                let exported = !matches!(item.vis, Visibility::Inherited);
                imports(&item.tree, &mut Vec::new(), exported, &mut module);
            }
            Item::Macro(item) => {
                module
                    .items
                    .extend(item.ident.as_ref().map(ToString::to_string));
                words(item.mac.tokens.clone(), &mut module.called_with);
                paths(item.to_token_stream(), &mut module.named);
            }
            _ => {
                module.items.extend(name(item));
                if let Item::Impl(block) = item {
                    functions(block, &mut module.functions);
                }
                paths(item.to_token_stream(), &mut module.named);
            }
        }
    }
    modules[place] = module;
}

/// The name that an item defines.
fn name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::ExternCrate(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
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
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether an item is marked with `#[test]` or `#[cfg(test)]`.
fn is_for_tests(attribute: &Attribute) -> bool {
    is_test(&attribute.meta.to_token_stream().to_string())
}

fn is_test(attribute: &str) -> bool {
    let text: String = attribute.split_whitespace().collect();
    text == "test" || text == "cfg(test)"
}

/// The functions of an `impl` block that has no trait, with the path of its type.
fn functions(block: &syn::ItemImpl, into: &mut Vec<(Written, String)>) {
    let (None, syn::Type::Path(of)) = (&block.trait_, &*block.self_ty) else {
        return;
    };
    let of: Written = of
        .path
        .segments
        .iter()
        .map(|part| part.ident.to_string())
        .collect();
    let names = block.items.iter().filter_map(|item| match item {
        syn::ImplItem::Fn(function) => Some(function.sig.ident.to_string()),
        syn::ImplItem::Const(constant) => Some(constant.ident.to_string()),
        _ => None,
    });
    into.extend(names.map(|name| (of.clone(), name)));
}

/// Reads a `use` declaration.
fn imports(tree: &UseTree, before: &mut Written, exported: bool, module: &mut Module) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            imports(&path.tree, before, exported, module);
            before.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                imports(tree, before, exported, module);
            }
        }
        UseTree::Glob(_) => {
            module.globs.push(before.clone());
            if !exported {
                module.named.insert(before.clone());
            }
        }
        UseTree::Name(_) | UseTree::Rename(_) => {
            let (what, name) = match tree {
                UseTree::Rename(rename) => (rename.ident.to_string(), rename.rename.to_string()),
                UseTree::Name(name) => (name.ident.to_string(), name.ident.to_string()),
                _ => return,
            };
            let mut path = before.clone();
            let itself = what == "self";
            if !itself {
                path.push(what);
            }
            let name = match path.last() {
                Some(last) if itself && name == "self" => last.clone(),
                _ => name,
            };
            if exported {
                module.exports.insert(name.clone());
            } else {
                module.named.insert(path.clone());
            }
            module.aliases.insert(name, path);
        }
    }
}

/// The single words of a macro call.
fn words(tokens: TokenStream, into: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(word) => drop(into.insert(word.to_string())),
            TokenTree::Group(group) => words(group.stream(), into),
            _ => {}
        }
    }
}

/// All paths in the code, including single words.
fn paths(tokens: TokenStream, into: &mut BTreeSet<Written>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Punct(sign) if sign.as_char() == '#' => {
                let Some(TokenTree::Group(attribute)) = tokens.get(at) else {
                    continue;
                };
                if is_test(&attribute.stream().to_string()) {
                    at = after_item(&tokens, at + 1);
                }
            }
            TokenTree::Ident(first) => at = path(&tokens, at, first.to_string(), into),
            TokenTree::Group(group) => paths(group.stream(), into),
            _ => {}
        }
    }
}

/// The token after the item that starts here.
fn after_item(tokens: &[TokenTree], start: usize) -> usize {
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(sign) => sign.as_char() == ';',
        _ => false,
    };
    let end = tokens.iter().skip(start).position(ends);
    end.map_or(tokens.len(), |end| start + end + 1)
}

/// Reads the rest of a path whose first word has been read; returns where the path ends.
fn path(tokens: &[TokenTree], mut at: usize, first: String, into: &mut BTreeSet<Written>) -> usize {
    let is = |at: usize, sign: char| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == sign);
    let starts_late = at >= 3 && is(at - 2, ':') && is(at - 3, ':');
    let mut path = vec![first];
    while is(at, ':') && is(at + 1, ':') {
        match tokens.get(at + 2) {
            Some(TokenTree::Ident(next)) => path.push(next.to_string()),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                group_of_paths(&path, group.stream(), into);
                return at + 3;
            }
            _ => break,
        }
        at += 3;
    }
    // `::std::x` and `<T as X>::y` do not begin with this word
    if !starts_late {
        into.insert(path);
    }
    at
}

/// The paths of `before::{a, b::c, d::{e}}`.
fn group_of_paths(before: &Written, group: TokenStream, into: &mut BTreeSet<Written>) {
    let mut inside = BTreeSet::new();
    paths(group, &mut inside);
    let whole = |path: Written| match path.first().map(String::as_str) {
        Some("self") => before.clone(),
        _ => [before.clone(), path].concat(),
    };
    into.extend(inside.into_iter().map(whole));
}
