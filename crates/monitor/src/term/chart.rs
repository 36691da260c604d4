//! A line chart in the cells of a terminal.
//!
//! Each line is reduced to the lowest and highest dot of every dot column first, so that drawing costs as
//! much as there are columns, however many points are in view. A cell has 2 by 4 dots; where a terminal has
//! no braille letters, the nearest ASCII character stands for them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::symbols::pixel::OCTANTS;

/// Letters to draw with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Glyphs {
    /// Braille and box drawing.
    #[default]
    Braille,
    /// Braille's dots as blocks without gaps, which only some terminals have; box drawing.
    Octant,
    /// ASCII only.
    Ascii,
}

impl Glyphs {
    /// The names that a user knows them by.
    pub const NAMES: [(&'static str, Glyphs); 3] =
        [("braille", Glyphs::Braille), ("octant", Glyphs::Octant), ("ascii", Glyphs::Ascii)];

    /// The letters of a name.
    pub fn from_name(name: &str) -> Option<Glyphs> {
        Glyphs::NAMES
            .into_iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, glyphs)| glyphs)
    }
}

/// Which dots of a line are left out, so that lines differ without colour. Bit n of 12 is dot column n.
pub const PATTERNS: [u16; 6] = [
    0b1111_1111_1111,
    0b0011_1100_1111,
    0b0101_0101_0101,
    0b0111_1101_0111,
    0b0000_1111_1111,
    0b0001_0001_0001,
];

/// Which dots of an area are set, by row and column of 4, so that areas differ without colour.
const FILLS: [[u8; 4]; 6] = [
    [0b1111, 0b1111, 0b1111, 0b1111],
    [0b0101, 0b1010, 0b0101, 0b1010],
    [0b1111, 0b0000, 0b1111, 0b0000],
    [0b0101, 0b0101, 0b0101, 0b0101],
    [0b0001, 0b0010, 0b0100, 0b1000],
    [0b0001, 0b0000, 0b0100, 0b0000],
];

/// A picture of dots, one line drawn over the other.
#[derive(Debug)]
pub struct Chart {
    area: Rect,
    glyphs: Glyphs,
    cells: Vec<Cell>,
    /// Lowest and highest dot of each dot column of the line that is being drawn; empty when low > high.
    columns: Vec<(f32, f32)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    dots: u8,
    /// A value above the top was cut off here.
    above: bool,
    style: Style,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy)]
pub struct LineStyle {
    /// Colour.
    pub style: Style,
    /// One of [`PATTERNS`]; beyond their number they start over.
    pub pattern: usize,
    /// Twice as thick.
    pub thick: bool,
}

impl Chart {
    /// An empty picture for an area.
    pub fn new(area: Rect, glyphs: Glyphs) -> Chart {
        let cells = usize::from(area.width).saturating_mul(usize::from(area.height));
        Chart {
            area,
            glyphs,
            cells: vec![Cell::default(); cells],
            columns: vec![NOTHING; usize::from(area.width).saturating_mul(2)],
        }
    }

    /// The cell column of a slot, of so many slots, counted from the left edge of the area.
    pub fn column(&self, slot: usize, slots: usize) -> u16 {
        (dot_column(slot, slots, self.columns.len()) / 2.0) as u16
    }

    /// The slot that is nearest to a cell column.
    pub fn slot(&self, column: u16, slots: usize) -> usize {
        let last = self.columns.len().saturating_sub(1).max(1) as f32;
        let share = (f32::from(column) * 2.0 + 0.5) / last;
        ((share * slots.saturating_sub(1) as f32).round() as usize).min(slots.saturating_sub(1))
    }

