"""Prints what C2PA's own reader finds in files: one line of JSON each."""

import json
import sys

import c2pa

for path in sys.argv[1:]:
    with c2pa.Reader(path) as reader:
        store = json.loads(reader.json())
    manifest = store["manifests"][store["active_manifest"]]
    data = {assertion["label"]: assertion.get("data") for assertion in manifest["assertions"]}
    made = data["ai.framemill.generation"]
    print(
        json.dumps(
            {
                "state": store["validation_state"],
                "source": data["c2pa.actions.v2"]["actions"][0]["digitalSourceType"],
                "model": made["model"]["id"],
                "job": made["job"],
            }
        )
    )
