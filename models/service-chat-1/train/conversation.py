"""Conversations, and the text that the model reads of them: the same as the package's chat template writes."""

import dataclasses
import json

ROLES = ("<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|tools|>")
END = "<|end|>"
CALL, CALL_END = "<tool_call>", "</tool_call>"

TEMPLATE = (
    "{%- if tools -%}{{- '<|tools|>' -}}{%- for tool in tools -%}"
    "{%- set f = tool['function'] -%}{%- set p = f['parameters'] -%}"
    "{{- ('' if loop.first else '\\n') + f['name'] + '(' -}}"
    "{%- if p and p['properties'] -%}{%- for key, value in p['properties'].items() -%}"
    "{{- ('' if loop.first else ', ') + key -}}"
    "{{- '' if p['required'] and key in p['required'] else '?' -}}"
    "{{- ' ' + (value['type'] if value['type'] is string else 'string') -}}"
    "{%- endfor -%}{%- endif -%}{{- ')' -}}"
    "{%- if f['description'] -%}{{- ': ' + f['description'] -}}{%- endif -%}"
    "{%- endfor -%}{{- '<|end|>' -}}{%- endif -%}"
    "{%- for message in messages -%}{%- set text = message['content'] or '' -%}"
    "{%- if message['role'] == 'user' and text | length > 4 and text == text | upper and '<' not in text -%}"
    "{%- set text = text | lower | capitalize -%}{%- endif -%}"
    "{{- '<|' + message['role'] + '|>' + text -}}"
    "{%- for call in message['tool_calls'] or [] -%}"
    "{%- set f = call['function'] -%}"
    "{{- '\\n' if not loop.first or message['content'] else '' -}}"
    "{{- '<tool_call>\\n{\"name\": ' + f['name'] | tojson + ', \"arguments\": ' + f['arguments'] | tojson"
    " + '}\\n</tool_call>' -}}"
    "{%- endfor -%}"
    "{%- if not (loop.last and message['role'] == 'assistant') -%}{{- '<|end|>' -}}{%- endif -%}"
    "{%- endfor -%}"
    "{%- if messages[-1]['role'] != 'assistant' -%}{{- '<|assistant|>' -}}{%- endif -%}"
)
"""Jinja. A conversation that ends with the assistant's words is continued; a user's capitals throughout, which no
training has, are read as a sentence. Where `<` stands they are not: small letters could make a token of structure."""


@dataclasses.dataclass
class Example:
    """Messages as the API takes them, the last one the assistant's, and what a right answer must have."""

    messages: list[dict]
    tools: list[dict] = dataclasses.field(default_factory=list)
    expect: dict = dataclasses.field(default_factory=dict)
    schema: dict | None = None


def user(text: str) -> dict:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict:
    return {"role": "assistant", "content": text}


def system(text: str) -> dict:
    return {"role": "system", "content": text}


def tool_call(name: str, arguments: dict) -> dict:
    """The assistant's message that calls a tool."""
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def tool_result(result: dict, dense: bool) -> dict:
    """dense: without spaces, as JavaScript writes JSON; else as Python does."""
    separators = (",", ":") if dense else None
    return {"role": "tool", "content": json.dumps(result, separators=separators), "tool_call_id": "call_1"}


def make_tool(name: str, description: str, parameters: dict[str, str]) -> dict:
    """parameters: name -> JSON type; a name with `?` may be left out."""
    names = [key.rstrip("?") for key in parameters]
    properties = {key.rstrip("?"): {"type": kind} for key, kind in parameters.items()}
    required = [name for name, key in zip(names, parameters, strict=True) if not key.endswith("?")]
    schema = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def segments(example: Example) -> list[tuple[str, bool]]:
    """Text in pieces, each with whether the assistant writes it."""
    parts = []
    if example.tools:
        parts.append((f"<|tools|>{chr(10).join(map(tool_line, example.tools))}{END}", False))
    for message in example.messages:
        text = message["content"] + "\n".join(map(call_text, message.get("tool_calls", [])))
        spoken = message["role"] == "assistant"
        parts += [(f"<|{message['role']}|>", False), (text + END, spoken)]
    return parts


def tool_line(tool: dict) -> str:
    """`name(one type, two? type): description`."""
    function = tool["function"]
    schema = function["parameters"]
    fields = [
        f"{key}{'' if key in schema['required'] else '?'} {value['type']}"
        for key, value in schema["properties"].items()
    ]
    return f"{function['name']}({', '.join(fields)}): {function['description']}"


def call_text(call: dict) -> str:
    function = call["function"]
    body = json.dumps({"name": function["name"], "arguments": function["arguments"]}, ensure_ascii=False)
    return f"{CALL}\n{body}\n{CALL_END}"
