"""The wire protocol: messages and their codecs, headers, API keys, error codes.

`schema.py` is the language in which messages are declared; the declarations are in `messages/` (requests and responses,
one module for each API), `records/` (coordinator and control records) and `consumer_protocol.py`. `message.py` encodes
and decodes them with functions that `encoder.py` and `decoder.py` compile on first use.
"""
