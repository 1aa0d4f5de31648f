"""The models that the package adds to the harness: each id with its class for chat tasks and for simple ones."""

from lmms_eval.models.registry_v2 import ModelManifest

PACKAGE = __package__


def manifests() -> list[ModelManifest]:
    """One manifest a model; the classes are named, not imported, so that listing them costs nothing.

    >>> [manifest.model_id for manifest in manifests()]
    ['crystal_hf', 'crystal_scripted', 'crystal_replay']
    """
    return [
        ModelManifest(model_id="crystal_hf", chat_class_path=f"{PACKAGE}.hf.CrystalHF"),
        ModelManifest(
            model_id="crystal_scripted",
            chat_class_path=f"{PACKAGE}.scripted.CrystalScripted",
            simple_class_path=f"{PACKAGE}.scripted.CrystalScriptedSimple",
        ),
        ModelManifest(
            model_id="crystal_replay",
            chat_class_path=f"{PACKAGE}.replay.CrystalReplay",
            simple_class_path=f"{PACKAGE}.replay.CrystalReplaySimple",
        ),
    ]
