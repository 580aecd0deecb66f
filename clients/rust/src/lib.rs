//! Serve handlers to the playhead daemon that started this process.
//!
//! A handler is a function of a [`Context`] and an event. Whatever could differ between two runs comes from the context,
//! so an incident that was recorded once can be replayed for ever. README.md has an example and the rules.

mod context;
mod errors;
mod framing;
mod message;
mod peer;
mod serve;
mod stdio;
pub mod testing;
mod turns;

pub use context::{Ask, Context, Pending, Span};
pub use errors::{Error, HandlerError, RecordedError};
pub use serde_json::value::RawValue;
pub use serve::Server;
