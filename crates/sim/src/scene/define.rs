//! Macros that define tables ([`super::read`]).

/// Defines types of quantities with their units: `quantities! { /// Doc  Length = "m"; }`.
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
            fn schema() -> $crate::scene::schema::Schema {
                $crate::scene::schema::Schema::Quantity($unit)
            }
        }
    )* };
}

/// Defines a table with keys `key: Type [bounds] = "default"`. Keys without default are required,
/// unless their type is an `Option`. The keys of tables under `with` become keys of this table.
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
                let schema = Self::table_schema();
                #[allow(unused_mut, unused_variables, reason = "a table may have parts only")]
                let mut keys = schema.keys.iter();
                $(
                    let key = keys.next()?;
                    let $key = $crate::scene::read::read_field::<$type>(view, key, reader);
                )*
                $( $(
                    let $part =
                        <$part_type as $crate::scene::read::Fields>::read_fields(view, reader);
                )* )?
                Some($table { $( $key: $key?, )* $( $( $part: $part?, )* )? })
            }

            fn table_schema() -> $crate::scene::schema::TableSchema {
                #[allow(unused_mut, reason = "only tables with parts change it")]
                let mut schema = $crate::scene::schema::TableSchema {
                    doc: concat!($($doc, "\n"),*),
                    keys: vec![ $( {
                        #[allow(unused_mut, unused_assignments, reason = "bounds are optional")]
                        let mut bounds = $crate::scene::schema::ANY;
                        $( bounds = $bounds; )?
                        #[allow(unused_mut, unused_assignments, reason = "defaults are optional")]
                        let mut default = None;
                        $( default = Some(std::borrow::Cow::Borrowed($default)); )?
                        $crate::scene::schema::KeySchema {
                            name: stringify!($key),
                            doc: concat!($($key_doc, "\n"),*),
                            schema: <$type as $crate::scene::read::Read>::schema(),
                            required: default.is_none()
                                && <$type as $crate::scene::read::Read>::absent().is_none(),
                            default,
                            bounds,
                        }
                    } ),* ],
                    variants: None,
                };
                $( $(
                    let part = <$part_type as $crate::scene::read::Fields>::table_schema();
                    schema.keys.extend(part.keys);
                    schema.variants = schema.variants.or(part.variants);
                )* )?
                schema
            }
        }

        impl $crate::scene::read::Read for $table {
            fn read(
                node: &$crate::scene::tree::Node,
                reader: &mut $crate::scene::read::Reader<'_>,
            ) -> Option<Self> {
                $crate::scene::read::read_table(node, reader)
            }
            fn schema() -> $crate::scene::schema::Schema {
                $crate::scene::schema::Schema::Table(Box::new(
                    <Self as $crate::scene::read::Fields>::table_schema(),
                ))
            }
        }
    };
}

/// Defines an enum whose values are words.
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
            /// The word in files.
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
            fn schema() -> $crate::scene::schema::Schema {
                $crate::scene::schema::Schema::Choice(vec![
                    $( ($word, concat!($($word_doc, "\n"),*)), )*
                ])
            }
        }
    };
}

/// Defines tables that differ by a tag such as `kind`, as a part of another table.
///
/// With `or word` they are values by themselves: a table with the tag, or the word alone, which is
/// that kind with all defaults. `word()` is the word of the kind.
macro_rules! kinds {
    (
        $(#[doc = $doc:literal])*
        pub enum $kinds:ident by $tag:literal or word {
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
            /// The word in files.
            #[must_use]
            pub fn word(&self) -> &'static str {
                match self { $( $kinds::$variant(_) => $word, )* }
            }
        }

        impl $crate::scene::read::Read for $kinds {
            fn read(
                node: &$crate::scene::tree::Node,
                reader: &mut $crate::scene::read::Reader<'_>,
            ) -> Option<Self> {
                $crate::scene::kind::read_kind(node, reader)
            }
            fn schema() -> $crate::scene::schema::Schema {
                $crate::scene::schema::Schema::Kinds(Box::new(
                    <Self as $crate::scene::read::Fields>::table_schema(),
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
        // A scene has one value per object, which is rarely moved.
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
            fn table_schema() -> $crate::scene::schema::TableSchema {
                $crate::scene::schema::TableSchema {
                    doc: concat!($($doc, "\n"),*),
                    keys: Vec::new(),
                    variants: Some($crate::scene::schema::Variants {
                        tag: $tag,
                        doc: concat!($($doc, "\n"),*),
                        list: vec![
                            $( ($word, <$type as $crate::scene::read::Fields>::table_schema()), )*
                        ],
                    }),
                }
            }
        }
    };
}

/// Defines a table with exactly one key, which selects a variant:
/// `measure = { position = ... }`.
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
            fn schema() -> $crate::scene::schema::Schema {
                $crate::scene::schema::Schema::OneKey(vec![ $(
                    $crate::scene::schema::KeySchema {
                        name: $word,
                        doc: concat!($($key_doc, "\n"),*),
                        schema: <$type as $crate::scene::read::Read>::schema(),
                        default: None,
                        required: false,
                        bounds: $crate::scene::schema::ANY,
                    }
                ),* ])
            }
        }
    };
}

pub(crate) use {choice, kinds, one_of, quantities, table};
