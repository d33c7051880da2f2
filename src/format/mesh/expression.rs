//! Values of `set`, conditions of `when`, and paths of gates, as people write them.
//!
//! A value that can be computed without a shell becomes an expression. Any other value is bash.

use crate::model::{
    Arithmetic, Comparison, Condition, Expression, Operand, Operator, PathSource, PathStep,
    TextPart, VariableName,
};

/// The characters that make a text bash, outside of variables.
const SHELL_SIGNS: [char; 8] = ['|', '&', ';', '<', '>', '(', ')', '`'];

/// A value of `set`.
pub(super) fn expression(text: &str) -> Expression {
    let trimmed = text.trim();
    if matches!(
        trimmed,
        "$ENSEMBLE_OUTPUT" | "${ENSEMBLE_OUTPUT}" | "\"$ENSEMBLE_OUTPUT\""
    ) {
        return Expression::EnsembleOutput;
    }
    let brackets = trimmed
        .strip_prefix("$((")
        .and_then(|t| t.strip_suffix("))"));
    if let Some(sum) = brackets.and_then(arithmetic) {
        return Expression::Arithmetic(sum);
    }
    if let Some(sum) = spaced_sum(trimmed) {
        return Expression::Arithmetic(sum);
    }
    let command = trimmed.strip_prefix("$(").and_then(|t| t.strip_suffix(')'));
    if let Some(path) = command.and_then(path_query) {
        return path;
    }
    let parts = text_parts(text);
    let is_shell = |part: &TextPart| match part {
        TextPart::Literal(text) => text.contains(SHELL_SIGNS),
        TextPart::Variable(_) => false,
    };
    if !parts.iter().any(is_shell) {
        return Expression::Text(parts);
    }
    // The value is the output of a command substitution, not a command of that name.
    let whole = command.filter(|inner| brackets.is_none() && closes_at_its_end(inner));
    Expression::Script(script_text(whole.unwrap_or(text)))
}

/// The text of a script. Quotes that would keep a variable from being expanded are replaced.
pub(super) fn script_text(text: &str) -> String {
    text.replace("'$rearmatter'", "\"$rearmatter\"")
        .replace("'$message'", "\"$message\"")
}

/// A text with `$name` and `${name}` in it.
pub(super) fn text_parts(text: &str) -> Vec<TextPart> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        literal += before;
        match leading_name(after) {
            Some((name, left)) => {
                if !literal.is_empty() {
                    parts.push(TextPart::Literal(std::mem::take(&mut literal)));
                }
                parts.push(TextPart::Variable(name));
                rest = left;
            }
            None => {
                literal.push('$');
                rest = after;
            }
        }
    }
    literal += rest;
    if !literal.is_empty() {
        parts.push(TextPart::Literal(literal));
    }
    parts
}

/// The name that a text begins with, after its `$`, and what follows.
fn leading_name(text: &str) -> Option<(VariableName, &str)> {
    if let Some(inner) = text.strip_prefix('{') {
        let (name, rest) = inner.split_once('}')?;
        return Some((VariableName::new(name)?, rest));
    }
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(text.len());
    Some((VariableName::new(&text[..end])?, &text[end..]))
}

/// A name with or without its `$`, and nothing else.
fn whole_name(text: &str) -> Option<VariableName> {
    match text.strip_prefix('$') {
        Some(rest) => leading_name(rest)
            .filter(|(_, rest)| rest.is_empty())
            .map(|(name, _)| name),
        None => VariableName::new(text),
    }
}

