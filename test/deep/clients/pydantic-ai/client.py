"""What users of Pydantic AI do: agents with tools, typed results, conversations and streams, over both interfaces."""

import asyncio
import importlib.metadata
import json
import os

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, ToolOutput
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

CHAT = "service-chat-1"
facts = {"version": importlib.metadata.version("pydantic-ai-slim")}
exact = {"temperature": 0}


class Person(BaseModel):
    """A person."""

    name: str
    age: int


def get_weather(city: str) -> dict:
    """Gives the weather of a city."""
    return {"temperature": 21, "conditions": "sunny"}


async def use(model):
    """The facts of one interface."""
    helper = Agent(model, tools=[get_weather], model_settings=exact)
    plain = Agent(model, model_settings=exact)
    weather = await helper.run("What is the weather in Paris?")
    first = await plain.run("My name is Naomi.")
    second = await plain.run("What is my name?", message_history=first.all_messages())
    native = Agent(model, output_type=NativeOutput(Person), model_settings=exact)
    called = Agent(model, output_type=ToolOutput(Person), model_settings=exact)
    async with plain.run_stream("What is the capital of Norway?") as stream:
        deltas = [delta async for delta in stream.stream_text(delta=True, debounce_by=None)]
    return {
        "tool loop": [weather.output, weather.usage.tool_calls],
        "second turn": second.output,
        "native output": (await native.run("Naomi is 31 years old.")).output.model_dump(),
        "tool output": (await called.run("Naomi is 31 years old.")).output.age,
        "stream": ["".join(deltas), len(deltas) > 3],
    }


async def refusal(key=None, name=CHAT, **settings):
    model = OpenAIChatModel(name, provider=OpenAIProvider(api_key=key))
    try:
        await Agent(model, model_settings=settings).run("Hello!")
    except ModelHTTPError as error:
        return [error.status_code, error.body["code"]]


async def main():
    for kind, model in {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}.items():
        for name, fact in (await use(model(CHAT))).items():
            facts[f"{kind}: {name}"] = fact
    facts["errors"] = [
        await refusal("fm_wrong"),
        await refusal(name="gpt-9"),
        await refusal(temperature=9),
        await refusal(os.environ["SPENT_API_KEY"]),
    ]


asyncio.run(main())
print(json.dumps(facts))
