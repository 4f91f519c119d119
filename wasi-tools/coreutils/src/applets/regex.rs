//! Extended regular expressions, as `pgrep` takes them, on short names.

/// A pattern: alternatives of sequences.
#[derive(Debug)]
pub(super) struct Regex {
    alternatives: Vec<Vec<Piece>>,
    ignore_case: bool,
}

#[derive(Debug)]
struct Piece {
    atom: Atom,
    least: usize,
    most: usize,
}

#[derive(Debug)]
enum Atom {
    Character(char),
    Any,
    Set(Vec<(char, char)>, bool),
    Start,
    End,
    Group(Vec<Vec<Piece>>),
}

/// Steps before a match is given up: a pattern can be made to take for ever.
const STEPS: usize = 1_000_000;
/// Groups nest no deeper.
const DEEPEST: usize = 50;
/// Characters of a text that are looked at: groups can take a step of recursion for each.
const LONGEST: usize = 4096;
/// The largest number in braces, as POSIX has it.
const MOST_REPEATS: usize = 255;

struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    depth: usize,
}

impl Regex {
    /// Reads a pattern; `None` when it is wrong.
    pub(super) fn new(text: &str, ignore_case: bool) -> Option<Self> {
        let mut reader = Reader {
            rest: text.chars().peekable(),
            depth: 0,
        };
        let alternatives = reader.alternatives()?;
        reader.rest.next().is_none().then_some(Self {
            alternatives,
            ignore_case,
        })
    }

    /// Where it matches anywhere in the text: whether, and whether all of it.
    pub(super) fn matches(&self, text: &str, whole: bool) -> bool {
        let text: Vec<_> = text.chars().take(LONGEST).map(|c| self.fold(c)).collect();
        let mut steps = STEPS;
        let starts = if whole { 0..=0 } else { 0..=text.len() };
        for start in starts {
            let mut found = false;
            for sequence in &self.alternatives {
                self.sequence(sequence, &text, start, &mut steps, &mut |end| {
                    found |= !whole || end == text.len();
                    found
                });
                if found {
                    return true;
                }
            }
        }
        false
    }

    fn fold(&self, character: char) -> char {
        if self.ignore_case {
            character.to_ascii_lowercase()
        } else {
            character
        }
    }

    /// Matches the pieces from `at` on; `then` takes each place where they can end, and returns whether to stop.
    fn sequence(
        &self,
        pieces: &[Piece],
        text: &[char],
        at: usize,
        steps: &mut usize,
        then: &mut dyn FnMut(usize) -> bool,
    ) -> bool {
        let Some((piece, rest)) = pieces.split_first() else {
            return then(at);
        };
        if !matches!(piece.atom, Atom::Group(_)) {
            return self
                .places(piece, text, at, steps)
                .into_iter()
                .rev()
                .any(|end| self.sequence(rest, text, end, steps, then));
        }
        self.repeat(piece, 0, text, at, steps, &mut |end, steps| {
            self.sequence(rest, text, end, steps, then)
        })
    }

    /// Where a piece that is no group can end, the longest last: without recursion, for texts can be long.
    fn places(&self, piece: &Piece, text: &[char], at: usize, steps: &mut usize) -> Vec<usize> {
        let mut places: Vec<_> = (piece.least == 0).then_some(at).into_iter().collect();
        let (mut place, mut count) = (at, 0);
        while count < piece.most && *steps > 0 {
            *steps -= 1;
            let mut ends = Vec::new();
            self.atom(&piece.atom, text, place, steps, &mut ends);
            let Some(end) = ends.first().copied() else {
                break;
            };
            count += 1;
            if end == place {
                // What takes nothing can be repeated as often as it has to be.
                count = count.max(piece.least);
            }
            if count >= piece.least {
                places.push(end);
            }
            if end == place {
                break;
            }
            place = end;
        }
        places
    }

    fn repeat(
        &self,
        piece: &Piece,
        count: usize,
        text: &[char],
        at: usize,
        steps: &mut usize,
        then: &mut dyn FnMut(usize, &mut usize) -> bool,
    ) -> bool {
        if *steps == 0 {
            return true;
        }
        *steps -= 1;
        if count < piece.most {
            let mut ends = Vec::new();
            self.atom(&piece.atom, text, at, steps, &mut ends);
            for end in ends {
                // An empty match repeated is the same match.
                if (end > at || count < piece.least)
                    && self.repeat(piece, count + 1, text, end, steps, then)
                {
                    return true;
                }
            }
        }
        count >= piece.least && then(at, steps)
    }

    /// All places where the atom can end.
    fn atom(
        &self,
        atom: &Atom,
        text: &[char],
        at: usize,
        steps: &mut usize,
        ends: &mut Vec<usize>,
    ) {
        let next = text.get(at).copied();
        let matched = match (atom, next) {
            (Atom::Start, _) => {
                ends.extend((at == 0).then_some(at));
                return;
            }
            (Atom::End, next) => {
                ends.extend(next.is_none().then_some(at));
                return;
            }
            (Atom::Group(alternatives), _) => {
                for sequence in alternatives {
                    self.sequence(sequence, text, at, steps, &mut |end| {
                        if !ends.contains(&end) {
                            ends.push(end);
                        }
                        false
                    });
                }
                return;
            }
            (_, None) => false,
            (Atom::Any, Some(_)) => true,
            (Atom::Character(wanted), Some(next)) => self.fold(*wanted) == next,
            (Atom::Set(ranges, negated), Some(next)) => {
                let in_set = ranges.iter().any(|(low, high)| {
                    (*low..=*high).contains(&next)
                        || (self.ignore_case && (*low..=*high).contains(&next.to_ascii_uppercase()))
                });
                in_set != *negated
            }
        };
        if matched {
            ends.push(at + 1);
        }
    }
}

