"""What users of the cohere package do: rerank with both of its clients."""

import asyncio
import importlib.metadata
import json
import os

import cohere

MODEL = "service-rerank-1"
QUERY = "Where is the boat?"
DOCUMENTS = ["Soup is best when it is hot.", "A red boat sails home.", "The harbour is full."]
given = {"model": MODEL, "query": QUERY, "documents": DOCUMENTS}
facts = {"version": importlib.metadata.version("cohere")}

client = cohere.ClientV2()
ranked = client.rerank(**given, top_n=2)
facts["v2"] = [
    ranked.results[0].index,
    len(ranked.results),
    0 <= ranked.results[1].relevance_score <= ranked.results[0].relevance_score <= 1,
    ranked.meta.billed_units.search_units,
]
facts["cut documents"] = client.rerank(**given, max_tokens_per_doc=8).results[0].index

old = cohere.Client()
by_v1 = old.rerank(**given, return_documents=True)
facts["v1"] = [by_v1.results[0].index, by_v1.results[0].document.text]
fields = [{"title": "Soup", "text": DOCUMENTS[0]}, {"title": "Boats", "text": DOCUMENTS[1]}]
facts["rank fields"] = old.rerank(model=MODEL, query=QUERY, documents=fields).results[0].index

versioned = cohere.ClientV2(base_url=os.environ["OPENAI_BASE_URL"])
facts["a base with /v1"] = versioned.rerank(**given).results[0].index


async def at_once():
    async with cohere.AsyncClientV2() as client:
        return await asyncio.gather(*(client.rerank(**given) for _ in range(4)))


facts["async"] = [one.results[0].index for one in asyncio.run(at_once())]


def refusal(client, **own):
    try:
        client.rerank(**{**given, **own}, request_options={"max_retries": 0})
    except cohere.core.ApiError as error:
        return [type(error).__name__, error.status_code, error.body["error"]["code"]]


facts["errors"] = [
    refusal(cohere.ClientV2("fm_wrong")),
    refusal(client, model="rerank-v9"),
    refusal(client, documents=[]),
    refusal(cohere.ClientV2(os.environ["SPENT_API_KEY"])),
]
print(json.dumps(facts))
