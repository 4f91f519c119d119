//! The command line of `find`.

use sandbar_guest::{
    file::{self, Access, FileType, Follow, OpenFlags},
    time::{self, Zone},
};

use super::{
    Links, Settings, TOOL,
    exec::{Command, Mode},
    expression::{Expression, Target},
    printf::Format,
    tests::{Age, DAY_NS, MINUTE_NS, Number, Permissions, Which},
};
use crate::applets::{
    cli::Stop,
    glob::Rules,
    quote::{quote, quote_word},
    regex::Regex,
    users,
};

type Words = Vec<Vec<u8>>;

/// Takes paths, settings and expression apart.
pub(super) fn parse(words: Words) -> Result<(Words, Settings, Expression), Stop> {
    let mut parser = Parser {
        words: words.into_iter().peekable(),
        settings: Settings::default(),
        depth: 0,
        now_ns: time::realtime_ns(),
        extended: false,
        follow: Follow::NoFollow,
    };
    let paths = parser.front();
    let expression = if parser.words.peek().is_none() {
        Expression::True
    } else {
        let expression = parser.list()?;
        if parser.words.peek().is_some() {
            return Err(fail("you have too many ')'"));
        }
        expression
    };
    let expression = if expression.has_action() {
        expression
    } else {
        Expression::And(
            Box::new(expression),
            Box::new(Expression::Print(Target::Output, b"\n")),
        )
    };
    let settings = parser.settings;
    let paths = if paths.is_empty() {
        vec![b".".to_vec()]
    } else {
        paths
    };
    Ok((paths, settings, expression))
}

fn fail(text: &str) -> Stop {
    TOOL.fail(1, text)
}

struct Parser {
    words: std::iter::Peekable<std::vec::IntoIter<Vec<u8>>>,
    settings: Settings,
    /// How many parentheses are open.
    depth: usize,
    /// From when ages are counted.
    now_ns: i64,
    /// `-regextype` names extended expressions.
    extended: bool,
    follow: Follow,
}

/// Parentheses nest no deeper: the stack has an end.
const DEEPEST: usize = 500;

impl Parser {
    /// The options in front and the paths.
    fn front(&mut self) -> Words {
        while let Some(word) = self.words.next_if(|word| {
            matches!(word.as_slice(), b"-H" | b"-L" | b"-P") || word.starts_with(b"-O")
        }) {
            match word.as_slice() {
                b"-H" => self.settings.links = Links::Given,
                b"-L" => self.settings.links = Links::Always,
                b"-P" => self.settings.links = Links::Never,
                _ => {}
            }
        }
        if self.settings.links != Links::Never {
            self.follow = Follow::Follow;
        }
        self.words.next_if(|word| word == b"--");
        let mut paths = Vec::new();
        let is_path = |word: &Vec<u8>| {
            let option = word.len() > 1 && word.starts_with(b"-");
            !option && !matches!(word.as_slice(), b"(" | b")" | b"!" | b",")
        };
        while let Some(path) = self.words.next_if(is_path) {
            paths.push(path);
        }
        paths
    }

    fn list(&mut self) -> Result<Expression, Stop> {
        let mut left = self.or()?;
        while self.words.next_if(|word| word == b",").is_some() {
            self.expect_operand(",")?;
            left = Expression::List(Box::new(left), Box::new(self.or()?));
        }
        Ok(left)
    }

