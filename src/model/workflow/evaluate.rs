//! Evaluates values and conditions, without shell, clock or hash order.
//!
//! What an agent wrote is never more than text here. A value that needs bash is not computed: it is
//! returned as a script for a job, which gets the agent's texts through its environment.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::{
    Arithmetic, Comparison, Condition, Expression, Operand, Operator, PathSource, PathStep,
    TextPart, Variable, VariableName,
};

/// The longest text that a variable holds, in bytes.
pub const MAX_TEXT: usize = 4 * 1024;

/// What expressions can read beside variables: facts about the entering message or the outcome.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Its outcome word.
    pub status: &'a str,
    /// The state that the machine is in.
    pub state: &'a str,
    /// How often that state was entered.
    pub visit: u32,
    /// The headline.
    pub headline: &'a str,
    /// The frontmatter.
    pub message: &'a Map<String, Value>,
    /// The rearmatter.
    pub rearmatter: &'a Map<String, Value>,
    /// Names that are not variables: `workspace`, `MSG_ID`, `FSM_STATE` and so on.
    pub environment: &'a [(String, String)],
}

/// Looks up the text of a variable; `None` if there is no such variable.
pub type Lookup<'a> = &'a dyn Fn(&VariableName) -> Option<String>;

/// The result of evaluating a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evaluated<'a> {
    /// This text.
    Text(String),
    /// The content of that variable, even if it refers to messages.
    Copy(&'a VariableName),
    /// A reference to what the join of the ensemble got.
    EnsembleOutput,
    /// The output of this script.
    Script(&'a str),
    /// It cannot be computed. The variable is set to empty.
    Failed(String),
}

/// The result of storing a text in a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The stored text.
    pub text: String,
    /// What was wrong, for people.
    pub problem: Option<String>,
}

impl Expression {
    /// The value, unless a script is needed.
    pub fn evaluate<'a>(&'a self, facts: &Facts, variables: Lookup) -> Evaluated<'a> {
        match self {
            Expression::Text(parts) => match parts.as_slice() {
                [TextPart::Variable(name)] if variables(name).is_some() => Evaluated::Copy(name),
                parts => Evaluated::Text(filled(parts, facts, variables)),
            },
            Expression::Arithmetic(sum) => match sum.compute(variables) {
                Ok(number) => Evaluated::Text(number.to_string()),
                Err(why) => Evaluated::Failed(why),
            },
            Expression::Path {
                source,
                path,
                otherwise,
            } => {
                let root = match source {
                    PathSource::Message => facts.message,
                    PathSource::Rearmatter => facts.rearmatter,
                };
                let found = at_path(root, path).filter(|text| !text.is_empty());
                Evaluated::Text(match (found, otherwise) {
                    (Some(text), _) => text.into_owned(),
                    (None, Some(otherwise)) => otherwise.clone(),
                    (None, None) => String::new(),
                })
            }
            Expression::EnsembleOutput => Evaluated::EnsembleOutput,
            Expression::Script(text) => Evaluated::Script(text),
        }
    }
}

/// A text with its variables filled in. An unknown name becomes empty.
pub fn filled(parts: &[TextPart], facts: &Facts, variables: Lookup) -> String {
    let text = |part: &TextPart| match part {
        TextPart::Literal(text) => text.clone(),
        TextPart::Variable(name) => variables(name).unwrap_or_else(|| facts.named(name.as_str())),
    };
    parts.iter().map(text).collect()
}

impl Facts<'_> {
    fn named(&self, name: &str) -> String {
        let json = |map: &Map<String, Value>| Value::Object(map.clone()).to_string();
        match name {
            "message" => json(self.message),
            "rearmatter" => json(self.rearmatter),
            name => {
                let mut known = self.environment.iter();
                let found = known.find(|(known, _)| known == name);
                found.map(|(_, value)| value.clone()).unwrap_or_default()
            }
        }
    }
}

