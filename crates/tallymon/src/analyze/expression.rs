//! Expressions of rules: `available < max(64, memory_mb * 0.05) and paging > 100`.
//!
//! | construct | meaning |
//! |---|---|
//! | `12`, `0.5`, `100MB` | a number; `KB`, `MB`, `GB` and `TB` are powers of 1,024 |
//! | `name` | a counter or a parameter of the rule |
//! | `+ - * /`, `( )` | arithmetic; division by 0 has no value |
//! | `min(a, b)`, `max(a, b)` | the smaller, the larger one |
//! | `< <= > >= = !=` | comparison |
//! | `and`, `or`, `not` | conditions |
//!
//! A value that is missing makes the result unknown, except where the other side of `and` or `or` decides it.

use std::fmt;

/// How deep parentheses, `not` and minus signs may be nested, and how many parts operators of one strength
/// may join.
const DEPTH: usize = 64;
/// How many operators an expression may have. Each can make its tree deeper, and the tree is walked by
/// recursion.
const OPERATORS: usize = 1024;

/// How many names a message lists.
const LISTED: usize = 20;

/// A parsed expression. Names are positions in the list that it was parsed with.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    text: String,
    root: Node,
}

/// A comparison of one name with a number, without which a condition does not hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gate {
    /// The name, by its position.
    pub(super) name: usize,
    operator: Operator,
    number: f64,
    /// Whether it is the whole condition.
    pub(super) is_whole: bool,
}

impl Gate {
    /// Whether the comparison holds for a value of the name.
    #[inline]
    pub(super) fn passes(&self, value: f64) -> bool {
        match self.operator {
            Operator::Less => value < self.number,
            Operator::LessOrEqual => value <= self.number,
            Operator::Greater => value > self.number,
            Operator::GreaterOrEqual => value >= self.number,
            _ => true,
        }
    }
}

/// Why a text is no expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionError {
    /// The byte where it goes wrong.
    pub at: usize,
    /// What is wrong there.
    pub problem: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Number(f64),
    Name(usize),
    Negate(Box<Node>),
    Not(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Minimum,
    Maximum,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    And,
    Or,
}

impl Expression {
    /// Parses a text. `names` are the counters and parameters that it may use.
    ///
    /// # Errors
    ///
    /// The text does not follow the grammar, or uses another name.
    pub fn parse(text: &str, names: &[String]) -> Result<Expression, ExpressionError> {
        let mut parser = Parser { text, at: 0, names, depth: 0, operators: 0 };
        let root = parser.any()?;
        match parser.token() {
            None => Ok(Expression { text: text.to_owned(), root }),
            Some(token) => Err(parser.error(format!("{token:?} is not expected here"))),
        }
    }

    /// The value. A condition is 1 or 0. `None` if a value that it needs is missing.
    pub fn value(&self, values: &[Option<f64>]) -> Option<f64> {
        value(&self.root, values)
    }

    /// Whether a condition holds; `None` if it is unknown.
    pub fn holds(&self, values: &[Option<f64>]) -> Option<bool> {
        self.value(values).map(|value| value != 0.0)
    }

    /// The same with numbers in place of the names from a position on, where they have a value.
    pub(super) fn with_values(&self, from: usize, values: &[Option<f64>]) -> Expression {
        Expression { text: self.text.clone(), root: with_values(&self.root, from, values) }
    }

    /// A comparison without which it does not hold, if there is one.
    pub(super) fn gate(&self) -> Option<Gate> {
        gate(&self.root)
    }

    /// Whether it uses a name, by its position.
    pub fn uses(&self, name: usize) -> bool {
        uses(&self.root, name)
    }

    /// Whether small values of a name make the condition true: the name is on the small side of the first
    /// comparison that has it.
    pub fn is_below(&self, name: usize) -> bool {
        is_below(&self.root, name).unwrap_or(false)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.at, self.problem)
    }
}

impl std::error::Error for ExpressionError {}

/// See [`Expression::with_values`]. What has only numbers is computed.
fn with_values(node: &Node, from: usize, values: &[Option<f64>]) -> Node {
    let known = |name: usize| name.checked_sub(from).and_then(|name| values.get(name).copied().flatten());
    let made = match node {
        Node::Number(_) => return node.clone(),
        Node::Name(name) => return known(*name).map_or(Node::Name(*name), Node::Number),
        Node::Negate(inner) => Node::Negate(Box::new(with_values(inner, from, values))),
        Node::Not(inner) => Node::Not(Box::new(with_values(inner, from, values))),
        Node::Binary(operator, left, right) => {
            let (left, right) = (with_values(left, from, values), with_values(right, from, values));
            Node::Binary(*operator, Box::new(left), Box::new(right))
        }
    };
    let is_number = |node: &Node| matches!(node, Node::Number(_));
    let has_numbers = match &made {
        Node::Negate(inner) | Node::Not(inner) => is_number(inner),
        Node::Binary(_, left, right) => is_number(left) && is_number(right),
        Node::Number(_) | Node::Name(_) => false,
    };
    // Division by 0 has no value, and stays as it is.
    let number = if has_numbers { value(&made, &[]) } else { None };
    number.map_or(made, Node::Number)
}