    fn or(&mut self) -> Result<Expression, Stop> {
        let mut left = self.and()?;
        while let Some(operator) = self
            .words
            .next_if(|word| matches!(word.as_slice(), b"-o" | b"-or"))
        {
            self.expect_operand(&String::from_utf8_lossy(&operator))?;
            left = Expression::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Expression, Stop> {
        let mut left = self.not()?;
        loop {
            match self.words.peek().map(Vec::as_slice) {
                None | Some(b")" | b"," | b"-o" | b"-or") => return Ok(left),
                Some(operator @ (b"-a" | b"-and")) => {
                    let operator = String::from_utf8_lossy(operator).into_owned();
                    self.words.next();
                    self.expect_operand(&operator)?;
                }
                Some(_) => {}
            }
            left = Expression::And(Box::new(left), Box::new(self.not()?));
        }
    }

    /// Makes sure that something follows a binary operator.
    fn expect_operand(&mut self, operator: &str) -> Result<(), Stop> {
        match self.words.peek().map(Vec::as_slice) {
            None | Some(b")") => Err(fail(&format!("expected an expression after '{operator}'"))),
            _ => Ok(()),
        }
    }

    fn not(&mut self) -> Result<Expression, Stop> {
        let Some(word) = self.words.next() else {
            return Err(fail("expected an expression"));
        };
        match word.as_slice() {
            b"!" | b"-not" => {
                let text = String::from_utf8_lossy(&word).into_owned();
                if self.words.peek().is_none_or(|next| next == b")") {
                    return Err(fail(&format!("expected an expression after '{text}'")));
                }
                self.depth += 1;
                if self.depth > DEEPEST {
                    return Err(fail(&format!(
                        "more than {DEEPEST} operators in each other"
                    )));
                }
                let inner = self.not()?;
                self.depth -= 1;
                Ok(Expression::Not(Box::new(inner)))
            }
            b"(" => self.group(),
            b")" => Err(fail("you have too many ')'")),
            b"-o" | b"-or" | b"-a" | b"-and" | b"," => {
                let operator = String::from_utf8_lossy(&word).into_owned();
                Err(fail(&format!(
                    "invalid expression; you have used a binary operator '{operator}' with nothing before it."
                )))
            }
            _ if !word.starts_with(b"-") => Err(fail(&format!(
                "paths must precede expression: {}",
                quote(&word)
            ))),
            _ => self.primary(&word),
        }
    }

    fn group(&mut self) -> Result<Expression, Stop> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(fail(&format!(
                "more than {DEEPEST} parentheses in each other"
            )));
        }
        match self.words.peek().map(Vec::as_slice) {
            Some(b")") => {
                return Err(fail(
                    "invalid expression; empty parentheses are not allowed.",
                ));
            }
            None => {
                return Err(fail(
                    "invalid expression; expected to find a ')' but didn't see one. Perhaps you need an extra predicate after '('",
                ));
            }
            _ => {}
        }
        let inner = self.list()?;
        if self.words.next().is_none_or(|word| word != b")") {
            return Err(fail(
                "invalid expression; I was expecting to find a ')' somewhere but did not see one.",
            ));
        }
        self.depth -= 1;
        Ok(inner)
    }

    fn argument(&mut self, name: &[u8]) -> Result<Vec<u8>, Stop> {
        self.words
            .next()
            .ok_or_else(|| fail(&format!("missing argument to {}", quote_word(name))))
    }

    fn text(&mut self, name: &[u8]) -> Result<String, Stop> {
        self.argument(name)
            .map(|argument| String::from_utf8_lossy(&argument).into_owned())
    }

    fn number(&mut self, name: &[u8]) -> Result<Number, Stop> {
        let text = self.text(name)?;
        let name = String::from_utf8_lossy(name).into_owned();
        Number::parse(&text).ok_or_else(|| {
            fail(&format!(
                "invalid argument {} to {}",
                quote_word(text.as_bytes()),
                quote_word(name.as_bytes())
            ))
        })
    }

    /// Tests and actions on names; others are left to the next function.
    fn primary(&mut self, name: &[u8]) -> Result<Expression, Stop> {
        let exact = Rules::default();
        let folded = Rules {
            period: false,
            ignore_case: true,
        };
        Ok(match name {
            b"-true"
            | b"-warn"
            | b"-nowarn"
            | b"-noleaf"
            | b"-ignore_readdir_race"
            | b"-noignore_readdir_race" => Expression::True,
            b"-false" => Expression::False,
            b"-name" => Expression::Name(self.argument(name)?, exact),
            b"-iname" => Expression::Name(self.argument(name)?, folded),
            b"-path" | b"-wholename" => Expression::Path(self.argument(name)?, exact),
            b"-ipath" | b"-iwholename" => Expression::Path(self.argument(name)?, folded),
            b"-lname" => Expression::LinkName(self.argument(name)?, exact),
            b"-ilname" => Expression::LinkName(self.argument(name)?, folded),
            b"-regex" | b"-iregex" => {
                let text = self.text(name)?;
                let pattern = if self.extended {
                    text.clone()
                } else {
                    from_emacs(&text)
                };
                let regex = Regex::new(&pattern, name == b"-iregex");
                Expression::Regex(regex.ok_or_else(|| {
                    fail(&format!(
                        "failed to compile regular expression {}",
                        quote_word(text.as_bytes())
                    ))
                })?)
            }
            b"-type" => Expression::Type(self.types(name)?),
            b"-xtype" => Expression::OtherType(self.types(name)?),
            b"-empty" => Expression::Empty,
            b"-prune" => Expression::Prune,
            b"-quit" => Expression::Quit,
            b"-delete" => {
                self.settings.depth_first = true;
                Expression::Delete
            }
            b"-print" => Expression::Print(Target::Output, b"\n"),
            b"-print0" => Expression::Print(Target::Output, b"\0"),
            b"-fprint" => Expression::Print(self.target(name)?, b"\n"),
            b"-fprint0" => Expression::Print(self.target(name)?, b"\0"),
            b"-ls" => Expression::Long(Target::Output),
            b"-fls" => Expression::Long(self.target(name)?),
            b"-printf" => Expression::Format(
                Target::Output,
                Format::new(self.argument(name)?).map_err(fail)?,
            ),
            b"-fprintf" => {
                let target = self.target(name)?;
                Expression::Format(target, Format::new(self.argument(name)?).map_err(fail)?)
            }
            b"-exec" | b"-execdir" | b"-ok" | b"-okdir" => Expression::Exec(self.command(name)?),
            _ => return self.setting(name),
        })
    }

