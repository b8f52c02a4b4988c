//! What a caller may choose about a picture: its width, its colours, its title, and its name in a
//! page.

/// On which ground a picture is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Theme {
    /// Light, and dark where the reader has asked for dark pages. The colours are CSS variables
    /// (`--stead-ink` and the like), which a page may set.
    #[default]
    Auto,
    /// Dark ink on a white page.
    Light,
    /// Light ink on a dark page.
    Dark,
}

impl Theme {
    /// Returns the class of the picture's root element.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Theme::Auto => "stead-auto",
            Theme::Light => "stead-light",
            Theme::Dark => "stead-dark",
        }
    }
}

/// What a caller may choose about a picture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The width in pixels, from 320 to 4,000. The height follows from what is drawn.
    pub width: u32,
    /// The ground.
    pub theme: Theme,
    /// The title; `None` for a title that says what the picture shows.
    pub title: Option<String>,
    /// A word of letters, digits and `-` that starts the ids in the picture. Pictures in one page
    /// need different ones.
    pub id: String,
    /// The nodes of all pictures in a page. Given them, pictures that draw few nodes one by one
    /// give a node the same colour in each, and a stream to several nodes none. Empty for a picture
    /// by itself.
    pub nodes: Vec<String>,
}

impl Default for Options {
    /// 960 pixels wide, on the reader's ground, with the picture's own title.
    fn default() -> Options {
        Options {
            width: 960,
            theme: Theme::Auto,
            title: None,
            id: "stead".to_owned(),
            nodes: Vec::new(),
        }
    }
}

impl Options {
    /// The narrowest picture, in pixels.
    pub const NARROWEST: u32 = 320;
    /// The widest picture, in pixels.
    pub const WIDEST: u32 = 4000;

    /// Returns the width, within its limits.
    pub(crate) fn wide(&self) -> f64 {
        f64::from(self.width.clamp(Self::NARROWEST, Self::WIDEST))
    }

    /// Returns the title, which is `usual` unless the caller has chosen one.
    pub(crate) fn titled(&self, usual: String) -> String {
        self.title.clone().unwrap_or(usual)
    }

    /// Returns the start of the ids, without any character that an id must not have.
    pub(crate) fn ids(&self) -> String {
        let kept = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
        let id: String = self.id.chars().filter(kept).collect();
        match id.starts_with(|c: char| c.is_ascii_alphabetic()) {
            true => id,
            false => format!("stead-{id}"),
        }
    }
}
