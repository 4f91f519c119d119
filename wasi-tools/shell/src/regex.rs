//! POSIX extended regular expressions for `[[ text =~ regex ]]`.
//!
//! A program of simple instructions is run by a search that visits each pair of instruction and position once, so that the
//! time is bounded by the product of both lengths. The leftmost match is taken and of those the longest.

use crate::pattern::{Class, next_char};

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Regex {
    program: Vec<Op>,
    groups: usize,
    fold: bool,
}

#[derive(Debug, Clone)]
enum Op {
    Char(u32),
    Any,
    Class(Class),
    Split(usize, usize),
    Jump(usize),
    Save(usize),
    Start,
    End,
    WordEdge(u8),
    Match,
}

#[derive(Debug)]
enum Node {
    Empty,
    Char(u32),
    Any,
    Class(Class),
    Start,
    End,
    WordEdge(u8),
    Group(usize, Box<Self>),
    Concat(Vec<Self>),
    Alternate(Vec<Self>),
    Repeat(Box<Self>, u32, Option<u32>),
}

/// Instructions above which an expression is refused.
const MAX_PROGRAM: usize = 50_000;
/// Pairs of instruction and position above which a search is refused.
const MAX_STATES: usize = 1 << 28;

struct Compiler<'a> {
    text: &'a [u8],
    at: usize,
    groups: usize,
    depth: u32,
}

impl Regex {
    /// Compiles `text`; `None` when it is not a valid expression.
    pub(crate) fn new(text: &[u8], fold: bool) -> Option<Self> {
        let mut compiler = Compiler {
            text,
            at: 0,
            groups: 0,
            depth: 0,
        };
        let node = compiler.alternation()?;
        if compiler.at < text.len() {
            return None;
        }
        let groups = compiler.groups;
        let mut program = Vec::new();
        emit(&Node::Group(0, Box::new(node)), &mut program)?;
        program.push(Op::Match);
        Some(Self {
            program,
            groups,
            fold,
        })
    }

    /// Start and end of the match and of each group, or `None` without a match.
    pub(crate) fn find(&self, text: &[u8]) -> Option<Vec<Option<(usize, usize)>>> {
        let width = text.len() + 1;
        let states = self
            .program
            .len()
            .checked_mul(width)
            .filter(|&n| n <= MAX_STATES)?;
        let mut visited = vec![0_u64; states / 64 + 1];
        let mut start = 0;
        loop {
            if let Some(slots) = self.search(text, start, width, &mut visited) {
                let pair = |n: usize| Some((slots[2 * n]?, slots[2 * n + 1]?));
                return Some((0..=self.groups).map(pair).collect());
            }
            if start >= text.len() {
                return None;
            }
            start += next_char(&text[start..]).1;
        }
    }

    fn search(
        &self,
        text: &[u8],
        start: usize,
        width: usize,
        visited: &mut [u64],
    ) -> Option<Vec<Option<usize>>> {
        enum Job {
            Explore(usize, usize),
            Restore(usize, Option<usize>),
        }
        let mut slots = vec![None; 2 * (self.groups + 1)];
        let mut best: Option<Vec<Option<usize>>> = None;
        let mut jobs = vec![Job::Explore(0, start)];
        while let Some(job) = jobs.pop() {
            let (mut pc, mut at) = match job {
                Job::Restore(slot, old) => {
                    slots[slot] = old;
                    continue;
                }
                Job::Explore(pc, at) => (pc, at),
            };
            loop {
                let state = pc * width + at;
                let bit = 1_u64 << (state % 64);
                if visited[state / 64] & bit != 0 {
                    break;
                }
                visited[state / 64] |= bit;
                match &self.program[pc] {
                    Op::Match => {
                        if best
                            .as_ref()
                            .is_none_or(|b| b[1].is_none_or(|end| at > end))
                        {
                            best = Some(slots.clone());
                        }
                        break;
                    }
                    Op::Jump(to) => pc = *to,
                    Op::Split(first, second) => {
                        jobs.push(Job::Explore(*second, at));
                        pc = *first;
                    }
                    Op::Save(slot) => {
                        jobs.push(Job::Restore(*slot, slots[*slot]));
                        slots[*slot] = Some(at);
                        pc += 1;
                    }
                    op => match self.step(op, text, at) {
                        Some(used) => {
                            at += used;
                            pc += 1;
                        }
                        None => break,
                    },
                }
            }
        }
        best
    }