    /// What changes the whole walk.
    fn setting(&mut self, name: &[u8]) -> Result<Expression, Stop> {
        match name {
            b"-depth" | b"-d" => self.settings.depth_first = true,
            b"-xdev" | b"-mount" => self.settings.one_system = true,
            b"-follow" => (self.settings.links, self.follow) = (Links::Always, Follow::Follow),
            b"-maxdepth" | b"-mindepth" => {
                let text = self.text(name)?;
                let depth = text.parse().ok().filter(|_| !text.starts_with('+'));
                let name = String::from_utf8_lossy(name).into_owned();
                let wrong = || {
                    fail(&format!(
                        "Expected a positive decimal integer argument to {name}, but got {}",
                        quote_word(text.as_bytes())
                    ))
                };
                let depth = depth.ok_or_else(wrong)?;
                if name == "-maxdepth" {
                    self.settings.max_depth = Some(depth);
                } else {
                    self.settings.min_depth = depth;
                }
            }
            b"-daystart" => {
                let zone = Zone::local();
                let seconds = self.now_ns.div_euclid(1_000_000_000);
                let date = time::DateTime::new(&zone, seconds);
                let of_day = date.hour * 3600 + date.minute * 60 + date.second;
                self.now_ns = (seconds - of_day)
                    .saturating_mul(1_000_000_000)
                    .saturating_add(DAY_NS);
            }
            b"-regextype" => {
                let kind = self.text(name)?;
                self.extended = !matches!(
                    kind.as_str(),
                    "emacs" | "findutils-default" | "grep" | "posix-basic" | "sed" | "ed"
                );
            }
            _ => return self.property(name),
        }
        Ok(Expression::True)
    }

    /// Tests of what `stat` says.
    fn property(&mut self, name: &[u8]) -> Result<Expression, Stop> {
        Ok(match name {
            b"-size" => self.size(name)?,
            b"-links" => Expression::Links(self.number(name)?),
            b"-inum" => Expression::Inode(self.number(name)?),
            b"-uid" => Expression::User(self.number(name)?),
            b"-gid" => Expression::Group(self.number(name)?),
            b"-used" => Expression::Used(self.number(name)?),
            b"-nouser" => Expression::NoUser,
            b"-nogroup" => Expression::NoGroup,
            b"-readable" => Expression::Access(Access::READ),
            b"-writable" => Expression::Access(Access::WRITE),
            b"-executable" => Expression::Access(Access::EXECUTE),
            b"-fstype" => Expression::FileSystem(self.text(name)?),
            b"-user" => {
                let text = self.text(name)?;
                let id = users::user(&text)
                    .map(|user| user.uid)
                    .or_else(|| text.parse().ok());
                let wrong = || {
                    fail(&format!(
                        "{} is not the name of a known user",
                        quote_word(text.as_bytes())
                    ))
                };
                Expression::User(Number::Exactly(id.ok_or_else(wrong)?.into()))
            }
            b"-group" => {
                let text = self.text(name)?;
                let wrong = || {
                    fail(&format!(
                        "{} is not the name of an existing group",
                        quote_word(text.as_bytes())
                    ))
                };
                Expression::Group(Number::Exactly(
                    users::group(&text).ok_or_else(wrong)?.into(),
                ))
            }
            b"-perm" => {
                let text = self.argument(name)?;
                let wrong = || fail(&format!("invalid mode {}", quote_word(&text)));
                Expression::Permissions(Permissions::parse(&text).ok_or_else(wrong)?)
            }
            b"-samefile" => {
                let path = self.argument(name)?;
                let stat = file::stat(&path, self.follow);
                let stat = stat.map_err(|errno| fail(&format!("{}: {errno}", quote(&path))))?;
                Expression::SameFile(stat.dev, stat.ino)
            }
            _ => return self.moment(name),
        })
    }

