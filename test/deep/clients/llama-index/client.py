"""What users of LlamaIndex do with OpenAILike: ask, chat, call tools, and answer from an index of documents."""

import importlib.metadata
import json
import os

import openai
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel

CHAT = "service-chat-1"
service = {"api_base": os.environ["OPENAI_BASE_URL"], "api_key": os.environ["OPENAI_API_KEY"]}
facts = {"version": importlib.metadata.version("llama-index-llms-openai-like")}


def model(**own):
    return OpenAILike(
        **{
            "model": CHAT,
            "temperature": 0,
            "is_chat_model": True,
            "is_function_calling_model": True,
            "context_window": 1024,
            "max_tokens": 60,
            **service,
            **own,
        }
    )


llm = model()
messages = [ChatMessage("My name is Naomi.")]
messages += [llm.chat(messages).message, ChatMessage("What is my name?")]
facts["second turn"] = llm.chat(messages).message.content
pieces = llm.stream_chat([ChatMessage("What is the capital of Norway?")])
facts["stream"] = "".join(piece.delta for piece in pieces)
facts["complete"] = llm.complete("What is the capital of Norway?").text


def get_weather(city: str) -> dict:
    """Gives the weather of a city."""
    return {"temperature": 21, "conditions": "sunny"}


tool = FunctionTool.from_defaults(get_weather)
question = ChatMessage("What is the weather in Paris?")
called = llm.chat_with_tools([tool], chat_history=[question])
[call] = llm.get_tool_calls_from_response(called)
result = ChatMessage(
    json.dumps(tool(**call.tool_kwargs).raw_output),
    role="tool",
    additional_kwargs={"tool_call_id": call.tool_id},
)
answered = llm.chat([question, called.message, result])
facts["tool loop"] = [call.tool_name, call.tool_kwargs, answered.message.content]


class Person(BaseModel):
    """A person."""

    name: str
    age: int


structured = model(should_use_structured_outputs=True).as_structured_llm(Person)
facts["structured"] = structured.chat([ChatMessage("Naomi is 31 years old.")]).raw.model_dump()
plain = model(is_chat_model=False, is_function_calling_model=False, max_tokens=8)
facts["text completion"] = [
    len(plain.complete("Once upon a time").text) > 0,
    len("".join(piece.delta for piece in plain.stream_complete("Once upon a time"))) > 0,
]

embedder = OpenAILikeEmbedding(model_name="service-embed-1", **service)
texts = ["A red boat sails home.", "Soup is best when it is hot.", "The captain of the boat is Naomi."]
index = VectorStoreIndex.from_documents([Document(text=text) for text in texts], embed_model=embedder)
found = index.as_retriever(similarity_top_k=1).retrieve("hot soup")
facts["index"] = [len(embedder.get_text_embedding("a boat")), found[0].text]


def refusal(**own):
    try:
        model(max_tokens=1, max_retries=0, **own).chat([ChatMessage("Hello!")])
    except openai.APIStatusError as error:
        return [type(error).__name__, error.code]


facts["errors"] = [
    refusal(api_key="fm_wrong"),
    refusal(model="gpt-9"),
    refusal(additional_kwargs={"top_p": 9}),
    refusal(api_key=os.environ["SPENT_API_KEY"]),
]
print(json.dumps(facts))
