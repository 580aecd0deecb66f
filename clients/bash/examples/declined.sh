# An error that is the same in every language: its type and message are the handler's answer.

handler() { ctx.raise Declined 'no funds'; }