    /// Tests of times.
    fn moment(&mut self, name: &[u8]) -> Result<Expression, Stop> {
        let (which, unit_ns) = match name {
            b"-mtime" => (Which::Modified, DAY_NS),
            b"-atime" => (Which::Accessed, DAY_NS),
            b"-ctime" => (Which::Changed, DAY_NS),
            b"-mmin" => (Which::Modified, MINUTE_NS),
            b"-amin" => (Which::Accessed, MINUTE_NS),
            b"-cmin" => (Which::Changed, MINUTE_NS),
            b"-newer" => return self.newer(name, Which::Modified, b'm'),
            b"-anewer" => return self.newer(name, Which::Accessed, b'm'),
            b"-cnewer" => return self.newer(name, Which::Changed, b'm'),
            [
                b'-',
                b'n',
                b'e',
                b'w',
                b'e',
                b'r',
                which,
                reference @ (b'a' | b'c' | b'm' | b't'),
            ] => {
                let which = match which {
                    b'a' => Which::Accessed,
                    b'c' => Which::Changed,
                    b'm' => Which::Modified,
                    _ => return Err(unknown(name)),
                };
                return self.newer(name, which, *reference);
            }
            _ => return Err(unknown(name)),
        };
        let number = self.number(name)?;
        Ok(Expression::Age(Age {
            which,
            number,
            unit_ns,
            now_ns: self.now_ns,
        }))
    }

    fn newer(&mut self, name: &[u8], which: Which, reference: u8) -> Result<Expression, Stop> {
        let argument = self.argument(name)?;
        if reference == b't' {
            let text = String::from_utf8_lossy(&argument).into_owned();
            let moment = parse_date(&text);
            let name = String::from_utf8_lossy(name).into_owned();
            let wrong = || {
                let text = quote_word(&argument);
                fail(&format!(
                    "I cannot figure out how to interpret {text} as a date or time for {name}; YYYY-MM-DD hh:mm:ss and @SECONDS are known"
                ))
            };
            return Ok(Expression::Newer {
                which,
                than_ns: moment.ok_or_else(wrong)?,
            });
        }
        let stat = file::stat(&argument, self.follow);
        let stat = stat.map_err(|errno| fail(&format!("{}: {errno}", quote(&argument))))?;
        let than_ns = match reference {
            b'a' => stat.accessed_ns,
            b'c' => stat.changed_ns,
            _ => stat.modified_ns,
        };
        Ok(Expression::Newer { which, than_ns })
    }

    fn size(&mut self, name: &[u8]) -> Result<Expression, Stop> {
        let text = self.text(name)?;
        let units = [
            ('c', 1),
            ('w', 2),
            ('b', 512),
            ('k', 1 << 10),
            ('M', 1 << 20),
            ('G', 1 << 30),
        ];
        let last = text.chars().last().unwrap_or(' ');
        let (digits, unit) = match units.iter().find(|(letter, _)| *letter == last) {
            Some((letter, unit)) => (text.strip_suffix(*letter).unwrap_or(&text), *unit),
            None if last.is_ascii_digit() => (text.as_str(), 512),
            None => return Err(fail(&format!("invalid -size type '{last}'"))),
        };
        let wrong = || {
            fail(&format!(
                "Invalid argument {} to -size",
                quote_word(text.as_bytes())
            ))
        };
        let number = Number::parse(digits).ok_or_else(wrong)?;
        Ok(Expression::Size { number, unit })
    }

