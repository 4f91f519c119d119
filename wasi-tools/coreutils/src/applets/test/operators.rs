//! What the operators of `test` compare.

use std::cmp::Ordering;

use sandbar_guest::{
    file::{self, Access, FileType, Follow, Stat},
    process,
};

pub(super) fn is_binary(word: &[u8]) -> bool {
    matches!(word, b"=" | b"==" | b"!=" | b"-nt" | b"-ot" | b"-ef") || is_numeric(word)
}

pub(super) fn is_numeric(word: &[u8]) -> bool {
    matches!(word, b"-eq" | b"-ne" | b"-lt" | b"-le" | b"-gt" | b"-ge")
}

pub(super) fn is_unary(letter: u8) -> bool {
    b"bcdefghkLnNOGprsSuwxtz".contains(&letter)
}

/// A whole number of any length.
pub(super) struct Integer {
    negative: bool,
    /// Without leading zeros; empty for 0.
    digits: Vec<u8>,
}

impl Integer {
    pub(super) fn parse(word: &[u8]) -> Option<Self> {
        let text = word.trim_ascii();
        let (negative, digits) = match text {
            [b'-', digits @ ..] => (true, digits),
            [b'+', digits @ ..] | digits => (false, digits),
        };
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        let digits = digits.get(zeros..)?.to_vec();
        Some(Self {
            negative: negative && !digits.is_empty(),
            digits,
        })
    }

    pub(super) fn to_i32(&self) -> Option<i32> {
        let text = std::str::from_utf8(&self.digits).ok()?;
        let number: i32 = if text.is_empty() {
            0
        } else {
            text.parse().ok()?
        };
        Some(if self.negative { -number } else { number })
    }

    fn compare(&self, other: &Self) -> Ordering {
        let by_size =
            |left: &[u8], right: &[u8]| left.len().cmp(&right.len()).then_with(|| left.cmp(right));
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => by_size(&self.digits, &other.digits),
            (true, true) => by_size(&other.digits, &self.digits),
        }
    }
}

pub(super) fn compare(operator: &[u8], left: &Integer, right: &Integer) -> bool {
    let order = left.compare(right);
    match operator {
        b"-eq" => order.is_eq(),
        b"-ne" => order.is_ne(),
        b"-lt" => order.is_lt(),
        b"-le" => order.is_le(),
        b"-gt" => order.is_gt(),
        _ => order.is_ge(),
    }
}

/// `-nt`, `-ot` and `-ef`; a file that is not there is older than any other.
pub(super) fn files(operator: &[u8], left: &[u8], right: &[u8]) -> bool {
    let [left, right] = [left, right].map(|path| file::stat(path, Follow::Follow).ok());
    let newer = |one: &Option<Stat>, other: &Option<Stat>| match (one, other) {
        (Some(one), Some(other)) => one.modified_ns > other.modified_ns,
        (one, _) => one.is_some(),
    };
    match operator {
        b"-nt" => newer(&left, &right),
        b"-ot" => newer(&right, &left),
        _ => left
            .zip(right)
            .is_some_and(|(left, right)| left.same_file(&right)),
    }
}

/// The unary operators on files.
pub(super) fn file(operator: u8, path: &[u8]) -> bool {
    let allowed = |access| file::access(path, access).is_ok();
    match operator {
        b'r' => return allowed(Access::READ),
        b'w' => return allowed(Access::WRITE),
        b'x' => return allowed(Access::EXECUTE),
        _ => {}
    }
    let follow = if matches!(operator, b'h' | b'L') {
        Follow::NoFollow
    } else {
        Follow::Follow
    };
    let Ok(stat) = file::stat(path, follow) else {
        return false;
    };
    let is = |file_type| stat.file_type() == file_type;
    let has = |bit: u32| stat.mode & bit != 0;
    match operator {
        b'f' => is(FileType::Regular),
        b'd' => is(FileType::Directory),
        b'h' | b'L' => is(FileType::Symlink),
        b'p' => is(FileType::Fifo),
        b'S' => is(FileType::Socket),
        b'b' => is(FileType::BlockDevice),
        b'c' => is(FileType::CharDevice),
        b's' => stat.len > 0,
        b'u' => has(0o4000),
        b'g' => has(0o2000),
        b'k' => has(0o1000),
        b'N' => stat.modified_ns > stat.accessed_ns,
        b'O' => process::ids(None).is_ok_and(|ids| ids.uid == stat.uid),
        b'G' => process::ids(None).is_ok_and(|ids| ids.gid == stat.gid),
        // -e: it could be asked about.
        _ => true,
    }
}
