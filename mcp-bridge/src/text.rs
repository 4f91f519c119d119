//! Cutting bytes and text to what a model is shown. No rule here depends on where the bytes come from.

/// Offsets at which the characters of possibly invalid UTF-8 start, as `from_utf8_lossy` counts them.
fn char_starts(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let mut at = 0;
    bytes.utf8_chunks().flat_map(move |chunk| {
        let start = at;
        let invalid_at = start + chunk.valid().len();
        at = invalid_at + chunk.invalid().len();
        let invalid = (!chunk.invalid().is_empty()).then_some(invalid_at);
        chunk
            .valid()
            .char_indices()
            .map(move |(index, _)| start + index)
            .chain(invalid)
    })
}

/// How many leading bytes make up at most `chars` characters; up to a line's end where that leaves at least three quarters.
pub(crate) fn head_len(bytes: &[u8], chars: usize) -> usize {
    let mut starts = char_starts(bytes);
    let Some(end) = starts.nth(chars) else {
        return bytes.len();
    };
    let head = bytes.get(..end).unwrap_or_default();
    match head.iter().rposition(|byte| *byte == b'\n') {
        Some(newline) if newline + 1 >= end / 4 * 3 => newline + 1,
        _ => end,
    }
}

/// Where the trailing bytes start that make up at most `chars` characters; at a line's start where that leaves at least three
/// quarters.
pub(crate) fn tail_start(bytes: &[u8], chars: usize) -> usize {
    let starts: Vec<usize> = char_starts(bytes).collect();
    let Some(first) = starts.len().checked_sub(chars) else {
        return 0;
    };
    let start = starts.get(first).copied().unwrap_or(bytes.len());
    if start == 0 {
        return 0;
    }
    let tail = bytes.get(start..).unwrap_or_default();
    match tail.iter().position(|byte| *byte == b'\n') {
        // The line is whole when the byte before it ends another.
        _ if bytes.get(start - 1) == Some(&b'\n') => start,
        Some(newline) if newline < tail.len() / 4 => start + newline + 1,
        _ => start,
    }
}

/// Number of lines that end in these bytes.
pub(crate) fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}

/// A number with its thousands set apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A line as it is shown: without what is beyond `chars` characters.
pub(crate) fn shown_line(line: &[u8], chars: usize) -> String {
    let end = char_starts(line).nth(chars).unwrap_or(line.len());
    let mut text = String::from_utf8_lossy(line.get(..end).unwrap_or_default()).into_owned();
    if end < line.len() {
        let more = format!(
            " [… {} more bytes in this line]",
            grouped((line.len() - end) as u64)
        );
        text.push_str(&more);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_cut_never_splits_a_character_and_counts_invalid_bytes_as_one() {
        let bytes = "aé\u{1F600}z".as_bytes();
        assert_eq!(head_len(bytes, 2), 3);
        assert_eq!(head_len(bytes, 3), 7);
        assert_eq!(head_len(bytes, 4), bytes.len());
        assert_eq!(tail_start(bytes, 2), 3);
        assert_eq!(tail_start(bytes, 4), 0);
        assert_eq!(head_len(b"\xff\xffa", 2), 2);
        assert_eq!(tail_start(b"a\xff\xff", 1), 2);
        assert_eq!(head_len(b"", 5), 0);
        assert_eq!(tail_start(b"", 5), 0);
        assert_eq!(tail_start(b"abc", 0), 3);
    }

    #[test]
    fn a_cut_prefers_whole_lines_when_little_is_lost() {
        assert_eq!(head_len(b"aaaa\nbbbb\ncc", 11), 10);
        assert_eq!(head_len(b"a\nbbbbbbbbbb", 8), 8);
        assert_eq!(tail_start(b"aaaa\nbbbb\ncccc\n", 12), 5);
        assert_eq!(tail_start(b"aaaa\nbbbb\ncccc\n", 10), 5);
        assert_eq!(tail_start(b"aaaaaaaaaa\nb", 8), 4);
    }

    #[test]
    fn a_long_line_says_how_much_is_not_shown() {
        assert_eq!(shown_line(b"abc", 3), "abc");
        assert_eq!(
            shown_line("äöü".as_bytes(), 2),
            "äö [… 2 more bytes in this line]"
        );
    }
}
