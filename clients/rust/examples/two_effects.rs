//! Two questions to the outside, one after the other: what is the price, and is there enough?

use playhead::{Context, Error, Server};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Event {
    sku: String,
    amount: i64,
}

#[derive(Serialize)]
struct Output {
    at: f64,
    price: i64,
    stock: i64,
    ok: bool,
}

fn two_effects(ctx: &Context, event: Event) -> Result<Output, Error> {
    let at = ctx.now()?;
    let price = ctx.ask("quote").arg(&event.sku).respond(|| Ok(990))?;
    let stock = ctx.ask("stock").arg(&event.sku).respond(|| Ok(7))?;
    Ok(Output { at, price, stock, ok: stock >= event.amount })
}

fn main() {
    Server::new().function("handler", two_effects).serve()
}
