"""Makes the package's files from the trained parts, and checks them."""

import argparse
import json
import pathlib

from . import language_model, texts
from .lexicon import make_lexicon
from .manifest import NAME, write_manifest
from .onnx_export import export_acoustic, rounded
from .parity import check_acoustic
from .train_acoustic import load_acoustic
from .vocabulary import make_vocabulary, training_sentences

PACKAGE = pathlib.Path(__file__).resolve().parent.parent


def export_words(folder: pathlib.Path) -> None:
    """Writes `lexicon.tsv` and `language-model.bin` into the folder, unless they lie there."""
    if (folder / "language-model.bin").exists():
        return
    sources = training_sentences()
    vocabulary = make_vocabulary([words for sentences in sources.values() for words in sentences])
    lines = ["\t".join([word, *forms]) for word, forms in zip(vocabulary, make_lexicon(folder, vocabulary))]
    (folder / "lexicon.tsv").write_text("\n".join(lines) + "\n")
    model = language_model.fit(sources, vocabulary)
    partial = folder / "language-model.partial"
    language_model.write(partial, model)
    partial.rename(folder / "language-model.bin")
    print(f"{len(vocabulary)} words, {len(model.pairs)} pairs, {len(model.triples)} triples; of tuning sentences:")
    for name, pool in (("examples", texts.examples()), ("fortunes", texts.fortunes())):
        lines = [texts.words_of(text) for text in texts.speakable(pool, "tuning")]
        found, unknown = language_model.perplexity(lines, vocabulary, model)
        print(f"  {name}: perplexity {found:.0f}, unknown {unknown:.3f}", flush=True)


def export_package(folder: pathlib.Path, size: str) -> None:
    """Writes graph, lexicon, language model and model.json."""
    export_words(folder)
    model = rounded(load_acoustic(folder, size))
    graph = PACKAGE / "acoustic-model.onnx"
    export_acoustic(model, graph, NAME)
    print(f"parity {check_acoustic(graph, model):.1e}", flush=True)
    for name in ("lexicon.tsv", "language-model.bin"):
        (PACKAGE / name).write_bytes((folder / name).read_bytes())
    measured = folder / "memory.json"
    write_manifest(PACKAGE, json.loads(measured.read_text()) if measured.exists() else {})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", default="cpu")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build"))
    options = parser.parse_args()
    export_package(options.folder, options.size)


if __name__ == "__main__":
    main()