impl Arithmetic {
    fn compute(&self, variables: Lookup) -> Result<i64, String> {
        match self {
            Arithmetic::Number(number) => Ok(*number),
            Arithmetic::Variable(name) => {
                let text = variables(name).unwrap_or_default();
                let number = text.trim().parse();
                number.map_err(|_| format!("`{}` is not a whole number", name.as_str()))
            }
            Arithmetic::Negative(inner) => {
                let number = inner.compute(variables)?;
                number.checked_neg().ok_or_else(too_large)
            }
            Arithmetic::Combine(left, operator, right) => {
                let (left, right) = (left.compute(variables)?, right.compute(variables)?);
                let divides = matches!(operator, Operator::Divide | Operator::Remainder);
                if divides && right == 0 {
                    return Err("division by zero".into());
                }
                let result = match operator {
                    Operator::Add => left.checked_add(right),
                    Operator::Subtract => left.checked_sub(right),
                    Operator::Multiply => left.checked_mul(right),
                    Operator::Divide => left.checked_div(right),
                    Operator::Remainder => left.checked_rem(right),
                };
                result.ok_or_else(too_large)
            }
        }
    }
}

fn too_large() -> String {
    "the number is too large".into()
}

/// The field that a path points at, as text.
fn at_path<'a>(root: &'a Map<String, Value>, path: &[PathStep]) -> Option<Cow<'a, str>> {
    let Some((first, rest)) = path.split_first() else {
        return (!root.is_empty()).then(|| Value::Object(root.clone()).to_string().into());
    };
    let first = match first {
        PathStep::Key(key) => root.get(key)?,
        PathStep::Index(_) => return None,
    };
    let found = rest.iter().try_fold(first, |at, step| match step {
        PathStep::Key(key) => at.get(key),
        PathStep::Index(index) => {
            let items = at.as_array()?;
            let from_end = || {
                items
                    .len()
                    .checked_sub(usize::try_from(index.unsigned_abs()).ok()?)
            };
            let index = match usize::try_from(*index) {
                Ok(index) => index,
                Err(_) => from_end()?,
            };
            items.get(index)
        }
    })?;
    Some(as_text(found))
}

/// A value as text: numbers in their shortest decimal form, null as nothing, lists and maps as JSON.
pub fn as_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => "".into(),
        Value::Bool(flag) => flag.to_string().into(),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(whole), _, _) => whole.to_string().into(),
            (None, Some(whole), _) => whole.to_string().into(),
            (None, None, Some(decimal)) => decimal.to_string().into(),
            (None, None, None) => number.to_string().into(),
        },
        Value::String(text) => text.into(),
        Value::Array(_) | Value::Object(_) => value.to_string().into(),
    }
}

impl Condition {
    /// Whether the condition holds.
    pub fn holds(&self, facts: &Facts, variables: Lookup) -> bool {
        match self {
            Condition::Constant(holds) => *holds,
            Condition::Unreadable => false,
            Condition::Compare {
                left,
                comparison,
                right,
            } => {
                let left = left.text(facts, variables);
                let right = right.text(facts, variables);
                match comparison {
                    Comparison::Equal => left == right,
                    Comparison::NotEqual => left != right,
                    Comparison::Less => ordered(&left, &right).is_some_and(Ordering::is_lt),
                    Comparison::AtMost => ordered(&left, &right).is_some_and(Ordering::is_le),
                    Comparison::Greater => ordered(&left, &right).is_some_and(Ordering::is_gt),
                    Comparison::AtLeast => ordered(&left, &right).is_some_and(Ordering::is_ge),
                }
            }
        }
    }

    /// The names that it reads.
    pub fn names(&self) -> impl Iterator<Item = &VariableName> {
        let sides = match self {
            Condition::Compare { left, right, .. } => [Some(left), Some(right)],
            Condition::Constant(_) | Condition::Unreadable => [None, None],
        };
        sides.into_iter().flatten().filter_map(|side| match side {
            Operand::Name(name) => Some(name),
            Operand::Text(_) => None,
        })
    }

    /// Whether it depends on the outcome word. Only such a condition applies to `error` and
    /// `blocked`.
    pub fn is_on_status(&self) -> bool {
        self.names().any(|name| name.as_str() == "status")
    }
}

impl Operand {
    fn text(&self, facts: &Facts, variables: Lookup) -> String {
        let name = match self {
            Operand::Text(text) => return text.clone(),
            Operand::Name(name) => name,
        };
        match name.as_str() {
            "status" => facts.status.into(),
            "state" => facts.state.into(),
            "visit" => facts.visit.to_string(),
            "headline" => facts.headline.into(),
            key => variables(name).unwrap_or_else(|| match facts.rearmatter.get(key) {
                Some(Value::Array(_) | Value::Object(_)) | None => String::new(),
                Some(scalar) => as_text(scalar).into_owned(),
            }),
        }
    }
}

