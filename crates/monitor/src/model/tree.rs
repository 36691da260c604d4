//! Rows as a tree: each process below its parent.

use std::collections::{HashMap, HashSet};

/// The deepest indentation: names stay readable however deep a tree is.
pub const DEEPEST: usize = 8;

/// The number of a row and that of its parent, where it has them.
pub type Numbers = (Option<u64>, Option<u64>);

/// The positions of rows in the order of their tree, each with its depth.
///
/// Children of one parent keep their order. A row without its parent is a root, and so is a row of a cycle,
/// which reused process ids can cause.
///
/// ```
/// use tallymon_monitor::model::tree;
///
/// let rows = [(Some(7), Some(1)), (Some(1), None), (Some(9), Some(7)), (Some(5), Some(1))];
/// assert_eq!(tree(&rows), [(1, 0), (0, 1), (2, 2), (3, 1)]);
/// ```
pub fn tree(rows: &[Numbers]) -> Vec<(usize, usize)> {
    let mut made: HashMap<u64, Vec<usize>> = HashMap::new();
    let is_there: HashSet<u64> = rows.iter().filter_map(|(own, _)| *own).collect();
    let mut roots = Vec::new();
    for (position, (own, maker)) in rows.iter().enumerate() {
        match maker.filter(|maker| *own != Some(*maker) && is_there.contains(maker)) {
            Some(maker) => made.entry(maker).or_default().push(position),
            None => roots.push(position),
        }
    }
    let mut order = Vec::with_capacity(rows.len());
    let mut is_placed = vec![false; rows.len()];
    // Rows of a cycle are below no root, so every row is tried.
    for root in roots.into_iter().chain(0..rows.len()) {
        let mut next = vec![(root, 0usize)];
        while let Some((position, depth)) = next.pop() {
            let Some(placed) = is_placed.get_mut(position) else { continue };
            if std::mem::replace(placed, true) {
                continue;
            }
            order.push((position, depth));
            // Of several rows with one number the first one has the children.
            let own = rows.get(position).and_then(|(own, _)| *own);
            let below = own.and_then(|own| made.remove(&own)).unwrap_or_default();
            next.extend(below.into_iter().rev().map(|position| (position, depth.saturating_add(1))));
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_appears_once_whatever_the_numbers_are() {
        // Alone, a missing parent, its own parent, a cycle of two with one below, and a number of two rows.
        let rows: [Numbers; 9] = [
            (None, None),
            (Some(2), Some(99)),
            (Some(3), Some(3)),
            (Some(4), Some(5)),
            (Some(5), Some(4)),
            (Some(6), Some(5)),
            (Some(7), None),
            (Some(7), None),
            (Some(8), Some(7)),
        ];
        let order = tree(&rows);
        assert_eq!(
            order,
            [(0, 0), (1, 0), (2, 0), (6, 0), (8, 1), (7, 0), (3, 0), (4, 1), (5, 2)],
            "a circle begins with its first row"
        );
        assert!(tree(&[]).is_empty());
    }

    #[test]
    fn a_very_deep_tree_is_cut() {
        let rows: Vec<Numbers> =
            (1..=100_000_u64).map(|number| (Some(number), number.checked_sub(1))).collect();
        assert_eq!(tree(&rows).last(), Some(&(99_999, 99_999)));
    }
}
