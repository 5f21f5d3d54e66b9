"""What users of LangChain do with langchain-cohere: put the documents of a search into their order."""

import importlib.metadata
import json
import os

from langchain_cohere import CohereRerank
from langchain_core.documents import Document

facts = {"version": importlib.metadata.version("langchain-cohere")}
documents = [
    Document("Soup is best when it is hot.", metadata={"page": 1}),
    Document("A red boat sails home.", metadata={"page": 2}),
    Document("The harbour is full.", metadata={"page": 3}),
]
reranker = CohereRerank(model="service-rerank-1", base_url=os.environ["CO_API_URL"], top_n=2)
[best, second] = reranker.compress_documents(documents, "Where is the boat?")
facts["compress_documents"] = [
    best.page_content,
    best.metadata["page"],
    best.metadata["relevance_score"] >= second.metadata["relevance_score"],
]
ranked = reranker.rerank([document.page_content for document in documents], "Where is the boat?")
facts["rerank"] = [len(ranked), ranked[0]["index"]]
try:
    CohereRerank(
        model="rerank-v9", base_url=os.environ["CO_API_URL"], top_n=2
    ).compress_documents(documents, "Where is the boat?")
except Exception as error:
    facts["error"] = type(error).__name__
print(json.dumps(facts))