/// See [`Expression::gate`].
fn gate(node: &Node) -> Option<Gate> {
    let Node::Binary(operator, left, right) = node else { return None };
    let (name, operator, number) = match (operator, left.as_ref(), right.as_ref()) {
        (Operator::And, left, right) => {
            return gate(left).or_else(|| gate(right)).map(|gate| Gate { is_whole: false, ..gate });
        }
        (operator, Node::Name(name), Node::Number(number)) => (*name, *operator, *number),
        (operator, Node::Number(number), Node::Name(name)) => {
            let turned = match operator {
                Operator::Less => Operator::Greater,
                Operator::LessOrEqual => Operator::GreaterOrEqual,
                Operator::Greater => Operator::Less,
                Operator::GreaterOrEqual => Operator::LessOrEqual,
                _ => return None,
            };
            (*name, turned, *number)
        }
        _ => return None,
    };
    let is_ordered = matches!(
        operator,
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual
    );
    is_ordered.then_some(Gate { name, operator, number, is_whole: true })
}

fn uses(node: &Node, name: usize) -> bool {
    match node {
        Node::Number(_) => false,
        Node::Name(used) => *used == name,
        Node::Negate(inner) | Node::Not(inner) => uses(inner, name),
        Node::Binary(_, left, right) => uses(left, name) || uses(right, name),
    }
}

/// See [`Expression::is_below`]; `None` if no comparison has the name.
fn is_below(node: &Node, name: usize) -> Option<bool> {
    let (operator, left, right) = match node {
        Node::Binary(operator, left, right) => (operator, left, right),
        Node::Not(inner) => return is_below(inner, name).map(|below| !below),
        Node::Number(_) | Node::Name(_) | Node::Negate(_) => return None,
    };
    let less = match operator {
        Operator::Less | Operator::LessOrEqual => true,
        Operator::Greater | Operator::GreaterOrEqual => false,
        _ => return is_below(left, name).or_else(|| is_below(right, name)),
    };
    uses(left, name).then_some(less).or_else(|| uses(right, name).then_some(!less))
}

fn value(node: &Node, values: &[Option<f64>]) -> Option<f64> {
    match node {
        Node::Number(number) => Some(*number),
        Node::Name(name) => values.get(*name).copied().flatten(),
        Node::Negate(inner) => value(inner, values).map(|value| -value),
        Node::Not(inner) => value(inner, values).map(|value| truth(value == 0.0)),
        Node::Binary(operator @ (Operator::And | Operator::Or), left, right) => {
            let sides =
                [value(left, values), value(right, values)].map(|side| side.map(|value| value != 0.0));
            let deciding = *operator == Operator::Or;
            if sides.contains(&Some(deciding)) {
                Some(truth(deciding))
            } else if sides.contains(&None) {
                None
            } else {
                Some(truth(!deciding))
            }
        }
        Node::Binary(operator, left, right) => {
            let (left, right) = (value(left, values)?, value(right, values)?);
            match operator {
                Operator::Add => Some(left + right),
                Operator::Subtract => Some(left - right),
                Operator::Multiply => Some(left * right),
                Operator::Divide => (right != 0.0).then(|| left / right),
                Operator::Minimum => Some(left.min(right)),
                Operator::Maximum => Some(left.max(right)),
                Operator::Less => Some(truth(left < right)),
                Operator::LessOrEqual => Some(truth(left <= right)),
                Operator::Greater => Some(truth(left > right)),
                Operator::GreaterOrEqual => Some(truth(left >= right)),
                Operator::Equal => Some(truth(left == right)),
                Operator::NotEqual => Some(truth(left != right)),
                Operator::And | Operator::Or => None,
            }
        }
    }
}

