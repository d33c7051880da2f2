//! Chance that can be repeated: splitmix64.

/// A source of chance; the same seed gives the same chances.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 up to, and not including, `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// From `low` to `high`, both included.
    pub(crate) fn within(&mut self, low: i64, high: i64) -> i64 {
        let span = high.abs_diff(low) + 1;
        low + i64::try_from(self.below(span)).unwrap()
    }

    /// Yes in so many of a hundred cases.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of them, if there is any.
    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let place = usize::try_from(self.below(of.len() as u64)).unwrap();
        of.get(place)
    }
}