fn closes_at_its_end(inner: &str) -> bool {
    let mut depth = 0_i32;
    for c in inner.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

/// `$a + 1`, `$a - $b`: with spaces around each sign, and a `$`.
fn spaced_sum(text: &str) -> Option<Arithmetic> {
    let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    let is_sum = words.len() >= 3 && words.len() % 2 == 1 && words.len() < 32;
    let operands = words.iter().step_by(2);
    let names = operands.clone().filter(|word| word.starts_with('$'));
    let good = |word: &&str| {
        whole_name(word).is_some() && word.starts_with('$') || word.parse::<i64>().is_ok()
    };
    let signs = words.iter().skip(1).step_by(2);
    let signed = signs
        .clone()
        .all(|word| matches!(*word, "+" | "-" | "*" | "/" | "%"));
    if !(is_sum && signed && names.count() > 0 && operands.clone().all(good)) {
        return None;
    }
    arithmetic(text)
}

/// A sum of whole numbers and names, with brackets.
fn arithmetic(text: &str) -> Option<Arithmetic> {
    let mut reader = SumReader {
        rest: text,
        depth: 0,
    };
    let sum = reader.sum()?;
    reader.rest.trim().is_empty().then_some(sum)
}

struct SumReader<'a> {
    rest: &'a str,
    depth: usize,
}

impl SumReader<'_> {
    const DEEPEST: usize = 32;

    fn sum(&mut self) -> Option<Arithmetic> {
        let mut left = self.product()?;
        while let Some(operator) = self.sign(&[('+', Operator::Add), ('-', Operator::Subtract)]) {
            left = combine(left, operator, self.product()?);
        }
        Some(left)
    }

    fn product(&mut self) -> Option<Arithmetic> {
        let signs = [
            ('*', Operator::Multiply),
            ('/', Operator::Divide),
            ('%', Operator::Remainder),
        ];
        let mut left = self.one()?;
        while let Some(operator) = self.sign(&signs) {
            left = combine(left, operator, self.one()?);
        }
        Some(left)
    }

    fn sign(&mut self, signs: &[(char, Operator)]) -> Option<Operator> {
        let rest = self.rest.trim_start();
        let (_, operator) = signs.iter().find(|(sign, _)| rest.starts_with(*sign))?;
        self.rest = &rest[1..];
        Some(*operator)
    }

    fn one(&mut self) -> Option<Arithmetic> {
        self.depth += 1;
        let rest = self.rest.trim_start();
        let found = if self.depth > Self::DEEPEST {
            None
        } else if let Some(inner) = rest.strip_prefix('(') {
            self.rest = inner;
            let sum = self.sum()?;
            self.rest = self.rest.trim_start().strip_prefix(')')?;
            Some(sum)
        } else if let Some(inner) = rest.strip_prefix('-') {
            self.rest = inner;
            Some(Arithmetic::Negative(Box::new(self.one()?)))
        } else if rest.starts_with(|c: char| c.is_ascii_digit()) {
            let end = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            self.rest = &rest[end..];
            rest[..end].parse().ok().map(Arithmetic::Number)
        } else {
            let (name, left) = leading_name(rest.strip_prefix('$').unwrap_or(rest))?;
            self.rest = left;
            Some(Arithmetic::Variable(name))
        };
        self.depth -= 1;
        found
    }
}

fn combine(left: Arithmetic, operator: Operator, right: Arithmetic) -> Arithmetic {
    Arithmetic::Combine(Box::new(left), operator, Box::new(right))
}

/// `echo '$rearmatter' | yq '.a.b // "x"'`, without the brackets around it.
fn path_query(command: &str) -> Option<Expression> {
    let (left, right) = command.split_once('|')?;
    let source = left.trim().strip_prefix("echo")?.trim();
    let source = match unquoted(source).unwrap_or(source) {
        "$rearmatter" | "${rearmatter}" | "$REARMATTER" | "${REARMATTER}" => PathSource::Rearmatter,
        "$message" | "${message}" | "$MESSAGE" | "${MESSAGE}" => PathSource::Message,
        _ => return None,
    };
    let right = right.trim();
    let right = right
        .strip_suffix("2>/dev/null")
        .unwrap_or(right)
        .trim_end();
    let mut words = shlex::split(right)?.into_iter();
    if !matches!(words.next()?.as_str(), "jq" | "yq") {
        return None;
    }
    let mut words =
        words.filter(|word| !matches!(word.as_str(), "-r" | "--raw-output" | "e" | "eval"));
    let (query, rest) = (words.next()?, words.next());
    if rest.is_some_and(|rest| rest != "-") {
        return None;
    }
    let (path, otherwise) = match query.split_once("//") {
        Some((path, otherwise)) => (path.trim(), Some(literal(otherwise.trim())?)),
        None => (query.trim(), None),
    };
    Some(Expression::Path {
        source,
        path: path_steps(path)?,
        otherwise,
    })
}

