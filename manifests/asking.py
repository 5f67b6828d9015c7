"""From the start of a server to the question that it asks: engine, model, GPU, degrees, formats, settings, load."""

import re
from typing import Any

from django.utils.translation import gettext as _

from catalog.engine_versions import covers, version_of
from catalog.spelling import near_matches
from estimator.resolvers.facts import Facts, UnknownSlugError
from manifests import values
from manifests.arguments import Arguments, arguments_of
from manifests.flags import Flag, Line, read_flags
from manifests.meaning import apply_flags, apply_together
from manifests.model_names import model_of_name
from manifests.reading.gpu_names import gpu_of_label
from manifests.reading.starts import Given, ServerStart, image_engine, open_variables, release_of
from manifests.reading.words import Word
from manifests.reading_notes import Missing, NotStated, Reading, Unknown

_RANGE = re.compile(r"(\d+(?:\.\d+)*) (?:to [\d.]+|and later)")
_DEGREES = {"tp": "parallelism.tp", "pp": "parallelism.pp", "dp": "parallelism.dp"}
_MOUNTED = ("/mnt/models", "/mnt/model")


def question_of(start: ServerStart, facts: Facts) -> Reading:
    """Everything that a start says of the question, and what it leaves open.

    Args:
        start: the server.
        facts: the catalog that names are looked up in.
    """
    reading = Reading(notes=list(start.notes))
    known = arguments_of(start.engine)
    line = read_flags(start.words, known)
    _engine(start, facts, reading)
    for given in start.given:
        _around(given, reading)
    together = apply_flags(line.flags, known, reading)
    apply_together(start.engine, together, reading)
    _model(start, _named_model(line, together), line, facts, reading)
    _gpu(start, facts, reading)
    _experts(start, reading)
    _counts(start, reading)
    _variables(line, known, reading)
    return reading


def _engine(start: ServerStart, facts: Facts, reading: Reading) -> None:
    """The profile that covers the release which the image names, or the nearest one."""
    image = start.image
    release = release_of(image.text) if image is not None else None
    if image is None or release is None or not _is_its_release(start, image.text):
        reading.parts["engine"] = start.engine
        why = _("no image with a release is named: the newest profile") if image is None else _(
            "%(image)s names no release: the newest profile") % {"image": image.text}  # fmt: skip
        reading.not_stated.append(NotStated(field="engine", taken=start.engine, why=why))
        return
    slug = f"{start.engine}-{release}"
    try:
        facts.row("engine", slug)
        found = facts.spelled("engine", slug)
        reading.put("engine", found[0] if len(found) == 1 else slug, image.text, "image", image.line)
    except UnknownSlugError:
        near = _nearest_profile(start.engine, release, facts)
        reading.put("engine", near, image.text, "image", image.line)
        text = _("No profile covers release %(release)s of %(engine)s: %(near)s, the nearest, was taken.")
        reading.notes.append(text % {"release": release, "engine": start.engine, "near": near})


def _is_its_release(start: ServerStart, image: str) -> bool:
    """Whether the tag counts the engine's own releases: those of llm-d and llama.cpp count something else."""
    known = image_engine(image)
    return known is not None and known[0] == start.engine != "llama.cpp" and "llm-d" not in image


def _nearest_profile(engine: str, release: str, facts: Facts) -> str:
    ranges = []
    for slug in facts.slugs("engine"):
        row = facts.row("engine", slug)
        first = _RANGE.fullmatch(str(row.get("engine_version") or ""))
        if row["engine"] == engine and row["slug"] == slug and first:
            ranges.append((version_of(first[1]), slug, str(row["engine_version"])))
    wanted = version_of(release)
    ranges.sort()
    covering = [slug for _first, slug, text in ranges if covers(text, wanted)]
    below = [slug for first, slug, _text in ranges if first <= wanted]
    return (covering or below[-1:] or [slug for _first, slug, _text in ranges[:1]] or [engine])[0]


def _around(given: Given, reading: Reading) -> None:
    """What is stated around the command."""
    if given.name in _DEGREES and (count := values.whole(given.value)) is not None:
        reading.put(_DEGREES[given.name], count, f"{given.where}: {given.value}", "manifest", given.line)
    elif given.name == "replicas" and (count := values.whole(given.value)) is not None:
        reading.replicas = count
    elif given.name == "mig":
        reading.notes.append(
            _("%(name)s is a part of a GPU: the figures are those of whole ones.") % {"name": given.value}
        )
    elif given.name == "runtime_flag":
        return


def _named_model(line: Line, together: dict[str, Flag]) -> Flag | None:
    """The model's name: that of its flag, else the first word that belongs to no flag."""
    flag = together.get("model")
    if flag is not None and flag.value:
        return flag
    first = next(iter(line.positional), None)
    return Flag(said=first.text, name="model", values=(first.text,), line=first.line) if first is not None else None


