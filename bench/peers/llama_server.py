"""python llama_server.py FILE.gguf PORT THREADS: llama.cpp's own HTTP server, 32 slots over one unified cache."""

import signal
import sys

import xllamacpp

import parent

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.hostnames, parameters.port = ["127.0.0.1"], int(sys.argv[2])
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = int(sys.argv[3])
parameters.n_parallel, parameters.n_ctx, parameters.kv_unified = 32, 8192, True
parameters.use_jinja, parameters.warmup = True, True
server = xllamacpp.Server(parameters)
print("listening", server.listening_address, flush=True)
parent.end_with_it()
signal.pause()
