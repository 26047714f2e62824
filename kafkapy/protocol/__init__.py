"""The wire protocol: messages and their codecs, headers, API keys, error codes.

`schema.py` defines the language for declaring messages; the declarations are in `messages/` (requests and responses,
one module per API), `records/` (coordinator and control records) and `consumer_protocol.py`. `message.py` encodes and
decodes them with functions that `encoder.py` and `decoder.py` compile on first use.
"""
