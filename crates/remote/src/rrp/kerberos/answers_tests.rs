//! Answers that look right from afar: values of the right kinds in each other, with damage anywhere.
#![allow(clippy::arithmetic_side_effects)]

use super::read_any;

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// What an answer, a ticket, an error and their parts begin with.
const TAGS: [u8; 14] = [0x6b, 0x6d, 0x7e, 0x61, 0x79, 0x7a, 0x30, 0x02, 0x03, 0x04, 0x18, 0x1b, 0x60, 0x0a];

fn value(numbers: &mut Numbers, depth: usize) -> Vec<u8> {
    let mut inner = Vec::new();
    for _ in 0..numbers.below(5) {
        if depth > 0 {
            inner.extend(value(numbers, depth - 1));
        } else {
            inner.push(numbers.below(256) as u8);
        }
    }
    let tag = match numbers.below(2) {
        0 => TAGS[numbers.below(TAGS.len())],
        _ => 0xa0 + numbers.below(14) as u8,
    };
    let mut all = match inner.len() {
        short @ 0..=127 => vec![tag, short as u8],
        long => vec![tag, 0x82, (long >> 8) as u8, long as u8],
    };
    all.extend(inner);
    all
}

#[test]
fn no_answer_makes_a_panic() {
    let mut numbers = Numbers(7);
    for round in 0..20_000 {
        let mut answer = value(&mut numbers, 1 + round % 6);
        answer[0] = TAGS[round % 6];
        if round % 3 > 0 {
            let (at, byte) = (numbers.below(answer.len()), numbers.below(256));
            answer[at] = byte as u8;
        }
        read_any(&answer);
        read_any(&answer[..numbers.below(answer.len())]);
    }
}