const fn truth(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    names: &'t [String],
    depth: usize,
    operators: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next token, without taking it.
    fn token(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let rest = rest.trim_start();
        self.at = self.text.len().saturating_sub(rest.len());
        let first = rest.chars().next()?;
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let length = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if ["<=", ">=", "!="].iter().any(|operator| rest.starts_with(operator)) {
            2
        } else {
            first.len_utf8()
        };
        rest.get(..length)
    }

    fn take(&mut self, wanted: &str) -> bool {
        let found = self.token() == Some(wanted);
        if found {
            self.at = self.at.saturating_add(wanted.len());
        }
        found
    }

    fn expect(&mut self, wanted: &str) -> Result<(), ExpressionError> {
        if self.take(wanted) { Ok(()) } else { Err(self.error(format!("{wanted:?} is expected here"))) }
    }

    fn error(&self, problem: impl Into<String>) -> ExpressionError {
        ExpressionError { at: self.at, problem: problem.into() }
    }

    fn deeper<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, ExpressionError>,
    ) -> Result<T, ExpressionError> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > DEPTH {
            return Err(self.error(format!("it is nested more than {DEPTH} deep")));
        }
        let result = inner(self);
        self.depth = self.depth.saturating_sub(1);
        result
    }

    /// Operands joined by operators of one strength.
    fn chain(
        &mut self,
        operators: &[(&str, Operator)],
        operand: fn(&mut Self) -> Result<Node, ExpressionError>,
    ) -> Result<Node, ExpressionError> {
        let mut node = operand(self)?;
        let mut joined = 0_usize;
        while let Some((_, operator)) = operators.iter().find(|(word, _)| self.take(word)) {
            joined = joined.saturating_add(1);
            self.operators = self.operators.saturating_add(1);
            if joined > DEPTH {
                return Err(self.error(format!("it joins more than {DEPTH} parts")));
            }
            if self.operators > OPERATORS {
                return Err(self.error(format!("it has more than {OPERATORS} operators")));
            }
            node = Node::Binary(*operator, Box::new(node), Box::new(operand(self)?));
        }
        Ok(node)
    }

    fn any(&mut self) -> Result<Node, ExpressionError> {
        self.chain(&[("or", Operator::Or)], Self::all)
    }

    fn all(&mut self) -> Result<Node, ExpressionError> {
        self.chain(&[("and", Operator::And)], Self::comparison)
    }

    fn comparison(&mut self) -> Result<Node, ExpressionError> {
        let operators = [
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("!=", Operator::NotEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
            ("=", Operator::Equal),
        ];
        self.chain(&operators, Self::sum)
    }

    fn sum(&mut self) -> Result<Node, ExpressionError> {
        self.chain(&[("+", Operator::Add), ("-", Operator::Subtract)], Self::product)
    }

    fn product(&mut self) -> Result<Node, ExpressionError> {
        self.chain(&[("*", Operator::Multiply), ("/", Operator::Divide)], Self::single)
    }

    fn single(&mut self) -> Result<Node, ExpressionError> {
        if self.take("-") {
            return self.deeper(Self::single).map(|inner| Node::Negate(Box::new(inner)));
        }
        if self.take("not") {
            return self.deeper(Self::comparison).map(|inner| Node::Not(Box::new(inner)));
        }
        if self.take("(") {
            let inner = self.deeper(Self::any)?;
            self.expect(")")?;
            return Ok(inner);
        }
        for (word, operator) in [("min", Operator::Minimum), ("max", Operator::Maximum)] {
            if self.take(word) {
                self.expect("(")?;
                let left = self.deeper(Self::any)?;
                self.expect(",")?;
                let right = self.deeper(Self::any)?;
                self.expect(")")?;
                return Ok(Node::Binary(operator, Box::new(left), Box::new(right)));
            }
        }
        let Some(word) = self.token() else {
            return Err(self.error("it ends where a number or a name is expected"));
        };
        let node = if let Some(name) = self.names.iter().position(|name| name == word) {
            Node::Name(name)
        } else if let Some(number) = number(word) {
            Node::Number(number)
        } else {
            let listed = self.names.get(..LISTED).unwrap_or(self.names).join(", ");
            let others = self.names.len().saturating_sub(LISTED);
            let more = if others == 0 { String::new() } else { format!(" and {others} others") };
            return Err(
                self.error(format!("{word:?} is neither a number nor a name of this rule ({listed}{more})"))
            );
        };
        self.at = self.at.saturating_add(word.len());
        Ok(node)
    }
}

/// A number with or without a unit of bytes.
pub(super) fn number(word: &str) -> Option<f64> {
    let units = [("KB", 10), ("MB", 20), ("GB", 30), ("TB", 40)];
    let upper = word.to_ascii_uppercase();
    let (digits, factor) = units
        .iter()
        .find_map(|(unit, power)| Some((upper.strip_suffix(unit)?, 2_f64.powi(*power))))
        .unwrap_or((&upper, 1.0));
    let begins = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let number: f64 = begins.then(|| digits.parse().ok()).flatten()?;
    Some(number * factor).filter(|number| number.is_finite())
}

#[cfg(test)]
#[path = "expression_tests.rs"]
mod tests;