/// The default for an absent value: a quoted text, a number or a flag.
fn literal(text: &str) -> Option<String> {
    match text {
        "null" | "empty" => Some(String::new()),
        "true" | "false" => Some(text.into()),
        text if text.parse::<f64>().is_ok() => Some(text.into()),
        text => unquoted(text).map(String::from),
    }
}

fn unquoted(text: &str) -> Option<&str> {
    ['"', '\''].iter().find_map(|quote| {
        let inner = text.strip_prefix(*quote)?.strip_suffix(*quote)?;
        (!inner.contains(*quote)).then_some(inner)
    })
}

/// `.a.b`, `.items[0].name`, `."a key"`, `.["a key"]`.
fn path_steps(text: &str) -> Option<Vec<PathStep>> {
    if text == "." {
        return Some(Vec::new());
    }
    let mut steps = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let dotted = rest.strip_prefix('.');
        let after = dotted.unwrap_or(rest);
        if let Some(inner) = after.strip_prefix('[') {
            let (inside, left) = inner.split_once(']')?;
            let step = match unquoted(inside) {
                Some(key) => PathStep::Key(key.into()),
                None => PathStep::Index(inside.trim().parse().ok()?),
            };
            steps.push(step);
            rest = left;
            continue;
        }
        dotted?;
        let (key, left) = match after.strip_prefix('"') {
            Some(inner) => inner.split_once('"')?,
            None => {
                let end = after
                    .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
                    .unwrap_or(after.len());
                after.split_at(end)
            }
        };
        if key.is_empty() {
            return None;
        }
        steps.push(PathStep::Key(key.into()));
        rest = left
            .strip_suffix('?')
            .filter(|left| left.is_empty())
            .unwrap_or(left);
    }
    (!steps.is_empty()).then_some(steps)
}

/// A condition of `when`; `None` if it cannot be read.
pub(super) fn condition(text: &str) -> Option<Condition> {
    let text = text.trim();
    match text {
        "true" => return Some(Condition::Constant(true)),
        "false" => return Some(Condition::Constant(false)),
        _ => {}
    }
    const SIGNS: [(&str, Comparison); 6] = [
        ("==", Comparison::Equal),
        ("!=", Comparison::NotEqual),
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
    ];
    // The name comes first, so the first sign is the comparison.
    let at = text.find(['=', '!', '<', '>'])?;
    let (sign, comparison) = SIGNS
        .into_iter()
        .find(|(sign, _)| text[at..].starts_with(sign))?;
    let left = text[..at].trim();
    let left = whole_name(unquoted(left).unwrap_or(left))?;
    let right = text[at + sign.len()..].trim();
    let right = match unquoted(right) {
        Some(inner) => match inner.strip_prefix('$').and_then(|_| whole_name(inner)) {
            Some(name) if right.starts_with('"') => Operand::Name(name),
            Some(_) | None => Operand::Text(inner.into()),
        },
        None if right.contains(['"', '\'', '=', '<', '>', '&', '|']) => return None,
        None => match right.strip_prefix('$') {
            Some(_) => Operand::Name(whole_name(right)?),
            None => Operand::Text(right.into()),
        },
    };
    Some(Condition::Compare {
        left: Operand::Name(left),
        comparison,
        right,
    })
}
