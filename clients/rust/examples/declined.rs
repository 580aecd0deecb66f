//! An error that is the same in every language.

use playhead::{Context, HandlerError, Server};

fn declined(_: &Context, _: serde_json::Value) -> Result<(), HandlerError> {
    Err(HandlerError::new("Declined", "no funds"))
}

fn main() {
    Server::new().function("handler", declined).serve()
}
