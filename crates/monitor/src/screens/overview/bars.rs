//! Bars and short histories in the cells of a terminal.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::model::overview::Limits;
use crate::term::chart::Glyphs;
use crate::term::text::put;
use crate::term::theme::Theme;

/// Parts of a cell from the left, and from below.
const LEFT: [&str; 8] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"];
const BELOW: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const BELOW_ASCII: [&str; 8] = ["_", ".", ":", "-", "=", "+", "*", "#"];

/// A bar of a share from 0 to 1.
pub(super) fn bar(
    buffer: &mut Buffer,
    (x, y): (u16, u16),
    columns: u16,
    share: f64,
    style: Style,
    theme: Theme,
) {
    let parts = (share.clamp(0.0, 1.0) * f64::from(columns) * 8.0).round() as u32;
    for column in 0..columns {
        let left = parts.saturating_sub(u32::from(column).saturating_mul(8)).min(8);
        let place = x.saturating_add(column);
        let full = usize::try_from(left).unwrap_or(0).checked_sub(1).and_then(|nth| LEFT.get(nth));
        match full {
            Some(letter) if theme.glyphs != Glyphs::Ascii => drop(put(buffer, place, y, 1, letter, style)),
            Some(_) if left >= 4 => drop(put(buffer, place, y, 1, "#", style)),
            _ => drop(put(buffer, place, y, 1, theme.either("·", "."), theme.dim())),
        }
    }
}

/// Several parts of one whole, each with its style; the rest is dim.
pub(super) fn band(
    buffer: &mut Buffer,
    (x, y): (u16, u16),
    columns: u16,
    parts: &[(f64, Style)],
    theme: Theme,
) {
    let whole: f64 = parts.iter().map(|(part, _)| part.max(0.0)).sum();
    let mut sum = 0.0;
    let mut from = 0u16;
    for (nth, (part, style)) in parts.iter().enumerate() {
        sum += part.max(0.0);
        let to = if whole > 0.0 { (sum / whole * f64::from(columns)).round() as u16 } else { 0 };
        // Without colours the letters distinguish the parts.
        let letter = match nth {
            0 => theme.either("█", "#"),
            1 => theme.either("▒", "="),
            _ => theme.either("·", "."),
        };
        for column in from..to.min(columns) {
            put(buffer, x.saturating_add(column), y, 1, letter, *style);
        }
        from = to.min(columns);
    }
}

/// What a history is drawn against: its largest number, and what its colours mean.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) most: f64,
    pub(super) limits: Option<Limits>,
}

impl Scale {
    fn style(self, number: f64, theme: Theme) -> Style {
        match self.limits {
            Some(limits) => theme.level(limits.level(number)),
            None => theme.good(),
        }
    }
}

/// The newest numbers, one a column, the newest at the right.
pub(super) fn history(
    buffer: &mut Buffer,
    (x, y): (u16, u16),
    columns: u16,
    numbers: &[f32],
    scale: Scale,
    theme: Theme,
) {
    let skip = numbers.len().saturating_sub(usize::from(columns));
    let shown = numbers.get(skip..).unwrap_or_default();
    let early = columns.saturating_sub(u16::try_from(shown.len()).unwrap_or(columns));
    for (column, number) in (early..columns).zip(shown) {
        let number = f64::from(*number);
        if number.is_nan() {
            continue;
        }
        let letter = level_letter(number / scale.most, theme);
        put(buffer, x.saturating_add(column), y, 1, letter, scale.style(number, theme));
    }
}

fn level_letter(share: f64, theme: Theme) -> &'static str {
    let letters = if theme.glyphs == Glyphs::Ascii { BELOW_ASCII } else { BELOW };
    let nth = (share.clamp(0.0, 1.0) * 7.0).round() as usize;
    letters.get(nth).copied().unwrap_or(" ")
}