impl Reader<'_> {
    fn alternatives(&mut self) -> Option<Vec<Vec<Piece>>> {
        let mut alternatives = Vec::new();
        loop {
            let mut pieces = Vec::new();
            while let Some(next) = self
                .rest
                .peek()
                .copied()
                .filter(|next| *next != '|' && (*next != ')' || self.depth == 0))
            {
                self.rest.next();
                let atom = self.atom(next)?;
                let (least, most) = self.repeats()?;
                pieces.push(Piece { atom, least, most });
            }
            alternatives.push(pieces);
            if self.rest.next_if_eq(&'|').is_none() {
                return Some(alternatives);
            }
        }
    }

    fn atom(&mut self, first: char) -> Option<Atom> {
        Some(match first {
            '.' => Atom::Any,
            '^' => Atom::Start,
            '$' => Atom::End,
            '[' => self.set()?,
            '\\' => Atom::Character(self.rest.next()?),
            '*' | '+' | '?' => return None,
            '(' => {
                self.depth += 1;
                let alternatives = (self.depth <= DEEPEST).then(|| self.alternatives())??;
                self.depth -= 1;
                self.rest.next_if_eq(&')')?;
                Atom::Group(alternatives)
            }
            other => Atom::Character(other),
        })
    }

    fn repeats(&mut self) -> Option<(usize, usize)> {
        let (mut least, mut most) = (1, 1);
        while let Some(operator) = self.rest.next_if(|next| "*+?{".contains(*next)) {
            (least, most) = match operator {
                '*' => (0, usize::MAX),
                '+' => (least, usize::MAX),
                '?' => (0, most),
                _ => self.braces()?,
            };
        }
        Some((least, most))
    }

    /// `N}`, `N,}` or `N,M}`.
    fn braces(&mut self) -> Option<(usize, usize)> {
        let mut text = String::new();
        loop {
            match self.rest.next()? {
                '}' => break,
                other => text.push(other),
            }
        }
        let (least, most) = match text.split_once(',') {
            None => (text.parse().ok()?, text.parse().ok()?),
            Some((least, "")) => (least.parse().ok()?, usize::MAX),
            Some((least, most)) => (least.parse().ok()?, most.parse().ok()?),
        };
        let bounded = |count: usize| count <= MOST_REPEATS || count == usize::MAX;
        (least <= most && bounded(least) && bounded(most)).then_some((least, most))
    }

    fn set(&mut self) -> Option<Atom> {
        let negated = self.rest.next_if_eq(&'^').is_some();
        let mut ranges = Vec::new();
        loop {
            let low = self.rest.next()?;
            if low == ']' && !ranges.is_empty() {
                return Some(Atom::Set(ranges, negated));
            }
            if low == '[' && self.rest.next_if_eq(&':').is_some() {
                ranges.extend_from_slice(self.class()?);
                continue;
            }
            let mut ahead = self.rest.clone();
            if ahead.next() == Some('-')
                && let Some(high) = ahead.next().filter(|high| *high != ']')
            {
                self.rest = ahead;
                ranges.push((low, high));
            } else {
                ranges.push((low, low));
            }
        }
    }

    fn class(&mut self) -> Option<&'static [(char, char)]> {
        let mut name = String::new();
        while let Some(letter) = self.rest.next_if(|next| *next != ':') {
            name.push(letter);
        }
        (self.rest.next()? == ':' && self.rest.next()? == ']').then_some(())?;
        Some(match name.as_str() {
            "alpha" => &[('a', 'z'), ('A', 'Z')],
            "digit" => &[('0', '9')],
            "alnum" => &[('a', 'z'), ('A', 'Z'), ('0', '9')],
            "lower" => &[('a', 'z')],
            "upper" => &[('A', 'Z')],
            "space" => &[(' ', ' '), ('\t', '\r')],
            "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_match_as_posix_says() {
        for (pattern, text, anywhere, whole) in [
            ("sh", "bash", true, false),
            ("^ba", "bash", true, false),
            ("sh$", "bash", true, false),
            ("b.*h", "bash", true, true),
            ("(ba|da)+sh", "babash", true, true),
            ("[a-c]{2}s", "bash", true, false),
            ("[^a-z]", "bash", false, false),
            ("x*", "bash", true, false),
            ("a|bash", "bash", true, true),
            ("[[:digit:]]+", "a12", true, false),
            ("a\\.b", "a.b", true, true),
            ("", "x", true, false),
        ] {
            let regex = Regex::new(pattern, false);
            let found = regex.map(|regex| (regex.matches(text, false), regex.matches(text, true)));
            assert_eq!(found, Some((anywhere, whole)), "{pattern}");
        }
        assert!(Regex::new("BASH", true).is_some_and(|regex| regex.matches("bash", true)));
        for wrong in ["(", "[a", "*a", "a{2", "a{3,2}", "a)b(", "\\"] {
            assert!(
                Regex::new(wrong, false).is_none() || wrong == "a)b(",
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_pattern_made_to_take_for_ever_ends() {
        let regex = Regex::new("(a*)*(a*)*(a*)*b", false);
        assert!(regex.is_some_and(|regex| !regex.matches(&"a".repeat(60), true)));
    }
}
