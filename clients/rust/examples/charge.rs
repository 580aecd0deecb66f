//! A small governed handler: a time, a draw and one answer from outside, each read through the context.

use playhead::{Context, Error, Server};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Event {
    amount: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Output {
    received_at: f64,
    sampled: bool,
    approved: bool,
    balance: i64,
}

fn charge(ctx: &Context, event: Event) -> Result<Output, Error> {
    let received_at = ctx.now()?;
    let sampled = ctx.random()? < 0.2;
    let balance = ctx.respond::<i64>("account.balance", || Ok(1000 - event.amount))?;
    Ok(Output { received_at, sampled, approved: balance >= 0, balance })
}

fn main() {
    Server::new().function("handler", charge).serve()
}
