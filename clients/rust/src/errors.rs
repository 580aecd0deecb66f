//! What can go wrong, and errors as data, `E`: `{"type", "message", "args"?, "data"?}`.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::Value;

use crate::message::{self, decode, encode};

type Source = Box<dyn std::error::Error + Send + Sync>;

/// The handler's own error, the same in every language: both texts go to the tape as they are.
#[derive(Debug, Clone, PartialEq)]
pub struct HandlerError {
    pub kind: String,
    pub message: String,
    /// Evidence: kept, never compared.
    pub data: Option<Value>,
}

impl HandlerError {
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        HandlerError { kind: kind.into(), message: message.into(), data: None }
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for HandlerError {}

/// A producer's error, as the tape has it. Where no reviver made another of it, the handler gets this, on record as on
/// replay; returned by the handler, it leaves under the same type and message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RecordedError {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    pub args: Option<Value>,
    #[serde(default)]
    pub data: Option<Value>,
}

impl fmt::Display for RecordedError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RecordedError {}

/// What a question or a handler fails with. Any error of the standard kind becomes one by `?`.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    Handler(HandlerError),
    Recorded(RecordedError),
    /// Something was given away that JSON cannot carry; `pointer` (RFC 6901) is the place in the value.
    NotJson {
        message: String,
        pointer: String,
    },
    /// The tape has no answer. `kind` is the verdict's: question, order, exhausted, ...
    Determinism {
        message: String,
        kind: String,
    },
    /// A context was asked after its call had been answered.
    CallEnded(String),
    /// The call was given up, or was over, while the question was open.
    Cancelled(String),
    /// A policy forbids to write what was asked or answered.
    Forbidden(String),
    /// Larger than the largest frame, or deeper than the deepest value.
    LimitExceeded(String),
    /// The daemon refused a message as such.
    Protocol(String),
    /// The handler or a producer panicked.
    Panic(String),
    /// Any other error. `kind` is the bare name of its Rust type.
    Other {
        kind: String,
        error: Source,
    },
}

// Not std::error::Error itself: with it, there could not be a `From` for every error.
impl<E: std::error::Error + Send + Sync + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        let any: &dyn Any = &error;
        if let Some(own) = any.downcast_ref::<HandlerError>() {
            return Error::Handler(own.clone());
        }
        if let Some(own) = any.downcast_ref::<RecordedError>() {
            return Error::Recorded(own.clone());
        }
        Error::Other { kind: bare_name(std::any::type_name::<E>()), error: Box::new(error) }
    }
}

fn bare_name(path: &str) -> String {
    let plain = path.split('<').next().unwrap_or(path);
    plain.rsplit("::").next().unwrap_or(plain).to_string()
}

impl Error {
    /// The type that this error has on the tape.
    pub fn kind(&self) -> &str {
        match self {
            Error::Handler(own) => &own.kind,
            Error::Recorded(recorded) => &recorded.kind,
            Error::NotJson { .. } => "NotJSON",
            Error::Determinism { .. } => "DeterminismError",
            Error::CallEnded(_) => "CallEnded",
            Error::Cancelled(_) => "Cancelled",
            Error::Forbidden(_) => "Forbidden",
            Error::LimitExceeded(_) => "LimitExceeded",
            Error::Protocol(_) => "ProtocolError",
            Error::Panic(_) => "Panic",
            Error::Other { kind, .. } => kind,
        }
    }

    /// The error of that Rust type that became this one by `?` or was made by a reviver.
    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        match self {
            Error::Other { error, .. } => error.downcast_ref(),
            Error::Handler(own) => (own as &dyn Any).downcast_ref(),
            Error::Recorded(recorded) => (recorded as &dyn Any).downcast_ref(),
            _ => None,
        }
    }

    pub(crate) fn not_json(message: impl Into<String>) -> Self {
        Error::NotJson { message: message.into(), pointer: String::new() }
    }

    pub(crate) fn too_long(size: usize, limit: usize) -> Self {
        Error::LimitExceeded(format!("a frame of {size} bytes; the largest is {limit}"))
    }

    /// `E`, as text that is at most `limit` long: without evidence and with a shorter message where it must be.
    pub(crate) fn describe(&self, limit: usize) -> String {
        #[derive(Serialize)]
        struct E<'a> {
            #[serde(rename = "type")]
            kind: &'a str,
            message: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            args: Option<&'a Value>,
            #[serde(skip_serializing_if = "Option::is_none")]
            data: Option<&'a Value>,
        }
        let message = self.to_string();
        let (args, data) = match self {
            Error::Handler(own) => (None, own.data.as_ref()),
            Error::Recorded(recorded) => (recorded.args.as_ref(), recorded.data.as_ref()),
            _ => (None, None),
        };
        let whole = encode(&E { kind: self.kind(), message: &message, args, data });
        match whole {
            Ok(text) if text.len() <= limit => text,
            _ => {
                let short: String = message.chars().take(4096).collect();
                let plain = E { kind: self.kind(), message: &short, args: None, data: None };
                encode(&plain).unwrap_or_else(|_| r#"{"type":"Error","message":""}"#.to_string())
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Error::NotJson { message, pointer } if !pointer.is_empty() => write!(f, "{message}, at {pointer}"),
            Error::Handler(HandlerError { message, .. })
            | Error::Recorded(RecordedError { message, .. })
            | Error::NotJson { message, .. }
            | Error::Determinism { message, .. }
            | Error::CallEnded(message)
            | Error::Cancelled(message)
            | Error::Forbidden(message)
            | Error::LimitExceeded(message)
            | Error::Protocol(message)
            | Error::Panic(message) => f.write_str(message),
            Error::Other { error, .. } => error.fmt(f),
        }
    }
}

