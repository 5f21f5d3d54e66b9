"""What users of the openai package do: conversations, streams, tools, media, batches of texts, errors."""

import base64
import io
import json
import os

import openai
from openai import OpenAI
from pydantic import BaseModel

CHAT = "service-chat-1"
client = OpenAI()
facts = {"version": openai.__version__}


def user(content):
    return {"role": "user", "content": content}


# Chat
messages = [user("My name is Naomi.")]
first = client.chat.completions.create(model=CHAT, messages=messages, temperature=0)
messages += [first.choices[0].message, user("What is my name?")]
second = client.chat.completions.create(model=CHAT, messages=messages, temperature=0)
facts["second turn"] = second.choices[0].message.content
facts["alias"] = client.chat.completions.create(
    model="gpt-4o-mini", messages=[user("Hello!")], max_tokens=4
).model

with client.chat.completions.stream(
    model=CHAT,
    messages=[user("What is the capital of Norway?")],
    temperature=0,
    stream_options={"include_usage": True},
) as stream:
    deltas = [event.delta for event in stream if event.type == "content.delta"]
    whole = stream.get_final_completion()
facts["stream"] = ["".join(deltas) == whole.choices[0].message.content, "Oslo" in "".join(deltas)]
facts["stream's usage"] = whole.usage.total_tokens == (
    whole.usage.prompt_tokens + whole.usage.completion_tokens
)
choices = client.chat.completions.create(
    model=CHAT, messages=[user("Hello!")], n=2, seed=1, logprobs=True, top_logprobs=2, max_tokens=4
).choices
facts["n and logprobs"] = [
    len(choices),
    [len(token.top_logprobs) for token in choices[1].logprobs.content],
]
facts["stop"] = (
    client.chat.completions.create(
        model=CHAT, messages=[user("What is the capital of Norway?")], temperature=0, stop=[" is"]
    )
    .choices[0]
    .message.content
)


class Person(BaseModel):
    name: str
    age: int


parsed = client.chat.completions.parse(
    model=CHAT, messages=[user("Naomi is 31 years old.")], response_format=Person, temperature=0
)
facts["parse"] = parsed.choices[0].message.parsed.model_dump()


class get_weather(BaseModel):
    """Gives the weather of a city."""

    city: str


WEATHER = json.dumps({"temperature": 21, "conditions": "sunny"})
question = [user("What is the weather in Paris?")]
tools = [openai.pydantic_function_tool(get_weather)]
called = client.chat.completions.parse(model=CHAT, messages=question, tools=tools, temperature=0)
message = called.choices[0].message
call = message.tool_calls[0]
facts["tool call"] = [call.function.name, call.function.parsed_arguments.city]
result = {"role": "tool", "tool_call_id": call.id, "content": WEATHER}
answered = client.chat.completions.create(
    model=CHAT, messages=[*question, message, result], tools=tools, temperature=0
)
facts["tool's answer"] = answered.choices[0].message.content

# Text completions
completion = client.completions.create(
    model=CHAT, prompt=["Once upon a time", "Hello"], max_tokens=8, temperature=0, echo=True
)
facts["completions"] = [
    [choice.text.startswith(("Once upon a time", "Hello")) for choice in completion.choices],
    completion.object,
]
pieces = client.completions.create(model=CHAT, prompt="Once upon", max_tokens=8, stream=True)
facts["streamed completion"] = len("".join(one.choices[0].text for one in pieces)) > 0

# Responses
start = client.responses.create(model=CHAT, input="My name is Naomi.", temperature=0)
follow = client.responses.create(
    model=CHAT, input="What is my name?", previous_response_id=start.id, temperature=0
)
facts["second response"] = follow.output_text
with client.responses.stream(
    model=CHAT, input="What is the capital of Norway?", temperature=0
) as stream:
    kinds = [event.type for event in stream]
    final = stream.get_final_response()