    /// The bytes that an instruction takes at `at`, if it can go on.
    fn step(&self, op: &Op, text: &[u8], at: usize) -> Option<usize> {
        let word = |i: Option<&u8>| i.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        match op {
            Op::Start => (at == 0).then_some(0),
            Op::End => (at == text.len()).then_some(0),
            Op::WordEdge(kind) => {
                let before = at > 0 && word(text.get(at - 1));
                let after = word(text.get(at));
                let ok = match kind {
                    b'<' => !before && after,
                    b'>' => before && !after,
                    b'b' => before != after,
                    _ => before == after,
                };
                ok.then_some(0)
            }
            _ => {
                if at >= text.len() {
                    return None;
                }
                let (c, used) = next_char(&text[at..]);
                let ok = match op {
                    Op::Any => true,
                    Op::Char(want) => c == *want || self.fold && same_folded(c, *want),
                    Op::Class(class) => class.matches(c, self.fold),
                    _ => false,
                };
                ok.then_some(used)
            }
        }
    }
}

fn same_folded(a: u32, b: u32) -> bool {
    match (char::from_u32(a), char::from_u32(b)) {
        (Some(a), Some(b)) => a.to_lowercase().eq(b.to_lowercase()),
        _ => false,
    }
}

fn emit(node: &Node, program: &mut Vec<Op>) -> Option<()> {
    if program.len() > MAX_PROGRAM {
        return None;
    }
    match node {
        Node::Empty => {}
        Node::Char(c) => program.push(Op::Char(*c)),
        Node::Any => program.push(Op::Any),
        Node::Class(class) => program.push(Op::Class(class.clone())),
        Node::Start => program.push(Op::Start),
        Node::End => program.push(Op::End),
        Node::WordEdge(kind) => program.push(Op::WordEdge(*kind)),
        Node::Group(number, inner) => {
            program.push(Op::Save(2 * number));
            emit(inner, program)?;
            program.push(Op::Save(2 * number + 1));
        }
        Node::Concat(nodes) => {
            for inner in nodes {
                emit(inner, program)?;
            }
        }
        Node::Alternate(nodes) => {
            let mut jumps = Vec::new();
            for (i, inner) in nodes.iter().enumerate() {
                if i + 1 == nodes.len() {
                    emit(inner, program)?;
                } else {
                    let split = program.len();
                    program.push(Op::Split(split + 1, 0));
                    emit(inner, program)?;
                    jumps.push(program.len());
                    program.push(Op::Jump(0));
                    program[split] = Op::Split(split + 1, program.len());
                }
            }
            let end = program.len();
            for jump in jumps {
                program[jump] = Op::Jump(end);
            }
        }
        Node::Repeat(inner, min, max) => {
            for _ in 0..*min {
                emit(inner, program)?;
            }
            match max {
                None => {
                    let split = program.len();
                    program.push(Op::Split(split + 1, 0));
                    emit(inner, program)?;
                    program.push(Op::Jump(split));
                    program[split] = Op::Split(split + 1, program.len());
                }
                Some(max) => {
                    let mut splits = Vec::new();
                    for _ in *min..*max {
                        splits.push(program.len());
                        program.push(Op::Split(0, 0));
                        emit(inner, program)?;
                    }
                    let end = program.len();
                    for split in splits {
                        program[split] = Op::Split(split + 1, end);
                    }
                }
            }
        }
    }
    Some(())
}

