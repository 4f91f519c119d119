//! `ulimit`

#![expect(clippy::unnecessary_wraps, reason = "all builtins have one type")]

use sandbar_guest::process::{Limit, Resource, limit, set_limit};

use crate::ast::Bytes;
use crate::shell::{Exec, Shell};

/// Letter, resource, bytes per unit, and what `ulimit -a` calls it.
const LIMITS: [(u8, Resource, u64, &str); 8] = [
    (
        b'c',
        Resource::Core,
        512,
        "core file size              (blocks, -c)",
    ),
    (
        b'd',
        Resource::Data,
        1024,
        "data seg size               (kbytes, -d)",
    ),
    (
        b'f',
        Resource::FileSize,
        1024,
        "file size                   (blocks, -f)",
    ),
    (
        b'n',
        Resource::OpenFiles,
        1,
        "open files                          (-n)",
    ),
    (
        b's',
        Resource::Stack,
        1024,
        "stack size                  (kbytes, -s)",
    ),
    (
        b't',
        Resource::Cpu,
        1,
        "cpu time                   (seconds, -t)",
    ),
    (
        b'u',
        Resource::Processes,
        1,
        "max user processes                  (-u)",
    ),
    (
        b'v',
        Resource::Memory,
        1024,
        "virtual memory              (kbytes, -v)",
    ),
];

pub(super) fn ulimit(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "SHabcdefiklmnpqrstuvxPRT") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let hard = parsed.has(b'H');
    let both = !hard && !parsed.has(b'S');
    let show = |value: u64, unit: u64| {
        if value == Limit::UNLIMITED {
            "unlimited".to_owned()
        } else {
            (value / unit).to_string()
        }
    };
    let letters: Vec<u8> = parsed
        .options
        .iter()
        .map(|(letter, _)| *letter)
        .filter(|letter| !matches!(letter, b'S' | b'H' | b'a'))
        .collect();
    if parsed.has(b'a') {
        for (_, resource, unit, name) in LIMITS {
            if let Ok(limits) = limit(resource) {
                let line = format!(
                    "{name} {}\n",
                    show(if hard { limits.hard } else { limits.soft }, unit)
                );
                shell.print(line.as_bytes());
            }
        }
        return Ok(0);
    }
    let letters = if letters.is_empty() {
        vec![b'f']
    } else {
        letters
    };
    let operand = args.get(parsed.next);
    for letter in &letters {
        let Some((_, resource, unit, name)) = LIMITS.into_iter().find(|(have, ..)| have == letter)
        else {
            shell.complain(
                &[
                    b"-".as_slice(),
                    &[*letter],
                    b": this limit does not exist here",
                ]
                .concat(),
            );
            return Ok(1);
        };
        let limits = match limit(resource) {
            Ok(limits) => limits,
            Err(error) => {
                shell.complain(&[b"cannot get limit: ", error.message().as_bytes()].concat());
                return Ok(1);
            }
        };
        let Some(text) = operand else {
            let value = show(if hard { limits.hard } else { limits.soft }, unit);
            let line = if letters.len() > 1 {
                format!("{name} {value}\n")
            } else {
                format!("{value}\n")
            };
            shell.print(line.as_bytes());
            continue;
        };
        let value = match text.as_slice() {
            b"unlimited" => Limit::UNLIMITED,
            b"hard" => limits.hard,
            b"soft" => limits.soft,
            _ => {
                if let Some(number) = std::str::from_utf8(text)
                    .ok()
                    .and_then(|text| text.parse::<u64>().ok())
                {
                    number.saturating_mul(unit)
                } else {
                    shell.complain_about(text, "invalid number");
                    return Ok(1);
                }
            }
        };
        let new = Limit {
            soft: if hard { limits.soft.min(value) } else { value },
            hard: if hard || both { value } else { limits.hard },
        };
        if let Err(error) = set_limit(resource, new) {
            let label = name.split("  ").next().unwrap_or(name);
            shell.complain(format!("{label}: cannot modify limit: {}", error.message()).as_bytes());
            return Ok(1);
        }
    }
    Ok(0)
}
