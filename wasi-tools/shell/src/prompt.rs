//! The backslash escapes of prompt strings.

use crate::ast::Bytes;
use crate::shell::Shell;

/// `text` with its prompt escapes replaced; expansions are left for later.
pub(crate) fn decode(shell: &mut Shell, text: &[u8]) -> Bytes {
    if !text.contains(&b'\\') {
        return text.to_vec();
    }
    let mut out = Bytes::new();
    let mut at = 0;
    while at < text.len() {
        let b = text[at];
        at += 1;
        if b != b'\\' || at >= text.len() {
            out.push(b);
            continue;
        }
        let escape = text[at];
        at += 1;
        match escape {
            b'a' => out.push(7),
            b'e' => out.push(27),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b'[' | b']' => {}
            b'\\' => out.push(b'\\'),
            b'$' => out.push(
                if shell.get(b"UID").is_some_and(|uid| uid.as_slice() == b"0") {
                    b'#'
                } else {
                    b'$'
                },
            ),
            b'u' => out.extend(
                shell
                    .get(b"USER")
                    .map_or_else(|| b"sandbox".to_vec(), |user| user.to_vec()),
            ),
            b'h' | b'H' => {
                let host = shell
                    .get(b"HOSTNAME")
                    .map(|host| host.to_vec())
                    .unwrap_or_default();
                let end = if escape == b'h' {
                    host.iter().position(|&b| b == b'.').unwrap_or(host.len())
                } else {
                    host.len()
                };
                out.extend_from_slice(&host[..end]);
            }
            b's' => out.extend_from_slice(b"bash"),
            b'v' => out.extend_from_slice(b"5.2"),
            b'V' => out.extend_from_slice(b"5.2.37"),
            b'w' | b'W' => out.extend(directory(shell, escape == b'W')),
            b'j' => out.extend(shell.jobs.list.len().to_string().bytes()),
            b'l' => out.extend_from_slice(b"tty"),
            b'!' | b'#' => out.push(b'1'),
            b't' | b'T' | b'@' | b'A' | b'd' => {
                let format: &[u8] = match escape {
                    b't' => b"%H:%M:%S",
                    b'T' => b"%I:%M:%S",
                    b'@' => b"%I:%M %p",
                    b'A' => b"%H:%M",
                    _ => b"%a %b %d",
                };
                out.extend(crate::datetime::now(shell, format));
            }
            b'D' if text.get(at) == Some(&b'{') => {
                let end = text[at..]
                    .iter()
                    .position(|&b| b == b'}')
                    .map_or(text.len(), |n| at + n);
                let format = text[at + 1..end].to_vec();
                out.extend(crate::datetime::now(
                    shell,
                    if format.is_empty() { b"%X" } else { &format },
                ));
                at = (end + 1).min(text.len());
            }
            b'0'..=b'7' => {
                let digits = text[at - 1..]
                    .iter()
                    .take(3)
                    .take_while(|b| (b'0'..=b'7').contains(b))
                    .count();
                let value = text[at - 1..at - 1 + digits]
                    .iter()
                    .fold(0_u32, |n, b| n * 8 + u32::from(b - b'0'));
                out.push(value.to_le_bytes()[0]);
                at += digits - 1;
            }
            other => out.extend([b'\\', other]),
        }
    }
    out
}

fn directory(shell: &mut Shell, base: bool) -> Bytes {
    let pwd = shell
        .get(b"PWD")
        .map(|text| text.to_vec())
        .unwrap_or_default();
    let home = shell.home().unwrap_or_default();
    if !home.is_empty() && pwd == home {
        return b"~".to_vec();
    }
    if base {
        let name = pwd.rsplit(|&b| b == b'/').next().unwrap_or(&pwd);
        return if name.is_empty() { pwd } else { name.to_vec() };
    }
    match pwd
        .strip_prefix(home.as_slice())
        .filter(|rest| !home.is_empty() && rest.starts_with(b"/"))
    {
        Some(rest) => [b"~", rest].concat(),
        None => pwd,
    }
}
