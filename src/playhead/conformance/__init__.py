"""Whether a client keeps the protocol: the conversations of protocol/vectors/session, played against it.

The contract is protocol/conformance.md. What is compared, and what is free, is in protocol/vectors/README.md.
"""
