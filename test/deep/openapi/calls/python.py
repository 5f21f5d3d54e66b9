"""Calls every endpoint by the package that openapi-python-client made, and prints what came."""

import base64
import importlib
import io
import json
import os

from framemill_client import AuthenticatedClient, models, types

ORIGIN, KEY = os.environ["ORIGIN"], os.environ["KEY"]
client = AuthenticatedClient(f"{ORIGIN}/v1", KEY, timeout=120)
beside = AuthenticatedClient(ORIGIN, KEY)


def call(name: str, *path: str, by: AuthenticatedClient = client, **given):
    """What one operation answers, e.g. `chat.create_chat_completion`, as the client reads it."""
    return detail(name, *path, by=by, **given).parsed


def detail(name: str, *path: str, by: AuthenticatedClient = client, **given):
    operation = importlib.import_module(f"framemill_client.api.{name}")
    return operation.sync_detailed(*path, client=by, **given)


listed_models = call("models.list_models")
model = call("models.get_model", "service-chat-1").id
message = models.ChatCompletionRequest.from_dict(
    {"model": model, "messages": [{"role": "user", "content": "Hello."}], "max_tokens": 8}
)
chat = call("chat.create_chat_completion", body=message)
beginning = models.TextCompletionRequest(model=model, prompt="Once upon a time", max_tokens=8)
completion = call("completions.create_text_completion", body=beginning)
question = models.ResponseRequest(model=model, input_="Hello.", max_output_tokens=8)
response = call("responses.create_response", body=question)
read = call("responses.get_response", response.id)
asked = call("responses.list_response_input_items", response.id)
forgotten = call("responses.delete_response", response.id)
texts = models.EmbeddingRequest(model="service-embed-1", input_=["a boat", "a lake"])
embeddings = call("embeddings.create_embedding", body=texts)
ranking = models.RerankRequest(
    model="service-rerank-1", query="a boat", documents=["a bowl of soup", "a red boat"]
)
ranked = call("rerank.create_rerank", body=ranking)
ranked_v2 = call("rerank.create_rerank_v2", body=ranking, by=beside)
judged = models.ModerationRequest(input_="a red boat")
moderation = call("moderation.create_moderation", body=judged)
images = call(
    "image.create_image",
    body=models.ImageRequest.from_dict({"prompt": "a red boat", "quality": "low"}),
)
words = {
    "model": "service-voice-1",
    "input": "A red boat sails across the ocean.",
    "voice": "alloy",
    "response_format": "wav",
}
sound = call("speech.create_audio_speech", body=models.AudioSpeechRequest.from_dict(words))
speech = sound.payload.read()
recording = types.File(io.BytesIO(speech), file_name="speech.wav", mime_type="audio/wav")
transcription = call(
    "transcription.create_transcription",
    body=models.TranscriptionForm(file=recording, model="service-transcribe-1"),
)

piece = models.MusicRequest(model="service-music-1", prompt="a calm piano", seconds=1)
music = call("music.create_music", body=piece)
finished = call("music.get_music", music.id, wait=60)
tune = call("music.download_music", music.id).payload.read()

wanted = {"model": "service-motion-1", "prompt": "a red boat", "seconds": 4}
video = call(
    "video.create_video", body=models.VideoRequest.from_dict({**wanted, "quality": "fast"})
)
clip = video
while clip.status in ("queued", "in_progress"):
    clip = call("video.get_video", video.id, wait=60)
film = call("video.download_video", video.id).payload.read()
link = call("video.link_video", video.id)
charge = call("charges.get_charge", video.id)
listed = call("video.list_videos", limit=1)
deleted = call("video.delete_video", video.id)
missing = detail("video.get_video", video.id)

pixels = io.BytesIO(base64.b64decode(os.environ["PICTURE"]))
picture = types.File(pixels, "boat.png", "image/png")
animated = call("video.create_video", body=models.VideoForm(**wanted, image=picture))
cancelled = call("video.cancel_video", animated.id)

print(
    json.dumps(
        {
            "models": [one.id for one in listed_models.data],
            "chat": chat.choices[0].message.content,
            "completion": completion.choices[0].text,
            "response": [read.id == response.id, read.output[0].type_, asked.data[0].type_, forgotten.deleted],
            "embeddings": [len(one.embedding) for one in embeddings.data],
            "rerank": [
                [one.results[0].index, one.results[0].to_dict().get("document")]
                for one in (ranked, ranked_v2)
            ],
            "moderation": [one.flagged for one in moderation.results],
            "image": images.data[0].b64_json[:8],
            "speech": speech[:12].decode("latin-1"),
            "transcription": transcription.text,
            "music": [finished.status, tune[:3].decode("latin-1")],
            "video": [clip.status, film[4:8].decode("latin-1"), link.media_type, charge.amount],
            "list": [listed.data[0].id == video.id, deleted.deleted],
            "missing": [missing.status_code, missing.parsed.error.code],
            "cancelled": cancelled.error.code,
        }
    )
)
