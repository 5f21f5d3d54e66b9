"""What users of LiteLLM do: the same call for every provider, here with the prefixes openai/ and cohere/."""

import importlib.metadata
import json
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches its table of prices

import litellm
from pydantic import BaseModel

CHAT = "openai/service-chat-1"
WEATHER = json.dumps({"temperature": 21, "conditions": "sunny"})
SERVICE = {"custom_llm_provider": "openai", "api_base": os.environ["OPENAI_BASE_URL"]}
facts = {"version": importlib.metadata.version("litellm")}


def user(content):
    return {"role": "user", "content": content}


messages = [user("My name is Naomi.")]
first = litellm.completion(model=CHAT, messages=messages, temperature=0)
messages += [first.choices[0].message.model_dump(), user("What is my name?")]
second = litellm.completion(model=CHAT, messages=messages, temperature=0)
facts["second turn"] = second.choices[0].message.content

chunks = list(
    litellm.completion(
        model=CHAT,
        messages=[user("What is the capital of Norway?")],
        temperature=0,
        stream=True,
        stream_options={"include_usage": True},
    )
)
built = litellm.stream_chunk_builder(chunks)
facts["stream"] = [built.choices[0].message.content, len(chunks) > 5, built.usage.total_tokens > 0]

tool = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Gives the weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
question = [user("What is the weather in Paris?")]
called = litellm.completion(model=CHAT, messages=question, tools=[tool], temperature=0)
message = called.choices[0].message
[call] = message.tool_calls
result = {"role": "tool", "tool_call_id": call.id, "content": WEATHER}
answered = litellm.completion(
    model=CHAT, messages=[*question, message, result], tools=[tool], temperature=0
)
facts["tool loop"] = [
    call.function.name,
    json.loads(call.function.arguments),
    answered.choices[0].message.content,
]


class Person(BaseModel):
    name: str
    age: int


structured = litellm.completion(
    model=CHAT, messages=[user("Naomi is 31 years old.")], response_format=Person, temperature=0
)
facts["structured"] = json.loads(structured.choices[0].message.content)

response = litellm.responses(model=CHAT, input="My name is Naomi.", temperature=0)
follow = litellm.responses(
    model=CHAT, input="What is my name?", previous_response_id=response.id, temperature=0
)
facts["second response"] = follow.output[0].content[0].text

completion = litellm.text_completion(
    model="text-completion-openai/service-chat-1", prompt="Once upon a time", max_tokens=8
)
facts["text completion"] = len(completion.choices[0].text) > 0

vectors = litellm.embedding(model="openai/service-embed-1", input=["a boat", "a bowl of soup"])
facts["embedding"] = [len(one["embedding"]) for one in vectors.data]
ranked = litellm.rerank(
    model="cohere/service-rerank-1",
    query="Where is the boat?",
    documents=["Soup is best when it is hot.", "A red boat sails home."],
    api_base=f"{os.environ['CO_API_URL']}/v2/rerank",
    api_key=os.environ["CO_API_KEY"],
)
facts["rerank"] = ranked.results[0]["index"]
judged = litellm.moderation(model="service-moderate-1", input="I will kill you")
facts["moderation"] = judged.results[0].flagged

picture = litellm.image_generation(
    model="openai/service-image-1", prompt="a red boat", quality="low"
)
facts["image"] = picture.data[0].b64_json[:5]
sound = litellm.speech(
    model="openai/service-voice-1",
    voice="alloy",
    input="A red boat sails across the ocean.",
    response_format="wav",
).content
facts["speech"] = sound[8:12].decode()
heard = litellm.transcription(
    model="openai/service-transcribe-1", file=("speech.wav", sound, "audio/wav")
)
facts["transcription"] = heard.text
clip = litellm.video_generation(
    model="openai/service-motion-1",
    prompt="a red boat",
    seconds="4",
    extra_body={"quality": "fast"},
    **SERVICE,
)
while clip.status in ("queued", "in_progress"):
    clip = litellm.video_status(video_id=clip.id, **SERVICE)
film = litellm.video_content(video_id=clip.id, **SERVICE)
facts["video"] = [clip.status, clip.seconds, film[4:8].decode()]


def refusal(**own):
    try:
        litellm.completion(**{"model": CHAT, "messages": [user("Hello!")], "max_tokens": 1, **own})
    except Exception as error:
        return type(error).__name__


facts["errors"] = [
    refusal(api_key="fm_wrong"),
    refusal(model="openai/gpt-9"),
    refusal(temperature=9),
    refusal(messages=[user("boat " * 2_000)]),
    refusal(api_key=os.environ["SPENT_API_KEY"]),
]
facts["fallback"] = litellm.completion(
    model="openai/gpt-9", fallbacks=[CHAT], messages=[user("Hello!")], max_tokens=1
).model
print(json.dumps(facts))
