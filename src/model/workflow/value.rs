//! Values and conditions, parsed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of a variable: `[A-Za-z_][A-Za-z0-9_]*`.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct VariableName(String);

/// What a variable is set to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Expression {
    /// Text, a number or a flag, with variables in it.
    Text(Vec<TextPart>),
    /// A calculation with whole numbers.
    Arithmetic(Arithmetic),
    /// A field of the message or its rearmatter.
    Path {
        /// Where to look.
        source: PathSource,
        /// The path to the field.
        path: Vec<PathStep>,
        /// The value if the field is absent or null.
        otherwise: Option<String>,
    },
    /// What the join of the state's ensemble gets.
    EnsembleOutput,
    /// Bash; its trimmed output is the value.
    Script(String),
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TextPart {
    /// Literal text.
    Literal(String),
    /// The content of a variable, or `workspace`, which is not a variable.
    Variable(VariableName),
}

/// A calculation with 64-bit integers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arithmetic {
    /// A number.
    Number(i64),
    /// The content of a variable.
    Variable(VariableName),
    /// The negative of a value.
    Negative(Box<Arithmetic>),
    /// Two values, combined.
    Combine(Box<Arithmetic>, Operator, Box<Arithmetic>),
}

/// How two numbers are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
}

/// What a path looks into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PathSource {
    /// The frontmatter of the message that enters, or of the outcome.
    Message,
    /// Its rearmatter.
    Rearmatter,
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PathStep {
    /// A field of a map.
    Key(String),
    /// An item of a list, from 0; negative from its end.
    Index(i64),
}

/// When a transition is taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// Always, or never.
    Constant(bool),
    /// If the comparison holds.
    Compare {
        /// Usually a name.
        left: Operand,
        /// How they are compared.
        comparison: Comparison,
        /// Usually a text.
        right: Operand,
    },
    /// It could not be parsed, so it never holds.
    Unreadable,
}

/// A side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operand {
    /// The value of a name.
    Name(VariableName),
    /// A literal text.
    Text(String),
}

/// How two texts are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`, of numbers
    Less,
    /// `<=`, of numbers
    AtMost,
    /// `>`, of numbers
    Greater,
    /// `>=`, of numbers
    AtLeast,
}

impl VariableName {
    /// The name, if the text is one.
    pub fn new(text: &str) -> Option<Self> {
        let mut bytes = text.bytes();
        let starts_well = bytes
            .next()
            .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
        let goes_on = bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_');
        (starts_well && goes_on).then(|| VariableName(text.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
