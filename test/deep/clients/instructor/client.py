"""What users of instructor do: objects from sentences, whole, in part and in lists, by each way of asking."""

import importlib.metadata
import json
import os

import instructor
import openai
from instructor import Mode
from openai import OpenAI
from pydantic import BaseModel

CHAT = "service-chat-1"
facts = {"version": importlib.metadata.version("instructor")}


class Person(BaseModel):
    """A person."""

    name: str
    age: int


def client(mode):
    return instructor.from_openai(OpenAI(), mode=mode)


given = {
    "model": CHAT,
    "temperature": 0,
    "response_model": Person,
    "messages": [{"role": "user", "content": "Naomi is 31 years old."}],
    "max_retries": 0,
}
schema = client(Mode.JSON_SCHEMA)
facts["by schema"] = schema.create(**given).model_dump()
facts["strict tools"] = client(Mode.TOOLS_STRICT).create(**given).age
facts["tools"] = client(Mode.TOOLS).create(**given).age
facts["responses' tools"] = client(Mode.RESPONSES_TOOLS).create(**given).age
person, completion = schema.create_with_completion(**given)
facts["with completion"] = [person.name, completion.usage.total_tokens > 0]
partials = list(schema.create_partial(**given))
facts["in part"] = [len(partials) > 1, partials[-1].model_dump()]


def refusal(**own):
    key = own.pop("api_key", None)
    try:
        instructor.from_openai(OpenAI(api_key=key), mode=Mode.JSON_SCHEMA).create(**{**given, **own})
    except Exception as error:
        return [type(error).__name__, type(error.__cause__).__name__]


facts["errors"] = [
    refusal(api_key="fm_wrong"),
    refusal(model="gpt-9"),
    refusal(temperature=9),
    refusal(api_key=os.environ["SPENT_API_KEY"]),
]
print(json.dumps(facts))