/// Numbers as columns over several rows, of which new ones overwrite the oldest from left to right: only two
/// columns change with a sample. `newest` is the row number of the last one.
pub(super) fn sweep(
    buffer: &mut Buffer,
    area: Rect,
    numbers: &[f32],
    newest: u64,
    scale: Scale,
    theme: Theme,
) {
    let wide = u64::from(area.width);
    if wide == 0 || area.height == 0 {
        return;
    }
    let shown = numbers.len().min(usize::from(area.width).saturating_sub(1));
    for (back, number) in numbers.iter().rev().take(shown).enumerate() {
        let Some(row) = newest.checked_sub(back as u64) else { break };
        let number = f64::from(*number);
        if number.is_nan() {
            continue;
        }
        let x = area.x.saturating_add(u16::try_from(row % wide).unwrap_or(0));
        let eighths = (number / scale.most).clamp(0.0, 1.0) * f64::from(area.height) * 8.0;
        let eighths = (eighths.round() as u32).max(1);
        let style = scale.style(number, theme);
        for level in 0..area.height {
            let left = eighths.saturating_sub(u32::from(level).saturating_mul(8)).min(8);
            let Some(nth) = usize::try_from(left).ok().and_then(|left| left.checked_sub(1)) else { break };
            let letters = if theme.glyphs == Glyphs::Ascii { BELOW_ASCII } else { BELOW };
            let letter = letters.get(nth).copied().unwrap_or(" ");
            put(buffer, x, area.bottom().saturating_sub(1).saturating_sub(level), 1, letter, style);
        }
    }
    // The next column is where time goes on.
    let next = area.x.saturating_add(u16::try_from(newest.saturating_add(1) % wide).unwrap_or(0));
    for y in area.top()..area.bottom() {
        put(buffer, next, y, 1, theme.either("│", "|"), theme.time_line());
    }
}

/// The largest number of some histories, rounded up to 1, 2 or 5 and zeros, and at least `least`: so that a
/// trickle does not look like a flood.
pub(super) fn round_most<'h>(histories: impl Iterator<Item = &'h [f32]>, least: f64) -> f64 {
    let most = histories.flatten().copied().filter(|one| one.is_finite()).fold(0.0f32, f32::max);
    let most = f64::from(most).max(least);
    let power = 10f64.powf(most.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= most * 0.999);
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::theme::Colours;

    fn text(draw: impl Fn(&mut Buffer, Theme), glyphs: Glyphs) -> String {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 8, 2));
        draw(&mut buffer, Theme::new(Colours::Sixteen, glyphs));
        buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect()
    }

    #[test]
    fn bars_and_histories_have_eighths() {
        let half = |buffer: &mut Buffer, theme: Theme| {
            bar(buffer, (0, 0), 8, 0.5625, Style::new(), theme);
            let scale = Scale { most: 100.0, limits: Some(Limits::BUSY) };
            history(buffer, (0, 1), 8, &[f32::NAN, 0.0, 50.0, 100.0, 250.0], scale, theme);
        };
        assert_eq!(text(half, Glyphs::Braille), "████▌···    ▁▅██");
        assert_eq!(text(half, Glyphs::Ascii), "#####...    _=##");
    }

    #[test]
    fn a_sweep_overwrites_the_oldest() {
        let scale = Scale { most: 100.0, limits: None };
        let numbers = [100.0, 50.0, 0.0];
        let draw = |buffer: &mut Buffer, theme: Theme| {
            sweep(buffer, Rect::new(0, 0, 8, 2), &numbers, 9, scale, theme);
        };
        assert_eq!(text(draw, Glyphs::Braille), " ·│    ██▁│    █".replace('·', " "));
    }

    #[test]
    fn the_scale_is_round_and_never_tiny() {
        for (most, least, expected) in [
            (460.0f32, 100_000.0, 100_000.0),
            (1_000_000.0, 1.0, 1_000_000.0),
            (1_200_000.0, 1.0, 2_000_000.0),
            (3e9, 1.0, 5e9),
            (f32::NAN, 1_000.0, 1_000.0),
        ] {
            let numbers = [0.0, most];
            let found = round_most([&numbers[..]].into_iter(), least);
            assert!((found - expected).abs() < expected * 1e-6, "{most}: {found}");
        }
    }
}