impl Compiler<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn alternation(&mut self) -> Option<Node> {
        self.depth += 1;
        if self.depth > 200 {
            return None;
        }
        let mut branches = vec![self.branch()?];
        while self.peek() == Some(b'|') {
            self.at += 1;
            branches.push(self.branch()?);
        }
        self.depth -= 1;
        if branches.len() == 1 {
            branches.pop()
        } else {
            Some(Node::Alternate(branches))
        }
    }

    fn branch(&mut self) -> Option<Node> {
        let mut nodes = Vec::new();
        while let Some(b) = self.peek() {
            if b == b'|' || b == b')' && self.depth > 1 {
                break;
            }
            let atom = self.atom(nodes.is_empty())?;
            nodes.push(self.repeats(atom)?);
        }
        Some(match nodes.len() {
            0 => Node::Empty,
            1 => nodes.pop()?,
            _ => Node::Concat(nodes),
        })
    }

    fn atom(&mut self, first: bool) -> Option<Node> {
        let b = self.peek()?;
        self.at += 1;
        Some(match b {
            b'.' => Node::Any,
            b'^' => Node::Start,
            b'$' => Node::End,
            b'(' => {
                self.groups += 1;
                let number = self.groups;
                let inner = self.alternation()?;
                if self.peek() != Some(b')') {
                    return None;
                }
                self.at += 1;
                Node::Group(number, Box::new(inner))
            }
            b'[' => {
                let (class, used) = Class::parse(&self.text[self.at..], false)?;
                self.at += used;
                Node::Class(class)
            }
            b'*' | b'+' | b'?' | b'{' if first => return None,
            b'\\' => {
                let (c, used) =
                    next_char(self.text.get(self.at..).filter(|rest| !rest.is_empty())?);
                self.at += used;
                let class =
                    |text: &[u8]| Class::parse(text, false).map(|(class, _)| Node::Class(class));
                match char::from_u32(c) {
                    Some('w') => class(b"[:alnum:]_]")?,
                    Some('W') => class(b"^[:alnum:]_]")?,
                    Some('s') => class(b"[:space:]]")?,
                    Some('S') => class(b"^[:space:]]")?,
                    Some('b') => Node::WordEdge(b'b'),
                    Some('B') => Node::WordEdge(b'B'),
                    Some('<') => Node::WordEdge(b'<'),
                    Some('>') => Node::WordEdge(b'>'),
                    _ => Node::Char(c),
                }
            }
            _ => {
                self.at -= 1;
                let (c, used) = next_char(&self.text[self.at..]);
                self.at += used;
                Node::Char(c)
            }
        })
    }

    fn repeats(&mut self, mut node: Node) -> Option<Node> {
        loop {
            let (min, max) = match self.peek() {
                Some(b'*') => (0, None),
                Some(b'+') => (1, None),
                Some(b'?') => (0, Some(1)),
                Some(b'{')
                    if self
                        .text
                        .get(self.at + 1)
                        .is_some_and(|b| b.is_ascii_digit() || *b == b',') =>
                {
                    self.at += 1;
                    let min = self.number();
                    let max = if self.peek() == Some(b',') {
                        self.at += 1;
                        if self.peek() == Some(b'}') {
                            None
                        } else {
                            Some(self.number()?)
                        }
                    } else {
                        Some(min?)
                    };
                    if self.peek() != Some(b'}') {
                        return None;
                    }
                    let min = min.unwrap_or(0);
                    // RE_DUP_MAX of glibc.
                    if max.is_some_and(|max| max < min)
                        || min > 0x7fff
                        || max.is_some_and(|max| max > 0x7fff)
                    {
                        return None;
                    }
                    (min, max)
                }
                _ => return Some(node),
            };
            self.at += 1;
            node = Node::Repeat(Box::new(node), min, max);
        }
    }

    fn number(&mut self) -> Option<u32> {
        let start = self.at;
        let mut value = 0_u32;
        while let Some(b) = self.peek().filter(u8::is_ascii_digit) {
            value = value.saturating_mul(10).saturating_add(u32::from(b - b'0'));
            self.at += 1;
        }
        (self.at > start).then_some(value)
    }
}
