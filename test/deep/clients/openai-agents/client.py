"""What users of the Agents SDK do: agents with tools, sessions and typed results, over both interfaces."""

import asyncio
import importlib.metadata
import json
import os

import openai
from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    Runner,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from pydantic import BaseModel

set_tracing_disabled(True)  # its traces go to OpenAI
CHAT = "service-chat-1"
facts = {"version": importlib.metadata.version("openai-agents")}
client = AsyncOpenAI()
exact = ModelSettings(temperature=0)


@function_tool
def get_weather(city: str) -> str:
    """Gives the weather of a city."""
    return json.dumps({"temperature": 21, "conditions": "sunny"})


class Person(BaseModel):
    name: str
    age: int


def agent(model, **own):
    return Agent("Helper", model=model, model_settings=exact, **own)


async def use(model):
    """The facts of one interface."""
    weather = await Runner.run(agent(model, tools=[get_weather]), "What is the weather in Paris?")
    person = await Runner.run(agent(model, output_type=Person), "Naomi is 31 years old.")
    session = SQLiteSession("talk")
    await Runner.run(agent(model), "My name is Naomi.", session=session)
    second = await Runner.run(agent(model), "What is my name?", session=session)
    stream = Runner.run_streamed(agent(model), "What is the capital of Norway?")
    kinds = [event.type async for event in stream.stream_events()]
    return {
        "tool loop": [[item.type for item in weather.new_items], weather.final_output],
        "structured": person.final_output.model_dump(),
        "session": second.final_output,
        "stream": [stream.final_output, kinds.count("raw_response_event") > 5],
        "usage": weather.context_wrapper.usage.requests,
    }


async def refusal(key="", name=CHAT):
    own = AsyncOpenAI(api_key=key) if key else client
    try:
        await Runner.run(agent(OpenAIChatCompletionsModel(name, own)), "Hello!")
    except openai.APIStatusError as error:
        return [type(error).__name__, error.code]


async def main():
    for kind, model in {
        "responses": CHAT,
        "chat": OpenAIChatCompletionsModel(CHAT, client),
    }.items():
        for name, fact in (await use(model)).items():
            facts[f"{kind}: {name}"] = fact
    first = await Runner.run(agent(CHAT), "My name is Naomi.")
    chained = await Runner.run(
        agent(CHAT), "What is my name?", previous_response_id=first.last_response_id
    )
    facts["previous response"] = chained.final_output
    facts["errors"] = [
        await refusal("fm_wrong"),
        await refusal(name="gpt-9"),
        await refusal(os.environ["SPENT_API_KEY"]),
    ]


asyncio.run(main())
print(json.dumps(facts))
