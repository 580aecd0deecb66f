"""Two questions to the outside, one after the other: what is the price, and is there enough?"""


def handler(event, ctx):
    at = ctx.now()
    price = ctx.respond("quote", lambda: 990, args=[event["sku"]])
    stock = ctx.respond("stock", lambda: 7, args=[event["sku"]])
    return {"at": at, "price": price, "stock": stock, "ok": stock >= event["amount"]}
