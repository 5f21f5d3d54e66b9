#!/usr/bin/env bash
# Every endpoint once, with curl and jq. Run `npm run framemill -- up` first, then, with the base address
# and the key that it prints:
#
#   FRAMEMILL_BASE_URL=… FRAMEMILL_API_KEY=… examples/endpoints.sh [FOLDER]
#
# Files go to the folder, the current one when none is given. The script ends at the first call that fails.
set -euo pipefail

: "${FRAMEMILL_BASE_URL:?}" "${FRAMEMILL_API_KEY:?}"
out=${1:-.}
mkdir -p "$out"

# api PATH [curl's options]: the answer's body; a failure's body goes to stderr.
api() {
  curl --silent --show-error --fail-with-body "$FRAMEMILL_BASE_URL/$1" \
    --header "Authorization: Bearer $FRAMEMILL_API_KEY" "${@:2}"
}

# post PATH BODY [curl's options]
post() {
  api "$1" --header "Content-Type: application/json" --data "$2" "${@:3}"
}

# finished KIND BODY: creates a job, waits for its end and prints its id.
finished() {
  local job
  job=$(post "$1" "$2")
  while [[ $(jq -r .status <<<"$job") =~ ^(queued|in_progress)$ ]]; do
    job=$(api "$1/$(jq -r .id <<<"$job")?wait=60")
  done
  jq -er 'if .status == "completed" then .id else error(.error.message) end' <<<"$job"
}

say() { printf '%-14s %s\n' "$1" "$2"; }

prompt="a red boat sails across the ocean at sunset"
documents='["A red boat sails home.", "Soup is best when it is hot.", "The harbour is full."]'

body='{"model": "service-chat-1", "max_tokens": 32, "messages": [{"role": "user", "content": "Tell me of a red boat."}]}'
say chat "$(post chat/completions "$body" | jq .choices[0].message.content)"

body='{"model": "service-chat-1", "prompt": "The red boat is", "max_tokens": 32, "echo": true}'
say completions "$(post completions "$body" | jq .choices[0].text)"

first=$(post responses '{"model": "service-chat-1", "input": "Tell me of a red boat.", "max_output_tokens": 32}')
body=$(jq '{model, previous_response_id: .id, input: "And then?", max_output_tokens: 32}' <<<"$first")
say responses "$(post responses "$body" | jq '.output[0].content[0].text')"

body=$(jq -n --arg prompt "$prompt" '{model: "service-image-1", prompt: $prompt, output_format: "webp"}')
post images/generations "$body" | jq -r .data[0].b64_json | base64 --decode >"$out/image.webp"
say image "$out/image.webp"

body='{"model": "service-voice-1", "voice": "alloy", "input": "A red boat sails across the ocean."}'
post audio/speech "$body" --output "$out/speech.mp3"
say speech "$out/speech.mp3"

heard=$(api audio/transcriptions --form model=service-transcribe-1 --form "file=@$out/speech.mp3")
say transcription "$(jq .text <<<"$heard")"

id=$(finished music '{"model": "service-music-1", "prompt": "a calm piano melody", "seconds": 3}')
api "music/$id/content" --output "$out/music.mp3"
say music "$out/music.mp3"

body=$(jq -n --arg prompt "$prompt" '{model: "service-motion-1", prompt: $prompt, seconds: 4, quality: "fast"}')
id=$(finished videos "$body")
api "videos/$id/content" --output "$out/clip.mp4"
say video "$out/clip.mp4"

body=$(jq -n --argjson input "$documents" '{model: "service-embed-1", input: $input}')
say embeddings "$(post embeddings "$body" | jq -r '"\(.data | length) vectors of \(.data[0].embedding | length) numbers"')"

body=$(jq -n --argjson documents "$documents" '{model: "service-rerank-1", query: "Where is the boat?", documents: $documents}')
say rerank "$(post rerank "$body" | jq -r .results[0].document.text)"

body=$(jq -n --argjson input "$documents" '{model: "service-moderate-1", input: $input}')
say moderation "$(post moderations "$body" | jq -r '[.results[] | if .flagged then "flagged" else "fine" end] | join(", ")')"
