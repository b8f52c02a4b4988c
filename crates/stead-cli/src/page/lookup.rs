//! The box that says where a key lives. Where a map cannot be answered from, it says why and names
//! the command that can.

use stead::Map;

use super::html::{element, opened, Html};
use super::places::Lookup;
use super::tiles::{command, remark};

/// A map, and the map where the data was if a carry is open and the history has it.
pub type Located<'a> = (&'a Map, Option<&'a Map>);

/// Says why keys of a map cannot be located in the page, and what to type instead.
fn refusal((map, from): &Located, file: &str) -> Option<Html> {
    let (why, option) = if map.hash().affixes().is_some() {
        (
            "This map hashes each key together with bytes that are kept secret, so this page cannot \
             locate keys. Ask the program: ",
            "",
        )
    } else if map.carry().is_some() && from.is_none() {
        (
            "A carry is open, and the history of the map does not have the map where the data was. \
             Where it does, ask the program: ",
            " --carry",
        )
    } else {
        return None;
    };
    let mut inside = Html::text(why);
    inside.add(command(&format!("stead locate {file}{option} KEY")));
    Some(element("p", &[("id", "refused")], inside))
}

/// Returns the box, and the data for the script if the box can answer. Whoever has no scripts asks
/// the program, about the map `asked` in this file.
pub fn form<'a>(
    maps: &[Located<'a>],
    asked: &Map,
    file: &str,
) -> stead::Result<(Html, Option<Lookup<'a>>)> {
    if let Some(refusal) = maps.iter().find_map(|map| refusal(map, file)) {
        return Ok((refusal, None));
    }
    let Some((map, _)) = maps.last() else {
        return Ok((Html::default(), None));
    };
    let mut without = Html::text("This box needs scripts. Without them, ask the program: ");
    let option = asked.carry().map_or("", |_| " --carry");
    without.add(command(&format!("stead locate {file}{option} KEY")));
    let mut html = element("p", &[("id", "without-scripts")], without);
    html.add(element(
        "form",
        &[("id", "locate"), ("hidden", ""), ("autocomplete", "off")],
        fields(map),
    ));
    html.add(element(
        "div",
        &[("id", "answer"), ("aria-live", "polite"), ("hidden", "")],
        "",
    ));
    Ok((html, Some(Lookup::of(maps)?)))
}

fn fields(map: &Map) -> Html {
    let input = |attributes: &[(&'static str, &str)]| opened("input", attributes);
    let mut key = element("label", &[("for", "key")], "Key");
    key.add(input(&[
        ("id", "key"),
        ("type", "text"),
        ("spellcheck", "false"),
        ("autocapitalize", "off"),
        ("aria-describedby", "key-note"),
    ]));
    key.add(element(
        "p",
        &[("id", "key-note"), ("class", "remark")],
        "A key is bytes: spaces and upper case count. Text is taken as UTF-8.",
    ));
    let mut html = element("div", &[("class", "field wide")], key);
    if map.hash().is_secret() {
        let mut secret = element(
            "label",
            &[("for", "secret")],
            "Secret of the map, 32 hex digits",
        );
        secret.add(input(&[
            ("id", "secret"),
            ("type", "password"),
            ("autocomplete", "off"),
            ("spellcheck", "false"),
            ("aria-describedby", "secret-note"),
        ]));
        secret.add(element(
            "p",
            &[("id", "secret-note"), ("class", "remark")],
            "The secret is not in this page, and what you type stays in it. With another secret the \
             answer is another, and nothing tells.",
        ));
        html.add(element("div", &[("class", "field wide")], secret));
    }
    let option = |id: &str, words: &str| {
        let mut label = input(&[("id", id), ("type", "checkbox")]);
        label.add(Html::text(format!(" {words}")));
        element("label", &[("class", "option")], label)
    };
    html.add(option("as-hex", "the key is written in hex digits"));
    html.add(option("fold", "turn A-Z into a-z first (--fold ascii)"));
    html
}

/// Returns the note below the heading of the box.
pub fn about(map: &Map) -> Html {
    remark(format!(
        "Computed in this page from the final slices, pins applied, with the hash {}. Nothing is \
         sent anywhere.",
        crate::text::hash(map)
    ))
}
