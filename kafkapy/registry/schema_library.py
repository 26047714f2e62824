"""Parses schemas of the registry, including their references."""

from __future__ import annotations

from kafkapy.registry.compatibility.incompatibility import SchemaParseError
from kafkapy.registry.formats import parse
from kafkapy.registry.formats.parsed_schema import ParsedSchema
from kafkapy.registry.formats.references import Document, Documents
from kafkapy.registry.formats.strictness import Strictness
from kafkapy.registry.refusals import invalid_schema
from kafkapy.registry.state import RegisteredVersion, RegistryState, SchemaContent
from kafkapy.registry.subjects import QualifiedSubject

_MOST_REFERENCES = 1_000
"""Limit of the documents that one schema may use, directly or not."""


class SchemaLibrary:
    def __init__(self, state: RegistryState) -> None:
        self._state = state

    def parsed(self, version: RegisteredVersion) -> ParsedSchema:
        """Return a version's parsed schema. Raises SchemaParseError."""
        return self.read(version.subject, version.content, Strictness.STORED)

    def read(self, subject: str, content: SchemaContent, strictness: Strictness) -> ParsedSchema:
        """Parse content as a schema of the subject; references are looked up in the subject's context. Raises
        SchemaParseError."""
        found: dict[str, Document] = {}
        self._collect(QualifiedSubject.parse(subject), content, found, ())
        return parse(content.schema_type, content.text, Documents(tuple(found.items())), strictness)

    def sound(self, subject: str, content: SchemaContent, strictness: Strictness = Strictness.GIVEN) -> ParsedSchema:
        """The same as `read`. Raises RegistryRefusal."""
        try:
            return self.read(subject, content, strictness)
        except SchemaParseError as error:
            shown = content.text if len(content.text) <= 1_000 else f"{content.text[:1_000]}…"
            sentence = (
                f"Invalid schema {shown} with refs {[list(each) for each in content.references]} "
                f"of type {content.schema_type}, details: {error}"
            )
            raise invalid_schema(sentence.encode(errors="backslashreplace").decode()) from None

    def with_versions(self, subject: str, content: SchemaContent) -> SchemaContent:
        """Replace the version -1 (latest) in references by the current version number."""
        here = QualifiedSubject.parse(subject)
        references = []
        for reference in content.references:
            if reference.version in (-1, 0):
                versions = self._state.versions(here.resolve(reference.subject))
                if versions:
                    reference = reference._replace(version=versions[-1].version)
            references.append(reference)
        return content._replace(references=tuple(references))

    def _collect(
        self, here: QualifiedSubject, content: SchemaContent, found: dict[str, Document], path: tuple[object, ...]
    ) -> None:
        for reference in content.references:
            subject = here.resolve(reference.subject)
            version = self._state.subjects.get(subject, {}).get(reference.version)
            if version is None:
                raise SchemaParseError(
                    f'No schema reference found for subject "{reference.subject}" and version {reference.version}'
                )
            if version.place in path:
                raise SchemaParseError(f"{subject} version {reference.version} refers to itself")
            if reference.name not in found:
                self._collect(QualifiedSubject.parse(subject), version.content, found, (*path, version.place))
                if len(found) >= _MOST_REFERENCES:
                    raise SchemaParseError(f"A schema uses {_MOST_REFERENCES} others at most")
                found[reference.name] = Document(version.content.text, subject, version.version)