    /// Draws a line through the heights of its slots: 0 is the bottom, 1 the top, more is cut off and marked,
    /// `None` is a gap. `breaks` is the slot before which the line is interrupted, as a sweep is at its time
    /// line.
    pub fn line(
        &mut self,
        slots: usize,
        breaks: Option<usize>,
        heights: impl Iterator<Item = Option<f32>>,
        line: LineStyle,
    ) {
        let (width, rows) = (self.columns.len(), f32::from(self.area.height) * 4.0);
        if width == 0 || rows < 1.0 {
            return;
        }
        self.columns.fill(NOTHING);
        let mut before: Option<(f32, f32)> = None;
        let mut above: Vec<usize> = Vec::new();
        for (slot, height) in heights.take(slots).enumerate() {
            let Some(height) = height else {
                before = None;
                continue;
            };
            let x = dot_column(slot, slots, width);
            if height > 1.000_001 {
                above.push(x as usize / 2);
            }
            let y = height.clamp(0.0, 1.0) * (rows - 1.0);
            match before.filter(|_| breaks != Some(slot)) {
                Some(before) => self.segment(before, (x, y)),
                None => self.touch(x, y),
            }
            before = Some((x, y));
        }
        let pattern = PATTERNS.get(line.pattern % PATTERNS.len()).copied().unwrap_or(u16::MAX);
        for column in 0..width {
            let Some((low, high)) = self.columns.get(column).copied().filter(|(low, high)| low <= high)
            else {
                continue;
            };
            // A steep part is drawn whole, or a peak could fall into a gap of the pattern.
            if high - low < 3.0 && pattern & (1u16 << (column % 12)) == 0 {
                continue;
            }
            // Neighbours share the dot between them, so half a dot less at both ends still makes a closed
            // line.
            let (low, high) = if high - low <= 1.0 {
                let middle = nearest((low + high) / 2.0);
                (middle, middle)
            } else {
                (nearest(low + 0.49), nearest(high - 0.49))
            };
            let high = high.saturating_add(usize::from(line.thick));
            self.dots(column, low, high, line.style);
        }
        for column in above {
            if let Some(cell) = self.cells.get_mut(column) {
                *cell = Cell { above: true, style: line.style, ..*cell };
            }
        }
    }

    /// Fills what lies between two heights of each slot, as [`Chart::line`] has them, with the pattern of the
    /// line; the upper edge is drawn whole.
    pub fn area(
        &mut self,
        slots: usize,
        breaks: Option<usize>,
        spans: impl Iterator<Item = Option<(f32, f32)>>,
        line: LineStyle,
    ) {
        let (width, rows) = (self.columns.len(), f32::from(self.area.height) * 4.0);
        if width == 0 || rows < 1.0 {
            return;
        }
        // The lowest and the highest of all slots that fall on a column.
        self.columns.fill(NOTHING);
        let mut before: Option<(f32, f32, f32)> = None;
        for (slot, span) in spans.take(slots).enumerate() {
            let Some((low, high)) = span else {
                before = None;
                continue;
            };
            let x = dot_column(slot, slots, width);
            let height = |share: f32| share.clamp(0.0, 1.0) * (rows - 1.0);
            let here = (x, height(low), height(high));
            let from = before.filter(|_| breaks != Some(slot)).unwrap_or(here);
            for column in nearest(from.0)..=nearest(x) {
                let share = ((column as f32 - from.0) / (x - from.0).max(f32::EPSILON)).clamp(0.0, 1.0);
                self.touch(column as f32, from.1 + (here.1 - from.1) * share);
                self.touch(column as f32, from.2 + (here.2 - from.2) * share);
            }
            before = Some(here);
        }
        let fill = FILLS.get(line.pattern % FILLS.len()).copied().unwrap_or_default();
        for column in 0..width {
            let Some((low, high)) = self.columns.get(column).copied().filter(|(low, high)| low <= high)
            else {
                continue;
            };
            let (low, high) = (nearest(low), nearest(high));
            for dot in low..=high {
                let row = fill.get(dot % 4).copied().unwrap_or_default();
                if dot == high || row & (1u8 << (column % 4)) != 0 {
                    self.dots(column, dot, dot, line.style);
                }
            }
        }
    }

    /// Puts the dots into a buffer. Cells without a dot are left as they are.
    pub fn render(&self, buffer: &mut Buffer) {
        let width = usize::from(self.area.width).max(1);
        for (row, cells) in (self.area.y..).zip(self.cells.chunks(width)) {
            for (column, cell) in (self.area.x..).zip(cells) {
                let letter = match (cell.above, cell.dots, self.glyphs) {
                    (true, _, Glyphs::Braille | Glyphs::Octant) => '▲',
                    (true, _, Glyphs::Ascii) => '^',
                    (false, 0, _) => continue,
                    (false, dots, Glyphs::Braille) => char::from_u32(0x2800 | u32::from(dots)).unwrap_or(' '),
                    (false, dots, Glyphs::Octant) => octant(dots),
                    (false, dots, Glyphs::Ascii) => ascii(dots),
                };
                if let Some(place) = buffer.cell_mut((column, row)) {
                    place.set_char(letter).set_style(cell.style);
                }
            }
        }
    }

    /// Extends the dot columns between two points by the part of the straight line that is in each.
    fn segment(&mut self, from: (f32, f32), to: (f32, f32)) {
        let (first, last) = (nearest(from.0), nearest(to.0));
        if last <= first {
            self.touch(to.0, from.1);
            self.touch(to.0, to.1);
            return;
        }
        let slope = (to.1 - from.1) / (to.0 - from.0).max(f32::EPSILON);
        let at = |x: f32| from.1 + slope * (x.clamp(from.0, to.0) - from.0);
        for column in first..=last {
            let x = column as f32;
            let (one, other) = (at(x - 0.5), at(x + 0.5));
            if let Some((low, high)) = self.columns.get_mut(column) {
                *low = low.min(one.min(other));
                *high = high.max(one.max(other));
            }
        }
    }

