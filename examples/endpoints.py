"""Every endpoint once, with the stock OpenAI and Cohere packages.

Run `npm run framemill -- up` first, then, with the base address and the key that it prints:

    pip install -r examples/requirements.txt
    FRAMEMILL_BASE_URL=… FRAMEMILL_API_KEY=… python3 examples/endpoints.py [FOLDER]

Files go to the folder, the current one when none is given.
"""

import base64
import os
import sys
from pathlib import Path

import cohere
from openai import HttpxBinaryResponseContent, OpenAI

BASE_URL = os.environ["FRAMEMILL_BASE_URL"]
API_KEY = os.environ["FRAMEMILL_API_KEY"]
OUT = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

client = OpenAI(base_url=BASE_URL, api_key=API_KEY)
reranker = cohere.ClientV2(API_KEY, base_url=BASE_URL.removesuffix("/v1"))  # it adds /v2

PROMPT = "a red boat sails across the ocean at sunset"
DOCUMENTS = ["A red boat sails home.", "Soup is best when it is hot.", "The harbour is full."]


def chat() -> str:
    chunks = client.chat.completions.create(
        model="service-chat-1",
        messages=[{"role": "user", "content": "Tell me of a red boat."}],
        max_tokens=32,
        stream=True,
    )
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def completions() -> str:
    prompt = "The red boat is"
    made = client.completions.create(model="service-chat-1", prompt=prompt, max_tokens=32)
    return prompt + made.choices[0].text


def responses() -> str:
    first = client.responses.create(
        model="service-chat-1", input="Tell me of a red boat.", max_output_tokens=32
    )
    second = client.responses.create(
        model="service-chat-1",
        previous_response_id=first.id,  # the service keeps the conversation
        input="And then?",
        max_output_tokens=32,
    )
    return second.output_text


def image() -> Path:
    made = client.images.generate(model="service-image-1", prompt=PROMPT)
    path = OUT / "image.png"
    path.write_bytes(base64.b64decode(made.data[0].b64_json))
    return path


def speech() -> Path:
    path = OUT / "speech.mp3"
    with client.audio.speech.with_streaming_response.create(
        model="service-voice-1", voice="alloy", input="A red boat sails across the ocean."
    ) as sound:
        sound.stream_to_file(path)  # arrives while it is made
    return path


def transcription() -> str:
    with open(OUT / "speech.mp3", "rb") as file:
        heard = client.audio.transcriptions.create(model="service-transcribe-1", file=file)
    return heard.text


def music() -> Path:
    # Not in OpenAI's interface: the client's own get and post reach it.
    body = {"model": "service-music-1", "prompt": "a calm piano melody", "seconds": 3}
    piece = client.post("/music", body=body, cast_to=object)
    while piece["status"] in ("queued", "in_progress"):
        piece = client.get(f"/music/{piece['id']}?wait=60", cast_to=object)
    if piece["status"] == "failed":
        raise RuntimeError(piece["error"]["message"])
    path = OUT / "music.mp3"
    client.get(f"/music/{piece['id']}/content", cast_to=HttpxBinaryResponseContent).write_to_file(path)
    return path


def video() -> Path:
    clip = client.videos.create_and_poll(
        model="service-motion-1", prompt=PROMPT, seconds="4", extra_body={"quality": "fast"}
    )
    if clip.status == "failed":
        raise RuntimeError(clip.error.message)
    path = OUT / "clip.mp4"
    client.videos.download_content(clip.id).write_to_file(path)
    return path


def embeddings() -> str:
    made = client.embeddings.create(model="service-embed-1", input=DOCUMENTS)
    return f"{len(made.data)} vectors of {len(made.data[0].embedding)} numbers"


def rerank() -> str:
    ranked = reranker.rerank(
        model="service-rerank-1", query="Where is the boat?", documents=DOCUMENTS
    )
    return DOCUMENTS[ranked.results[0].index]


def moderation() -> str:
    judged = client.moderations.create(model="service-moderate-1", input=DOCUMENTS)
    return ", ".join("flagged" if result.flagged else "fine" for result in judged.results)


OUT.mkdir(parents=True, exist_ok=True)
for call in (
    chat, completions, responses, image, speech, transcription,
    music, video, embeddings, rerank, moderation,
):  # fmt: skip
    print(f"{call.__name__:14} {call()}")
