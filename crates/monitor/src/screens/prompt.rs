//! A question in the last row, with one line of text as its answer.

use std::time::Duration;

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::keys::binding::{Command, Context};
use crate::keys::lookup::{command, typed};
use crate::screens::path_completion::{self, Completion};
use crate::screens::screen::{Action, Layer, Question, Screen};
use crate::term::task::Task;
use crate::term::text::{cut, put, rule, width};
use crate::words::Word;
use crate::workspace::state::Workspace;

/// A question and the text that was typed so far.
pub(crate) struct Prompt {
    question: Question,
    text: String,
    /// The names of files that the last Tab found, if there is a choice.
    names: Vec<String>,
    /// A folder is being read, for this text: it may be on a disk that does not answer.
    completing: Option<(String, Task<Completion>)>,
}

impl Prompt {
    /// A question with a text to begin with.
    pub(crate) const fn new(question: Question, text: String) -> Prompt {
        Prompt { question, text, names: Vec::new(), completing: None }
    }

    /// Starts to complete the path at the end of the text, where the question is about files.
    fn complete_path(&mut self) {
        let several = match self.question {
            Question::Open => true,
            Question::Save | Question::Compare | Question::SaveAlerts => false,
            Question::Filter | Question::Object | Question::GoTo | Question::Paste | Question::Threshold => {
                return;
            }
        };
        let text = self.text.clone();
        let task = Task::begin(move || path_completion::complete(&text, several));
        self.completing = task.ok().map(|task| (self.text.clone(), task));
    }
}

impl Screen for Prompt {
    fn layer(&self) -> Layer {
        Layer::Line
    }

    fn key(&mut self, key: KeyEvent, _workspace: &mut Workspace) -> Action {
        let found = command(Context::Prompt, key);
        if found == Some(Command::CompletePath) {
            self.complete_path();
            return Action::Done;
        }
        self.names.clear();
        match found {
            // A filter shows its effect while it is typed: Escape takes it back.
            Some(Command::Cancel) if self.question == Question::Filter => {
                return Action::Answered(self.question, String::new());
            }
            Some(Command::Cancel | Command::Close) => return Action::Close,
            Some(Command::ClearText) => self.text.clear(),
            Some(Command::Accept) => return Action::Answered(self.question, std::mem::take(&mut self.text)),
            Some(Command::DeleteLetter) => {
                self.text.pop();
            }
            Some(_) => {}
            None => self.text.extend(typed(key)),
        }
        Action::Typed(self.question, self.text.clone())
    }

    fn paste(&mut self, text: &str, _workspace: &mut Workspace) -> Action {
        self.text.push_str(text.lines().next().unwrap_or_default());
        Action::Done
    }

    fn poll(&mut self, patience: Duration) -> bool {
        let Some(answer) = self.completing.as_ref().and_then(|(_, task)| task.wait(patience)) else {
            return false;
        };
        // What was typed meanwhile counts.
        let is_for = self.completing.take().is_some_and(|(text, _)| text == self.text);
        if let (true, Ok(completion)) = (is_for, answer) {
            self.text = completion.text;
            self.names = if completion.names.len() > 1 { completion.names } else { Vec::new() };
        }
        true
    }

    fn is_waiting(&self) -> bool {
        self.completing.is_some()
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, workspace: &mut Workspace) {
        let theme = workspace.theme;
        let y = area.bottom().saturating_sub(1);
        if let Some(above) = y.checked_sub(1).filter(|above| *above >= area.y && !self.names.is_empty()) {
            rule(buffer, area, above, " ", theme.plain());
            let names = cut(&format!(" {}", self.names.join("  ")), area.width);
            put(buffer, area.left(), above, area.width, &names, theme.dim());
        }
        rule(buffer, area, y, " ", theme.plain());
        let columns = area.width.saturating_sub(1);
        let word = workspace.words.get(label(self.question));
        let x = put(buffer, area.left(), y, columns, &format!(" {word}: "), theme.bold());
        let left = area.right().saturating_sub(x).saturating_sub(1);
        // Of a long text show the end, where the user types.
        let mut shown: &str = &self.text;
        while width(shown) > left.saturating_sub(1) {
            let mut letters = shown.chars();
            letters.next();
            shown = letters.as_str();
        }
        let x = put(buffer, x, y, left, shown, theme.plain());
        put(buffer, x, y, 1, " ", theme.selected());
    }
}

/// The words before the text.
const fn label(question: Question) -> Word {
    match question {
        Question::Filter => Word::Filter,
        Question::Object => Word::Object,
        Question::GoTo => Word::GoTo,
        Question::Save => Word::SaveAs,
        Question::Paste => Word::Paste,
        Question::Open => Word::OpenFile,
        Question::Threshold => Word::Threshold,
        Question::Compare => Word::CompareWith,
        Question::SaveAlerts => Word::SaveList,
    }
}