/// The order of two texts that are numbers.
fn ordered(left: &str, right: &str) -> Option<Ordering> {
    let (left, right) = (left.trim(), right.trim());
    if !(is_number(left) && is_number(right)) {
        return None;
    }
    match (left.parse::<i128>(), right.parse::<i128>()) {
        (Ok(left), Ok(right)) => Some(left.cmp(&right)),
        _ => left.parse::<f64>().ok()?.partial_cmp(&right.parse().ok()?),
    }
}

/// Whether it is a number in decimal form. A numeric variable holds nothing else: in arithmetic,
/// bash would run other texts, such as `a[$(cmd)]`.
pub fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    all_digits(whole) && all_digits(fraction)
}

impl Variable {
    /// Store a text in it.
    pub fn take(&self, text: &str) -> Taken {
        let problem = |text: &str, problem: &str| Taken {
            text: text.into(),
            problem: Some(problem.into()),
        };
        let trimmed = text.trim();
        if self.numeric {
            return match trimmed {
                "" => Taken::default(),
                number if number.len() <= 64 && is_number(number) => Taken {
                    text: number.into(),
                    problem: None,
                },
                _ => problem("", "it is not a number, and the variable is numeric"),
            };
        }
        if text.contains('\0') {
            return problem("", "it has a NUL character");
        }
        if text.len() > MAX_TEXT {
            let end = text.floor_char_boundary(MAX_TEXT);
            return problem(&text[..end], "it is longer than 4 KiB and was cut");
        }
        Taken {
            text: text.into(),
            problem: None,
        }
    }
}

impl VariableName {
    /// Names that conditions read from the outcome and the machine.
    pub const OF_THE_OUTCOME: [&'static str; 4] = ["status", "state", "visit", "headline"];

    /// Whether jobs do not get a variable of this name, because the name means something else to
    /// them or to programs that they start.
    pub fn is_reserved(&self) -> bool {
        const NAMES: [&str; 11] = [
            "workspace",
            "rearmatter",
            "message",
            "PATH",
            "HOME",
            "SHELL",
            "TMPDIR",
            "ENV",
            "IFS",
            "PS4",
            "SHELLOPTS",
        ];
        const PREFIXES: [&str; 12] = [
            "TX_", "FSM_", "MSG_", "BASH", "LD_", "DYLD_", "GIT_", "PYTHON", "PERL", "RUBY",
            "NODE_", "JAVA_",
        ];
        let name = self.as_str();
        NAMES.contains(&name)
            || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || name.to_ascii_lowercase().ends_with("_proxy")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn name(text: &str) -> VariableName {
        VariableName::new(text).unwrap()
    }

    #[test]
    fn names_that_programs_obey_are_reserved() {
        for reserved in [
            "PATH",
            "LD_PRELOAD",
            "http_proxy",
            "HTTPS_PROXY",
            "BASH_ENV",
            "rearmatter",
            "FSM_STATE",
        ] {
            assert!(name(reserved).is_reserved(), "{reserved}");
        }
        for free in ["path", "retry_count", "status", "proxy", "signal"] {
            assert!(!name(free).is_reserved(), "{free}");
        }
    }

    #[test]
    fn a_numeric_variable_holds_a_number_or_nothing() {
        let numeric = Variable {
            numeric: true,
            ..Variable::default()
        };
        for (given, held, good) in [
            ("3", "3", true),
            (" -2.5\n", "-2.5", true),
            ("", "", true),
            ("a[$(touch x)]", "", false),
            ("three", "", false),
            ("1e3", "", false),
            ("0x10", "", false),
            (".5", "", false),
        ] {
            let taken = numeric.take(given);
            assert_eq!(
                (taken.text.as_str(), taken.problem.is_none()),
                (held, good),
                "{given:?}"
            );
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let taken = Variable::default().take(&"ä".repeat(MAX_TEXT));
        assert!(taken.text.len() <= MAX_TEXT && taken.text.len() > MAX_TEXT - 4);
        assert!(taken.problem.is_some());
    }

    #[test]
    fn numbers_are_written_in_their_shortest_form() {
        for (value, text) in [
            (json!(3), "3"),
            (json!(0.50), "0.5"),
            (json!(true), "true"),
            (json!(null), ""),
            (json!(1e3), "1000"),
        ] {
            assert_eq!(as_text(&value), text);
        }
    }
}
