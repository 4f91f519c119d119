//! `mapfile` and `readarray`

use super::read::{Ended, Source};
use crate::ast::Bytes;
use crate::escape;
use crate::parser::is_name;
use crate::shell::{Exec, Shell};
use crate::shell_vars::Key;
use crate::sys;

#[expect(clippy::too_many_lines, reason = "the options one after another")]
pub(super) fn mapfile(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "d:n:O:s:tu:C:c:") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let mut numbers = [0_usize; 4];
    for (slot, letter, what) in [
        (0, b'n', "line count"),
        (1, b'O', "array origin"),
        (2, b's', "line count"),
        (3, b'c', "callback quantum"),
    ] {
        if let Some(value) = parsed.value(letter) {
            if let Some(number) = std::str::from_utf8(value)
                .ok()
                .and_then(|text| text.parse().ok())
            {
                numbers[slot] = number;
            } else {
                shell.complain_about(value, &format!("invalid {what}"));
                return Ok(1);
            }
        }
    }
    let [count, origin, skip, quantum] = numbers;
    let quantum = if quantum == 0 { 5000 } else { quantum };
    let fd = match parsed.value(b'u') {
        None => 0,
        Some(text) => {
            if let Some(fd) = std::str::from_utf8(text)
                .ok()
                .and_then(|text| text.parse().ok())
                .filter(|fd| sys::is_open(*fd))
            {
                fd
            } else {
                shell.complain_about(text, "invalid file descriptor: Bad file descriptor");
                return Ok(1);
            }
        }
    };
    let delimiter = parsed
        .value(b'd')
        .map_or(b'\n', |text| text.first().copied().unwrap_or(0));
    let strip = parsed.has(b't');
    let name = args
        .get(parsed.next)
        .cloned()
        .unwrap_or_else(|| b"MAPFILE".to_vec());
    if !is_name(&name) {
        shell.complain(&[b"`".as_slice(), &name, b"': not a valid identifier"].concat());
        return Ok(1);
    }
    if shell.lookup(&name).is_some_and(|var| var.is_assoc()) {
        shell.complain_about(&name, "not an indexed array");
        return Ok(1);
    }
    if !parsed.has(b'O') {
        shell.set_array(&name, Vec::new())?;
    }
    let mut source = Source::new(fd);
    let mut line = Bytes::new();
    let (mut seen, mut stored) = (0_usize, 0_usize);
    loop {
        if count > 0 && stored >= count {
            break;
        }
        let ended = match source.byte(None) {
            Ok(b) => {
                line.push(b);
                if b != delimiter {
                    continue;
                }
                false
            }
            Err(Ended::Interrupted) => continue,
            Err(_) => true,
        };
        if ended && line.is_empty() {
            break;
        }
        seen += 1;
        let mut value = std::mem::take(&mut line);
        if seen > skip {
            if (strip || delimiter == 0) && value.last() == Some(&delimiter) {
                value.pop();
            }
            let index = i64::try_from(origin + stored).unwrap_or(i64::MAX);
            stored += 1;
            if let Some(callback) = parsed.value(b'C')
                && stored.is_multiple_of(quantum)
            {
                let text = [
                    callback.as_slice(),
                    format!(" {index} ").as_bytes(),
                    &escape::single_quote(&value),
                ]
                .concat();
                shell.eval_text(&text, None)?;
            }
            shell.assign(&name, Some(Key::Index(index)), value, false)?;
        }
        if ended {
            break;
        }
    }
    source.finish();
    Ok(0)
}
