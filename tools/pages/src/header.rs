//! Parses include/stead.h into its front comment and its declarations, each with the comment above
//! it.
//!
//! This is not a parser of C: tools/header writes the header and always gives it the shape below.
//! Any other line is an error that names the line.
//!
//! ```text
//! // text                 the front comment; a blank line ends it
//!
//! // text                 a declaration's comment
//! typedef enum {
//!   // text               a member's comment
//!   STEAD_OK = 0,
//! } stead_status;
//! ```

use std::iter::Peekable;
use std::str::Lines;

/// The lines of a comment, without the slashes.
pub(crate) type Comment<'a> = Vec<&'a str>;

/// A parsed header.
pub(crate) struct Header<'a> {
    /// The comment at the top of the file.
    pub(crate) front: Comment<'a>,
    /// The types and functions, in their order.
    pub(crate) declarations: Vec<Declaration<'a>>,
}

/// A type or a function.
pub(crate) struct Declaration<'a> {
    /// The name.
    pub(crate) name: &'a str,
    /// The comment above the declaration.
    pub(crate) comment: Comment<'a>,
    /// The text of the declaration, without the members of a type that has braces.
    pub(crate) lines: Vec<&'a str>,
    /// The comment and the text of each member.
    pub(crate) members: Vec<(Comment<'a>, &'a str)>,
}

impl<'a> Header<'a> {
    /// Parses the text of a header.
    pub(crate) fn of(text: &'a str) -> Result<Header<'a>, String> {
        let mut lines = text.lines().peekable();
        let front = comment(&mut lines);
        let mut declarations = Vec::new();
        loop {
            let above = comment(&mut lines);
            let Some(line) = lines.next() else { break };
            // a macro has a comment, but no page; its value goes on after a backslash
            if line.starts_with('#') {
                let mut end = line;
                while end.ends_with('\\') {
                    end = lines.next().unwrap_or_default();
                }
                continue;
            }
            if above.is_empty() {
                // the two lines of extern "C"
                if line.is_empty() || line.ends_with("extern \"C\"") || line == "extern \"C\" {" {
                    continue;
                }
                return Err(format!("no comment above: {line}"));
            }
            // an attribute has a line of its own
            let line = match line {
                "STEAD_USE_RESULT" => lines.next().unwrap_or_default(),
                line => line,
            };
            declarations.push(Declaration::of(above, line, &mut lines)?);
        }
        if front.is_empty() || declarations.is_empty() {
            return Err("no front comment, or no declarations".to_owned());
        }
        Ok(Header {
            front,
            declarations,
        })
    }

    /// The comments and the texts of the members of a type.
    pub(crate) fn members_of(&self, name: &str) -> &[(Comment<'a>, &'a str)] {
        let found = self.declarations.iter().find(|one| one.name == name);
        found.map_or(&[], |one| &one.members)
    }

    /// The declarations that are functions, or those that are types.
    pub(crate) fn only(&self, functions: bool) -> impl Iterator<Item = &Declaration<'a>> {
        self.declarations
            .iter()
            .filter(move |one| one.is_function() == functions)
    }
}

impl<'a> Declaration<'a> {
    fn of(
        comment: Comment<'a>,
        first: &'a str,
        rest: &mut Peekable<Lines<'a>>,
    ) -> Result<Declaration<'a>, String> {
        let (mut lines, mut members) = (vec![first], Vec::new());
        if first.ends_with('{') {
            let last = loop {
                let above = self::comment(rest);
                let line = rest.next().ok_or_else(|| format!("no end: {first}"))?;
                if line.starts_with('}') {
                    break line;
                }
                members.push((above, line.trim()));
            };
            lines.push(last);
        } else {
            while lines.last().is_some_and(|line| !line.ends_with(';')) {
                lines.push(rest.next().ok_or_else(|| format!("no end: {first}"))?);
            }
        }
        let head = if first.contains('(') {
            first.split('(').next()
        } else {
            lines.last().map(|line| line.trim_end_matches(';'))
        };
        let name = head
            .and_then(|head| head.rsplit([' ', '*']).next())
            .filter(|name| name.starts_with("stead_"));
        let name = name.ok_or_else(|| format!("no name that begins with stead_: {first}"))?;
        Ok(Declaration {
            name,
            comment,
            lines,
            members,
        })
    }

    /// Whether the declaration is a function.
    pub(crate) fn is_function(&self) -> bool {
        !self.lines.iter().any(|line| line.starts_with("typedef"))
    }

    /// Whether the function has a parameter of this name.
    pub(crate) fn has_parameter(&self, name: &str) -> bool {
        let words = |line: &&'a str| {
            line.split(|c: char| !c.is_alphanumeric() && c != '_')
                .any(|word| word == name)
        };
        self.lines.iter().any(words)
    }
}

/// Takes the comment that comes next; it is empty when the next line is not a comment.
fn comment<'a>(lines: &mut Peekable<Lines<'a>>) -> Comment<'a> {
    let mut found = Vec::new();
    while let Some(text) = lines
        .peek()
        .and_then(|line| line.trim_start().strip_prefix("//"))
    {
        found.push(text.strip_prefix(' ').unwrap_or(text));
        lines.next();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "// front\n\n#define X\n\n// A number.\ntypedef enum {\n  // One.\n  STEAD_A = 1,\n} stead_number;\n\n// Opaque.\n\
        typedef struct stead_map stead_map;\n\n#ifdef Y\nextern \"C\" {\n#endif\n// Says.\n// map: which.\n\
        const char *stead_say(const stead_map *map,\n                      int32_t node);\n\n}  // extern \"C\"\n";

    #[test]
    fn every_declaration_is_found_with_its_comment() {
        let header = Header::of(SMALL).unwrap();
        assert_eq!(header.front, ["front"]);
        let names = |functions| {
            header
                .only(functions)
                .map(|one| (one.name, one.comment.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            names(false),
            [
                ("stead_number", vec!["A number."]),
                ("stead_map", vec!["Opaque."])
            ]
        );
        assert_eq!(names(true), [("stead_say", vec!["Says.", "map: which."])]);
        assert_eq!(
            header.declarations[0].members,
            [(vec!["One."], "STEAD_A = 1,")]
        );
        assert!(
            header.declarations[2].has_parameter("node")
                && !header.declarations[2].has_parameter("nod")
        );
    }

    #[test]
    fn macros_have_no_page_and_attributes_are_left_out() {
        let text = SMALL
            .replace("#define X", "// A macro.\n#define X \\\n  (1 + \\\n  2)")
            .replace(
                "const char *stead_say",
                "STEAD_USE_RESULT\nconst char *stead_say",
            );
        let header = Header::of(&text).unwrap();
        assert_eq!(header.declarations.len(), 3);
        assert_eq!(header.declarations[2].name, "stead_say");
        assert!(header.declarations[2].lines[0].starts_with("const char"));
        assert_eq!(header.members_of("stead_number").len(), 1);
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for (broken, words) in [
            (
                SMALL.replace("// Says.\n// map: which.\n", ""),
                "no comment above: const char",
            ),
            (SMALL.replace("stead_say", "say"), "no name"),
            (SMALL.split("int32_t").next().unwrap().to_owned(), "no end"),
            ("\n".to_owned(), "no front comment"),
        ] {
            assert!(
                Header::of(&broken).err().unwrap().starts_with(words),
                "{words}"
            );
        }
    }
}