pub(crate) type Reviver = Arc<dyn Fn(&RecordedError) -> Option<Error> + Send + Sync>;
pub(crate) type Revivers = HashMap<String, Reviver>;

/// The error for `E`: by its registered reviver, else this library's own of that name, else `Recorded`.
pub(crate) fn revive(text: &str, revivers: &Revivers) -> Error {
    let recorded: RecordedError = match decode(text) {
        Ok(recorded) => recorded,
        Err(_) => return Error::Protocol(format!("an answer with an error that cannot be read: {text:.200}")),
    };
    if let Some(made) = revivers.get(&recorded.kind).and_then(|reviver| reviver(&recorded)) {
        return made;
    }
    let message = recorded.message.clone();
    match recorded.kind.as_str() {
        "NotJSON" => Error::not_json(message),
        "DeterminismError" => Error::Determinism { message, kind: "question".to_string() },
        "CallEnded" => Error::CallEnded(message),
        "Cancelled" => Error::Cancelled(message),
        "Forbidden" => Error::Forbidden(message),
        "LimitExceeded" => Error::LimitExceeded(message),
        "ProtocolError" => Error::Protocol(message),
        "Panic" => Error::Panic(message),
        _ => Error::Recorded(recorded),
    }
}

/// The error for the `error` of a reply to a question.
pub(crate) fn of_reply(text: &str) -> Error {
    #[derive(Deserialize)]
    struct Told<'a> {
        code: i64,
        #[serde(default)]
        message: String,
        #[serde(borrow, default)]
        data: Option<&'a RawValue>,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Data {
        kind: Option<String>,
        message: Option<String>,
    }
    let told: Told = match message::borrowed(text) {
        Ok(told) => told,
        Err(_) => return Error::Protocol(format!("a reply that is none: {text:.200}")),
    };
    match told.code {
        -32010 => {
            let data: Data = told.data.and_then(|data| message::borrowed(data.get()).ok()).unwrap_or_default();
            Error::Determinism {
                message: data.message.unwrap_or(told.message),
                kind: data.kind.unwrap_or_else(|| "question".to_string()),
            }
        }
        -32003 => Error::CallEnded(told.message),
        -32800 => Error::Cancelled(told.message),
        -32012 => Error::Forbidden(told.message),
        -32013 => Error::LimitExceeded(told.message),
        code => Error::Protocol(format!("{} ({code})", told.message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing() -> Result<i32, Error> {
        Ok("seven".parse::<i32>()?)
    }

    #[test]
    fn errors_become_data_and_come_back() {
        let revivers = Revivers::new();
        for (error, expected) in [
            (HandlerError::new("Declined", "no funds").into(), r#"{"type":"Declined","message":"no funds"}"#),
            (failing().unwrap_err(), r#"{"type":"ParseIntError","message":"invalid digit found in string"}"#),
            (Error::Cancelled("c".into()), r#"{"type":"Cancelled","message":"c"}"#),
            (Error::Panic("p".into()), r#"{"type":"Panic","message":"p"}"#),
        ] {
            let text = error.describe(1000);
            assert_eq!(text, expected);
            assert_eq!(revive(&text, &revivers).describe(1000), expected);
        }
        assert!(failing().unwrap_err().downcast_ref::<std::num::ParseIntError>().is_some());
    }

    #[test]
    fn evidence_comes_along() {
        let text = r#"{"type":"T","message":"m","args":["m"],"data":{"a":1},"stack":"s"}"#;
        let again = revive(text, &Revivers::new()).describe(1000);
        assert_eq!(again, r#"{"type":"T","message":"m","args":["m"],"data":{"a":1}}"#);
    }

    #[test]
    fn a_reviver_makes_an_error_of_the_handlers_own() {
        let mut revivers = Revivers::new();
        let not_utf8 = |_: &RecordedError| Some(std::fmt::Error.into());
        revivers.insert("Error".to_string(), Arc::new(not_utf8));
        let error = revive(r#"{"type":"Error","message":"x"}"#, &revivers);
        assert!(error.downcast_ref::<std::fmt::Error>().is_some());
    }
}
