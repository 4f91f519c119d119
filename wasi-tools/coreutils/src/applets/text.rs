//! How wide text is on a screen.

/// Columns that a name takes: one for each character, two for wide ones, none for marks; a byte that is no text takes one.
pub(super) fn display_width(text: &[u8]) -> usize {
    text.utf8_chunks()
        .map(|chunk| chunk.valid().chars().map(width).sum::<usize>() + chunk.invalid().len())
        .sum()
}

/// Ranges of East Asian wide and emoji characters, roughly as `wcwidth` has them.
const WIDE: [(u32, u32); 10] = [
    (0x1100, 0x115f),
    (0x2e80, 0x303e),
    (0x3041, 0xa4cf),
    (0xac00, 0xd7a3),
    (0xf900, 0xfaff),
    (0xfe30, 0xfe6f),
    (0xff00, 0xff60),
    (0xffe0, 0xffe6),
    (0x1f300, 0x1faff),
    (0x20000, 0x3fffd),
];

/// Combining marks and joiners.
const NARROW: [(u32, u32); 5] = [
    (0x300, 0x36f),
    (0x483, 0x489),
    (0x200b, 0x200f),
    (0x20d0, 0x20ff),
    (0xfe00, 0xfe0f),
];

fn width(character: char) -> usize {
    let code = u32::from(character);
    let within = |ranges: &[(u32, u32)]| {
        ranges
            .iter()
            .any(|(from, to)| (*from..=*to).contains(&code))
    };
    match () {
        () if character.is_control() || within(&NARROW) => 0,
        () if within(&WIDE) => 2,
        () => 1,
    }
}
