//! A call's arguments: taken one by one, each error naming the argument, the rule and what was given.

use rmcp::model::JsonObject;
use serde_json::Value;

use crate::error::ToolError;

/// Arguments that have not been taken yet.
#[derive(Debug)]
pub(super) struct Arguments {
    left: JsonObject,
}

impl Arguments {
    pub(super) fn new(left: JsonObject) -> Self {
        Self { left }
    }

    /// Takes one; `null` is as good as none.
    fn take(&mut self, name: &str) -> Option<Value> {
        self.left.remove(name).filter(|value| !value.is_null())
    }

    /// A text that must be there.
    pub(super) fn string(&mut self, name: &str) -> Result<String, ToolError> {
        self.optional_string(name)?
            .ok_or_else(|| wrong(name, "is missing", "it is a string"))
    }

    /// A text.
    pub(super) fn optional_string(&mut self, name: &str) -> Result<Option<String>, ToolError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(
                name,
                &format!("must be a string, not {}", kind(&other)),
                "",
            )),
        }
    }

    /// Yes or no; `false` when it is not there.
    pub(super) fn flag(&mut self, name: &str) -> Result<bool, ToolError> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(value)) => Ok(value),
            Some(Value::String(text)) if text == "true" => Ok(true),
            Some(Value::String(text)) if text == "false" => Ok(false),
            Some(other) => Err(wrong(
                name,
                &format!("must be true or false, not {}", kind(&other)),
                "",
            )),
        }
    }

    /// A whole number within bounds.
    pub(super) fn whole(
        &mut self,
        name: &str,
        min: u64,
        max: u64,
    ) -> Result<Option<u64>, ToolError> {
        let rule = format!("must be a whole number from {min} to {max}");
        let Some(number) = self.number(name, &rule)? else {
            return Ok(None);
        };
        #[expect(
            clippy::cast_precision_loss,
            reason = "bounds are far below 2^53 or mean `any`"
        )]
        let fits = number.fract() == 0.0 && number >= min as f64 && number <= max as f64;
        if !fits {
            return Err(wrong(name, &format!("{rule}, not {number}"), ""));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is within bounds"
        )]
        Ok(Some((number as u64).min(max)))
    }

    /// Seconds within bounds; fractions are allowed.
    pub(super) fn seconds(
        &mut self,
        name: &str,
        min: f64,
        max: std::time::Duration,
    ) -> Result<Option<std::time::Duration>, ToolError> {
        let rule = format!(
            "must be a number of seconds from {min} to {}",
            max.as_secs()
        );
        let Some(number) = self.number(name, &rule)? else {
            return Ok(None);
        };
        let duration = std::time::Duration::try_from_secs_f64(number).ok();
        match duration.filter(|duration| number >= min && *duration <= max) {
            Some(duration) => Ok(Some(duration)),
            None => Err(wrong(name, &format!("{rule}, not {number}"), "")),
        }
    }

    fn number(&mut self, name: &str, rule: &str) -> Result<Option<f64>, ToolError> {
        let value = match self.take(name) {
            None => return Ok(None),
            Some(Value::Number(number)) => number.as_f64(),
            // Some models write numbers as text.
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(other) => return Err(wrong(name, &format!("{rule}, not {}", kind(&other)), "")),
        };
        value
            .filter(|value| value.is_finite())
            .map(Some)
            .ok_or_else(|| wrong(name, rule, ""))
    }

    /// Checks the names of all of them, before any is taken: a misspelt one is worth more than one that is missing.
    ///
    /// # Errors
    /// With the names that are none of `known` or `sandbox`.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), ToolError> {
        let unknown: Vec<_> = self
            .left
            .keys()
            .filter(|name| *name != "sandbox" && !known.contains(&name.as_str()))
            .map(|name| format!("`{name}`"))
            .collect();
        if unknown.is_empty() {
            return Ok(());
        }
        Err(ToolError::new(
            format!("there is no argument {}", unknown.join(", ")),
            format!("the arguments are {}, sandbox", known.join(", ")),
        ))
    }
}

fn wrong(name: &str, problem: &str, hint: &str) -> ToolError {
    let hint = if hint.is_empty() {
        "correct the argument and call again"
    } else {
        hint
    };
    ToolError::new(format!("argument `{name}` {problem}"), hint)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn arguments(value: Value) -> Arguments {
        let Value::Object(object) = value else {
            panic!("not an object")
        };
        Arguments::new(object)
    }

    fn text<T: std::fmt::Debug>(result: Result<T, ToolError>) -> String {
        result.expect_err("it is wrong").text()
    }

    #[test]
    fn an_error_names_the_argument_the_rule_and_what_was_given() {
        let mut given =
            arguments(json!({"command": 7, "timeout": 601, "limit": 1.5, "all": "maybe"}));
        assert!(
            text(given.string("command"))
                .starts_with("Error: argument `command` must be a string, not a number.")
        );
        assert!(text(given.string("path")).starts_with("Error: argument `path` is missing."));
        assert!(
            text(given.seconds("timeout", 0.1, Duration::from_mins(10))).starts_with(
                "Error: argument `timeout` must be a number of seconds from 0.1 to 600, not 601."
            )
        );
        assert!(
            text(given.whole("limit", 1, 9)).starts_with(
                "Error: argument `limit` must be a whole number from 1 to 9, not 1.5."
            )
        );
        assert!(text(given.flag("all")).contains("must be true or false, not a string"));
    }

    #[test]
    fn bounds_are_inclusive_and_null_is_none() {
        let mut given = arguments(json!({"a": 1, "b": "9", "c": null, "d": 0.5, "e": -1}));
        assert_eq!(given.whole("a", 1, 9).expect("fits"), Some(1));
        assert_eq!(given.whole("b", 1, 9).expect("fits"), Some(9));
        assert_eq!(given.whole("c", 1, 9).expect("none"), None);
        let half = given
            .seconds("d", 0.5, Duration::from_secs(1))
            .expect("fits");
        assert_eq!(half, Some(Duration::from_millis(500)));
        assert!(given.whole("e", 0, 9).is_err());
    }

    #[test]
    fn an_unknown_argument_is_refused_by_name() {
        let given = arguments(json!({"comand": "ls", "sandbox": "a", "timeout": 1}));
        let text = text(given.only(&["command", "timeout"]));
        assert_eq!(
            text,
            "Error: there is no argument `comand`.\nthe arguments are command, timeout, sandbox"
        );
    }
}