    fn touch(&mut self, x: f32, y: f32) {
        if let Some((low, high)) = self.columns.get_mut(nearest(x)) {
            *low = low.min(y);
            *high = high.max(y);
        }
    }

    /// Sets the dots of a dot column from one height to another, both counted from the bottom.
    fn dots(&mut self, column: usize, low: usize, high: usize, style: Style) {
        let rows = usize::from(self.area.height).saturating_mul(4);
        let Some(bottom) = rows.checked_sub(low.saturating_add(1)) else { return };
        let top = rows.saturating_sub(high.saturating_add(1));
        let bits: [u8; 4] =
            if column.is_multiple_of(2) { [0x01, 0x02, 0x04, 0x40] } else { [0x08, 0x10, 0x20, 0x80] };
        for row in top / 4..=bottom / 4 {
            let position = row.saturating_mul(usize::from(self.area.width)).saturating_add(column / 2);
            let Some(cell) = self.cells.get_mut(position) else { continue };
            for (from_top, bit) in (row.saturating_mul(4)..).zip(bits) {
                if top <= from_top && from_top <= bottom {
                    cell.dots |= bit;
                }
            }
            cell.style = style;
        }
    }
}

/// The nearest whole number of one that is not negative. The function of the language is a call on old
/// processors.
fn nearest(number: f32) -> usize {
    (number + 0.5) as usize
}

const NOTHING: (f32, f32) = (f32::INFINITY, f32::NEG_INFINITY);

fn dot_column(slot: usize, slots: usize, width: usize) -> f32 {
    let last = width.saturating_sub(1) as f32;
    slot as f32 * last / slots.saturating_sub(1).max(1) as f32
}

/// The octant with some dots of braille.
fn octant(dots: u8) -> char {
    // Braille counts down the left column and then down the right one, octants count row by row.
    const ROW_BY_ROW: [u8; 8] = [0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80];
    let place = ROW_BY_ROW.iter().rev().fold(0usize, |place, dot| place << 1 | usize::from(dots & dot != 0));
    OCTANTS.get(place).copied().unwrap_or(' ')
}