    fn types(&mut self, name: &[u8]) -> Result<Vec<FileType>, Stop> {
        let text = self.text(name)?;
        let name = String::from_utf8_lossy(name).into_owned();
        let file_type = |letter: &str| match letter {
            "f" => Ok(FileType::Regular),
            "d" => Ok(FileType::Directory),
            "l" => Ok(FileType::Symlink),
            "p" => Ok(FileType::Fifo),
            "s" => Ok(FileType::Socket),
            "b" => Ok(FileType::BlockDevice),
            "c" => Ok(FileType::CharDevice),
            other => Err(fail(&format!("Unknown argument to {name}: {other}"))),
        };
        text.split(',').map(file_type).collect()
    }

    fn target(&mut self, name: &[u8]) -> Result<Target, Stop> {
        let path = self.argument(name)?;
        if path == b"/dev/stdout" {
            return Ok(Target::Output);
        }
        let flags = OpenFlags::WRONLY | OpenFlags::CREAT | OpenFlags::TRUNC | OpenFlags::CLOEXEC;
        let fd = file::open(&path, flags, 0o666)
            .map_err(|errno| fail(&format!("{}: {errno}", quote(&path))))?;
        Ok(Target::File(fd, Vec::new()))
    }

    /// The words up to `;`, or up to `{} +`.
    fn command(&mut self, name: &[u8]) -> Result<Command, Stop> {
        let missing = || fail(&format!("missing argument to {}", quote_word(name)));
        let (in_dir, ask) = (name.ends_with(b"dir"), name.starts_with(b"-ok"));
        let mut words: Words = Vec::new();
        loop {
            let word = self.words.next().ok_or_else(missing)?;
            match word.as_slice() {
                b";" if words.is_empty() => {
                    return Err(fail(&format!(
                        "invalid argument ';' to {}",
                        quote_word(name)
                    )));
                }
                b";" => return Ok(Command::new(words, Mode::Each, in_dir, ask)),
                b"+" if !ask && words.last().is_some_and(|last| last == b"{}") => {
                    words.pop();
                    if words.is_empty() {
                        return Err(missing());
                    }
                    if words.iter().any(|word| word == b"{}") {
                        let name = String::from_utf8_lossy(name).into_owned();
                        return Err(fail(&format!(
                            "only one instance of {{}} is supported with {name} ... +"
                        )));
                    }
                    return Ok(Command::new(words, Mode::Many, in_dir, ask));
                }
                _ => words.push(word),
            }
        }
    }
}

fn unknown(name: &[u8]) -> Stop {
    fail(&format!("unknown predicate {}", quote_word(name)))
}

/// Emacs writes groups, alternatives and counts with a backslash, and means the characters without.
fn from_emacs(pattern: &str) -> String {
    let mut extended = String::new();
    let mut characters = pattern.chars();
    let mut in_set = false;
    while let Some(character) = characters.next() {
        match character {
            '[' => {
                in_set = true;
                extended.push('[');
            }
            ']' => {
                in_set = false;
                extended.push(']');
            }
            '\\' if !in_set => match characters.next() {
                Some(special @ ('(' | ')' | '|')) => extended.push(special),
                Some(other) => extended.extend(['\\', other]),
                None => extended.push('\\'),
            },
            literal @ ('(' | ')' | '|' | '{' | '}') if !in_set => extended.extend(['\\', literal]),
            other => extended.push(other),
        }
    }
    extended
}

/// `@SECONDS`, or a date with or without a time, in the local zone; in nanoseconds since 1970.
fn parse_date(text: &str) -> Option<i64> {
    if let Some(seconds) = text.strip_prefix('@') {
        return seconds.parse::<i64>().ok()?.checked_mul(1_000_000_000);
    }
    let (date, clock) = text.split_once([' ', 'T']).unwrap_or((text, "00:00:00"));
    let numbers = |text: &str, between: char| {
        text.split(between)
            .map(|part| part.parse::<i64>().ok())
            .collect::<Option<Vec<_>>>()
    };
    let (date, clock) = (numbers(date, '-')?, numbers(clock, ':')?);
    let [year, month, day] = date.as_slice() else {
        return None;
    };
    let (hour, minute, second) = match clock.as_slice() {
        [hour, minute] => (*hour, *minute, 0),
        [hour, minute, second] => (*hour, *minute, *second),
        _ => return None,
    };
    let valid = (1..=12).contains(month)
        && (1..=31).contains(day)
        && hour < 24
        && minute < 60
        && second <= 60;
    let seconds = valid.then(|| {
        time::seconds_of(
            &Zone::local(),
            [*year, *month, *day],
            [hour, minute, second],
        )
    })?;
    seconds.checked_mul(1_000_000_000)
}
