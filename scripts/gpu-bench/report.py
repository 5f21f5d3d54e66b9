"""results.json and results.md: conditions, figures, verdicts, and what was not measured."""

import json
import pathlib
from typing import Any

from shapes import FULL, TINY

DENOISER_TARGET = 1.25
SHARE_TARGET = 0.10


def write_report(out: pathlib.Path, results: dict[str, Any]) -> None:
    whole = results | {"verdicts": judge(results)}
    write(out / "results.json", json.dumps(whole, indent=2) + "\n")
    write(out / "results.md", markdown(whole))


def write(path: pathlib.Path, text: str) -> None:
    draft = path.with_suffix(path.suffix + ".draft")
    draft.write_text(text)
    draft.replace(path)


def judge(results: dict[str, Any]) -> list[dict[str, Any]]:
    """A verdict a target and provider; `met` is null where a figure is missing, or shapes are tiny."""
    element = "float32" if results["tiny"] else "float16"
    figures = {row["what"]: row["p50"] for part in results["parts"].values() for row in part["rows"]}
    denoiser, decoder = f"denoiser, {element}: ", f"decoder, {element}: "
    names = [what.removeprefix(denoiser) for what in figures if what.startswith(denoiser)]
    found = []
    for name in [name for name in names if name.startswith("framemill")] or ["framemill, cuda"]:
        ours, theirs = figures.get(denoiser + name), figures.get(f"{denoiser}torch.compile")
        ratio = ours / theirs if ours and theirs else None
        share = share_of(results["tiny"], figures, (ours, figures.get(decoder + name), name))
        found.append(verdict(f"denoiser on {name} / torch.compile", ratio, DENOISER_TARGET, results["tiny"]))
        found.append(verdict(f"share of a clip outside the denoiser, {name}", share, SHARE_TARGET, results["tiny"]))
    return found


def share_of(tiny: bool, figures: dict[str, float], one: tuple[float | None, float | None, str]) -> float | None:
    """Of the sum of a clip's parts, none of them overlapped: windows with their way to the host, and the encoding."""
    denoiser_ms, decoder_ms, name = one
    clip = (TINY if tiny else FULL).clip
    encoding = [value for what, value in figures.items() if what.endswith("to MP4")]
    transfer_ms = figures.get(f"a window's frames to the host: {name}", 0)
    if not denoiser_ms or not decoder_ms or not encoding:
        return None
    # What the provider hands back is on the host already, except with WebGPU's kept outputs.
    way_ms = transfer_ms if name.endswith("webgpu") else 0
    rest = clip.windows * (decoder_ms + way_ms) + encoding[0]
    return rest / (rest + clip.steps * clip.branches * denoiser_ms)


def verdict(what: str, value: float | None, target: float, tiny: bool) -> dict[str, Any]:
    met = None if value is None or tiny else value <= target
    return {"what": what, "value": value, "target": target, "met": met}


def markdown(results: dict[str, Any]) -> str:
    parts = results["parts"]
    lines = ["# GPU benchmark", "", f"Started {results['started']}."]
    if results["tiny"]:
        lines += ["", "**Tiny shapes: this proves the script. The figures say nothing about any GPU.**"]
    lines += ["", "| target | value | should not exceed | |", "| --- | --- | --- | --- |"]
    lines += [verdict_line(it, results["tiny"]) for it in results["verdicts"]]
    for title, name in (("Machine", "machine"), ("Execution providers", "providers")):
        facts = parts.get(name, {}).get("facts", [])
        lines += ["", f"## {title}", "", "| | |", "| --- | --- |"]
        lines += [f"| {cell(it['what'])} | {cell(it['value'])} |" for it in facts]
    lines += ["", "## Figures", "", "| | p50 | p90 | unit | runs |", "| --- | --- | --- | --- | --- |"]
    for part in parts.values():
        lines += [
            f"| {cell(row['what'])} | {row['p50']:g} | {row['p90']:g} | {row['unit']} | {row['count']} |"
            for row in part["rows"]
        ]
    lines += ["", "| | |", "| --- | --- |"]
    for name, part in parts.items():
        if name not in ("machine", "providers"):
            lines += [f"| {cell(it['what'])} | {cell(it['value'])} |" for it in part["facts"]]
    gaps = [it for part in parts.values() for it in part["missing"]]
    lines += ["", "## Not measured", "", *([f"- {it['what']}: {cell(it['why'])}" for it in gaps] or ["Nothing."])]
    times = ", ".join(f"{name} {part.get('seconds', 0):g} s" for name, part in parts.items())
    return "\n".join([*lines, "", f"Time taken: {times}.", ""])


def verdict_line(it: dict[str, Any], tiny: bool) -> str:
    value = "—" if it["value"] is None else f"{it['value']:.3f}"
    unknown = "not measured" if it["value"] is None else "not judged: tiny" if tiny else ""
    said = unknown if it["met"] is None else "met" if it["met"] else "**missed**"
    return f"| {cell(it['what'])} | {value} | {it['target']:g} | {said} |"


def cell(value: Any) -> str:
    return str(value).replace("|", "/").replace("\n", " ")
