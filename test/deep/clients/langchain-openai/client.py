"""What users of LangChain do with langchain-openai: chains, agents, structured output, embeddings."""

import importlib.metadata
import json
import os

import openai
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAI, OpenAIEmbeddings
from pydantic import BaseModel

CHAT = "service-chat-1"
facts = {"version": importlib.metadata.version("langchain-openai")}
model = ChatOpenAI(model=CHAT, temperature=0)
responses = ChatOpenAI(model=CHAT, temperature=0, use_responses_api=True)


@tool
def get_weather(city: str) -> str:
    """Gives the weather of a city."""
    return json.dumps({"temperature": 21, "conditions": "sunny"})


class Person(BaseModel):
    """A person."""

    name: str
    age: int


def second_turn(model):
    messages = [HumanMessage("My name is Naomi.")]
    messages.append(model.invoke(messages))
    return model.invoke([*messages, HumanMessage("What is my name?")])


def tool_loop(model):
    bound = model.bind_tools([get_weather])
    messages = [HumanMessage("What is the weather in Paris?")]
    called = bound.invoke(messages)
    results = [get_weather.invoke(call) for call in called.tool_calls]
    return [call["args"] for call in called.tool_calls], bound.invoke([*messages, called, *results])


facts["second turn"] = second_turn(model).content
calls, answer = tool_loop(model)
facts["tool loop"] = [calls, answer.content]
chunks = list(model.stream("What is the capital of Norway?", stream_usage=True))
facts["stream"] = [
    "".join(chunk.content for chunk in chunks),
    sum(chunk.usage_metadata["total_tokens"] for chunk in chunks if chunk.usage_metadata) > 0,
]
facts["structured"] = (
    model.with_structured_output(Person).invoke("Naomi is 31 years old.").model_dump()
)
by_call = model.with_structured_output(Person, method="function_calling")
facts["structured by a call"] = by_call.invoke("Naomi is 31 years old.").age
facts["batch"] = [one.content for one in model.batch(["What is the capital of Norway?"] * 2)]

facts["second response"] = second_turn(responses).text
by_id = ChatOpenAI(
    model=CHAT, temperature=0, use_responses_api=True, use_previous_response_id=True
)
facts["second response by id"] = second_turn(by_id).text
calls, answer = tool_loop(responses)
facts["responses' tool loop"] = [calls, answer.text]
facts["streamed response"] = "".join(
    chunk.text for chunk in responses.stream("What is the capital of Norway?")
)
facts["structured response"] = (
    responses.with_structured_output(Person).invoke("Naomi is 31 years old.").model_dump()
)
facts["text completion"] = len(OpenAI(model=CHAT, max_tokens=8).invoke("Once upon a time")) > 0

# Token ids of OpenAI's vocabulary mean other words here: texts go as they are.
embeddings = OpenAIEmbeddings(model="service-embed-1", check_embedding_ctx_length=False)
boat, soup, harbour = embeddings.embed_documents(["a red boat", "hot soup", "a boat in a harbour"])


def likeness(one, other):
    return sum(a * b for a, b in zip(one, other))


facts["embeddings"] = [len(boat), likeness(boat, harbour) > likeness(boat, soup)]


def refusal(**own):
    try:
        ChatOpenAI(**{"model": CHAT, "max_tokens": 1, **own}).invoke("Hello!")
    except openai.APIStatusError as error:
        return [type(error).__name__, error.code]


facts["errors"] = [
    refusal(api_key="fm_wrong"),
    refusal(model="gpt-9"),
    refusal(temperature=9),
    refusal(api_key=os.environ["SPENT_API_KEY"]),
]
print(json.dumps(facts))
