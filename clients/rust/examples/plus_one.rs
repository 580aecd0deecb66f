//! The event is an integer, and the output is the integer plus one, exactly: up to 128 bits.

use playhead::{Context, Error, Server};

fn plus_one(_: &Context, event: i128) -> Result<i128, Error> {
    Ok(event + 1)
}

fn main() {
    Server::new().function("handler", plus_one).serve()
}
