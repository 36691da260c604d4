//! Questions that need a yes before something is changed.

use std::io::{self, BufRead, Write};

use crate::border;
use crate::exit::Failure;

/// Asks at the terminal; everything but a yes is a no.
pub(crate) fn is_wanted(question: &str) -> Result<bool, Failure> {
    let mut prompt = border::stderr();
    write!(prompt, "{question} [y/N] ")?;
    prompt.flush()?;
    let mut answer = String::new();
    io::Read::take(io::stdin().lock(), 64).read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "j" | "да" | "д" | "はい" | "예"))
}
