//! SHA-256 (FIPS 180-4), for the contents of a library that is marked as trusted.

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
const K: [u32; 64] = [
    0x428a_2f98,
    0x7137_4491,
    0xb5c0_fbcf,
    0xe9b5_dba5,
    0x3956_c25b,
    0x59f1_11f1,
    0x923f_82a4,
    0xab1c_5ed5,
    0xd807_aa98,
    0x1283_5b01,
    0x2431_85be,
    0x550c_7dc3,
    0x72be_5d74,
    0x80de_b1fe,
    0x9bdc_06a7,
    0xc19b_f174,
    0xe49b_69c1,
    0xefbe_4786,
    0x0fc1_9dc6,
    0x240c_a1cc,
    0x2de9_2c6f,
    0x4a74_84aa,
    0x5cb0_a9dc,
    0x76f9_88da,
    0x983e_5152,
    0xa831_c66d,
    0xb003_27c8,
    0xbf59_7fc7,
    0xc6e0_0bf3,
    0xd5a7_9147,
    0x06ca_6351,
    0x1429_2967,
    0x27b7_0a85,
    0x2e1b_2138,
    0x4d2c_6dfc,
    0x5338_0d13,
    0x650a_7354,
    0x766a_0abb,
    0x81c2_c92e,
    0x9272_2c85,
    0xa2bf_e8a1,
    0xa81a_664b,
    0xc24b_8b70,
    0xc76c_51a3,
    0xd192_e819,
    0xd699_0624,
    0xf40e_3585,
    0x106a_a070,
    0x19a4_c116,
    0x1e37_6c08,
    0x2748_774c,
    0x34b0_bcb5,
    0x391c_0cb3,
    0x4ed8_aa4a,
    0x5b9c_ca4f,
    0x682e_6ff3,
    0x748f_82ee,
    0x78a5_636f,
    0x84c8_7814,
    0x8cc7_0208,
    0x90be_fffa,
    0xa450_6ceb,
    0xbef9_a3f7,
    0xc671_78f2,
];

/// The hash of bytes that come in parts.
///
/// ```
/// use tallymon_provider::trust::Sha256;
///
/// let mut hash = Sha256::new();
/// hash.add(b"a");
/// hash.add(b"bc");
/// assert_eq!(hash.finish()[..4], [0xba, 0x78, 0x16, 0xbf]);
/// ```
#[derive(Debug, Clone)]
pub struct Sha256 {
    state: [u32; 8],
    /// Bytes that do not fill a block yet.
    rest: Vec<u8>,
    length: u64,
}

impl Default for Sha256 {
    fn default() -> Sha256 {
        Sha256::new()
    }
}

impl Sha256 {
    /// The hash of nothing.
    pub const fn new() -> Sha256 {
        // The first 32 bits of the fractional parts of the square roots of the first 8 primes.
        let state = [
            0x6a09_e667,
            0xbb67_ae85,
            0x3c6e_f372,
            0xa54f_f53a,
            0x510e_527f,
            0x9b05_688c,
            0x1f83_d9ab,
            0x5be0_cd19,
        ];
        Sha256 { state, rest: Vec::new(), length: 0 }
    }

    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.length = self.length.wrapping_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        self.rest.extend_from_slice(bytes);
        let rest = std::mem::take(&mut self.rest);
        let (blocks, left) = rest.as_chunks::<64>();
        blocks.iter().for_each(|block| compress(&mut self.state, block));
        self.rest.extend_from_slice(left);
    }

    /// The hash of all bytes.
    pub fn finish(mut self) -> [u8; 32] {
        let bits = self.length.wrapping_mul(8);
        let used = self.rest.len() % 64;
        let zeros = if used < 56 { 55usize.saturating_sub(used) } else { 119usize.saturating_sub(used) };
        let mut end = vec![0x80u8];
        end.resize(zeros.saturating_add(1), 0);
        end.extend(bits.to_be_bytes());
        self.add(&end);
        let mut hash = [0u8; 32];
        for (part, word) in hash.as_chunks_mut::<4>().0.iter_mut().zip(self.state) {
            *part = word.to_be_bytes();
        }
        hash
    }
}

#[expect(clippy::many_single_char_names, reason = "the names of the standard")]
#[expect(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "constant ranges below 64")]
fn compress(state: &mut [u32; 8], block: &[u8; 64]) {
    let mut w = [0u32; 64];
    for (word, bytes) in w.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    for t in 16..64 {
        let s0 = w[t - 15].rotate_right(7) ^ w[t - 15].rotate_right(18) ^ (w[t - 15] >> 3);
        let s1 = w[t - 2].rotate_right(17) ^ w[t - 2].rotate_right(19) ^ (w[t - 2] >> 10);
        w[t] = w[t - 16].wrapping_add(s0).wrapping_add(w[t - 7]).wrapping_add(s1);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (k, w) in K.iter().zip(w) {
        let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let one = h.wrapping_add(s1).wrapping_add(choice).wrapping_add(*k).wrapping_add(w);
        let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let two = s0.wrapping_add((a & b) ^ (a & c) ^ (b & c));
        (h, g, f, e) = (g, f, e, d.wrapping_add(one));
        (d, c, b, a) = (c, b, a, one.wrapping_add(two));
    }
    for (word, add) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8], parts: usize) -> String {
        let mut hash = Sha256::new();
        bytes.chunks(parts).for_each(|part| hash.add(part));
        hash.finish().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The examples of the standard (FIPS 180-4 and its test vectors), and lengths around a block.
    #[test]
    fn examples_of_the_standard() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let two_blocks = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        let cases: [(&[u8], &str); 3] = [
            (b"", empty),
            (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (two_blocks, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        ];
        for (bytes, expected) in cases {
            for parts in [1, 3, 64, 1000] {
                assert_eq!(hex(bytes, parts), expected, "in parts of {parts}");
            }
        }
        let million = vec![b'a'; 1_000_000];
        let expected = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        assert_eq!(hex(&million, 4096), expected);
        for length in 50..140 {
            assert_eq!(hex(&vec![7; length], 1), hex(&vec![7; length], 1000), "{length}");
        }
    }
}
