//! The macros that define tables: see [`super::read`].

/// Types for numbers with a unit: `quantities! { /// Doc  Length = "m"; }`.
macro_rules! quantities {
    ($( $(#[doc = $doc:literal])* $name:ident = $unit:literal; )*) => { $(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name(
            /// Value in SI.
            pub f64,
        );
        impl $crate::scene::read::Read for $name {
            fn read(
                node: &$crate::scene::tree::Node,
                reader: &mut $crate::scene::read::Reader<'_>,
            ) -> Option<Self> {
                reader.quantity(node, $unit).map($name)
            }
            fn shape() -> $crate::scene::shape::Shape {
                $crate::scene::shape::Shape::Quantity($unit)
            }
        }
    )* };
}

/// A table: `key: Type [bounds] = "default"`. Keys without default are required unless their type
/// is an `Option`. Tables under `with` put their keys into this one.
macro_rules! table {
    (
        $(#[doc = $doc:literal])*
        pub struct $table:ident $(derive $derive:ident)? {
            $( $(#[doc = $key_doc:literal])*
               $key:ident : $type:ty $([$bounds:expr])? $(= $default:literal)?, )*
        }
        $( with { $( $(#[doc = $part_doc:literal])* $part:ident : $part_type:ty, )* } )?
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug $(, $derive)?)]
        pub struct $table {
            $( $(#[doc = $key_doc])* pub $key: $type, )*
            $( $( $(#[doc = $part_doc])* pub $part: $part_type, )* )?
        }

        impl $crate::scene::read::Fields for $table {
            #[allow(unused_variables, reason = "a table may have no keys")]
            fn read_fields(
                view: &$crate::scene::read::TableView<'_>,
                reader: &mut $crate::scene::read::Reader<'_>,
            ) -> Option<Self> {
                let shape = Self::table_shape();
                #[allow(unused_mut, unused_variables, reason = "a table may consist of parts alone")]
                let mut keys = shape.keys.iter();
                $( let $key = $crate::scene::read::read_field::<$type>(view, keys.next()?, reader); )*
                $( $( let $part = <$part_type as $crate::scene::read::Fields>::read_fields(view, reader); )* )?
                Some($table { $( $key: $key?, )* $( $( $part: $part?, )* )? })
            }

            fn table_shape() -> $crate::scene::shape::TableShape {
                #[allow(unused_mut, reason = "only tables with parts change it")]
                let mut shape = $crate::scene::shape::TableShape {
                    doc: concat!($($doc, "\n"),*),
                    keys: vec![ $( {
                        #[allow(unused_mut, unused_assignments, reason = "only some keys have bounds")]
                        let mut bounds = $crate::scene::shape::ANY;
                        $( bounds = $bounds; )?
                        #[allow(unused_mut, unused_assignments, reason = "only some keys have a default")]
                        let mut default = None;
                        $( default = Some(std::borrow::Cow::Borrowed($default)); )?
                        $crate::scene::shape::KeyShape {
                            name: stringify!($key),
                            doc: concat!($($key_doc, "\n"),*),
                            shape: <$type as $crate::scene::read::Read>::shape(),
                            required: default.is_none()
                                && <$type as $crate::scene::read::Read>::absent().is_none(),
                            default,
                            bounds,
                        }
                    } ),* ],
                    variants: None,
                };
                $( $(
                    let part = <$part_type as $crate::scene::read::Fields>::table_shape();
                    shape.keys.extend(part.keys);
                    shape.variants = shape.variants.or(part.variants);
                )* )?
                shape
            }
        }

        impl $crate::scene::read::Read for $table {
            fn read(
                node: &$crate::scene::tree::Node,
                reader: &mut $crate::scene::read::Reader<'_>,
            ) -> Option<Self> {
                $crate::scene::read::read_table(node, reader)
            }
            fn shape() -> $crate::scene::shape::Shape {
                $crate::scene::shape::Shape::Table(Box::new(
                    <Self as $crate::scene::read::Fields>::table_shape(),
                ))
            }
        }
    };
}

/// A word out of a few.
macro_rules! choice {
    (
        $(#[doc = $doc:literal])*
        pub enum $choice:ident {
            $( $(#[doc = $word_doc:literal])* $variant:ident = $word:literal, )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $choice { $( $(#[doc = $word_doc])* $variant, )* }

        impl $choice {
            /// The word that stands for it in files.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $( $choice::$variant => $word, )* }
            }
        }

        impl $crate::scene::read::Read for $choice {
            fn read(
                node: &$crate::scene::tree::Node,
                reader: &mut $crate::scene::read::Reader<'_>,
            ) -> Option<Self> {
                match $crate::scene::read::read_word(node, &[$($word),*], reader)? {
                    $( $word => Some($choice::$variant), )*
                    _ => None,
                }
            }
            fn shape() -> $crate::scene::shape::Shape {
                $crate::scene::shape::Shape::Choice(vec![
                    $( ($word, concat!($($word_doc, "\n"),*)), )*
                ])
            }
        }
    };
}

/// Tables that differ by a tag such as `kind`; used as a part of another table.
///
/// With `as dyn Trait` it is a value of its own: a table with the tag, or the word alone, which is
/// that kind with all defaults. Each kind's table implements the trait, and `method()` gives it;
/// `word()` is the word of the kind.
macro_rules! kinds {
    (
        $(#[doc = $doc:literal])*
        pub enum $kinds:ident by $tag:literal as dyn $trait:path {
            $( $variant:ident($type:ty) = $word:literal, )*
        }
    ) => {
        $crate::scene::define::kinds! {
            $(#[doc = $doc])*
            pub enum $kinds by $tag {
                $( $variant($type) = $word, )*
            }
        }

        impl $kinds {
            /// The word that stands for it in files.
            #[must_use]
            pub fn word(&self) -> &'static str {
                match self { $( $kinds::$variant(_) => $word, )* }
            }

            /// What it does.
            #[must_use]
            pub(crate) fn method(&self) -> &dyn $trait {
                match self { $( $kinds::$variant(options) => options, )* }
            }
        }

        impl $crate::scene::read::Read for $kinds {
            fn read(
                node: &$crate::scene::tree::Node,
                reader: &mut $crate::scene::read::Reader<'_>,
            ) -> Option<Self> {
                $crate::scene::kind::read_kind(node, reader)
            }
            fn shape() -> $crate::scene::shape::Shape {
                $crate::scene::shape::Shape::Kinds(Box::new(
                    <Self as $crate::scene::read::Fields>::table_shape(),
                ))
            }
        }
    };
    (
        $(#[doc = $doc:literal])*
        pub enum $kinds:ident by $tag:literal {
            $( $variant:ident($type:ty) = $word:literal, )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug)]
// There is one for each object of a scene, and none is moved about.
        #[allow(clippy::large_enum_variant)]
        pub enum $kinds {
            $(
                #[doc = concat!("`", $tag, " = \"", $word, "\"`")]
                $variant($type),
            )*
        }

        impl $crate::scene::read::Fields for $kinds {
            fn read_fields(
                view: &$crate::scene::read::TableView<'_>,
                reader: &mut $crate::scene::read::Reader<'_>,
            ) -> Option<Self> {
                match $crate::scene::read::read_tag(view, $tag, &[$($word),*], reader)? {
                    $( $word => <$type as $crate::scene::read::Fields>::read_fields(view, reader)
                        .map($kinds::$variant), )*
                    _ => None,
                }
            }
            fn table_shape() -> $crate::scene::shape::TableShape {
                $crate::scene::shape::TableShape {
                    doc: concat!($($doc, "\n"),*),
                    keys: Vec::new(),
                    variants: Some($crate::scene::shape::Variants {
                        tag: $tag,
                        doc: concat!($($doc, "\n"),*),
                        list: vec![
                            $( ($word, <$type as $crate::scene::read::Fields>::table_shape()), )*
                        ],
                    }),
                }
            }
        }
    };
}

/// A table with exactly one key, which says what it is: `measure = { position = ... }`.
macro_rules! one_of {
    (
        $(#[doc = $doc:literal])*
        pub enum $one:ident {
            $( $(#[doc = $key_doc:literal])* $variant:ident($type:ty) = $word:literal, )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug)]
        pub enum $one { $( $(#[doc = $key_doc])* $variant($type), )* }

        impl $crate::scene::read::Read for $one {
            fn read(
                node: &$crate::scene::tree::Node,
                reader: &mut $crate::scene::read::Reader<'_>,
            ) -> Option<Self> {
                let entry = $crate::scene::read::read_single(node, &[$($word),*], reader)?;
                reader.inside(&entry.key, |reader| match entry.key.as_str() {
                    $( $word => <$type as $crate::scene::read::Read>::read(&entry.node, reader)
                        .map($one::$variant), )*
                    _ => None,
                })
            }
            fn shape() -> $crate::scene::shape::Shape {
                $crate::scene::shape::Shape::OneKey(vec![ $(
                    $crate::scene::shape::KeyShape {
                        name: $word,
                        doc: concat!($($key_doc, "\n"),*),
                        shape: <$type as $crate::scene::read::Read>::shape(),
                        default: None,
                        required: false,
                        bounds: $crate::scene::shape::ANY,
                    }
                ),* ])
            }
        }
    };
}

pub(crate) use {choice, kinds, one_of, quantities, table};