def _model(start: ServerStart, named: Flag | None, line: Line, facts: Facts, reading: Reading) -> None:
    by_flag = named is not None and named.name != "model"
    rest = line.positional if by_flag or named is None else line.positional[1:]
    reading.unknown += [Unknown(flag=word.text, line=word.line, near=()) for word in rest]
    stated = start.stated("model")
    name, said, origin, at = _name_of(named, stated, by_flag)
    if name is None or "$" in name or "{{" in name:
        detail = _("The model is not named.") if name is None else _("%(name)s is not known here.") % {"name": name}
        reading.missing.append(Missing(field="model", detail=detail))
        return
    found = model_of_name(name, facts)
    if found.note:
        reading.notes.append(found.note)
    if found.slug is None:
        detail = _("The catalog has no model “%(name)s”: give model (a slug, or its config).") % {"name": name[:100]}
        reading.missing.append(Missing(field="model", detail=detail, near=found.near))
    else:
        reading.put("model", found.slug, said, origin, at)
    if found.weights is not None and reading.at("precision.weights") in (None, "bf16", "fp16"):
        reading.put("precision.weights", found.weights, name, "name", at)


def _name_of(named: Flag | None, stated: Given | None, by_flag: bool) -> tuple[str | None, str, str, int | None]:
    """The name, what says it, its origin and line; a mounted folder is what the manifest mounts there."""
    if named is not None and not (stated is not None and named.value.startswith(_MOUNTED)):
        return named.value, named.written if by_flag else named.value, "flag", named.line
    if stated is not None:
        return stated.value, f"{stated.where}: {stated.value}", "manifest", stated.line
    return None, "", "", None


def _gpu(start: ServerStart, facts: Facts, reading: Reading) -> None:
    labels = [one for one in start.given if one.name == "gpu_label"]
    near: tuple[str, ...] = ()
    for label in labels:
        slug = gpu_of_label(label.value)
        found = (slug,) if slug is not None else facts.spelled("gpu", label.value)
        if len(found) == 1:
            reading.put("gpu", found[0], f"{label.where}: {label.value}", "label", label.line)
            return
        near = near or found
    if labels:
        detail = _("The GPU of %(label)s is not clear: give gpu.") % {"label": labels[0].value[:100]}
        reading.missing.append(Missing(field="gpu", detail=detail, near=near or _near_gpus(labels[0].value, facts)))
    else:
        reading.missing.append(Missing(field="gpu", detail=_("Which GPU it runs on is not stated: give gpu.")))


def _near_gpus(label: str, facts: Facts) -> tuple[str, ...]:
    return near_matches(label.removeprefix("nvidia-").removeprefix("NVIDIA-"), facts.slugs("gpu"))


def _experts(start: ServerStart, reading: Reading) -> None:
    """Expert parallel that the manifest asks for beside the command."""
    stated = start.stated("expert")
    if stated is not None and stated.value == "true":
        degrees = reading.parts.get("parallelism", {})
        ranks = degrees.get("tp", 1) * degrees.get("dp", 1)
        reading.put("parallelism.ep", ranks, f"{stated.where}: true", "manifest", stated.line)


def _counts(start: ServerStart, reading: Reading) -> None:
    """GPUs that the pods have against those that the degrees use."""
    gpus, pods = start.stated("gpus"), start.stated("pods")
    each = values.whole(gpus.value) if gpus is not None else None
    if each is None or gpus is None:
        return
    group = values.whole(pods.value) if pods is not None else None
    local = start.stated("dp_local")
    data, own = reading.at("parallelism.dp") or 1, values.whole(local.value) if local is not None else None
    groups = group or (max(data // own, 1) if own else 1)
    total = each * groups
    reading.gpus_stated = total
    if start.engine == "llama.cpp" and total > 1 and "parallelism" not in reading.parts:
        reading.put("parallelism.pp", total, f"{gpus.where}: {gpus.value}", "resources", gpus.line)
        reading.notes.append(_("llama.cpp splits layers over the GPUs: read as a pipeline of %(n)s.") % {"n": total})
        return
    degrees: dict[str, Any] = reading.parts.get("parallelism", {})
    copies = reading.replicas if start.engine == "sglang" and start.stated("replicas") is None else 1
    used = degrees.get("tp", 1) * degrees.get("pp", 1) * degrees.get("dp", 1) * copies
    if used != total:
        text = _("The manifest asks for %(total)s GPUs and the start uses %(used)s of them.") if used < total else _(
            "The manifest asks for %(total)s GPUs and the start needs %(used)s.")  # fmt: skip
        reading.notes.append(text % {"total": total, "used": used})


def _variables(line: Line, known: Arguments, reading: Reading) -> None:
    """Variables that nothing sets, in flags that could act."""
    text = _("$%(name)s (line %(line)s) is set nowhere in the text.")
    words = [Word(one.written, one.line) for one in line.flags if one.name not in known.without_effect]
    for name, word in open_variables([*words, *line.positional]):
        reading.notes.append(text % {"name": name, "line": word.line})
    reading.notes = list(dict.fromkeys(reading.notes))
