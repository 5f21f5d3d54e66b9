"""python embedding_server.py FOLDER PORT THREADS: a LitServe endpoint of a sentence encoder, batches of 32 within 5 ms."""

import sys

import litserve
import numpy as np
import onnxruntime
from tokenizers import Tokenizer

import parent

folder, port, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


class Embeddings(litserve.LitAPI):
    def setup(self, device):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(f"{folder}/onnx/model.onnx", options, ["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
        self.tokenizer.enable_truncation(512)
        self.tokenizer.enable_padding()

    def decode_request(self, request):
        return request["input"]

    def batch(self, inputs):
        return inputs

    def predict(self, texts):
        encoded = self.tokenizer.encode_batch(texts)
        mask = np.array([one.attention_mask for one in encoded], np.int64)
        feeds = {"input_ids": np.array([one.ids for one in encoded], np.int64), "attention_mask": mask}
        hidden = self.session.run(None, feeds)[0]
        means = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        return means / np.linalg.norm(means, axis=1, keepdims=True)

    def unbatch(self, output):
        return list(output)

    def encode_response(self, output):
        return {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": output.tolist()}]}


if __name__ == "__main__":
    parent.end_with_it()
    api = Embeddings(max_batch_size=32, batch_timeout=0.005, api_path="/v1/embeddings")
    server = litserve.LitServer(api, accelerator="cpu")
    server.run(host="127.0.0.1", port=port, log_level="warning", generate_client_file=False)
