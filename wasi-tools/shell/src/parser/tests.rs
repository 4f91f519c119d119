//! Tests of the parser.

use super::*;
use crate::ast::{Kind, Part};

fn parse(text: &str) -> Parsed<Script> {
    Parser::of_text(text.as_bytes(), Context::plain(), 1).whole()
}

fn message(text: &str) -> String {
    let error = parse(text).expect_err("the text is wrong");
    String::from_utf8_lossy(&error.message).into_owned()
}

#[test]
fn one_complete_command_at_a_time() {
    let mut parser = Parser::of_text(b"echo one\nif then\n", Context::plain(), 1);
    let first = parser
        .next_command()
        .expect("the first line is right")
        .expect("and there");
    assert_eq!(first.items.len(), 1);
    assert!(parser.next_command().is_err());
}

#[test]
fn nesting_has_a_limit_and_an_error() {
    // Frames without optimisation are several times as large as a guest's, and test threads have small stacks.
    let thread = std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(nested)
        .expect("a thread starts");
    thread.join().expect("no limit was passed");
}

fn nested() {
    for (open, close) in [
        ("( ", ")"),
        ("{ ", ";}"),
        ("if ", ";fi"),
        ("$(", ")"),
        ("\"${x:-", "}\""),
        ("$((", "))"),
        ("[[ ! ", " ]]"),
    ] {
        for count in [2_000, 100_000] {
            let text = open.repeat(count);
            assert!(parse(&text).is_err(), "{open} without {close}");
        }
    }
    assert!(message(&"( ".repeat(2_000)).contains("nested more than"));
    let deep = format!("{}:{}", "( ".repeat(200), ")".repeat(200));
    assert!(parse(&deep).is_ok());
}

#[test]
fn unclosed_parentheses_take_linear_time() {
    // brush-parser needs seconds for thirty of these.
    let text = "((".repeat(400);
    let start = std::time::Instant::now();
    assert!(parse(&text).is_err());
    assert!(start.elapsed().as_secs() < 2);
}

#[test]
fn substitutions_may_hold_cases_and_comments() {
    for text in [
        "echo $(case x in x) echo;; esac)",
        "echo $( # it's\n echo )",
        "echo $(echo \")\")",
        "x=`echo \\`echo\\``",
    ] {
        assert!(parse(text).is_ok(), "{text}");
    }
}

#[test]
fn arithmetic_and_subshells_are_told_apart() {
    let kind = |text: &str| {
        let mut script = parse(text).expect("it is right");
        script.items.remove(0).and_or.first.stages.remove(0).kind
    };
    assert!(matches!(kind("((1+2))"), Kind::Arith(_)));
    assert!(matches!(kind("((echo a); echo b)"), Kind::Subshell(_)));
    assert!(matches!(kind("( (echo a) )"), Kind::Subshell(_)));
}

#[test]
fn aliases_are_replaced_where_a_command_starts() {
    let aliases = [
        (b"ll".to_vec(), b"ls -l ".to_vec()),
        (b"dir".to_vec(), b"/tmp".to_vec()),
    ];
    let context = Context {
        aliases: Some(Rc::new(aliases.into_iter().collect())),
        ..Context::plain()
    };
    let script = Parser::of_text(b"ll dir dir", context, 1)
        .whole()
        .expect("it is right");
    let Kind::Simple(simple) = &script.items[0].and_or.first.stages[0].kind else {
        panic!("a simple command")
    };
    let words: Vec<&[u8]> = simple.words.iter().map(|word| &*word.raw).collect();
    // A blank at the end of an alias lets the next word be one, too, but not the one after that.
    assert_eq!(words, [&b"ls"[..], b"-l", b"/tmp", b"dir"]);
}

#[test]
fn an_alias_does_not_replace_itself() {
    let aliases = [
        (b"a".to_vec(), b"b".to_vec()),
        (b"b".to_vec(), b"a".to_vec()),
    ];
    let context = Context {
        aliases: Some(Rc::new(aliases.into_iter().collect())),
        ..Context::plain()
    };
    assert!(Parser::of_text(b"a", context, 1).whole().is_ok());
}

#[test]
fn bytes_need_not_be_utf8() {
    let script = Parser::of_text(b"echo \xff\xfe", Context::plain(), 1)
        .whole()
        .expect("it is right");
    let Kind::Simple(simple) = &script.items[0].and_or.first.stages[0].kind else {
        panic!("a simple command")
    };
    assert!(matches!(&simple.words[1].parts[..], [Part::Lit(text)] if &**text == b"\xff\xfe"));
}

#[test]
fn errors_name_the_token() {
    assert_eq!(
        message("if then"),
        "syntax error near unexpected token `then'"
    );
    assert_eq!(message("a | | b"), "syntax error near unexpected token `|'");
    assert_eq!(
        message("echo 'a"),
        "unexpected EOF while looking for matching `''"
    );
    assert_eq!(message("while :"), "syntax error: unexpected end of file");
}

#[test]
fn random_text_never_panics() {
    // A tiny alphabet of what the grammar reacts to, and a fixed generator.
    let alphabet = [
        "a", " ", "\n", "$", "{", "}", "(", ")", "[", "]", "'", "\"", "`", "\\", "|", "&", ";",
        "<", ">", "#", "if", "do", "case", "in", "esac", "=", "!", "EOF", "~", "*",
    ];
    let mut seed = 1_u32;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..12 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.push_str(alphabet[usize::try_from(seed >> 8).unwrap_or(0) % alphabet.len()]);
        }
        let _outcome = parse(&text);
    }
}