facts["response's events"] = [kinds[0], kinds[-1], "response.output_text.delta" in kinds]
facts["streamed response"] = final.output_text
facts["parsed response"] = client.responses.parse(
    model=CHAT, input="Naomi is 31 years old.", text_format=Person, temperature=0
).output_parsed.model_dump()
tool = {
    "type": "function",
    "name": "get_weather",
    "description": "Gives the weather of a city.",
    "parameters": get_weather.model_json_schema(),
}
asked = client.responses.create(
    model=CHAT, input="What is the weather in Paris?", tools=[tool], temperature=0
)
[function] = [item for item in asked.output if item.type == "function_call"]
output = {"type": "function_call_output", "call_id": function.call_id, "output": WEATHER}
facts["response's tool"] = [
    json.loads(function.arguments),
    client.responses.create(
        model=CHAT, input=[output], previous_response_id=asked.id, tools=[tool], temperature=0
    ).output_text,
]
facts["retrieved response"] = client.responses.retrieve(start.id).output_text == start.output_text
facts["input items"] = [
    item.content[0].text for item in client.responses.input_items.list(start.id)
]
later = client.responses.create(model=CHAT, input="Hello!", background=True, temperature=0)
facts["background"] = [later.status]
while later.status in ("queued", "in_progress"):
    later = client.responses.retrieve(later.id)
facts["background"] += [later.status, later.output_text != ""]
facts["replayed response"] = [
    event.type for event in client.responses.retrieve(start.id, stream=True)
][-1]
client.responses.delete(start.id)

# Vectors, verdicts
texts = ["a boat in the harbour", "a bowl of soup"]
vectors = client.embeddings.create(model="service-embed-1", input=texts)
as_floats = client.embeddings.create(
    model="service-embed-1", input=texts, encoding_format="float", dimensions=64
)
facts["embeddings"] = [
    [len(one.embedding) for one in vectors.data],
    [len(one.embedding) for one in as_floats.data],
]
judged = client.moderations.create(model="service-moderate-1", input=["a red boat", "I will kill you"])
facts["moderations"] = [one.flagged for one in judged.results]

# Media
picture = client.images.generate(model="service-image-1", prompt="a red boat", quality="low")
facts["image"] = base64.b64decode(picture.data[0].b64_json)[1:4].decode()
partial = client.images.generate(
    model="service-image-1", prompt="a red boat", quality="low", stream=True, partial_images=1
)
facts["partial images"] = [event.type for event in partial]
sound = client.audio.speech.create(
    model="service-voice-1",
    voice="alloy",
    input="A red boat sails across the ocean.",
    response_format="wav",
).content
facts["speech"] = sound[8:12].decode()
with client.audio.speech.with_streaming_response.create(
    model="service-voice-1", voice="alloy", input="Hello.", response_format="mp3"
) as streamed:
    facts["streamed speech"] = sum(len(chunk) for chunk in streamed.iter_bytes()) > 1000
recording = ("speech.wav", io.BytesIO(sound))
heard = client.audio.transcriptions.create(
    model="service-transcribe-1", file=recording, response_format="verbose_json"
)
facts["transcription"] = [heard.text, heard.duration > 1]
clip = client.videos.create_and_poll(
    model="service-motion-1", prompt="a red boat", seconds="4", extra_body={"quality": "fast"}
)
facts["video"] = [
    clip.status,
    clip.seconds,
    client.videos.download_content(clip.id).read()[4:8].decode(),
    clip.id in [one.id for one in client.videos.list(limit=3)],
    client.videos.delete(clip.id).deleted,
]
facts["models"] = CHAT in [model.id for model in client.models.list()]


# Errors, each as its class
def refusal(call, **given):
    try:
        call(**given)
    except openai.APIStatusError as error:
        return [type(error).__name__, error.code, error.param, error.request_id is not None]


stranger = OpenAI(api_key="fm_wrong")
spent = OpenAI(api_key=os.environ["SPENT_API_KEY"])  # is not retried
hello = {"model": CHAT, "messages": [user("Hello!")], "max_tokens": 1}
create = client.chat.completions.create
facts["errors"] = [
    refusal(stranger.chat.completions.create, **hello),
    refusal(create, **{**hello, "model": "gpt-9"}),
    refusal(create, **{**hello, "temperature": 9}),
    refusal(create, **{**hello, "messages": [user("boat " * 2_000)]}),
    refusal(spent.chat.completions.create, **hello),
    refusal(client.videos.retrieve, video_id="video_" + "0" * 32),
]
print(json.dumps(facts))