/// The ASCII character that looks most like some dots.
fn ascii(dots: u8) -> char {
    let rows = [dots & 0x09, dots & 0x12, dots & 0x24, dots & 0xc0].map(|row| row != 0);
    match rows {
        [true, _, _, true] | [true, true, true, _] | [_, true, true, true] => '|',
        [_, _, true, true] | [_, true, false, true] => ',',
        [true, _, _, _] => '\'',
        [_, true, true, _] | [_, true, _, _] | [_, _, true, _] => '-',
        _ => '_',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: LineStyle = LineStyle { style: Style::new(), pattern: 0, thick: false };

    fn drawn(
        width: u16,
        height: u16,
        glyphs: Glyphs,
        heights: &[Option<f32>],
        line: LineStyle,
    ) -> Vec<String> {
        let area = Rect::new(0, 0, width, height);
        let mut chart = Chart::new(area, glyphs);
        chart.line(heights.len(), None, heights.iter().copied(), line);
        let mut buffer = Buffer::empty(area);
        chart.render(&mut buffer);
        let row = |y| (0..width).map(|x| buffer[(x, y)].symbol().to_string()).collect();
        (0..height).map(row).collect()
    }

    fn some(heights: &[f32]) -> Vec<Option<f32>> {
        heights.iter().copied().map(Some).collect()
    }

    #[test]
    fn shapes() {
        for (heights, glyphs, expected) in [
            (some(&[0.0, 0.0]), Glyphs::Braille, ["    ", "⣀⣀⣀⣀"]),
            (some(&[1.0, 1.0]), Glyphs::Braille, ["⠉⠉⠉⠉", "    "]),
            (some(&[0.0, 1.0]), Glyphs::Braille, ["  ⡠⠊", "⡠⠊  "]),
            (some(&[1.5, 1.5, 0.0, 0.0]), Glyphs::Braille, ["▲▲  ", "  ⢇⣀"]),
            (some(&[0.0, 1.0]), Glyphs::Ascii, ["  ,'", ",'  "]),
            (some(&[-3.0, -3.0]), Glyphs::Ascii, ["    ", "____"]),
        ] {
            let lines = drawn(4, 2, glyphs, &heights, PLAIN);
            assert_eq!(lines, expected, "{heights:?}");
        }
    }

    #[test]
    fn gaps_are_not_bridged_and_a_single_point_is_seen() {
        let heights = [Some(0.0), None, None, None, None, None, None, Some(0.0)];
        assert_eq!(drawn(4, 1, Glyphs::Braille, &heights, PLAIN), ["⡀  ⢀"]);
        assert_eq!(drawn(4, 1, Glyphs::Braille, &[None; 4], PLAIN), ["    "]);
    }

    #[test]
    fn a_sweep_is_broken_at_its_time_line() {
        let area = Rect::new(0, 0, 4, 1);
        let mut chart = Chart::new(area, Glyphs::Braille);
        chart.line(8, Some(4), [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0].into_iter().map(Some), PLAIN);
        let mut buffer = Buffer::empty(area);
        chart.render(&mut buffer);
        let row: String = (0..4).map(|x| buffer[(x, 0)].symbol().to_string()).collect();
        assert_eq!(row, "⣀⣀⠉⠉");
    }

    #[test]
    fn a_peak_among_many_points_is_never_lost() {
        for peak in [0usize, 1, 4_999, 9_999] {
            let heights: Vec<Option<f32>> =
                (0..10_000).map(|slot| Some(if slot == peak { 1.0 } else { 0.0 })).collect();
            for pattern in 0..PATTERNS.len() {
                let lines = drawn(20, 2, Glyphs::Braille, &heights, LineStyle { pattern, ..PLAIN });
                assert!(lines[0].chars().any(|letter| letter != ' '), "{peak} {pattern}: {lines:?}");
            }
        }
    }

    #[test]
    fn octants_have_the_dots_of_braille() {
        for (dots, expected) in [(0x47, '▌'), (0xb8, '▐'), (0xff, '█'), (0x1b, '▀'), (0xe4, '▄'), (0, ' ')]
        {
            assert_eq!(octant(dots), expected, "{dots:#x}");
        }
    }

    #[test]
    fn areas_are_filled_up_to_their_edge() {
        let area = Rect::new(0, 0, 4, 2);
        let filled = |spans: &[Option<(f32, f32)>], pattern| {
            let mut chart = Chart::new(area, Glyphs::Braille);
            chart.area(spans.len(), None, spans.iter().copied(), LineStyle { pattern, ..PLAIN });
            let mut buffer = Buffer::empty(area);
            chart.render(&mut buffer);
            let row = |y| (0..4).map(|x| buffer[(x, y)].symbol().to_string()).collect::<String>();
            [row(0), row(1)]
        };
        assert_eq!(filled(&[Some((0.0, 1.0)); 8], 0), ["⣿⣿⣿⣿", "⣿⣿⣿⣿"]);
        assert_eq!(filled(&[Some((0.0, 1.0)), Some((0.0, 0.0))], 0), ["⣷⣄  ", "⣿⣿⣷⣄"]);
        assert_eq!(filled(&[Some((0.5, 1.0)); 8], 0), ["⣿⣿⣿⣿", "    "], "one on top of another");
        assert_eq!(filled(&[None; 8], 0), ["    ", "    "]);
        let patterns: Vec<_> =
            (0..FILLS.len()).map(|pattern| filled(&[Some((0.0, 1.0)); 8], pattern)).collect();
        for (number, pattern) in patterns.iter().enumerate() {
            assert_eq!(patterns.iter().filter(|other| *other == pattern).count(), 1, "pattern {number}");
        }
    }

    #[test]
    fn patterns_differ() {
        let flat = some(&[0.0; 24]);
        let mut seen: Vec<Vec<String>> = Vec::new();
        for pattern in 0..PATTERNS.len() {
            let lines = drawn(12, 1, Glyphs::Braille, &flat, LineStyle { pattern, ..PLAIN });
            assert!(!seen.contains(&lines), "pattern {pattern}");
            seen.push(lines);
        }
    }

    #[test]
    fn columns_and_slots() {
        let chart = Chart::new(Rect::new(0, 0, 50, 10), Glyphs::Braille);
        assert_eq!((chart.column(0, 100), chart.column(99, 100)), (0, 49));
        for slot in (0..100).step_by(9) {
            let found = chart.slot(chart.column(slot, 100), 100);
            assert!(found.abs_diff(slot) <= 1, "{slot} became {found}");
        }
        // No place at all is no reason to stop.
        let mut nothing = Chart::new(Rect::new(0, 0, 0, 0), Glyphs::Braille);
        nothing.line(3, None, some(&[0.0, 1.0, 0.5]).into_iter(), PLAIN);
        assert_eq!(nothing.slot(7, 0), 0);
    }
}
