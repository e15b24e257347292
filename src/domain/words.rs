//! The macro that declares a closed set of words: an enum whose wire form is exactly the spec's spelling.

/// Declares an enum of fixed words with `ALL`, `as_str`, `Display`, `FromStr` and serde.
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$variant_meta])* #[doc = concat!("`", $text, "`")] #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// Every word, in the spec's order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word as it is written on the wire.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($text => Ok(Self::$variant),)*
                    _ => Err(format!("must be one of {}", [$($text),*].join(", "))),
                }
            }
        }
    };
}

pub(crate) use words;
